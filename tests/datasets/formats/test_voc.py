"""Pascal VOC, against files by its published schema."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from format_cases import CLASSES, SPLITS, assert_same, mixed_samples, noise, put_image, read_all
from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.voc import VOC_CLASSES, read_voc
from multiutility.datasets.formats.voc_export import write_voc
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.tags import TAGS

# The layout of VOC's own files; the image is of 500 x 281 pixels there.
XML = """<annotation>
  <folder>VOC2012</folder>
  <filename>2007_000032.jpg</filename>
  <source><database>The VOC2007 Database</database></source>
  <size><width>50</width><height>28</height><depth>3</depth></size>
  <segmented>1</segmented>
  {objects}
</annotation>
"""
OBJECT = """<object><name>{name}</name><pose>Frontal</pose><truncated>0</truncated><difficult>0</difficult>
<bndbox><xmin>{0}</xmin><ymin>{1}</ymin><xmax>{2}</xmax><ymax>{3}</ymax></bndbox>
<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part></object>"""
NAME = "2007_000032"


def put_voc(folder: Path, *objects: str) -> Path:
    """A folder with one image and its XML file."""
    put_image(folder / "JPEGImages" / f"{NAME}.jpg", 28, 50)
    (folder / "Annotations").mkdir(exist_ok=True)
    (folder / "Annotations" / f"{NAME}.xml").write_text(XML.format(objects="\n".join(objects)))
    return folder


def put_set(folder: Path, path: str, text: str) -> None:
    """A list of images."""
    (folder / "ImageSets" / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / "ImageSets" / path).write_text(text)


def put_palette(path: Path, indices: np.ndarray) -> None:
    """A picture with VOC's palette."""
    path.parent.mkdir(exist_ok=True)
    image = Image.fromarray(indices.astype(np.uint8), mode="P")
    # As in VOC's development kit: bits of the index, from the lowest, go to the highest of red, green, blue.
    colors = []
    for index in range(256):
        color, rest = [0, 0, 0], index
        for bit in range(7, -1, -1):
            for part in range(3):
                color[part] |= (rest >> part & 1) << bit
            rest >>= 3
        colors += color
    image.putpalette(colors)
    image.save(path)


def test_boxes_count_from_1_and_include_the_last_pixel(tmp_path: Path) -> None:
    put_voc(
        tmp_path,
        OBJECT.format(1, 1, 1, 1, name="dog"),
        OBJECT.format(11, 5, 50, 28, name="person"),
        OBJECT.format(2.5, 3, 4.5, 6, name="dog"),
    )
    imported = read_voc(tmp_path)
    assert imported.classes.names == VOC_CLASSES
    boxes = read_all(imported)[NAME].boxes
    dog, person = VOC_CLASSES.index("dog"), VOC_CLASSES.index("person")
    assert boxes == (
        PixelBox(dog, 0, 0, 1, 1),
        PixelBox(person, 10, 4, 50, 28),
        PixelBox(dog, 1.5, 2, 4.5, 6),
    )
    assert [box.n_pixels(28, 50) for box in boxes[:2]] == [1, 40 * 24]


def test_corners_of_other_programs_count_from_0(tmp_path: Path) -> None:
    put_voc(tmp_path, OBJECT.format(0, 0, 50, 28, name="dog"))
    assert read_all(read_voc(tmp_path, one_based=False))[NAME].boxes[0] == PixelBox(11, 0, 0, 50, 28)
    with pytest.raises(
        DatasetError, match=r"object 1 \(dog\): begins at 0, but pixels of VOC count from 1.*corners"
    ):
        read_all(read_voc(tmp_path))


def test_masks_have_background_0_and_void_255(tmp_path: Path) -> None:
    put_voc(tmp_path)
    indices = np.zeros((28, 50))
    indices[4:9, 6:20] = 12
    indices[3, 5:21] = indices[9, 5:21] = 255
    put_palette(tmp_path / "SegmentationClass" / f"{NAME}.png", indices)
    indices[indices == 12] = 1
    put_palette(tmp_path / "SegmentationObject" / f"{NAME}.png", indices)
    imported = read_voc(tmp_path)
    assert imported.classes.names == ("background", *VOC_CLASSES)
    assert [one.kind for one in imported.classes] == ["stuff"] + ["thing"] * 20
    assert imported.classes[12].color == (64, 0, 128)
    found = read_all(imported)[NAME]
    assert found.mask is not None
    assert found.instances is not None
    assert (found.mask[0, 0], found.mask[3, 5], found.mask[4, 6]) == (1, 0, imported.classes.label("dog") + 1)
    assert (found.instances[0, 0], found.instances[3, 5], found.instances[4, 6]) == (0, 0, 1)


def test_a_label_map_tells_classes_by_colors(tmp_path: Path) -> None:
    put_voc(tmp_path, OBJECT.format(1, 1, 5, 5, name="cup"))
    (tmp_path / "labelmap.txt").write_text(
        "# label:color_rgb:parts:actions\nbackground:0,0,0::\ncup:250,50,83::\npen:::\n"
    )
    picture = np.zeros((28, 50, 3), dtype=np.uint8)
    picture[2], picture[3], picture[4] = (250, 50, 83), (0, 128, 0), (224, 224, 192)
    (tmp_path / "SegmentationClass").mkdir()
    Image.fromarray(picture).save(tmp_path / "SegmentationClass" / f"{NAME}.png")
    (tmp_path / "SegmentationObject").mkdir()
    Image.fromarray(picture).save(tmp_path / "SegmentationObject" / f"{NAME}.png")
    imported = read_voc(tmp_path)
    assert imported.classes.names == ("background", "cup", "pen")
    found = read_all(imported)[NAME]
    assert found.mask is not None
    assert found.instances is not None
    assert found.mask[:6, 0].tolist() == [1, 1, 2, 3, 0, 1]
    assert found.instances[:6, 0].tolist() == [0, 0, 2, 1, 0, 0]
    picture[5] = 7
    Image.fromarray(picture).save(tmp_path / "SegmentationClass" / f"{NAME}.png")
    with pytest.raises(DatasetError, match=r"the pixel x 0, y 5 has the color #070707"):
        read_all(imported)


def test_lists_are_splits_and_tags(tmp_path: Path) -> None:
    put_voc(tmp_path, OBJECT.format(1, 1, 5, 5, name="dog"))
    put_image(tmp_path / "JPEGImages" / "b.jpg", 5, 5)
    put_set(tmp_path, "Main/train.txt", f"{NAME}\nb\n")
    put_set(tmp_path, "Main/my_train.txt", "b\n")
    put_set(tmp_path, "Segmentation/train.txt", f"{NAME}\n")
    put_set(tmp_path, "Main/dog_train.txt", f"{NAME}  1\nb -1\n")
    put_set(tmp_path, "Main/cat_train.txt", f"{NAME}  1\nb  1\n")
    put_set(tmp_path, "Main/cow_my_train.txt", "b  1\n")
    put_set(tmp_path, "Main/sheep_train.txt", f"{NAME}  0\nb  0\n")
    imported = read_voc(tmp_path)
    assert imported.splits == {"my_train": ["b"], "train": [NAME, "b"], "train-segmentation": [NAME]}
    found = read_all(imported)
    assert [VOC_CLASSES[label] for label in TAGS.labels(found[NAME].tags)] == ["cat"]
    assert sorted(VOC_CLASSES[label] for label in TAGS.labels(found["b"].tags)) == ["cat", "cow"]
    put_set(tmp_path, "Main/train.txt", "b\nnone\n")
    with pytest.raises(DatasetError, match=r"train\.txt, row 2: there is no image named 'none'"):
        read_voc(tmp_path)


def test_points_of_objects_without_boxes_are_seeds(tmp_path: Path) -> None:
    put_voc(tmp_path, "<object><name>dog</name><point><x>50</x><y>1</y></point></object>")
    assert read_all(read_voc(tmp_path))[NAME].seeds == (PixelSeed(11, 49, 0),)


def test_images_and_xml_files_may_be_side_by_side(tmp_path: Path) -> None:
    put_image(tmp_path / f"{NAME}.jpg", 28, 50)
    (tmp_path / f"{NAME}.xml").write_text(XML.format(objects=OBJECT.format(1, 1, 5, 5, name="my cup")))
    imported = read_voc(tmp_path)
    assert imported.classes.names == ("my cup",)
    assert read_all(imported)[NAME].boxes == (PixelBox(0, 0, 0, 5, 5),)


def test_names_of_files_are_never_taken_from_xml(tmp_path: Path) -> None:
    put_voc(tmp_path)
    path = tmp_path / "Annotations" / f"{NAME}.xml"
    path.write_text(path.read_text().replace(f"{NAME}.jpg", "../../secret.jpg"))
    (sample,) = read_voc(tmp_path).samples
    assert sample.image == tmp_path / "JPEGImages" / f"{NAME}.jpg"


def test_entities_are_refused(tmp_path: Path) -> None:
    put_voc(tmp_path)
    path = tmp_path / "Annotations" / f"{NAME}.xml"
    path.write_text('<!DOCTYPE a [<!ENTITY x "dog">]>' + path.read_text())
    with pytest.raises(DatasetError, match="document type"):
        read_voc(tmp_path)


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        (OBJECT.format(5, 5, 4, 9, name="dog"), r"object 1 \(dog\): inverted or empty box"),
        (OBJECT.format(51, 5, 60, 9, name="dog"), r"object 1 \(dog\): no pixel is in the box"),
        (OBJECT.format("x", 5, 60, 9, name="dog"), r"object 1 \(dog\): <bndbox/xmin> is 'x'"),
        (OBJECT.format("inf", 5, 60, 9, name="dog"), r"<bndbox/xmin> is 'inf'"),
        (OBJECT.format(1, 5, 6, 9, name=" "), r"object 1 has no name"),
        ("<object><name>dog</name></object>", r"neither <bndbox> nor <point>"),
        ("<object><name>dog</name><point><x>51</x><y>1</y></point></object>", "is outside"),
        ("<object><name>dog</name><point><x>5</x></point></object>", "<point/y> is ''"),
    ],
)
def test_errors_name_file_object_and_fix(tmp_path: Path, objects: str, wanted: str) -> None:
    put_voc(tmp_path, objects)
    with pytest.raises(DatasetError, match=wanted) as caught:
        read_all(read_voc(tmp_path))
    assert caught.value.path.name == f"{NAME}.xml"
    assert caught.value.fix


def test_sizes_classes_and_names_must_agree(tmp_path: Path) -> None:
    put_voc(tmp_path)
    put_palette(tmp_path / "SegmentationClass" / f"{NAME}.png", np.full((28, 50), 21))
    with pytest.raises(DatasetError, match=r"has the index 21: VOC has 20 classes; write labelmap\.txt"):
        read_all(read_voc(tmp_path))
    put_palette(tmp_path / "SegmentationClass" / f"{NAME}.png", np.zeros((28, 49)))
    with pytest.raises(DatasetError, match="has width 49 and height 28"):
        read_all(read_voc(tmp_path))
    put_voc(tmp_path, OBJECT.format(1, 1, 5, 5, name="cup"))
    with pytest.raises(
        DatasetError, match=r"labelmap\.txt: there are masks, and 'cup' is not a class of VOC"
    ):
        read_voc(tmp_path)
    (tmp_path / "labelmap.txt").write_text("background:0,0,0::\n")
    with pytest.raises(DatasetError, match=r"labelmap\.txt: the class 'cup' is missing"):
        read_voc(tmp_path)
    (tmp_path / "labelmap.txt").write_text("background:0,0,0::\ncup:1,2::\n")
    with pytest.raises(DatasetError, match=r"labelmap\.txt, row 2: bad line"):
        read_voc(tmp_path)
    put_image(tmp_path / "JPEGImages" / f"{NAME}.jpg", 29, 50)
    with pytest.raises(DatasetError, match="tells of height 28 and width 50"):
        read_voc(tmp_path)
    (tmp_path / "JPEGImages" / f"{NAME}.jpg").rename(tmp_path / "JPEGImages" / "other.jpg")
    with pytest.raises(DatasetError, match=f"there is no image named '{NAME}'"):
        read_voc(tmp_path)


def test_all_kinds_come_back(tmp_path: Path) -> None:
    write_voc(tmp_path / "out", CLASSES, mixed_samples(), SPLITS)
    imported = read_voc(tmp_path / "out")
    assert [(one.name, one.color) for one in imported.classes] == [(one.name, one.color) for one in CLASSES]
    assert imported.splits == SPLITS | {"train-segmentation": ["masked"]}
    assert_same(imported, mixed_samples())


def test_tags_come_back_without_splits(tmp_path: Path) -> None:
    write_voc(tmp_path / "out", CLASSES, mixed_samples())
    imported = read_voc(tmp_path / "out")
    assert imported.splits == {}
    assert_same(imported, mixed_samples())


def test_files_are_as_others_read_them(tmp_path: Path) -> None:
    background = Classes([LabelClass("cow", (9, 9, 9), "thing"), LabelClass("background", (0, 0, 0))])
    mask = np.array([[0, 1, 2], [2, 2, 1]], dtype=np.uint8)
    boxes = (PixelBox(0, 0, 0, 1, 2), PixelBox(0, 0.5, 1, 3, 2))
    write_voc(tmp_path / "out", background, [NewSample("a", noise(2, 3), PixelAnnotation(mask, boxes=boxes))])
    picture = Image.open(tmp_path / "out" / "SegmentationClass" / "a.png")
    assert picture.mode == "P"
    assert np.asarray(picture).tolist() == [[255, 1, 0], [0, 0, 1]]
    assert np.asarray(picture.convert("RGB"))[0].tolist() == [[224, 224, 192], [9, 9, 9], [0, 0, 0]]
    root = ElementTree.parse(tmp_path / "out" / "Annotations" / "a.xml").getroot()
    assert [root.findtext(path) for path in ("filename", "size/width", "size/height", "segmented")] == [
        "a.png",
        "3",
        "2",
        "1",
    ]
    found = [[box.findtext(side) for side in ("xmin", "ymin", "xmax", "ymax")] for box in root.iter("bndbox")]
    assert found == [["1", "1", "1", "2"], ["1.5", "2", "3", "2"]]
    assert (tmp_path / "out" / "labelmap.txt").read_text().splitlines()[1:] == [
        "cow:9,9,9::",
        "background:0,0,0::",
        "ignored:224,224,192::",
    ]


@pytest.mark.parametrize(
    ("classes", "wanted"),
    [
        ([LabelClass("a", (1, 1, 1)), LabelClass("b", (1, 1, 1))], "same color"),
        ([LabelClass("a", (224, 224, 192))], "that of void"),
        ([LabelClass("a", (0, 0, 0))], "that of void"),
        ([LabelClass("a:b", (1, 0, 0))], "cannot be in it"),
    ],
)
def test_classes_that_cannot_be_told_apart_are_refused(
    tmp_path: Path, classes: list[LabelClass], wanted: str
) -> None:
    with pytest.raises(DatasetError, match=wanted):
        write_voc(tmp_path / "out", Classes(classes), [])


def test_classes_are_no_paths(tmp_path: Path) -> None:
    classes = Classes([LabelClass("../../x", (1, 0, 0))])
    with pytest.raises(DatasetError, match="bad name"):
        write_voc(tmp_path / "out", classes, [NewSample("a", noise(2, 3), PixelAnnotation(tags=(0,)))])


def test_ids_of_objects_beyond_a_byte_are_counted_anew(tmp_path: Path) -> None:
    instances = np.array([[0, 70, 900]])
    sample = NewSample("a", noise(1, 3), PixelAnnotation(np.full((1, 3), 2, np.uint8), instances=instances))
    write_voc(tmp_path / "out", CLASSES, [sample])
    found = read_all(read_voc(tmp_path / "out"))["a"].instances
    assert found is not None
    assert found.tolist() == [[0, 1, 2]]
    many = np.arange(1, 301).reshape(1, 300)
    sample = NewSample("a", noise(1, 300), PixelAnnotation(np.ones((1, 300), np.uint8), instances=many))
    with pytest.raises(DatasetError, match="300 objects"):
        write_voc(tmp_path / "many", CLASSES, [sample])
