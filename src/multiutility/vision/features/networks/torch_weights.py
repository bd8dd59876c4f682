"""Weights of networks, read from both kinds of PyTorch files without PyTorch and without running them."""

from __future__ import annotations

import errno
import math
import pickletools
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001

STORAGES = {
    "torch FloatStorage": "<f4",
    "torch DoubleStorage": "<f8",
    "torch HalfStorage": "<f2",
    "torch LongStorage": "<i8",
    "torch IntStorage": "<i4",
}
MAPPING = "collections OrderedDict"
TENSOR = "torch._utils _rebuild_tensor_v2"
# What describes tensors is small; it is taken into memory as a whole.
MAX_PROGRAM = 64 * 2**20


# What goes wrong in a damaged file, which may say that a string is longer than any memory.
DAMAGES = (
    *(ValueError, LookupError, TypeError, AttributeError, OverflowError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, EOFError, RuntimeError),
)


class WeightsError(ValueError):
    """A file of weights is damaged, or of a kind that is not read here."""


@dataclass(frozen=True)
class Name:
    """A name that the file refers to; it is never imported."""

    text: str


@dataclass(frozen=True)
class Storage:
    """A block of numbers, stored after all that refers to it."""

    key: str
    dtype: str
    size: int


@dataclass(frozen=True)
class Tensor:
    """A view of a storage; offset and strides in elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Mark:
    """Where a run of values begins on the stack."""


def read_weights(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a state dictionary saved by ``torch.save``, by name.

    Such a file is made of programs for the ``pickle`` machine, or, since PyTorch 1.6, is a zip archive with
    one. The few instructions that describe tensors are interpreted here; a file with any other, which could
    run code if it were unpickled, is refused.
    """
    try:
        with path.open("rb") as file:
            if zipfile.is_zipfile(file):
                return checked_archive(file)
            file.seek(0)
            if (run(file), run(file)) != (MAGIC, VERSION):
                raise WeightsError("expected a state dictionary that PyTorch has saved")
            if run(file).get("little_endian") is not True:
                raise WeightsError("expected little-endian numbers")
            tensors, keys = run(file), run(file)
            storages = read_storages(file, keys, tensors)
            return {name: view(tensor, storages) for name, tensor in tensors.items()}
    except DAMAGES as error:
        raise WeightsError(f"{path}: cannot read these weights: {error}; install the package anew") from error


def checked_archive(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Read a zip archive, which may be damaged so that it sends its reader to a place before its start."""
    try:
        return read_archive(file)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise WeightsError("its archive is damaged") from error


def read_archive(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Read a zip archive: ``data.pkl`` describes the tensors, and each storage is a file of ``data/``."""
    with zipfile.ZipFile(file) as archive:
        programs = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(programs) != 1:
            raise WeightsError("expected one data.pkl in the archive, as PyTorch writes it")
        folder = programs[0].removesuffix("data.pkl")
        order = f"{folder}byteorder"
        if order in archive.namelist() and archive.read(order) != b"little":
            raise WeightsError("expected little-endian numbers")
        if archive.getinfo(programs[0]).file_size > MAX_PROGRAM:
            raise WeightsError("its data.pkl is too long")
        tensors = run(BytesIO(archive.read(programs[0])))
        storages: dict[str, NDArray[Any]] = {}
        for storage in {tensor.storage for tensor in tensors.values()}:
            info = archive.getinfo(f"{folder}data/{storage.key}")
            # Compared before it is read: an archive can hold far more than its own size.
            if info.file_size != storage.size * np.dtype(storage.dtype).itemsize:
                raise WeightsError(f"storage {storage.key} is not as long as it should be")
            storages[storage.key] = np.frombuffer(archive.read(info), storage.dtype)
        return {name: view(tensor, storages) for name, tensor in tensors.items()}


def read_storages(file: BinaryIO, keys: list[str], tensors: dict[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Read the blocks of numbers, in the order of ``keys``, each after its number of elements."""
    declared = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    storages = {}
    for key in keys:
        storage = declared[key]
        (size,) = np.frombuffer(file.read(8), "<i8")
        if size != storage.size:
            raise WeightsError(f"storage {key} has {size} elements, {storage.size} were expected")
        values = np.frombuffer(file.read(size * np.dtype(storage.dtype).itemsize), storage.dtype)
        if len(values) != size:
            raise WeightsError(f"the file ends in storage {key}")
        storages[key] = values
    return storages


def view(tensor: Tensor, storages: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a copy of the tensor; raise if it reaches beyond its storage."""
    values = storages[tensor.storage.key]
    if len(tensor.shape) != len(tensor.strides) or min(tensor.offset, 0, *tensor.shape, *tensor.strides) < 0:
        raise WeightsError(f"storage {tensor.storage.key} is used with a bad shape or strides")
    reach = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.strides, strict=True))
    if math.prod(tensor.shape) > len(values) or tensor.offset + reach >= len(values):
        raise WeightsError(f"a tensor reaches beyond storage {tensor.storage.key}")
    steps = tuple(stride * values.itemsize for stride in tensor.strides)
    return np.lib.stride_tricks.as_strided(values[tensor.offset :], tensor.shape, steps).copy()


def run(file: BinaryIO) -> Any:
    """Interpret the program at the place of the file, and return what it makes; the file stands behind it."""
    machine = Machine()
    for operation, argument, _ in pickletools.genops(file):
        if operation.name == "STOP":
            break
        act = INSTRUCTIONS.get(operation.name)
        if act is None:
            raise WeightsError(f"instruction {operation.name} is not allowed in weights")
        act(machine, argument)
    (result,) = machine.stack
    return result


class Machine:
    """The part of the ``pickle`` machine that tensors need: values on a stack, and a memory of them."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def take(self, n: int) -> list[Any]:
        """Take the last ``n`` values off the stack."""
        if n > len(self.stack):
            raise WeightsError("the program takes more values than there are")
        return [self.stack.pop() for _ in range(n)][::-1]

    def take_to_mark(self) -> list[Any]:
        """Take all values behind the last mark, and the mark, off the stack."""
        values: list[Any] = []
        while not isinstance(last := self.take(1)[0], Mark):
            values.append(last)
        return values[::-1]

    def push_tuple(self, values: list[Any]) -> None:
        """Put the values on the stack as one."""
        self.push(tuple(values))

    def append(self, values: list[Any]) -> None:
        """Add the values to the list at the top."""
        self.stack[-1].extend(values)

    def update(self, pairs: list[Any]) -> None:
        """Set values, in turn with their keys, in the mapping at the top."""
        self.stack[-1].update(zip(pairs[::2], pairs[1::2], strict=True))

    def remember(self, place: int) -> None:
        """Remember the value at the top."""
        self.memory[place] = self.stack[-1]

    def name(self, text: str) -> None:
        """Put a name on the stack if it is one of those that tensors need."""
        if text not in (MAPPING, TENSOR, *STORAGES):
            raise WeightsError(f"{text!r} is not allowed in weights")
        self.push(Name(text))

    def call(self) -> None:
        """Make what a name stands for: an empty mapping, or a tensor."""
        function, arguments = self.take(2)
        if function == Name(MAPPING) and arguments == ():
            self.push({})
        elif function == Name(TENSOR):
            storage, offset, shape, strides, *_ = arguments
            self.push(Tensor(checked_storage(storage), int(offset), tuple(shape), tuple(strides)))
        else:
            refuse(function)

    def persistent(self) -> None:
        """Make a storage of its description."""
        kind, name, key, _device, size, *_view = self.take(1)[0]
        if kind != "storage" or not isinstance(name, Name) or name.text not in STORAGES:
            refuse(kind)
        self.push(Storage(key, STORAGES[name.text], int(size)))

    def build(self) -> None:
        """Leave out what ``torch.save`` notes besides the values of a mapping."""
        self.take(1)
        if not isinstance(self.stack[-1], dict):
            refuse(self.stack[-1])


def checked_storage(value: object) -> Storage:
    """Return the value if it is a storage."""
    return value if isinstance(value, Storage) else refuse(value)


def refuse(value: object) -> NoReturn:
    """Raise: the program asks for something that weights do not need."""
    raise WeightsError(f"a {type(value).__name__} is not allowed here in weights")


INSTRUCTIONS: dict[str, Callable[[Machine, Any], None]] = {
    "PROTO": lambda _machine, _version: None,
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), Machine.remember),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), lambda machine, place: machine.push(machine.memory[place])),
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"), Machine.push),
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "MARK": lambda machine, _: machine.push(Mark()),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "TUPLE": lambda machine, _: machine.push_tuple(machine.take_to_mark()),
    "TUPLE1": lambda machine, _: machine.push_tuple(machine.take(1)),
    "TUPLE2": lambda machine, _: machine.push_tuple(machine.take(2)),
    "TUPLE3": lambda machine, _: machine.push_tuple(machine.take(3)),
    "APPEND": lambda machine, _: machine.append(machine.take(1)),
    "APPENDS": lambda machine, _: machine.append(machine.take_to_mark()),
    "SETITEM": lambda machine, _: machine.update(machine.take(2)),
    "SETITEMS": lambda machine, _: machine.update(machine.take_to_mark()),
    "GLOBAL": Machine.name,
    "REDUCE": lambda machine, _: machine.call(),
    "BINPERSID": lambda machine, _: machine.persistent(),
    "BUILD": lambda machine, _: machine.build(),
}
