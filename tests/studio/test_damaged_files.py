"""Files that the studio keeps, damaged in all ways: it starts, sets them aside, and says so."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

from multiutility.datasets.folder import DatasetFolder
from multiutility.studio.app import make_app
from multiutility.studio.pictures import Pictures
from multiutility.studio.places import Places, StudioWarning
from multiutility.studio.predictions import VERSION, Files, Predictions
from multiutility.studio.training import Training
from studio_cases import write_small_model

DAMAGED_JOBS: list[bytes] = [
    b'{"status": "do',
    b"",
    b"[]",
    b"3",
    b"{}",
    b'{"status": "flying"}',
    b'{"status": 5}',
    b'{"status": "running", "id": 5}',
    b'{"status": "running", "options": {"features": "x"}}',
    b"\xff\xfe",
    b"[" * 100_000,
]
STATE = b'{"type": "state", "status": "done"}\n'


@pytest.mark.parametrize("content", DAMAGED_JOBS, ids=range(len(DAMAGED_JOBS)))
def test_a_damaged_job_is_set_aside(folder: Path, content: bytes) -> None:
    places = Places(folder)
    places.own.mkdir()
    for other in ("", "1"):
        places.job.write_bytes(content)
        with pytest.warns(
            StudioWarning, match=rf"job\.json: damaged .*it is now job\.json\.damaged{other}, "
        ):
            make_app(folder, "token", 1)
        assert not places.job.exists()
        assert places.own.joinpath(f"job.json.damaged{other}").read_bytes() == content
    assert Training(places).state() == {"status": "none", "n_events": 0}


@pytest.mark.parametrize("bad", [b"{\n", b"[]\n", b'{"status": "done"}\n', b'{"type": "error"}\n', b"\xff\n"])
def test_damaged_events_are_set_aside(folder: Path, bad: bytes) -> None:
    places = Places(folder)
    places.own.mkdir()
    places.job.write_text(json.dumps({"status": "done", "id": "a"}))
    places.events.write_bytes(STATE + bad + STATE)
    with pytest.warns(StudioWarning, match=r"events\.jsonl: damaged"):
        assert Training(places).state() == {"status": "done", "id": "a", "n_events": 0}
    assert places.own.joinpath("events.jsonl.damaged").read_bytes() == STATE + bad + STATE


def test_an_event_that_was_cut_off_does_not_spoil_the_next(folder: Path) -> None:
    places = Places(folder)
    places.own.mkdir()
    places.events.write_bytes(STATE + STATE[:9])
    job = Training(places)
    assert job.state()["n_events"] == 1
    asyncio.run(job.dismiss())
    assert Training(places).state()["n_events"] == 2


@pytest.fixture
def model(folder: Path) -> Places:
    """The studio's places with a model."""
    return write_small_model(folder)


def test_damaged_facts_of_a_model_are_set_aside(model: Places) -> None:
    for content in (b'{"learned": 3}', b"[1]", b"{"):
        model.facts.write_bytes(content)
        with pytest.warns(StudioWarning, match=r"model\.json: damaged"):
            assert model.read_facts() == {}
        assert not model.facts.exists()
    assert len(list(model.own.glob("model.json.damaged*"))) == 3


def test_damaged_predictions_are_made_anew(model: Places) -> None:
    predictions, samples = Predictions(model), list(DatasetFolder(model.folder))
    current = predictions.model()
    assert current is not None
    expected = predictions.read(current, samples[0])
    files = Files.of(model.predictions / f"{current.key}-{VERSION}", samples[0].name)
    for path in (files.mask, files.scores):
        content = path.read_bytes()
        for damaged in (b"", content[: len(content) // 2], b"no picture"):
            path.write_bytes(damaged)
            with pytest.warns(StudioWarning, match=r"\.png.*predicted anew"):
                found = predictions.read(current, samples[0])
            np.testing.assert_array_equal(found, expected)
            assert path.read_bytes() == content
    content = files.belief.read_bytes()
    for damaged in (b"", b"{}", b'{"patches": [[1]], "place": []}', b"\xff"):
        files.belief.write_bytes(damaged)
        with pytest.warns(StudioWarning, match=r"\.json: damaged"):
            assert Predictions(model).beliefs(current, [samples[0].name]) == {}
        predictions.read(current, samples[0])
        assert files.belief.read_bytes() == content


def test_damaged_pictures_are_made_anew(folder: Path, tmp_path: Path) -> None:
    pictures, path = Pictures(tmp_path / "cache"), next(iter(DatasetFolder(folder))).path
    expected = pictures.thumbnail(path), pictures.regions(path, 0)
    for file in [one for one in (tmp_path / "cache").rglob("*") if one.is_file()]:
        content = file.read_bytes()
        for damaged in (b"", content[:-1], content[:-1] + bytes([content[-1] ^ 1])):
            file.write_bytes(damaged)
            assert (pictures.thumbnail(path), pictures.regions(path, 0)) == expected
            assert file.read_bytes() == content
