"""Graphs of ONNX networks: the trunk that all paths go through, and parts with outputs of one's choice."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import onnx

# What they give depends on the size of a value only, and not on what is in it.
SIZES_ONLY = frozenset({"Shape", "Size"})


def image_input(model: onnx.ModelProto) -> onnx.ValueInfoProto:
    """Return the input for the image; old files list constants among inputs, too."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs: list[onnx.ValueInfoProto] = [one for one in model.graph.input if one.name not in constants]
    if len(inputs) != 1:
        names = [one.name for one in inputs]
        raise ValueError(f"has the inputs {names}: expected one, an image; export its image part alone")
    return inputs[0]


def reads(node: onnx.NodeProto) -> set[str]:
    """Names of all values that a node uses, also in the branches and loops inside it."""
    names = set(node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            names.update(name for inner in graph.node for name in reads(inner))
    return names - {""}


def values(model: onnx.ModelProto) -> list[str]:
    """Names of all values that nodes of the network give, in their order."""
    return [name for node in model.graph.node for name in node.output if name]


def part(model: onnx.ModelProto, outputs: Sequence[str], free: bool = False) -> onnx.ModelProto:
    """Return the network up to some values, which become its outputs; what they do not need is left out.

    With ``free``, its input may have any height and width, whatever the file declares.
    """
    needed, nodes = set(outputs), []
    for node in reversed(model.graph.node):
        if needed & set(node.output):
            nodes.append(node)
            needed |= reads(node)
    found = onnx.ModelProto()
    found.CopyFrom(onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import))
    found.functions.extend(model.functions)
    graph = found.graph
    graph.name = model.graph.name
    graph.node.extend(reversed(nodes))
    # Shapes of values inside, which a file may note, are not kept: they would be those of the declared size.
    graph.initializer.extend(one for one in model.graph.initializer if one.name in needed)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    graph.input.extend(one for one in model.graph.input if one.name in needed)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    if free:
        for axis, name in ((2, "height"), (3, "width")):
            image_input(found).type.tensor_type.shape.dim[axis].dim_param = name
    return found


def trunk(model: onnx.ModelProto) -> list[str]:
    """Values that every path from the image to the outputs goes through, in their order.

    Outputs of residual blocks are among them, and what is inside blocks is not, as there is a way around it.
    """
    whole = part(model, [one.name for one in model.graph.output])
    nodes, image = whole.graph.node, image_input(whole).name
    last = last_readers(nodes, image)
    last.update((one.name, len(nodes)) for one in whole.graph.output if one.name in last)
    live, found = {image}, list[str]()
    for place, node in enumerate(nodes):
        made = {name for name in node.output if name in last}
        live = {name for name in live | made if last[name] > place}
        if len(live) == 1 and live <= made:
            found.extend(live)
    return found


def last_readers(nodes: Collection[onnx.NodeProto], image: str) -> dict[str, int]:
    """Values that depend on pixels of the image, and the place of the last node that reads each; -1: none."""
    last = {image: -1}
    for place, node in enumerate(nodes):
        read = reads(node) & last.keys()
        if read and node.op_type not in SIZES_ONLY:
            last.update(dict.fromkeys(read, place))
            last.update(dict.fromkeys((name for name in node.output if name), -1))
    return last


def first_operation(model: onnx.ModelProto) -> str:
    """Kind of the node that sees the pixels first, such as ``Conv``; but for those that leave them as is."""
    name = image_input(model).name
    for node in model.graph.node:
        if name in node.input and node.op_type not in SIZES_ONLY:
            if node.op_type not in ("Cast", "Identity"):
                return str(node.op_type)
            name = node.output[0]
    return ""


def patch_of(model: onnx.ModelProto) -> int | None:
    """Side of the patches that a convolution cuts the image into, if it is one that does."""
    for node in model.graph.node:
        if node.op_type == "Conv":
            given = {one.name: list(one.ints) for one in node.attribute}
            kernel, strides = given.get("kernel_shape", []), given.get("strides", [])
            square = len(strides) == 2 and strides[0] == strides[1] >= 4
            return int(strides[0]) if square and kernel == strides else None
    return None
