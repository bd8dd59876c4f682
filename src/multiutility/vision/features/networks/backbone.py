"""Networks at work: an image in, means of their maps over regions out."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import cv2
import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from scipy.sparse import csr_array

from multiutility.vision.features.descriptor import Features
from multiutility.vision.features.networks.graph import image_input, part, values
from multiutility.vision.features.networks.kept_maps import Cells, kept_maps
from multiutility.vision.features.networks.normalization import Color
from multiutility.vision.features.picture import Picture
from multiutility.vision.regions.boundary import Image
from multiutility.vision.regions.cells import cell_weights

Size: TypeAlias = tuple[int, int]

# Pixels of an input: the maps of networks take a hundred times as much memory.
MAX_INPUT = 25_000_000

MAPS_VERSION = 1  # changes whenever the same network and image give other maps

# When a file was changed, and how long it is.
Stamp: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Backbone:
    """A network in an ONNX file, with how to make its input and which outputs to use.

    It takes one image, float32 [1, 3, H, W]: RGB from 0 to 255, minus ``mean``, over ``std``. H and W are
    what it asks for, or else those of the image times ``scale``, or less so that the longer one is at most
    ``max_input``, to the nearest ``multiple``. The ``outputs`` are maps [1, C, h, w] over the image, or
    tokens [1, N, C] of patches of ``multiple`` pixels a side, row by row, behind tokens of other kinds.
    With a ``digest``, the hash of what is in the file must begin so. With ``inner``, outputs may be any
    values inside the network, and H and W are ``size``, or free, whatever the file declares.
    """

    path: str
    outputs: tuple[str, ...]
    mean: Color
    std: Color
    scale: float
    multiple: int
    max_input: int | None = None
    digest: str = ""
    inner: bool = False
    size: Size | None = None

    def network(self) -> Network:
        """Return the network, loaded."""
        return open_network(self.path, self.outputs if self.inner else None, self.size is None)

    def means(self, picture: Picture) -> Features:
        """Means of all channels of the outputs, enlarged to pixels, over each region: float32 [V, D].

        As both the enlarging and the mean are linear, the weights of cells in regions give the same
        without maps of all pixels.
        """
        weights: dict[Size, csr_array] = {}
        found = []
        for cells, grid in self.maps(picture.image):
            if grid not in weights:
                weights[grid] = cell_weights(picture.regions, grid)
            found.append(weights[grid] @ cells)
        means: Features = np.concatenate(found, axis=1)
        means /= picture.sizes[:, np.newaxis].astype(np.float32)
        return means

    def maps(self, image: Image) -> list[Cells]:
        """Return all outputs for an image uint8 [H, W, 3], which may have been kept from before."""
        network = self.checked_network()
        size = self.input_size(image, network.session.get_inputs()[0].shape[2:])
        return kept_maps(self.map_key(network.digest, image, size), lambda: self.computed(image))

    def computed(self, image: Image) -> list[Cells]:
        """Run the network, and return all outputs."""
        session = self.checked_network().session
        (source,) = session.get_inputs()
        size = self.input_size(image, source.shape[2:])
        outputs = session.run(self.outputs, {source.name: self.prepared(image, size)})
        return [self.cells(name, output, size) for name, output in zip(self.outputs, outputs, strict=True)]

    def checked_network(self) -> Network:
        """Return the network; raise if it has changed, or does not have the outputs."""
        network = self.network()
        if not network.digest.startswith(self.digest):
            raise ValueError(f"{self.path}: has changed while it was in use; start again")
        known = [output.name for output in network.session.get_outputs()]
        if not self.outputs or not set(self.outputs) <= set(known):
            raise ValueError(
                f"{self.path}: has the outputs {known}: expected some of them, not {self.outputs}"
            )
        return network

    def map_key(self, digest: str, image: Image, size: Size) -> str:
        """Hash of all that maps depend on."""
        how = [MAPS_VERSION, digest, self.outputs, self.mean, self.std, self.multiple, size, image.shape]
        hasher = hashlib.sha256(json.dumps(how).encode() + b"\n")
        hasher.update(np.ascontiguousarray(image).data)
        return hasher.hexdigest()[:32]

    def input_size(self, image: Image, asked: Sequence[int | str | None]) -> Size:
        """Height and width of the input.

        Images are not padded to the multiple, but enlarged or shrunk by a few pixels: the cells then cover
        exactly the image, and none sees what is not in it.
        """
        if self.size is not None:
            return self.size
        scale = self.scale
        if self.max_input is not None:
            scale = min(scale, self.max_input / max(image.shape[:2]))
        height, width = (
            want if isinstance(want, int) else max(1, round(length * scale / self.multiple)) * self.multiple
            for length, want in zip(image.shape, asked, strict=False)
        )
        if height * width > MAX_INPUT:
            wanted = f"expected at most {MAX_INPUT // 1_000_000} million"
            raise ValueError(f"{self.path}: its input would have {height} x {width} pixels: {wanted}")
        return height, width

    def prepared(self, image: Image, size: Size) -> NDArray[np.float32]:
        """Return the image as the network takes it: float32 [1, 3, H, W]."""
        shrinks = size[0] * size[1] < image.shape[0] * image.shape[1]
        way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        channels = cv2.split(cv2.resize(image, size[::-1], interpolation=way))
        found = np.empty((1, 3, *size), dtype=np.float32)
        for c, (one, mean, std) in enumerate(zip(channels, self.mean, self.std, strict=True)):
            np.subtract(one, np.float32(mean), out=found[0, c])
            found[0, c] /= np.float32(std)
        return found

    def cells(self, name: str, output: NDArray[Any], size: Size) -> Cells:
        """Return an output for an input of the size."""
        rows, columns = size[0] // self.multiple, size[1] // self.multiple
        if output.ndim == 4 and len(output) == 1:
            return output[0].reshape(output.shape[1], -1).T, (output.shape[2], output.shape[3])
        if output.ndim == 3 and len(output) == 1 and output.shape[1] >= rows * columns:
            return output[0, output.shape[1] - rows * columns :], (rows, columns)
        wanted = "expected [1, C, h, w], or [1, N, C] with a token for each patch"
        raise ValueError(f"{self.path}: output {name!r} has shape {list(output.shape)}: {wanted}")


def file_stamp(path: Path) -> Stamp:
    """Return what tells that a file has changed."""
    try:
        status = path.stat()
    except OSError as error:
        what = f"{path}: there is no network: {error.strerror}; correct the path"
        raise FileNotFoundError(what) from None
    if not stat.S_ISREG(status.st_mode):  # A pipe, or a device, would be read forever.
        raise FileNotFoundError(f"{path}: there is no network: not a file; correct the path")
    return status.st_mtime_ns, status.st_size


@dataclass(frozen=True, eq=False)
class Network:
    """A network that was loaded, and the hash of the file that it was loaded from."""

    session: onnxruntime.InferenceSession
    digest: str


opening = Lock()


def open_network(path: str, outputs: tuple[str, ...] | None = None, free: bool = False) -> Network:
    """Return the network in a file, or its part up to outputs inside it, see ``graph.part``.

    All threads share one session, and each runs it on itself alone.
    """
    with opening:
        return new_network(path, file_stamp(Path(path)), outputs, free and outputs is not None)


@lru_cache(maxsize=6)
def new_network(
    path: str, _stamp: Stamp, outputs: tuple[str, ...] | None = None, free: bool = False
) -> Network:
    """Load a network; what is hashed is what is loaded."""
    content = Path(path).read_bytes()
    try:
        beside = [Path(path).parent / name for name in external_files(content)]
        if outputs is not None:
            source = part_of(path, outputs, free).SerializeToString()
        else:
            # Only a network that is loaded by its path finds weights in files beside it.
            source = path if beside else content
        session = new_session(source)
    except Exception as error:  # the errors of both libraries have nothing else in common
        raise ValueError(f"{path}: cannot be loaded: {error}; delete it, or export it anew") from error
    inputs = [(one.name, one.type, one.shape) for one in session.get_inputs()]
    if len(inputs) != 1 or inputs[0][1] != "tensor(float)" or len(inputs[0][2]) != 4 or inputs[0][2][1] != 3:
        raise ValueError(
            f"{path}: has the inputs {inputs}: expected one, tensor(float) of shape [1, 3, H, W]"
        )
    digests = [content_digest(one.read_bytes()) for one in beside if file_stamp(one)]
    return Network(session, content_digest(b"".join([content, *map(str.encode, digests)])))


def part_of(path: str, outputs: tuple[str, ...], free: bool) -> onnx.ModelProto:
    """Return the part of a network, with weights that are in files beside it, up to outputs."""
    model = onnx.load_model(path)
    if missing := set(outputs) - {*values(model), image_input(model).name}:
        raise ValueError(f"there are no values {sorted(missing)} in it")
    return part(model, outputs, free)


def new_session(source: str | bytes) -> onnxruntime.InferenceSession:
    """Return a network that is ready to run, in the thread that asks for it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def external_files(content: bytes) -> list[str]:
    """Return the names of files with weights that a network in ONNX refers to."""
    graph = onnx.load_model_from_string(content).graph
    constants = [attribute.t for node in graph.node for attribute in node.attribute]
    entries = [entry for tensor in (*graph.initializer, *constants) for entry in tensor.external_data]
    return sorted({entry.value for entry in entries if entry.key == "location"})


def content_digest(content: bytes) -> str:
    """Hash of what is in a file."""
    return hashlib.sha256(content).hexdigest()
