"""The dataset folder, as it is read."""

from __future__ import annotations

import copy
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from format_cases import CLASSES, SPLITS, mixed_samples
from multiutility.datasets import DatasetError, DatasetFolder, LabelClass, PixelBox, PixelSeed, tables
from multiutility.datasets.contents import read_contents
from multiutility.datasets.writing import write_dataset

IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def test_classes(folder: Path) -> None:
    assert tuple(DatasetFolder(folder).classes) == (
        LabelClass("grass", (0, 128, 0)),
        LabelClass("sky", (128, 128, 128)),
        LabelClass("cow", (0, 0, 128), "thing", rare=True),
    )


def test_classes_may_have_a_name_only(folder: Path) -> None:
    (folder / "classes.csv").write_text("name\ngrass\nsky\ncow\n")
    classes = DatasetFolder(folder).classes
    assert classes.names == ("grass", "sky", "cow")
    assert classes.kinds == ("stuff", "stuff", "stuff")
    assert len({one.color for one in classes}) == 3


def test_kinds_may_have_capital_letters(folder: Path) -> None:
    (folder / "classes.csv").write_text("name;kind\ngrass;STUFF\nsky;\ncow;Thing\n")
    assert DatasetFolder(folder).classes.kinds == ("stuff", "stuff", "thing")


def test_images_and_their_annotations(folder: Path) -> None:
    dataset = DatasetFolder(folder)
    assert dataset.names == ("a", "b", "c")
    assert len(dataset) == 3
    assert [sample.name for sample in dataset] == ["a", "b", "c"]
    for sample in dataset:
        np.testing.assert_array_equal(sample.image(), IMAGE)
        assert sample.size() == (4, 6)
    everything = dataset["a"].annotation()
    assert everything.tags == (0, 1)
    assert everything.boxes == (PixelBox(2, 2, 1, 4, 4),)
    assert everything.seeds == (PixelSeed(2, 2, 2), PixelSeed(2, 5, 3))
    assert everything.mask is not None
    assert everything.mask[0].tolist() == [2, 2, 2, 2, 2, 0]
    assert everything.instances is not None
    assert everything.instances.sum() == 6
    assert dataset["b"].annotation().boxes == (PixelBox(2, 0.5, 0, 6, 4),)
    assert not dataset["b"].annotation().empty
    assert dataset["c"].annotation().empty
    assert dataset["c"].mask() is None
    assert dataset["c"].instances() is None


def test_kinds(folder: Path) -> None:
    kinds = {sample.name: sample.kinds for sample in DatasetFolder(folder)}
    assert kinds == {"a": {"mask", "tags", "boxes", "seeds"}, "b": {"boxes"}, "c": frozenset()}


def test_images_are_read_when_asked_for(folder: Path) -> None:
    for path in (folder / "images" / "a.png", folder / "masks" / "a.png"):
        path.write_bytes(b"")
    sample = DatasetFolder(folder)["a"]
    with pytest.raises(DatasetError, match=r"images/a\.png"):
        sample.image()
    with pytest.raises(DatasetError, match=r"masks/a\.png"):
        sample.mask()


def test_splits(folder: Path) -> None:
    dataset = DatasetFolder(folder)
    assert dataset.splits == ("train", "validation")
    train = dataset.split("train")
    assert train.names == ("b", "a")
    assert [sample.name for sample in train] == ["b", "a"]
    assert len(train) == 2
    assert train["a"].marks.tags == (0, 1)
    assert train.classes == dataset.classes
    assert train.split("validation").names == ()
    with pytest.raises(KeyError, match="unknown image 'c'"):
        train["c"]
    assert dataset.names == ("a", "b", "c")


def test_unknown_splits_and_images(folder: Path) -> None:
    dataset = DatasetFolder(folder)
    with pytest.raises(DatasetError, match="no split 'tain'; did you mean 'train'"):
        dataset.split("tain")
    with pytest.raises(DatasetError, match=r"no split '\.\./classes'"):
        dataset.split("../classes")
    with pytest.raises(KeyError, match="unknown image 'd'"):
        dataset["d"]
    with pytest.raises(KeyError, match="is a path"):
        dataset["../images/a"]
    assert "a" in dataset
    assert "d" not in dataset


def test_selections(folder: Path) -> None:
    part = DatasetFolder(folder).select(["c", "a.png"])
    assert part.names == ("c", "a")
    assert part.select(["a"]).names == ("a",)
    with pytest.raises(KeyError, match="unknown image 'b'"):
        part.select(["b"])


def test_names_with_extension_are_accepted(folder: Path) -> None:
    append(folder / "tags.csv", "b.bmp,sky\nc.JPG,grass\n")
    (folder / "splits" / "train.txt").write_text("b.bmp\r\n\r\na\r\n")
    dataset = DatasetFolder(folder)
    assert dataset["b"].marks.tags == (1,)
    assert dataset["c"].marks.tags == (0,)
    assert dataset.split("train").names == ("b", "a")


def test_names_that_look_like_extensions(folder: Path) -> None:
    Image.fromarray(IMAGE).save(folder / "images" / "d.png.png")
    Image.fromarray(IMAGE).save(folder / "images" / "photo.2024.png")
    append(folder / "tags.csv", "d.png,sky\nphoto.2024,sky\n")
    dataset = DatasetFolder(folder)
    assert dataset["d.png"].marks.tags == (1,)
    assert dataset["photo.2024"].marks.tags == (1,)


def test_names_written_with_other_code_points(folder: Path) -> None:
    name = "Kühe"
    composed, decomposed = (unicodedata.normalize(form, name) for form in ("NFC", "NFD"))
    assert composed != decomposed
    Image.fromarray(IMAGE).save(folder / "images" / f"{decomposed}.png")
    append(folder / "tags.csv", f"{composed},sky\n")
    assert DatasetFolder(folder)[composed].marks.tags == (1,)
    assert DatasetFolder(folder)[decomposed].image().shape == (4, 6, 3)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffimage,label\na,grass\na,sky\n",
        "image,label\r\na,grass\r\na,sky\r\n",
        "image,label\ra,grass\ra,sky",
        "label,image\ngrass,a\nsky,a\n",
        "Image , Label,comment\na, grass,first\n\n,,\na,sky ,\n",
        '"image","label"\n"a","grass"\n"a","sky"',
        "image,label\na,grass\na,sky\na,grass\n",
        '\ufeffimage;label;;\r\n"a";grass;;\r\na;sky;;\r\n;;;\r\n',
        "image\tlabel\na\tgrass\na\tsky\n",
    ],
    ids=[
        *("byte order mark", "Windows", "Macintosh", "order", "spreadsheet", "quotes", "twice"),
        *("semicolons", "tabs"),
    ],
)
def test_tables_of_many_programs(folder: Path, text: str) -> None:
    (folder / "tags.csv").write_bytes(text.encode())
    assert DatasetFolder(folder)["a"].marks.tags == (0, 1)


def test_whole_numbers_may_have_a_point(folder: Path) -> None:
    (folder / "seeds.csv").write_text("image,label,x,y\na,cow,2.0,3\n")
    (seed,) = DatasetFolder(folder)["a"].annotation().seeds
    assert (seed.x, seed.y) == (2, 3)
    assert type(seed.x) is int


def test_names_may_have_commas(folder: Path) -> None:
    Image.fromarray(IMAGE).save(folder / "images" / "left, right.png")
    append(folder / "tags.csv", '"left, right",sky\n')
    assert DatasetFolder(folder)["left, right"].marks.tags == (1,)


def test_folder_without_tables(folder: Path) -> None:
    for name in ("tags.csv", "boxes.csv", "seeds.csv"):
        (folder / name).unlink()
    assert DatasetFolder(folder)["a"].kinds == {"mask"}
    assert not DatasetFolder(folder)["b"].kinds


def test_hidden_and_stray_files_are_passed_over(folder: Path) -> None:
    for name in (".DS_Store", "Thumbs.db", "notes.txt", ".d.png"):
        (folder / "images" / name).write_bytes(b"")
    (folder / "images" / "more").mkdir()
    assert DatasetFolder(folder).names == ("a", "b", "c")


def test_errors_name_file_row_and_fix(folder: Path) -> None:
    append(folder / "tags.csv", "a,gras\n")
    with pytest.raises(DatasetError) as caught:
        DatasetFolder(folder)
    error = caught.value
    assert error.path == folder / "tags.csv"
    assert error.row == 4
    assert error.what == "unknown label 'gras'"
    assert error.fix == "did you mean 'grass'?"
    assert str(error) == f"{folder}/tags.csv, row 4: unknown label 'gras'; did you mean 'grass'?"
    assert str(copy.copy(error)) == str(error)  # as when it is sent between processes


def test_errors_tell_how_many_there_are(folder: Path) -> None:
    append(folder / "tags.csv", "a,gras\nd,sky\n")
    with pytest.raises(DatasetError, match="and 1 more problems: 'multiutility validate' lists them all"):
        DatasetFolder(folder)


def test_boxes_and_seeds_outside_name_their_rows(folder: Path) -> None:
    append(folder / "boxes.csv", "c,cow,6,0,9,4\n")
    with pytest.raises(DatasetError, match=r"boxes\.csv, row 4: no pixel is in the box"):
        DatasetFolder(folder)["c"].annotation()
    append(folder / "seeds.csv", "b,cow,6,0\n")
    with pytest.raises(DatasetError, match=r"seeds\.csv, row 4: the seed \(x 6, y 0\) is outside"):
        DatasetFolder(folder)["b"].annotation()


def test_boxes_may_reach_beyond_the_image(folder: Path) -> None:
    append(folder / "boxes.csv", "c,cow,-3,2,99,99\n")
    assert DatasetFolder(folder)["c"].annotation().boxes == (PixelBox(2, -3, 2, 99, 99),)


def test_masks_must_fit_the_image_and_the_classes(folder: Path) -> None:
    Image.fromarray(np.zeros((6, 4), dtype=np.uint8)).save(folder / "masks" / "a.png")
    Image.fromarray(np.zeros((6, 4), dtype=np.uint8)).save(folder / "instances" / "a.png")
    sample = DatasetFolder(folder)["a"]
    with pytest.raises(DatasetError, match=r"masks/a\.png: has width 4 and height 6: the image has width 6"):
        sample.mask()
    with pytest.raises(DatasetError, match=r"instances/a\.png: has width 4 and height 6"):
        sample.instances()
    Image.fromarray(np.full((4, 6), 4, dtype=np.uint8)).save(folder / "masks" / "a.png")
    with pytest.raises(DatasetError, match=r"masks/a\.png: has the index 4: there are 3 classes"):
        sample.annotation()


def test_folders_that_are_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="nowhere: there is no such folder"):
        DatasetFolder(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match=r"classes\.csv: there is no such file"):
        DatasetFolder(tmp_path)


def test_strings_are_paths_too(folder: Path) -> None:
    dataset = DatasetFolder(str(folder))
    assert dataset.path == folder
    assert repr(dataset) == f"DatasetFolder({str(folder)!r}: 3 images, 3 classes)"


def test_tables_end_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_dataset(tmp_path / "data", CLASSES, mixed_samples(), SPLITS)
    monkeypatch.setattr(tables, "MAX_ROWS", 50)
    monkeypatch.setattr(tables, "MAX_PROBLEMS", 5)
    path = tmp_path / "data" / "tags.csv"
    path.write_text("image,label\n" + "masked,grass\n" * 51)
    assert [str(error.what) for error in read_contents(tmp_path / "data").problems] == [
        "is beyond 50 rows, the most there may be"
    ]
    for row in ("nobody,grass\n", "masked,grass,3\n"):
        path.write_text("image,label\n" + row * 40)
        problems = read_contents(tmp_path / "data").problems
        assert len(problems) == 6
        assert (problems[-1].row, problems[-1].what) == (7, "comes after 5 problems")
    path.unlink()
    (tmp_path / "data" / "splits" / "train.txt").write_text("nobody\n" * 40)
    with pytest.raises(DatasetError, match="and 5 more problems"):
        DatasetFolder(tmp_path / "data").split("train")
    path.write_text('image,label\n"' + "x" * 200_000 + '",grass\n')
    assert "a field has more than 131,072 characters" in read_contents(tmp_path / "data").problems[0].what
