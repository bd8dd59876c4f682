"""Several files changed at once: killed anywhere, all are old or all are new."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from multiutility.locks import HeldError, holding
from multiutility.transactions import JOURNAL, STAGE, changing, settle, undo, undoable

OLD = {"tags.csv": b"old", "masks/a.png": b"old mask", "gone.csv": b"going"}
NEW = {"tags.csv": b"new", "masks/a.png": b"new mask", "aside/b.csv": b"more"}

# Ends at the given call of any function of the system that changes files, as a kill would.
KILLED = """
import os, sys
from pathlib import Path
count = int(sys.argv[2])
def dying(function):
    def called(*args, **kwargs):
        global count
        count -= 1
        if count < 0:
            os._exit(9)
        return function(*args, **kwargs)
    return called
from multiutility.transactions import changing
with changing(Path(sys.argv[1]), Path(sys.argv[1]) / "undo") as change:
    for name in ("replace", "unlink", "fsync", "mkdir", "rmdir"):
        setattr(os, name, dying(getattr(os, name)))
    change.write("tags.csv", b"new")
    change.write("masks/a.png", b"new mask")
    change.write("aside/b.csv", b"more")
    change.remove("gone.csv")
"""


def written(folder: Path) -> Path:
    for name, content in OLD.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(content)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "undo")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_killed_anywhere_it_is_the_old_state_or_the_new(tmp_path: Path) -> None:
    ends = []
    for count in range(60):
        folder = written(tmp_path / str(count))
        command = [sys.executable, "-c", KILLED, str(folder), str(count)]
        code = subprocess.run(command, check=False).returncode
        settle(folder)
        seen = {
            name: found for name, found in content(folder).items() if not name.startswith((".", f"{STAGE}/"))
        }
        assert seen in (OLD, NEW)
        ends.append(seen == NEW)
        # The next one is not in its way.
        with changing(folder) as change:
            change.write("tags.csv", b"next")
        assert (folder / "tags.csv").read_bytes() == b"next"
        assert not (folder / STAGE).exists()
        if code == 0:
            break
    assert code == 0
    assert ends == sorted(ends)
    assert {True, False} <= set(ends)


def test_an_error_changes_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path)
    with pytest.raises(FileNotFoundError), changing(folder) as change:
        change.write("tags.csv", (folder / "there is none").read_bytes())
    assert content(folder) == OLD


def test_what_was_done_is_undone_unless_something_came_after(tmp_path: Path) -> None:
    folder, kept = written(tmp_path), tmp_path / "undo"
    for later in (False, True):
        with changing(folder, kept, "all") as change:
            for name, new in NEW.items():
                change.write(name, new)
            change.remove("gone.csv")
        assert content(folder) == NEW
        assert undoable(folder, kept) == "all"
        if later:
            (folder / "tags.csv").write_bytes(b"mine")
            assert undoable(folder, kept) is None
            with pytest.raises(ValueError, match="other changes came after"):
                undo(folder, kept)
        else:
            undo(folder, kept)
            assert content(folder) == OLD
            assert undoable(folder, kept) is None


def test_nothing_is_undone_that_files_beside_it_depend_on(tmp_path: Path) -> None:
    folder, kept = written(tmp_path), tmp_path / "undo"
    (folder / "masks").mkdir(exist_ok=True)
    (folder / "masks" / "a.png").write_bytes(b"a")
    for later in ("masks/a.png", "masks/b.png", "boxes.csv"):
        with changing(folder, kept, "names", ["boxes.csv", "masks/*"]) as change:
            change.write("tags.csv", later.encode())
        (folder / "notes.txt").write_text("nobody cares")
        assert undoable(folder, kept) == "names"
        (folder / later).write_bytes(b"by the new names")
        assert undoable(folder, kept) is None


def test_one_process_at_a_time(tmp_path: Path) -> None:
    folder = written(tmp_path)
    with holding(folder / STAGE), pytest.raises(HeldError), changing(folder):
        pass


@pytest.mark.parametrize("name", ["../x", "/etc/x", ".hidden", "a/../../x", "C:\\x", "", 7])
def test_journals_of_strangers_write_nowhere_else(tmp_path: Path, name: object) -> None:
    folder = written(tmp_path / "data")
    (folder / STAGE).mkdir()
    (folder / STAGE / "0").write_bytes(b"evil")
    names = {name: "0"} if isinstance(name, str) else {"x": name}
    (folder / STAGE / JOURNAL).write_text(json.dumps(names))
    with pytest.raises(ValueError, match="damaged"):
        settle(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_links_lead_nowhere(tmp_path: Path) -> None:
    folder, home = written(tmp_path / "data"), tmp_path / "home"
    home.mkdir()
    (folder / "link").symlink_to(home)
    (folder / STAGE).mkdir()
    (folder / STAGE / "0").write_bytes(b"evil")
    (folder / STAGE / JOURNAL).write_text(json.dumps({"link/x": "0"}))
    with pytest.raises(ValueError, match="leads out"):
        settle(folder)
    assert not list(home.iterdir())
    assert not (home / "x").exists()


def test_nobody_changes_files_elsewhere(tmp_path: Path) -> None:
    folder, home = written(tmp_path / "data"), tmp_path / "home"
    home.mkdir()
    (folder / "aside").symlink_to(home)
    with pytest.raises(ValueError, match="leads out"), changing(folder) as change:
        change.write("aside/tags.csv", b"new")
    assert not list(home.iterdir())
    (folder / "aside").unlink()
    assert content(folder) == OLD  # nothing waits to be completed
