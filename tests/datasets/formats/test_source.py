"""Hostile and damaged files of other programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats import source
from multiutility.datasets.formats.source import JsonObject, read_json, read_xml, unique_names


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"[NaN]",
        b"[-Infinity]",
        b"\xff\xfe{}\xff",
        b"[" * 200_000,
        b"[" + b"9" * 10_000 + b"]",
        b"",
        b"\x80",
    ],
)
def test_bad_json_is_an_error_of_the_file(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text)
    with pytest.raises(DatasetError, match=r"bad\.json: is n") as caught:
        read_json(path)
    assert caught.value.fix


def test_large_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_text('"' + "x" * 1000 + '"')
    assert len(read_json(path, limit=1002)) == 1000
    with pytest.raises(DatasetError, match="more than 0 MB"):
        read_json(path, limit=1001)


def test_missing_files_and_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("pipe.json", "none.json"):
        with pytest.raises(DatasetError, match="no such file"):
            read_json(tmp_path / name)


LAUGHS = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 20))


@pytest.mark.parametrize(
    "text",
    [
        f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l19;</a>',
        '<!DOCTYPE a SYSTEM "http://localhost/a.dtd"><a/>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        "<!DOCTYPE a><a/>",
        "<a><b></a>",
        "<a>&unknown;</a>",
        "",
        "<a/><b/>",
        '<?xml version="1.0" encoding="no-such-code"?><a/>',
    ],
)
def test_documents_with_types_or_damages_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.xml"
    path.write_text(text)
    with pytest.raises(DatasetError, match=r"bad\.xml: is not plain XML"):
        read_xml(path)


def test_large_xml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.xml"
    path.write_bytes(b"<a>" + b" " * (1 << 24) + b"</a>")
    with pytest.raises(DatasetError, match="more than 16 MB"):
        read_xml(path)


def test_plain_xml_is_read_with_any_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(
        '<?xml version="1.0" encoding="latin-1"?><a><b>K\xe4se &amp; Brot</b></a>'.encode("latin-1")
    )
    assert read_xml(path).findtext("b") == "K\xe4se & Brot"


RECORD = JsonObject(
    Path("f.json"),
    "images[3]",
    {"t": "x", "i": 3, "f": 3.5, "b": True, "n": None, "l": [1, 2.5], "inf": 1e999},
)


@pytest.mark.parametrize(
    ("method", "key", "wanted"),
    [
        ("text", "i", "expected text"),
        ("text", "none", "missing"),
        ("integer", "f", "whole number"),
        ("integer", "b", "whole number"),
        ("integer", "inf", "whole number"),
        ("number", "t", "a number"),
        ("number", "n", "a number"),
        ("number", "inf", "a number"),
        ("numbers", "t", "list of numbers"),
        ("points", "l", "points"),
        ("texts", "l", "texts"),
        ("record", "l", "not a JSON object"),
        ("records", "t", "a list"),
    ],
)
def test_records_name_what_is_wrong(method: str, key: str, wanted: str) -> None:
    with pytest.raises(DatasetError, match=wanted) as caught:
        getattr(RECORD, method)(key)
    assert "f.json: images[3]" in str(caught.value)
    assert key in str(caught.value)


def test_records_give_what_is_asked_for() -> None:
    assert (RECORD.text("t"), RECORD.integer("i"), RECORD.number("f"), RECORD.numbers("l")) == (
        "x",
        3,
        3.5,
        [1, 2.5],
    )
    assert JsonObject(Path("f"), "", {"i": 4.0}).integer("i") == 4
    assert [list(RECORD.records("none")), RECORD.has("n"), RECORD.has("b")] == [[], False, True]
    with pytest.raises(DatasetError, match="3 numbers"):
        RECORD.numbers("l", 3)


def test_names_differ_even_where_case_does_not_count() -> None:
    paths = [Path("r/a/1.jpg"), Path("r/b/1.JPG"), Path("r/b/2.jpg"), Path("r/B.jpg"), Path("r/b.jpg.png")]
    names = unique_names(paths)
    assert names == ["a-1.jpg", "b-1.JPG", "2", "B", "b.jpg"]
    with pytest.raises(DatasetError, match="same name"):
        unique_names([Path("a/1.jpg"), Path("a/1.jpg")])


def test_json_of_many_values_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text("[" + ",".join(["[]"] * 100) + "]")
    assert len(read_json(path)) == 100
    monkeypatch.setattr(source, "MAX_JSON_VALUES", 150)
    with pytest.raises(DatasetError, match="million values; export fewer images"):
        read_json(path)
