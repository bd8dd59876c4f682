"""The page for everybody: on a phone, by keys alone, and in plain words."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import studio_worker
from browser_cases import BARE, Studio, becomes, center, fingers, holding, saved
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.scenes import CLASSES
from multiutility.datasets.writing import NewSample, write_dataset
from multiutility.kinds import PixelAnnotation
from multiutility.studio.training import Training
from studio_cases import running, write_small_model

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE = (390, 844)
# Elements that reach beyond the screen, but for what is in a part that scrolls by itself, or is not seen.
TOO_WIDE = """() => [...document.querySelectorAll("body *")].filter((one) => {
  const { right, width } = one.getBoundingClientRect();
  return width && right > innerWidth + 1 && !one.closest(".matrix-wrap, dialog, .skip");
}).map((one) => `${one.tagName} ${one.className}`)"""


@pytest.mark.parametrize(
    "address",
    ["gallery", f"annotate/{BARE}/tags", f"annotate/{BARE}/mask", "train", f"review/{BARE}", "next"],
)
def test_nothing_is_wider_than_a_phone(studio: Studio, address: str) -> None:
    write_small_model(studio.folder)
    page = studio.window(PHONE, touch=True)
    page.goto(f"{studio.origin}/#/{address}")
    page.wait_for_selector(f"#view[data-view={address.split('/', maxsplit=1)[0]}] section")
    page.wait_for_timeout(500)
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_scores_fit_a_phone(studio: Studio) -> None:
    write_small_model(studio.folder)
    page = studio.window(PHONE, touch=True)
    for name in ("train-0000", "train-0001"):
        page.request.get(f"{studio.origin}/api/images/{name}/prediction")
    page.goto(f"{studio.origin}/#/review/{BARE}/scores")
    page.wait_for_selector("table.matrix")
    assert page.evaluate(TOO_WIDE) == []


def test_tags_and_points_on_a_phone(studio: Studio) -> None:
    page = studio.window(PHONE, touch=True)
    page.goto(f"{studio.origin}/#/annotate/{BARE}/tags")
    page.wait_for_selector("canvas.picture")
    box = page.locator("canvas.picture").bounding_box()
    assert box is not None
    assert box["height"] > 200
    for name in ("grass", "person"):
        page.get_by_role("button", name=name).tap()
    saved(page)
    assert DatasetFolder(studio.folder)[BARE].marks.tags == (2, 10)
    page.get_by_role("radio", name="Points").tap()
    page.get_by_role("button", name="cow").tap()
    place = center(page)
    fingers(page, [place(40.5, 50.5)])
    saved(page)
    (seed,) = DatasetFolder(studio.folder)[BARE].marks.seeds
    assert (seed.label, seed.x, seed.y) == (8, 40, 50)
    page.get_by_role("button", name="Next picture").tap()
    page.wait_for_selector("canvas[aria-label='Picture train-0004']")


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.tagName + ' ' + (document.activeElement.title ?? '')"))


def test_few_keys_to_the_picture(studio: Studio) -> None:
    page = studio.open(BARE)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the link that skips
    assert focused(page).startswith("CANVAS")
    assert page.url.endswith(f"#/annotate/{BARE}/tags")
    # Without it, the row of tools is one stop.
    page.locator("a.skip").focus()
    stops = 0
    while not focused(page).startswith("CANVAS"):
        page.keyboard.press("Tab")
        stops += 1
        assert stops <= 10
    # Arrows go along the row, and nothing else happens.
    page.get_by_role("button", name="Previous picture").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.tool") == "boxes"
    assert page.url.endswith(f"#/annotate/{BARE}/tags")
    page.keyboard.press("Enter")
    becomes(page, lambda: page.get_by_role("radio", name="Boxes").get_attribute("aria-checked"), "true")


def test_the_gallery_is_skipped_to(studio: Studio) -> None:
    page = studio.window()
    page.wait_for_selector(".cell")
    page.locator("a.skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "scroller"


def test_help_has_the_keys_of_all_pages(studio: Studio) -> None:
    page = studio.window()
    page.wait_for_selector(".cell")
    page.keyboard.press("?")
    keys = re.sub(r"\s+", " ", page.locator("#help-dialog .keys").inner_text())
    assert "in Review: 1 … 4 prediction, your mask, differences, confidence" in keys
    assert "in the gallery: Space select a picture" in keys
    for letter in "BRPC":
        assert f" {letter} " in keys


def test_suggestions_are_in_plain_words(studio: Studio) -> None:
    write_small_model(studio.folder)
    page = studio.window()
    for sample in DatasetFolder(studio.folder):
        page.request.get(f"{studio.origin}/api/images/{sample.name}/prediction")
    page.goto(f"{studio.origin}/#/next")
    page.wait_for_selector(".suggestions a")
    worth = page.locator(".suggestions .worth").first.inner_text()
    assert re.match(r"about \d+ (s|min); may put right [\d.]+ % of this picture", worth)
    assert "mends" not in page.inner_text("body")


def test_a_slow_page_leaves_the_next_one_alone(studio: Studio) -> None:
    page = studio.window()
    page.wait_for_selector(".cell")
    for address, path in (("train", "**/api/training"), (f"annotate/{BARE}", "**/picture?*")):
        held = holding(page, path)
        page.evaluate(f"location.hash = '#/{address}'")
        becomes(page, partial(bool, held), True)
        page.evaluate("location.hash = '#/files'")
        page.wait_for_selector("section.files")
        held[0].continue_()
        page.unroute(path)
        page.wait_for_timeout(400)
        assert page.locator("section.files").is_visible()
        assert page.locator("canvas.picture").count() == 0


def test_a_picture_that_cannot_be_read_is_passed_by(studio: Studio) -> None:
    names = DatasetFolder(studio.folder).names
    broken, after, last = names[names.index(BARE) :][:3]
    path = DatasetFolder(studio.folder)[broken].path
    part = path.read_bytes()[:100]
    path.unlink()  # it may be a link to what other tests have
    path.write_bytes(part)
    page = studio.window()
    page.goto(f"{studio.origin}/#/annotate/{broken}")
    page.wait_for_selector("text=This cannot be shown")
    assert path.name in page.locator("#view").inner_text()
    page.keyboard.press(".")
    page.wait_for_selector(f"h1:text-is('{after}')")
    page.keyboard.press(",")
    page.get_by_role("link", name="Next picture").click()
    page.wait_for_selector(f"h1:text-is('{after}')")
    # The first step leads to one that can be annotated.
    page.goto(f"{studio.origin}/#/gallery")
    page.locator(".guide a.primary").click()
    page.wait_for_selector(f"h1:text-is('{after}')")
    page.keyboard.press(".")
    page.wait_for_selector(f"h1:text-is('{last}')")


def test_suggestions_of_long_names_fit_a_phone(studio: Studio) -> None:
    path = DatasetFolder(studio.folder)[BARE].path
    path.rename(path.with_name(f"a_photograph_of_a_very_{'long' * 20}_name{path.suffix}"))
    page = studio.window(PHONE, touch=True)
    page.goto(f"{studio.origin}/#/next")
    page.wait_for_selector(".suggestions li")
    assert page.evaluate(TOO_WIDE) == []


def test_a_box_with_one_corner_is_given_up(studio: Studio) -> None:
    page = studio.open(BARE, "boxes")
    for leave in ("Escape", "p"):
        page.locator("canvas.picture").focus()
        for key in ("b", "ArrowLeft", "Enter", "ArrowRight", "ArrowDown", "ArrowDown", leave):
            page.keyboard.press(key)
        saved(page)
        becomes(page, page.locator(".object").count, 0)
    # The next one is drawn from its own first corner.
    for key in ("b", "ArrowLeft", "Enter", "ArrowRight", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    saved(page)
    assert len(DatasetFolder(studio.folder)[BARE].marks.boxes) == 1


def test_a_training_is_told_on_all_pages(
    scenes: DatasetFolder, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(studio_worker.__file__).parent))
    monkeypatch.setenv("PLAYS", str(studio_worker.WAIT))
    monkeypatch.setattr("multiutility.studio.app.Training", partial(Training, worker="studio_worker"))
    folder = tmp_path / "lake"
    write_dataset(
        folder, CLASSES, [NewSample(one.name, one.path, PixelAnnotation(mask=one.mask())) for one in scenes]
    )
    with running(folder) as origin:
        page = Studio(folder, origin, browser).window()
        page.goto(f"{origin}/#/train")
        page.get_by_role("button", name="Train").click()
        page.get_by_role("button", name="Cancel").wait_for()
        page.goto(f"{origin}/#/gallery")
        sign = page.locator("#training-state")
        sign.get_by_text("Training: Learning, 50 %").wait_for()
        (folder / studio_worker.GO).touch()
        page.get_by_text("The model is ready").wait_for()
        sign.wait_for(state="hidden")
        page.context.close()
