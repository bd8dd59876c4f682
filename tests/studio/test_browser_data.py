"""Any folder in a real browser: first steps, labels that are mended, photos that are gone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from browser_cases import BARE, TRAINING, Studio, becomes, center, drag, saved
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import read_mask
from multiutility.datasets.scenes import CLASSES
from multiutility.datasets.validate import validate
from multiutility.kinds.tags import OpenTag
from multiutility.studio.held_out import held_out
from studio_cases import running

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@contextmanager
def opened(folder: Path, browser: Browser) -> Iterator[Studio]:
    """The studio of a folder, in which nothing goes wrong."""
    with running(folder) as origin:
        found = Studio(folder, origin, browser)
        yield found
        for context in browser.contexts:
            context.close()
    assert found.troubles == []


def test_from_a_folder_of_photos_to_the_first_tag(
    scenes: DatasetFolder, browser: Browser, tmp_path: Path
) -> None:
    folder = tmp_path / "holidays"
    folder.mkdir()
    for sample in scenes:
        shutil.copy(sample.path, folder)
    with opened(folder, browser) as studio:
        page = studio.window()
        page.wait_for_selector(".guide:has-text('First step: name what you want to find')")
        becomes(page, page.locator(".cell").count, 6)
        # Whoever opens a picture first is told, too.
        page.locator(f".cell[data-name={BARE}]").click()
        page.wait_for_selector("h1:text-is('First, a label')")
        page.get_by_role("button", name="New label").click()
        page.get_by_label("Name").fill("sky")
        page.get_by_role("button", name="Add").click()
        page.wait_for_selector("canvas.picture")
        page.keyboard.press("1")
        saved(page)
        page.get_by_role("link", name="Gallery").click()
        page.wait_for_selector(".guide:has-text('1 of 6 pictures for a first model')")
        page.get_by_role("link", name="Next picture").click()
        page.wait_for_selector("canvas.picture")
    dataset = DatasetFolder(folder)
    assert dataset.classes.names == ("sky",)
    assert dataset[BARE].marks.tags == (0,)


def test_the_first_page_says_the_next_step(studio: Studio) -> None:
    page = studio.window()
    page.wait_for_selector(".guide:has-text('3 of 6 pictures for a first model')")
    assert page.locator(".guide progress").get_attribute("value") == "0.5"


def test_labels_are_mended_in_all_files(studio: Studio) -> None:
    page, stranger = studio.open("train-0002"), studio.open("train-0001", "mask")
    other = page.context.new_page()
    other.goto(f"{studio.origin}/#/annotate/train-0000/mask")
    other.wait_for_selector("canvas[data-regions]")
    page.goto(f"{studio.origin}/#/labels")
    before = DatasetFolder(studio.folder)
    masks = {name: before[name].mask() for name in ("train-0000", "train-0001")}
    boxed = next(iter({box.label for box in before["train-0002"].marks.boxes}))
    thing = before.classes[boxed].name
    page.get_by_label(f"Name of {thing}").fill("beast")
    page.get_by_label("Color of sky").fill("#123456")
    page.get_by_role("button", name="Down: sky").click()
    page.get_by_label("Merge mountain into").select_option("sky")
    page.get_by_role("button", name="Delete: road").click()
    page.wait_for_selector("text=To be deleted: road")
    page.get_by_role("button", name="Save changes").click()
    page.wait_for_selector("#ask-dialog[open] >> text=road (")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.wait_for_selector(".toast:has-text('Labels are changed in all files')")
    after = DatasetFolder(studio.folder)
    assert after.classes.names[0] == "sky"
    assert after.classes[0].color == (0x12, 0x34, 0x56)
    assert {"road", "mountain", thing} & set(after.classes.names) == set()
    assert "beast" in {after.classes[box.label].name for box in after["train-0002"].marks.boxes}
    becomes = {"mountain": "sky", "road": "", thing: "beast"}
    for name, old in masks.items():
        new = after[name].mask()
        assert old is not None
        assert new is not None
        names = ["", *(becomes.get(one, one) for one in before.classes.names)]
        now = ["", *after.classes.names]
        assert [names[v] for v in old.ravel()] == [now[v] for v in new.ravel()]
    assert validate(studio.folder) == []
    # Another window follows, and what it paints has the right label.
    other.wait_for_selector(".label:has-text('beast')")
    other.get_by_role("button", name="beast").click()
    other.mouse.click(*center(other)(64, 48))
    saved(other)
    value = read_mask(studio.folder / "masks" / "train-0000.png")[48, 64]
    assert DatasetFolder(studio.folder).classes[value - 1].name == "beast"
    # One in another browser has not heard of it: what it paints with the old ones is not taken.
    mask = (studio.folder / "masks" / "train-0001.png").read_bytes()
    stranger.wait_for_selector("canvas[data-regions]")
    stranger.get_by_role("button", name="mountain").click()
    stranger.mouse.click(*center(stranger)(64, 48))
    stranger.wait_for_selector(".toast:has-text('labels were changed')")
    stranger.wait_for_selector(".label:has-text('beast')")
    saved(stranger)
    assert (studio.folder / "masks" / "train-0001.png").read_bytes() == mask


def test_changed_labels_are_taken_back(studio: Studio) -> None:
    page = studio.window()
    before = {path: path.read_bytes() for path in studio.folder.rglob("*.*") if path.is_file()}
    page.get_by_role("link", name="Labels").click()
    page.get_by_label("Name of sky").fill("heaven")
    becomes(page, page.get_by_role("button", name="New label").is_disabled, True)
    page.get_by_role("button", name="Discard them").click()
    page.get_by_label("Merge sky into").select_option("water")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("button", name="Undo it").click()
    page.wait_for_selector(".toast:has-text('Taken back')")
    assert page.locator(".toast:has-text('not saved')").count() == 0
    assert {path: path.read_bytes() for path in before} == before


def test_a_photo_that_was_removed_is_repaired_in_the_page(studio: Studio) -> None:
    (photo,) = (studio.folder / "images").glob("train-0002.*")
    photo.rename(studio.folder.parent / photo.name)
    page = studio.window()
    page.wait_for_selector(".cell")
    becomes(page, page.locator(".cell").count, 5)
    page.wait_for_selector(".guide:has-text('1 annotated picture is not in the folder any more')")
    page.get_by_role("link", name="Repair").click()
    page.get_by_role("button", name="Set train-0002 aside").click()
    page.wait_for_selector("h2:text-is('Set aside')")
    assert validate(studio.folder) == []
    (studio.folder.parent / photo.name).rename(photo)
    page.reload()
    page.wait_for_selector("text=The picture is here again.")
    page.get_by_role("button", name="Put train-0002 back").click()
    page.wait_for_selector("text=All annotated pictures are in the folder")
    page.get_by_role("link", name="Gallery").click()
    becomes(page, page.locator(".cell").count, 6)
    becomes(page, page.locator(".guide.trouble").count, 0)
    assert "boxes" in DatasetFolder(studio.folder)["train-0002"].kinds


def test_a_label_that_comes_later_is_asked_for(studio: Studio) -> None:
    page = studio.open(BARE)
    tags = DatasetFolder(studio.folder)["train-0002"].marks.tags
    page.get_by_role("button", name="New label").click()
    page.wait_for_selector("text=1 picture say what is in them, without the new label")
    page.get_by_label("Name").fill("carpet")
    page.get_by_role("button", name="Add").click()
    page.wait_for_selector(".label:has-text('carpet')")
    new = DatasetFolder(studio.folder)["train-0002"].annotation()
    assert set(new.labels) >= set(tags)
    assert new.partition(len(CLASSES) + 1).unknown == (len(CLASSES),)


def test_that_is_all(studio: Studio) -> None:
    page = studio.open(BARE, "seeds")
    place, all_ = center(page), page.get_by_label("That is all")
    becomes(page, all_.is_disabled, True)
    for key, x in (("1", 20.5), ("3", 100.5)):  # sky, grass
        page.keyboard.press(key)
        page.mouse.click(*place(x, 20.5))
    saved(page)
    assert DatasetFolder(studio.folder)[BARE].annotation().partition(len(CLASSES)).unknown
    becomes(page, all_.is_checked, False)
    page.keyboard.press(";")
    saved(page)
    known = DatasetFolder(studio.folder)[BARE].annotation()
    assert known.tags == (0, 2)
    assert known.partition(len(CLASSES)).complete
    # Tags may be taken for some of what is there, too.
    all_.uncheck()
    saved(page)
    known = DatasetFolder(studio.folder)[BARE].annotation()
    assert known.tags == (OpenTag(0), OpenTag(2))
    becomes(page, page.locator(".label:has-text('cow') .count").inner_text, "?")
    page.keyboard.press("Control+z")
    saved(page)
    becomes(page, all_.is_checked, True)


def test_boxes_alone_are_not_all(studio: Studio) -> None:
    page = studio.open(BARE, "boxes")
    place = center(page)
    page.keyboard.press("9")  # cow
    drag(page, place(30, 20), place(90, 70))
    page.get_by_label("That is all").check()
    page.wait_for_selector("text=Something must be around the boxes")
    page.get_by_label("grass is in the picture").check()
    saved(page)
    becomes(page, page.locator("text=Something must be around the boxes").count, 0)
    assert DatasetFolder(studio.folder)[BARE].annotation().partition(len(CLASSES)).complete


def test_training_says_which_masks_are_held_out_and_which_files_are_skipped(studio: Studio) -> None:
    (photo,) = (studio.folder / "images").glob(f"{BARE}.*")
    photo.unlink()  # it is a link to one that other tests need
    photo.write_bytes(b"no picture")
    page = studio.window()
    page.goto(f"{studio.origin}/#/train")
    (held,) = held_out(DatasetFolder(studio.folder))
    becomes(page, page.locator(".held-out").inner_text, held)
    page.locator("#features").select_option("paper")
    page.get_by_role("button", name="Train").click()
    page.wait_for_selector("text=Model ready; 1 file skipped. The model has learned from", timeout=TRAINING)
    page.wait_for_selector(f".skipped li:has-text('{BARE} images/{photo.name}')")
    assert page.locator(".intro.bad").count() == 0
    page.wait_for_selector("button:has-text('Train')", timeout=TRAINING)
    # The others are predicted, and can be looked at.
    page.goto(f"{studio.origin}/#/review/train-0004")
    page.wait_for_selector("canvas[data-shown=prediction]")


def test_export_from_the_page(studio: Studio) -> None:
    page = studio.window()
    page.get_by_role("link", name="Files").click()
    page.get_by_label("Format to export to").select_option("voc")
    becomes(page, lambda: page.get_by_label("New folder for the export").input_value(), "lake-voc")
    page.get_by_role("button", name="Export").click()
    page.wait_for_selector("text=Done: ")
    assert list((studio.folder.parent / "lake-voc").rglob("*.xml"))
    # Into a folder of somebody else, it says so.
    page.get_by_label("New folder for the export").fill("lake")
    page.get_by_role("button", name="Export").click()
    page.wait_for_selector(".bad:has-text('Error')")
