"""Undo from picture to picture, and the review in a real browser: accept, correct, compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from browser_cases import BARE, Studio, becomes, center, drag, saved, strokes
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import read_mask
from studio_cases import write_small_model

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_undo_goes_on_from_picture_to_picture(studio: Studio) -> None:
    page = studio.open(BARE)
    page.keyboard.press("1")
    for key in ("s", "9"):
        page.keyboard.press(key)
    place = center(page)
    drag(page, place(20.5, 48.5), place(60.5, 48.5))
    saved(page)
    before = strokes(studio)
    page.keyboard.press(".")
    page.wait_for_selector("canvas[aria-label='Picture train-0004']")
    page.keyboard.press("t")
    page.keyboard.press("2")
    saved(page)
    # Back at the first one, what was done there is undone; others stay.
    page.keyboard.press(",")
    page.wait_for_selector(f"canvas[aria-label='Picture {BARE}']")
    page.keyboard.press("Control+z")
    saved(page)
    assert DatasetFolder(studio.folder)[BARE].kinds == {"tags"}
    page.keyboard.press("Control+Shift+z")
    saved(page)
    assert np.array_equal(strokes(studio), before)
    for _ in range(2):
        page.keyboard.press("Control+z")
    saved(page)
    assert DatasetFolder(studio.folder)[BARE].kinds == frozenset()
    # When nothing is left to undo here, the picture that was changed last is opened.
    assert DatasetFolder(studio.folder)["train-0004"].marks.tags == (1,)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("canvas[aria-label='Picture train-0004']")
    page.wait_for_selector("text=Undone in train-0004.")
    saved(page)
    assert DatasetFolder(studio.folder)["train-0004"].kinds == frozenset()
    becomes(page, page.get_by_role("button", name="Undo").is_disabled, True)


def test_what_others_did_meanwhile_stays_when_something_is_undone(studio: Studio) -> None:
    page = studio.open(BARE)
    page.keyboard.press("1")
    saved(page)
    page.keyboard.press(".")
    page.wait_for_selector("canvas[aria-label='Picture train-0004']")
    with (studio.folder / "tags.csv").open("a") as file:
        file.write(f"{BARE},grass\n")
    page.keyboard.press(",")
    page.wait_for_selector(".label-row.tagged:has-text('grass')")
    page.keyboard.press("Control+z")
    saved(page)
    assert DatasetFolder(studio.folder)[BARE].marks.tags == (2,)


def test_nothing_is_undone_that_another_order_of_classes_would_spoil(studio: Studio) -> None:
    page = studio.open(BARE, "scribbles")
    place = center(page)
    drag(page, place(20.5, 48.5), place(60.5, 48.5))
    saved(page)
    add_label(page, "carpet")
    becomes(page, page.get_by_role("button", name="Undo").is_enabled, True)
    table = studio.folder / "classes.csv"
    head, first, second, *rest = table.read_text().splitlines()
    table.write_text("\n".join([head, second, first, *rest, ""]))
    add_label(page, "curtain")
    page.wait_for_selector("button[aria-label=Undo][disabled]")


def add_label(page: Page, name: str) -> None:
    page.get_by_role("button", name="New label").click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Add").click()
    page.wait_for_selector(f".label-row:has-text('{name}')")


def test_only_what_was_corrected_is_kept(studio: Studio) -> None:
    write_small_model(studio.folder)
    page = studio.window()
    page.goto(f"{studio.origin}/#/review/{BARE}")
    page.wait_for_selector("canvas[data-shown=prediction]")
    page.get_by_role("button", name="Correct by painting").click()
    page.wait_for_selector("canvas[data-prediction=shown]")
    page.wait_for_timeout(300)
    becomes(page, page.get_by_label("Show the prediction").is_checked, True)
    assert DatasetFolder(studio.folder)[BARE].kinds == frozenset()
    page.keyboard.press("9")
    place = center(page)
    drag(page, place(20.5, 48.5), place(60.5, 48.5))
    saved(page)
    assert DatasetFolder(studio.folder)[BARE].kinds == {"scribbles"}
    assert set(np.unique(strokes(studio))) == {0, 9}
    assert (strokes(studio) > 0).mean() < 0.02


def predict_masked(studio: Studio, page: Page) -> None:
    """Have images with masks predicted, which a training does at its end."""
    for sample in DatasetFolder(studio.folder):
        if "mask" in sample.kinds:
            page.request.get(f"{studio.origin}/api/images/{sample.name}/prediction")


def test_an_accepted_prediction_is_marked_not_scored_and_undone(studio: Studio) -> None:
    write_small_model(studio.folder)
    table = studio.folder / "studio" / "accepted.csv"
    page = studio.window()
    page.goto(f"{studio.origin}/#/review/{BARE}")
    page.wait_for_selector("canvas[data-shown=prediction]")
    page.get_by_role("button", name="Accept as mask").click()
    page.wait_for_selector("text=This mask is a prediction that was accepted")
    saved(page)
    predictions = studio.folder / "studio" / "predictions"
    assert np.array_equal(
        read_mask(studio.folder / "masks" / f"{BARE}.png"),
        read_mask(next(predictions.glob(f"*/masks/{BARE}.png"))),
    )
    assert table.read_text() == f"image\n{BARE}\n"
    page.keyboard.press("Control+z")
    saved(page)
    assert DatasetFolder(studio.folder)[BARE].kinds == frozenset()
    assert table.read_text() == "image\n"
    page.get_by_role("button", name="Redo").click()
    page.wait_for_selector("text=This mask is a prediction that was accepted")
    saved(page)
    # Also after it was opened again, and touched up.
    page.reload()
    page.wait_for_selector("text=This mask is a prediction that was accepted")
    page.get_by_role("button", name="Correct by painting").click()
    page.wait_for_selector("canvas[data-prediction=shown]")
    page.keyboard.press("Shift+B")
    page.mouse.click(*center(page)(64, 48))
    saved(page)
    assert table.read_text() == f"image\n{BARE}\n"
    predict_masked(studio, page)
    page.goto(f"{studio.origin}/#/review/{BARE}/scores")
    page.wait_for_selector(".accepted:has-text('One mask is a prediction that was accepted')")
    page.wait_for_selector("text=still to be compared", state="detached")
    assert "2 pictures." in page.locator(".scores-page").inner_text()
    page.get_by_role("link", name="Gallery").click()
    badge = page.locator(f".cell[data-name={BARE}] .badge")
    becomes(page, badge.all_inner_texts, ["accepted mask"])
    # A mask that is painted anew is one of a person.
    page.goto(f"{studio.origin}/#/annotate/{BARE}/mask")
    page.wait_for_selector("canvas.picture")
    page.get_by_role("button", name="Clear").click()
    saved(page)
    page.mouse.click(*center(page)(64, 48))
    saved(page)
    assert "mask" in DatasetFolder(studio.folder)[BARE].kinds
    assert table.read_text() == "image\n"


def test_an_open_review_says_that_it_is_of_an_older_model(studio: Studio) -> None:
    write_small_model(studio.folder)
    page = studio.window()
    page.goto(f"{studio.origin}/#/review/{BARE}")
    page.wait_for_selector("canvas[data-shown=prediction]")
    stale = page.locator(".stale")
    assert stale.is_hidden()
    write_small_model(studio.folder, {"chosen": {"start": "another way"}})
    stale.wait_for()
    with page.expect_response(lambda answer: answer.url.endswith("/prediction")):
        page.get_by_role("button", name="Show what it says").click()
    stale.wait_for(state="hidden")


def test_a_confusion_opens_its_pictures(studio: Studio) -> None:
    write_small_model(studio.folder)
    page = studio.window()
    predict_masked(studio, page)
    page.goto(f"{studio.origin}/#/review/{BARE}/scores")
    page.wait_for_selector("table.matrix")
    page.wait_for_selector("text=still to be compared", state="detached")
    answer = page.request.get(f"{studio.origin}/api/scores").json()
    part = answer.get("new") or answer["learned"]
    found = [(row, column) for row, columns in part["where"].items() for column in columns if row != column]
    row, column = max(found, key=lambda one: part["matrix"][int(one[0])][int(one[1])])
    truth, called = part["names"][int(row)], part["names"][int(column)]
    page.get_by_role("button", name=f"{truth} called {called}").click()
    expected = part["where"][row][column]
    page.wait_for_selector(f"h2:has-text('{truth} called {called}')")
    links = page.locator(".confused a")
    assert [text.split()[0] for text in links.all_inner_texts()] == [name for name, _ in expected]
    # Independently: that many pixels of the mask are called so.
    dataset, (name, share) = DatasetFolder(studio.folder), expected[0]
    mask = dataset[name].mask()
    assert mask is not None
    predicted = read_mask(next((studio.folder / "studio" / "predictions").glob(f"*/masks/{name}.png")))
    wrong = (mask == dataset.classes.label(truth) + 1) & (predicted == dataset.classes.label(called) + 1)
    assert abs(share - wrong.sum() / (mask > 0).sum()) < 1e-9
    links.first.click()
    page.wait_for_selector(f"canvas[aria-label='Prediction for {name}'][data-shown=errors]")
