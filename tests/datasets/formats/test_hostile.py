"""Files with a part replaced by anything: readers give samples or say what is wrong, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from format_cases import CLASSES, mixed_samples
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.writing import write_dataset
from mutations import JUNK, places, replaced

QUIET = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
FILES = {
    "coco": "annotations/instances_default.json",
    "coco-panoptic": "annotations/panoptic_default.json",
    "labelme": "weak.json",
    "labelstudio": "tasks.json",
}


@pytest.fixture(scope="module", params=FILES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A format, and a folder in it."""
    folder = tmp_path_factory.mktemp("hostile") / "data"
    writer = FORMATS[request.param].write
    assert writer is not None
    masks_only = request.param == "coco-panoptic"
    writer(
        folder,
        CLASSES,
        [one for one in mixed_samples() if not masks_only or one.name in ("masked", "objects")],
        {},
    )
    return request.param, folder


def read_everything(name: str, folder: Path, out: Path) -> None:
    """Read a folder into a dataset folder; what is wrong must be told with file and fix."""
    found: list[DatasetError] = []
    try:
        imported = FORMATS[name].read(folder)
        write_dataset(out, imported.classes, imported.samples, imported.splits)
    except DatasetError as error:
        found.append(error)
    for one in found:
        assert one.what
        assert one.fix
        assert {folder, out} & {one.path, *one.path.parents}
    assert not list(folder.parent.glob("x.jpg"))


@QUIET
@given(data=st.data())
def test_any_part_of_a_file_may_be_wrong(
    written: tuple[str, Path], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name, folder = written
    path = folder / FILES[name]
    text = path.read_text()
    value = json.loads(text)
    place = data.draw(st.sampled_from(list(places(value))))
    changed = replaced(value, place, data.draw(JUNK))
    try:
        path.write_text(json.dumps(changed))
        read_everything(name, folder, tmp_path_factory.mktemp("out") / "dataset")
    finally:
        path.write_text(text)


@QUIET
@given(data=st.data())
def test_any_element_of_voc_may_be_wrong(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hostile") / "data"
    writer = FORMATS["voc"].write
    assert writer is not None
    writer(folder, CLASSES, mixed_samples()[-1:], {})
    path = folder / "Annotations" / "weak.xml"
    root = ElementTree.parse(path).getroot()
    element = data.draw(st.sampled_from(list(root.iter())))
    if data.draw(st.booleans()):
        element.text = data.draw(
            st.sampled_from(["", "-1", "1e999", "nan", "0x3", "99999999999", "\u0663", "cow", "../../x"])
        )
    else:
        element.tag = data.draw(st.sampled_from(["object", "name", "bndbox", "size", "xmin", "b"]))
    path.write_bytes(ElementTree.tostring(root))
    read_everything("voc", folder, tmp_path_factory.mktemp("out") / "dataset")
