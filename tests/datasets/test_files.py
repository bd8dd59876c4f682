"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from multiutility.files import filling, remove_leftovers, replacing
from multiutility.outputs import MANIFEST, Outputs, writing


def test_a_file_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")

    def write_half() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_killed_process_leaves_the_old_file_and_nothing_visible(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")
    script = """
import os, signal, sys
from multiutility.files import filling, remove_leftovers, replacing
from multiutility.outputs import MANIFEST, Outputs, writing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == ["file.txt"]


def test_files_are_as_readable_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    with replacing(tmp_path / "replaced"):
        pass
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "replaced")}
    assert len(modes) == 1


def test_a_new_folder_appears_at_once_or_never(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder"
    with filling(path) as folder:
        (folder / "part").write_text("one")
        assert not path.exists()
    assert (path / "part").read_text() == "one"

    def fill_half(place: Path) -> None:
        with filling(place) as folder:
            (folder / "part").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill_half(tmp_path / "deep" / "other")
    with pytest.raises(KeyboardInterrupt):
        fill_half(path)
    assert os.listdir(tmp_path / "deep") == ["folder"]
    assert (path / "part").read_text() == "one"


def test_a_folder_is_filled_with_one_part_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").touch()
    order: list[str] = []
    replace = os.replace

    def noted(source: Path, target: Path) -> None:
        order.append(target.name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", noted)
    with filling(tmp_path, last="a") as folder:
        for name in ("a", "c", "b"):
            (folder / name).touch()
    assert order == ["b", "c", "a"]
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c", "mine"]


def test_errors_name_the_file_that_is_wanted(tmp_path: Path) -> None:
    def write(path: Path, error: OSError | None = None) -> None:
        with replacing(path):
            if error is not None:
                raise error

    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*/missing/file'"):
        write(tmp_path / "missing" / "file")
    with pytest.raises(OSError, match=r"No space left on device: '.*/file'"):
        write(tmp_path / "file", OSError(28, "No space left on device"))


def test_leftovers_of_the_dead_are_removed_and_nothing_else(tmp_path: Path) -> None:
    killed = """
import os, signal, sys
from multiutility.files import filling
with filling(sys.argv[1]) as folder:
    (folder / "part").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "out"
    for existing in (False, True):
        subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
        place = path if existing else tmp_path
        (left,) = place.glob(".*.tmp")
        # As others would be named: of a process that lives, of another machine, of the user.
        machine, process = left.name.split("-")[1:3]
        names = [
            left.name.replace(f"-{process}-", f"-{os.getpid()}-"),
            left.name.replace(machine, "0" * 8),
            left.name.replace(process, "notes"),
            f"{left.name}.tmp",
        ]
        for name in names:
            (place / name).mkdir()
            (place / name / "mine").touch()
        with filling(path) as folder:
            (folder / "whole").touch()
        assert not left.exists()
        assert all((place / name / "mine").exists() for name in names)


def test_commands_remove_what_the_dead_left_in_their_folders(tmp_path: Path) -> None:
    killed = """
import os, signal, sys
from multiutility.files import replacing
with replacing(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", killed, str(tmp_path / "one")], check=False)
    (left,) = tmp_path.iterdir()
    machine, process = left.name.split("-")[1:3]
    names = {
        left.name.replace(f"-{process}-", f"-{os.getpid()}-"),
        left.name.replace(machine, "0" * 8),
        f".{process}.tmp",
        f"{left.name}.tmp",
    }
    for name in names:
        (tmp_path / name).touch()
    with replacing(tmp_path / "two"):
        pass
    assert left.exists()
    with writing(Outputs("test", tmp_path, ["three"])), replacing(tmp_path / "three"):
        pass
    assert set(os.listdir(tmp_path)) == {*names, "two", "three", MANIFEST}


def test_leftovers_are_those_of_the_same_file(tmp_path: Path) -> None:
    killed = """
import os, signal, sys
from multiutility.files import replacing
with replacing(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    for name in ("one", "two"):
        subprocess.run([sys.executable, "-c", killed, str(tmp_path / name)], check=False)
    assert len(os.listdir(tmp_path)) == 2
    remove_leftovers(tmp_path / "one")
    assert len(os.listdir(tmp_path)) == 1
    remove_leftovers(tmp_path / "two")
    assert os.listdir(tmp_path) == []
