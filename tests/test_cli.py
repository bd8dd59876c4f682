"""The command line: every command on a small dataset, exit codes, and what programs read."""

from __future__ import annotations

import csv
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO
from typer.testing import CliRunner, Result

from multiutility.cli import app
from multiutility.datasets import DatasetFolder, read_image, read_mask, write_image
from multiutility.datasets.images import write_mask
from multiutility.experiments.supervision import KINDS as MIXES
from multiutility.learning.checkpoint import journal
from multiutility.learning.cluster import backends
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe, FrankWolfeRun
from multiutility.vision import Segmenter, features
from multiutility.vision.features import presets
from multiutility.vision.features.preset import FittedPreset
from toy import CLASSES, toy_picture, toy_preset, write_toy

pytestmark = pytest.mark.usefixtures("cheap_features")

COMMANDS = [
    "demo",
    "validate",
    "summary",
    "convert",
    "weaken",
    "prepare",
    "tune",
    "train",
    "predict",
    "evaluate",
    "experiment",
    "studio",
    "features",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("cli") / "toy", n_train=8, n_validation=4).path


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(presets.PRESETS, "deep", toy_preset)
        patch.setitem(features.KINDS, "MeanColor", "toy")
        patch.setenv("MULTIUTILITY_CACHE", str(out / "cache"))
        weak = run("weaken", folder, out / "weak", "--split", "train", "--keep-masks", 2, "--tags", "--boxes")
        assert weak.exit_code == 0, weak.output
        learned = run("train", out / "weak", "--split", "train", "--C", 1, "--out", out / "m.safetensors")
        assert learned.exit_code == 0, learned.output
    return out


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def test_help_lists_all_commands_with_examples() -> None:
    text = run("--help").stdout
    assert all(f" {command} " in text for command in COMMANDS)
    for command in COMMANDS:
        own = run(command, "--help")
        assert own.exit_code == 0
        assert f"multiutility {command}" in own.stdout


def test_help_loads_nothing_heavy() -> None:
    code = """
import sys
from multiutility.cli import app
try:
    app(["--help"])
except SystemExit as exit:
    assert exit.code == 0
heavy = {"sklearn", "scipy", "cv2", "skimage", "onnxruntime", "matplotlib", "PIL", "safetensors"}
print("loaded:", *sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_version() -> None:
    told = run("--version")
    assert told.exit_code == 0
    assert told.stdout == f"multiutility {version('multiutility')}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others on Windows")
def test_ctrl_c_while_libraries_are_loaded_is_told_in_one_line() -> None:
    # Processes of the background ignore Ctrl-C, and so do those that they start.
    code = """
import signal, sys, time
from multiutility.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
assert not {"typer", "numpy", "rich"} & set(sys.modules)

class Slow:
    def find_spec(self, name, path=None, target=None):
        print("loading", flush=True)
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            raise ImportError(name)

sys.meta_path.insert(0, Slow())
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "Interrupted.\n")


def test_validate_tells_problems_by_its_exit_code(folder: Path, tmp_path: Path) -> None:
    assert run("validate", folder).exit_code == 0
    assert json.loads(run("validate", folder, "--json").stdout) == []
    write_toy(tmp_path / "bad", 2, 1)
    (tmp_path / "bad" / "tags.csv").write_text("image,label\npicture00,grasss\n")
    (tmp_path / "bad" / "boxes.csv").write_text("image,label,left,top,right,bottom\npicture01,cow,9,9,5,12\n")
    found = run("validate", tmp_path / "bad")
    assert found.exit_code == 1
    assert "tags.csv, row 2: unknown label 'grasss'; did you mean 'grass'?" in found.stdout
    assert "boxes.csv, row 2" in found.stdout
    rows = json.loads(run("validate", tmp_path / "bad", "--json").stdout)
    assert [(row["file"], row["row"]) for row in rows] == [("boxes.csv", 2), ("tags.csv", 2)]
    assert run("validate", tmp_path / "nowhere").exit_code == 2


def test_classes_that_cannot_be_told_apart_are_named(folder: Path, tmp_path: Path) -> None:
    weak, model = tmp_path / "weak", tmp_path / "m.safetensors"
    assert run("weaken", folder, weak, "--split", "train", "--tags", "--boxes").exit_code == 0
    advice = (
        "Note: sky and grass come together in all 8 images that have them, and nothing says where they are: "
        "click one point of each in three images\n"
    )
    told = run("validate", weak)
    assert told.exit_code == 0
    assert told.stderr == f"No problems.\n{advice}"
    told = run("validate", weak, "--json")
    assert (told.exit_code, json.loads(told.stdout), told.stderr) == (0, [], advice)
    told = run("train", weak, "--out", model)
    assert told.exit_code == 0
    assert advice in told.stderr
    # Points in three images are enough: the grass is what is left.
    rows = [f"picture{n:02},sky,{n},1\n" for n in range(3)]
    (weak / "seeds.csv").write_text("".join(["image,label,x,y\n", *rows]))
    assert run("validate", weak).stderr == "No problems.\n"
    assert "come together" not in run("train", weak, "--out", model).stderr


def test_summary_counts_and_draws(folder: Path, tmp_path: Path) -> None:
    told = run("summary", folder, "--json", "--picture", tmp_path / "s.png")
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert found["n_images"] == 12
    masks = [sample.mask() for sample in DatasetFolder(folder)]
    pixels = sum(int((mask == 3).sum()) for mask in masks if mask is not None)
    assert next(one for one in found["classes"] if one["name"] == "cow")["pixels"] == pixels
    assert read_image(tmp_path / "s.png").size > 0
    text = run("summary", folder, "--split", "train", "--no-picture").stdout
    assert "8 images" in text
    assert "cow" in text


def test_boxes_are_made_loose_and_taken_as_loose(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("weaken", folder, tmp_path / "loose", "--loosen-boxes", 0.2).exit_code == 0
    assert run("weaken", folder, tmp_path / "tight", "--boxes").exit_code == 0
    pairs = zip(DatasetFolder(tmp_path / "loose"), DatasetFolder(tmp_path / "tight"), strict=True)
    boxes = [pair for one, two in pairs for pair in zip(one.marks.boxes, two.marks.boxes, strict=True)]
    assert boxes
    assert all(not one.tight and two.tight and one.left <= two.left for one, two in boxes)
    assert run("weaken", folder, tmp_path / "x", "--loosen-boxes", 2).exit_code == 2
    taken: list[bool] = []

    def look(_self: object, dataset: DatasetFolder) -> None:
        taken.extend({box.tight for one in dataset for box in one.annotation().boxes})
        raise ValueError("seen enough")

    monkeypatch.setattr("multiutility.vision.segmenter.Segmenter.fit", look)
    for options in ((), ("--loose-boxes",)):
        given = ("--out", tmp_path / "model.safetensors", *options)
        assert "seen enough" in run("train", tmp_path / "tight", *given).stderr
    assert taken == [True, False]


def test_weaken_makes_what_is_asked_for(trained: Path, folder: Path, tmp_path: Path) -> None:
    weak = DatasetFolder(trained / "weak")
    assert weak.names == DatasetFolder(folder).split("train").names
    kinds = [sample.kinds for sample in weak]
    assert sum("mask" in kind for kind in kinds) == 2
    assert all(kind == {"mask"} or kind == {"tags", "boxes"} for kind in kinds)
    assert run("weaken", folder, tmp_path / "tags").exit_code == 0
    assert all(sample.kinds == {"tags"} for sample in DatasetFolder(tmp_path / "tags"))
    assert DatasetFolder(tmp_path / "tags").splits == ("train", "validation")
    done = run("weaken", folder, tmp_path / "all", "--keep-masks", "all", "--other", "--split", "validation")
    assert done.exit_code == 0
    other = DatasetFolder(tmp_path / "all")
    assert other.classes.other == len(CLASSES)
    assert all(sample.kinds == {"mask"} for sample in other)
    assert run("weaken", folder, tmp_path / "points", "--points").exit_code == 0
    clicked = DatasetFolder(tmp_path / "points")
    assert all({seed.label for seed in one.marks.seeds} == set(one.marks.tags) for one in clicked)
    assert run("weaken", folder, tmp_path / "strokes", "--scribbles").exit_code == 0
    scribbled = DatasetFolder(tmp_path / "strokes")
    assert all(one.kinds == {"tags", "scribbles"} for one in scribbled)
    assert all(one.weak().labels == set(one.marks.tags) for one in scribbled)
    assert run("weaken", folder, tmp_path / "areas", "--area-noise", "0.2").exit_code == 0
    measured = DatasetFolder(tmp_path / "areas")
    assert all(one.kinds == {"tags", "areas"} for one in measured)
    assert all(sum(area.share for area in one.marks.areas) <= 1 + 1e-9 for one in measured)
    assert run("weaken", folder, tmp_path / "x", "--keep-masks", "few").exit_code == 2
    assert run("weaken", folder, folder).exit_code == 2  # there is a dataset already


def test_summary_tells_of_open_tags(folder: Path, tmp_path: Path) -> None:
    assert run("weaken", folder, tmp_path / "open", "--drop-tags", 0.3).exit_code == 0
    n_images = len(DatasetFolder(folder))
    assert f"Open tags: {n_images} images" in run("summary", tmp_path / "open", "--no-picture").stdout
    assert "Open tags" not in run("summary", folder, "--no-picture").stdout


def test_tune_lists_all_mixes() -> None:
    text = " ".join(run("tune", "--help").stdout.replace("│", " ").split())
    assert [mix for mix in MIXES if mix not in text] == []


def test_convert_there_and_back(folder: Path, tmp_path: Path) -> None:
    assert run("convert", folder, tmp_path / "coco", "--to", "coco").exit_code == 0
    assert run("convert", "coco", tmp_path / "coco", tmp_path / "back").exit_code == 0
    back, there = DatasetFolder(tmp_path / "back"), DatasetFolder(folder)
    assert back.classes.names == there.classes.names
    for sample in there:
        found, mask = back[sample.name].mask(), sample.mask()
        assert found is not None
        assert mask is not None
        assert np.array_equal(found, mask)
    for arguments in (
        ("coco", tmp_path),
        (folder, tmp_path / "x", "--to", "msrc"),
        ("cocoo", folder, tmp_path),
    ):
        assert run("convert", *arguments).exit_code == 2


def test_options_of_convert_are_those_of_the_format(trained: Path, tmp_path: Path) -> None:
    weak, out = trained / "weak", tmp_path / "masks"
    assert "--lossy" in run("convert", weak, out, "--to", "masks").stderr
    assert run("convert", weak, tmp_path / "coco", "--to", "coco", "--lossy").exit_code == 0
    done = run("convert", weak, out, "--to", "masks", "--lossy", "--json")
    told = json.loads(done.stdout)
    assert (told["out"], told["n_images"], told["n_classes"]) == (str(out), 8, len(CLASSES))
    assert len(list((out / "masks").iterdir())) == 2
    for name, told in (
        (("voc", out, tmp_path / "a", "--images", out), "--images is not for voc"),
        (("masks", out, tmp_path / "a", "--images", "nowhere"), "there is no such folder"),
        (("masks", out, tmp_path / "a", "--split", "train"), "are for exports"),
        (("masks", out, tmp_path / "a", "--lossy"), "are for exports"),
        ((weak, tmp_path / "a", "--to", "coco", "--images", out), "is for imports"),
        ((weak, tmp_path / "a", "--to", "labelstudio", "--brush", "mask"), "is for imports"),
        (("masks", out, tmp_path / "a", "--brush", "mask"), "--brush is not for masks"),
    ):
        refused = run("convert", *name)
        assert refused.exit_code == 2
        assert told in refused.stderr
    assert not (tmp_path / "a").exists()


def test_scribbles_go_to_label_studio_and_come_back_as_asked_for(folder: Path, tmp_path: Path) -> None:
    strokes, tasks = tmp_path / "strokes", tmp_path / "tasks"
    assert run("weaken", folder, strokes, "--scribbles").exit_code == 0
    assert run("convert", strokes, tasks, "--to", "labelstudio", "--lossy").exit_code == 0
    for brush, kinds in (
        ((), {"tags", "scribbles"}),
        (("--brush", "mask"), {"tags", "mask"}),
        (("--brush", "auto"), {"tags", "scribbles"}),
    ):
        back = tmp_path / "-".join(("back", *brush))
        done = run("convert", "labelstudio", tasks, back, *brush)
        assert done.exit_code == 0, done.output
        assert all(sample.kinds == kinds for sample in DatasetFolder(back))


def test_images_of_an_import_are_found_from_here(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("convert", trained / "weak", tmp_path / "there", "--to", "masks", "--lossy")
    assert done.exit_code == 0, done.output
    (tmp_path / "there" / "images").rename(tmp_path / "photos")
    monkeypatch.chdir(tmp_path)
    done = run("convert", "masks", "there", "back", "--images", "photos")
    assert done.exit_code == 0, done.output
    assert len(DatasetFolder("back")) == 8


def test_an_interrupted_conversion_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    def pressed(*_: Any) -> None:
        taken.append(1)
        if len(taken) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("multiutility.datasets.writing.write_pixels", pressed)
    monkeypatch.setattr("multiutility.datasets.formats.export.check_name", pressed)
    for arguments in (
        ("weaken", folder, tmp_path / "a"),
        ("convert", folder, tmp_path / "a", "--to", "coco"),
    ):
        taken.clear()
        stopped = run(*arguments)
        assert stopped.exit_code == 130
        assert "begins anew" in stopped.stderr
        assert not (tmp_path / "a").exists()


def test_train_tells_programs_what_it_did(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    done = run("train", folder, "--C", 0.1, "--out", out, "--json", "--class-weight", 1)
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["n_images"] == 8  # the split train, as there is one
    assert told["model"] == str(out)
    assert out.is_file()
    assert "split train" in done.stderr
    assert "stopped" not in done.stderr
    assert told["method"] == "auto"
    assert told["chosen"].pop("refinement").keys() == {"reach", "window", "pull"}
    assert told["chosen"] == {"start": "masks only", "class_weight": 1.0}
    # The model knows what to expect, and what comes is compared with it.
    judged = run("evaluate", out, folder, "--split", "validation", "--no-pictures", "--json")
    scores = json.loads(judged.stdout)
    assert set(scores["expected"]) == set(told["estimate"]) == {"accuracy", "mean_recall", "mean_iou"}
    for name, one in scores["expected"].items():
        assert [one["expected"], one["low"], one["high"]] == told["estimate"][name]
        assert one["inside"] == (one["low"] <= scores[name] <= one["high"])
    text = run("evaluate", out, folder, "--split", "validation", "--no-pictures")
    assert "the model expected accuracy" in " ".join(text.output.split())


def test_train_tells_people_what_was_chosen(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    told = " ".join(run("train", folder, "--out", out).output.split())
    assert re.search(r"chosen: masks only, class weights 0\.\d+", told)
    assert re.search(r"expected on new images: accuracy 0\.\d+ \(0\.\d+ to [01]\.\d+\), mean recall", told)
    assert "by cross-validation over 8 masks" in told
    paper = ("train", folder, "--method", "paper", "--areas", "estimated", "--optimizer", "cutting-plane")
    done = run(*paper, "--out", out)
    assert done.exit_code == 0, done.output
    assert "chosen: borders are moved" in " ".join(done.output.split())
    model = Segmenter.load(out)
    assert (model.method, model.areas, model.optimizer) == ("paper", "estimated", "cutting-plane")


def test_train_tells_that_it_stopped_short_of_its_tolerance(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "FrankWolfe", lambda: FrankWolfe(max_passes=1))
    done = run("train", folder, "--C", 100, "--out", tmp_path / "m.safetensors")
    assert done.exit_code == 0
    told = " ".join(done.stderr.split())
    assert re.search(r"Note: learning stopped after \d+ passes with a gap of \d+\.\d%, not below tol", told)


def test_evaluate_agrees_with_the_written_masks(trained: Path, folder: Path, tmp_path: Path) -> None:
    model = trained / "m.safetensors"
    out = tmp_path / "pictures"
    done = run("evaluate", model, folder, "--split", "validation", "--json", "--out", out)
    assert done.exit_code == 0
    scores = json.loads(done.stdout)
    measured = {"accuracy", "mean_recall", "mean_iou", "n_images", "n_accepted", "classes"}
    assert set(scores) == measured | {"expected", "skipped"}
    assert set(scores["classes"]["cow"]) == {"recall", "iou", "pixels"}
    assert sorted(file.name for file in out.glob("[!.]*")) == ["confusion.png", "gallery.png"]
    assert all(read_image(file).shape[1] > 300 for file in out.glob("[!.]*"))
    part = DatasetFolder(folder).split("validation")
    masks = tmp_path / "masks"
    assert run("predict", model, *(sample.path for sample in part), "--out", masks).exit_code == 0
    pairs = [(sample.mask(), read_mask(masks / f"{sample.name}.png")) for sample in part]
    right = sum(int(((a == b) & (a > 0)).sum()) for a, b in pairs if a is not None)
    counted = sum(int((a > 0).sum()) for a, _ in pairs if a is not None)
    assert scores["accuracy"] == pytest.approx(right / counted)
    assert scores["accuracy"] > 0.85
    text = run("evaluate", model, folder, "--split", "validation", "--no-pictures").stdout
    assert f"accuracy {100 * scores['accuracy']:.1f} %" in text


def test_accepted_predictions_are_not_scored(trained: Path, folder: Path, tmp_path: Path) -> None:
    model, copied = trained / "m.safetensors", tmp_path / "copied"
    shutil.copytree(folder, copied)
    accepted, *others = DatasetFolder(folder).split("validation").names
    # What it says is all wrong: it would be seen.
    mask = copied / "masks" / f"{accepted}.png"
    write_mask(mask, read_mask(mask) % len(CLASSES) + 1, CLASSES.palette)
    (copied / "studio").mkdir()
    (copied / "studio" / "accepted.csv").write_text(f"image\n{accepted}\n")
    (copied / "splits" / "others.txt").write_text("\n".join(others))
    words = ("evaluate", model, copied, "--no-pictures", "--split")
    scores = json.loads(run(*words, "validation", "--json").stdout)
    expected = json.loads(run(*words, "others", "--json").stdout)
    assert scores == {**expected, "n_accepted": 1}
    assert scores["n_images"] == len(others)
    assert "Not scored: 1 mask that is an accepted prediction" in run(*words, "validation").output
    # Whoever cannot know which masks are accepted must not score any.
    (copied / "studio" / "accepted.csv").write_text("pictures\n")
    done = run(*words, "validation")
    assert (done.exit_code, "accepted.csv" in done.output) == (2, True)


# pycocotools does not know the latest NumPy.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_predict_writes_all_kinds_of_results(trained: Path, tmp_path: Path) -> None:
    image, _ = toy_picture(np.random.default_rng(9), shape=(70, 90))
    (tmp_path / "in").mkdir()
    write_image(tmp_path / "in" / "photo.png", image)
    write_image(tmp_path / "in" / "other.png", image[:20, :30])
    out, options = tmp_path / "out", ("--overlay", "--scores", "--coco", "--json")
    done = run("predict", trained / "m.safetensors", tmp_path / "in", "--out", out, *options)
    assert done.exit_code == 0
    assert json.loads(done.stdout)["n_images"] == 2
    mask = read_mask(out / "photo.png")
    assert mask.shape == (70, 90)
    assert read_image(out / "overlay" / "photo.png").shape == (70, 90, 3)
    assert read_image(out / "scores" / "other.png").shape == (20, 30, 3)
    with (out / "classes.csv").open() as file:
        assert [row["name"] for row in csv.DictReader(file)] == list(CLASSES.names)
    palette = read_image(out / "photo.png")
    assert np.array_equal(palette, CLASSES.palette[mask])
    coco = COCO(str(out / "coco.json"))
    (photo,) = (one for one in coco.loadImgs(coco.getImgIds()) if one["file_name"] == "photo.png")
    restored = np.zeros((70, 90), dtype=np.uint8)
    for one in coco.loadAnns(coco.getAnnIds(imgIds=photo["id"])):
        restored[coco.annToMask(one) > 0] = one["category_id"]
    assert np.array_equal(restored, mask)


def test_predict_goes_on_with_what_is_missing(trained: Path, folder: Path, tmp_path: Path) -> None:
    model, out = trained / "m.safetensors", tmp_path / "out"
    assert run("predict", model, folder, "--out", out).exit_code == 0
    assert len(list(out.glob("*.png"))) == 12
    (out / "picture03.png").unlink()
    again = ("predict", model, folder, "--out", out, "--resume", "--json")
    assert list(json.loads(run(*again).stdout)["masks"]) == [str(folder / "images" / "picture03.png")]
    assert json.loads(run(*again).stdout)["masks"] == {}
    assert json.loads(run(*again, "--overlay").stdout)["n_images"] == 12
    (out / "overlay" / "picture05.png").unlink()
    assert json.loads(run(*again, "--overlay").stdout)["n_images"] == 1


def test_results_of_another_model_or_image_do_not_count(trained: Path, folder: Path, tmp_path: Path) -> None:
    models = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    for model, weight in zip(models, (0.1, 10), strict=True):
        assert run("train", folder, "--C", weight, "--out", model).exit_code == 0
    (tmp_path / "in").mkdir()
    for sample in DatasetFolder(folder).split("validation"):
        (tmp_path / "in" / sample.path.name).write_bytes(sample.path.read_bytes())
    out, options = tmp_path / "out", ("--resume", "--json")
    for model, count in ((models[0], 4), (models[0], 0), (models[1], 4), (models[1], 0)):
        done = run("predict", model, tmp_path / "in", "--out", out, *options)
        assert json.loads(done.stdout)["n_images"] == count
    changed = sorted((tmp_path / "in").iterdir())[0]
    write_image(changed, read_image(changed)[::-1])
    done = run("predict", models[1], tmp_path / "in", "--out", out, *options)
    assert list(json.loads(done.stdout)["masks"]) == [str(changed)]
    (out / changed.name).write_bytes(b"no image")
    refused = run("predict", models[1], tmp_path / "in", "--out", out, *options)
    assert refused.exit_code == 2
    assert f"{out / changed.name}: has been changed since" in " ".join(refused.stderr.split())
    anew = run("predict", models[1], tmp_path / "in", "--out", out, *options, "--overwrite")
    assert json.loads(anew.stdout)["n_images"] == 1
    assert run("predict", trained / "m.safetensors", tmp_path / "in", "--out", out).exit_code == 0


@contextmanager
def pressed_at(call: int) -> Iterator[list[Any]]:
    """Let Ctrl-C be pressed while the features of an image are computed; yields those that were."""
    prepare = FittedPreset.prepare
    calls: list[Any] = []

    def pressed(self: FittedPreset, image: Any) -> Any:
        calls.append(image)
        if len(calls) == call:
            raise KeyboardInterrupt
        return prepare(self, image)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FittedPreset, "prepare", pressed)
        yield calls


def test_interrupted_work_goes_on_where_it_was(folder: Path, tmp_path: Path) -> None:
    arguments = ("prepare", folder, "--split", "train", "--store", tmp_path / "store", "--jobs", 1)
    with pressed_at(4):
        stopped = run(*arguments)
    assert stopped.exit_code == 130
    assert "goes on from there" in stopped.stderr
    with pressed_at(0) as calls:
        assert run(*arguments).exit_code == 0
        assert len(calls) == 5
        done = run("train", folder, "--store", tmp_path / "store", "--out", tmp_path / "m.safetensors")
        assert done.exit_code == 0
        assert len(calls) == 5


def test_interrupted_training_is_kept_and_goes_on_if_asked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, advance, calls = tmp_path / "m.safetensors", FrankWolfeRun.advance, [0]
    command = ("train", folder, "--C", 1, "--store", tmp_path / "store", "--jobs", 1, "--out", out)

    def pressed(self: FrankWolfeRun) -> None:
        calls[0] += 1
        if calls[0] == 6:
            raise KeyboardInterrupt
        advance(self)

    monkeypatch.setattr(journal, "EVERY", 0.0)
    monkeypatch.setattr(FrankWolfeRun, "advance", pressed)
    stopped = run(*command)
    assert stopped.exit_code == 130
    assert "with --resume goes on from there" in stopped.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.safetensors.checkpoint", "store"]
    refused = run(*command)
    assert refused.exit_code == 2
    assert "add --resume to go on from there, or remove it to begin anew" in " ".join(refused.stderr.split())
    other = run(*command, "--resume", "--alpha", 0.7)
    assert other.exit_code == 2
    assert "a checkpoint of other images, annotations or parameters" in " ".join(other.stderr.split())
    calls[0] = 6
    assert run(*command, "--resume").exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["m.safetensors", "store"]
    # Without a checkpoint it begins anew, and says so.
    again = run(*command, "--resume")
    assert again.exit_code == 0
    assert "there is none, so that training begins anew" in " ".join(again.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nowhere"], "nowhere: there is no such folder"),
        (["train", "{folder}", "--split", "trian"], "did you mean 'train'?"),
        (["train", "{folder}", "--C", "-1"], "C is -1"),
        (
            ["train", "{folder}", "--areas", "uniform"],
            "the sizes of --method auto are learned",
        ),
        (["train", "{folder}", "--out", "missing/m.safetensors"], "its folder does not exist"),
        (["train", "{folder}", "--out", "{folder}"], "is a folder"),
        (["train", "{folder}", "--features", "dep"], "dep"),
        (["predict", "{folder}/classes.csv", "{folder}"], "not a model file"),
        (["predict", "nowhere.safetensors", "{folder}"], "no such file"),
        (["predict", "{model}", "nowhere.jpg"], "nowhere.jpg: there is no such image"),
        (["predict", "{model}", "{folder}/classes.csv"], "classes.csv"),
        (["predict", "{model}", "{folder}", "{folder}/images/picture00.png"], "picture00.png: named as"),
        (["evaluate", "{model}", "nowhere"], "nowhere: there is no such folder"),
        (["summary", "{folder}", "--split", "x"], "no split 'x'"),
        (["summary", "{folder}", "--picture", "missing/s.png"], "missing/s.png: its folder does not exist"),
        (["summary", "{folder}", "--picture", "s.xyz"], "s.xyz: the name of an image must end in"),
        (["summary", "{folder}", "--picture", "."], "is a folder"),
        (["weaken", "{folder}", "{model}"], "m.safetensors: is not a folder; choose a new folder"),
        (["evaluate", "{model}", "{folder}", "--out", "{model}"], "m.safetensors: is read by this command"),
        (["nothing"], "nothing"),
    ],
)
def test_bad_input_is_told_in_one_line(
    trained: Path,
    folder: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"folder": str(folder), "model": str(trained / "m.safetensors")}
    done = run(*(argument.format(**names) for argument in arguments))
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
    assert done.stdout == ""


def test_tune_prints_the_best_setting(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = {"C": (0.1,), "class_weight": (), "alpha": (), "beta": ()}
    monkeypatch.setattr("multiutility.tuning.search.GRID", grid)
    out = tmp_path / "t.json"
    done = run("tune", trained / "weak", "--folds", 2, "--out", out, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["metric"] == "accuracy"
    assert len(told["settings"]) == 2  # the default, and the one of the grid
    assert told["best"]["C"] == told["settings"][0]["C"]
    assert told["settings"][0]["score"] >= told["settings"][1]["score"]
    page = out.with_suffix(".md").read_text()
    assert "multiutility tune weak --features deep" in page
    assert all(f"{one['score']:.3f}" in page for one in told["settings"])
    text = run("tune", trained / "weak", "--folds", 2, "--out", out)
    assert text.stdout.split()[:5] == ["C", "class_weight", "alpha", "beta", "accuracy"]
    assert f"--C {told['best']['C']:g}" in text.stderr
