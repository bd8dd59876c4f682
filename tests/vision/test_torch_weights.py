"""Weights of PyTorch: against files written by ``pickle``, as PyTorch does, and broken ones."""

from __future__ import annotations

import io
import os
import pickle
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from multiutility.vision.features.networks.torch_weights import MAGIC, VERSION, WeightsError, read_weights


class FloatStorage:
    """Named in files for values of float32."""


class LongStorage:
    """Named in files for values of int64."""


def _rebuild_tensor_v2(*_arguments: Any) -> None:
    """Named in files to make a tensor."""


@dataclass(frozen=True, eq=False)
class Stored:
    """Values in one dimension, of which tensors are views."""

    key: str
    values: NDArray[Any]


@dataclass(frozen=True, eq=False)
class View:
    """A tensor, as PyTorch describes it."""

    storage: Stored
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        place = self.storage, self.offset, self.shape, self.strides
        return _rebuild_tensor_v2, (*place, False, OrderedDict())


class Writer(pickle.Pickler):
    """Writes storages by their descriptions only."""

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, Stored):
            return None
        kind = {"f": FloatStorage, "i": LongStorage}[obj.values.dtype.kind]
        return "storage", kind, obj.key, "cpu", len(obj.values), None


@pytest.fixture(autouse=True)
def _torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for the modules that ``pickle`` looks for while it writes names of theirs."""
    torch, inner = ModuleType("torch"), ModuleType("torch._utils")
    for module, value in ((torch, FloatStorage), (torch, LongStorage), (inner, _rebuild_tensor_v2)):
        monkeypatch.setattr(value, "__module__", module.__name__)
        setattr(module, value.__name__, value)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", inner)


def saved(tensors: Mapping[str, Any], storages: list[Stored]) -> bytes:
    """Return a file, as ``torch.save`` made it before PyTorch 1.6."""
    file = io.BytesIO()
    system = {"protocol_version": VERSION, "little_endian": True, "type_sizes": {"short": 2, "long": 4}}
    for value in (MAGIC, VERSION, system):
        pickle.dump(value, file, protocol=2)
    state = OrderedDict(tensors)
    vars(state)["_metadata"] = OrderedDict({"": {"version": 1}})
    Writer(file, protocol=2).dump(state)
    pickle.dump([storage.key for storage in storages], file, protocol=2)
    for storage in storages:
        file.write(np.int64(len(storage.values)).tobytes() + storage.values.tobytes())
    return file.getvalue()


def archived(tensors: Mapping[str, Any], storages: list[Stored], order: bytes = b"little") -> bytes:
    """Return a file, as ``torch.save`` makes it since PyTorch 1.6."""
    program, file = io.BytesIO(), io.BytesIO()
    state = OrderedDict(tensors)
    vars(state)["_metadata"] = OrderedDict({"": {"version": 1}})
    Writer(program, protocol=2).dump(state)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("net/data.pkl", program.getvalue())
        archive.writestr("net/byteorder", order)
        for storage in storages:
            archive.writestr(f"net/data/{storage.key}", storage.values.tobytes())
        archive.writestr("net/version", b"3\n")
    return file.getvalue()


SAVERS = pytest.mark.parametrize("save", [saved, archived])


def example() -> tuple[dict[str, View], list[Stored]]:
    floats = Stored("100", np.arange(12, dtype=np.float32))
    count = Stored("200", np.array([7], dtype=np.int64))
    tensors = {
        "rows": View(floats, 0, (3, 4), (4, 1)),
        "turned": View(floats, 0, (4, 3), (1, 4)),
        "part": View(floats, 5, (2, 2), (4, 1)),
        "count": View(count, 0, (), ()),
    }
    return tensors, [count, floats]


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@SAVERS
def test_tensors_are_views_of_their_storages(tmp_path: Path, save: Any) -> None:
    found = read_weights(written(tmp_path / "a.pth", save(*example())))
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert list(found) == ["rows", "turned", "part", "count"]
    np.testing.assert_array_equal(found["rows"], values)
    np.testing.assert_array_equal(found["turned"], values.T)
    np.testing.assert_array_equal(found["part"], [[5, 6], [9, 10]])
    assert found["count"] == 7
    assert {name: array.dtype.str for name, array in found.items()} == {
        "rows": "<f4",
        "turned": "<f4",
        "part": "<f4",
        "count": "<i8",
    }
    found["part"][:] = 0  # copies: writeable, and on their own
    np.testing.assert_array_equal(found["rows"], values)


@dataclass(frozen=True)
class Command:
    """Something that ``pickle`` would run."""

    target: str

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.target,)


@SAVERS
def test_code_is_refused_and_not_run(tmp_path: Path, save: Any) -> None:
    target = tmp_path / "made-by-code"
    path = written(tmp_path / "a.pth", save({"x": Command(str(target))}, []))
    with pytest.raises(WeightsError, match="mkdir"):
        read_weights(path)
    assert not target.exists()


@SAVERS
@pytest.mark.parametrize(
    ("view", "message"),
    [
        (lambda s: View(s, 0, (13,), (1,)), "beyond"),
        (lambda s: View(s, 9, (4,), (1,)), "beyond"),
        (lambda s: View(s, 0, (2, 2), (9, 3)), "beyond"),
        (lambda s: View(s, 0, (1000, 1000), (0, 0)), "beyond"),
        (lambda s: View(s, -1, (4,), (1,)), "shape"),
        (lambda s: View(s, 4, (4,), (-1,)), "shape"),
        (lambda s: View(s, 0, (4, 2), (1,)), "shape"),
    ],
)
def test_tensors_stay_inside_their_storages(tmp_path: Path, view: Any, message: str, save: Any) -> None:
    storage = Stored("1", np.zeros(12, dtype=np.float32))
    path = written(tmp_path / "a.pth", save({"x": view(storage)}, [storage]))
    with pytest.raises(WeightsError, match=message):
        read_weights(path)


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    whole, packed = saved(*example()), archived(*example())
    longer = [replace(one, values=np.repeat(one.values, 2)) for one in example()[1]]
    wrong = {
        "empty": b"",
        "text": b"hello",
        "archive": b"PK\x03\x04" + bytes(60),
        "cut": packed[:-30],
        # It tells that its list of files begins later than it does, so that the first would be before 0.
        "early": packed[:-3] + b"\x01" + packed[-2:],
        "strange": packed.replace(b"data.pkl", b"data.txt"),
        "big-endian": archived(*example(), order=b"big"),
        "longer": archived(example()[0], longer),
        "lost": archived(example()[0], example()[1][:1]),
        "truncated": whole[:-1],
        "number": pickle.dumps(MAGIC + 1, protocol=2) + whole[15:],
        "newer": pickle.dumps({"x": np.zeros(3)}, protocol=4),
    }
    for name, content in wrong.items():
        with pytest.raises(WeightsError, match=f"{name}.pth: cannot read these weights"):
            read_weights(written(tmp_path / f"{name}.pth", content))


@SAVERS
@given(st.data())
def test_damaged_files_raise_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, save: Any, data: st.DataObject
) -> None:
    content = bytearray(save(*example()))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.pth"
    try:
        found = read_weights(written(path, bytes(content)))
    except WeightsError:
        return
    assert all(isinstance(array, np.ndarray) for array in found.values())
