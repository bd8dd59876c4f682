"""Many pictures in a real browser: tags for all that are selected, and marks of the one before."""

from __future__ import annotations

import re

from browser_cases import BARE, Studio, becomes, saved
from multiutility.datasets.folder import DatasetFolder


def test_many_thumbnails_are_tagged_at_once(studio: Studio) -> None:
    page = studio.window()
    page.locator(".cell[data-name=train-0003]").click(modifiers=["ControlOrMeta"])
    page.locator(".cell[data-name=train-0005]").click(modifiers=["Shift"])
    page.wait_for_selector("text=3 selected")
    becomes(page, page.locator(".cell[aria-selected=true]").count, 3)
    page.get_by_label("Label of the tag").select_option("cow")
    page.get_by_role("button", name="Tag", exact=True).click()
    page.wait_for_selector("text=3 images tagged cow.")
    dataset = DatasetFolder(studio.folder)
    assert [dataset[f"train-000{n}"].marks.tags for n in (3, 4, 5)] == [(8,)] * 3
    page.wait_for_selector(".cell[data-name=train-0004] .badge.tags")
    # By the box in the corner one is left out, and keeps its tag.
    page.locator(".cell[data-name=train-0004] .pick").click()
    page.wait_for_selector("text=2 selected")
    page.get_by_role("button", name="Remove tag").click()
    page.wait_for_selector("text=The tag cow is removed from 2 images.")
    dataset = DatasetFolder(studio.folder)
    assert [dataset[f"train-000{n}"].marks.tags for n in (3, 4, 5)] == [(), (8,), ()]
    page.locator(".scroller").focus()
    page.keyboard.press("Control+z")
    page.wait_for_selector("text=2 images as before.")
    dataset = DatasetFolder(studio.folder)
    assert [dataset[f"train-000{n}"].marks.tags for n in (3, 4, 5)] == [(8,)] * 3


def test_thumbnails_are_selected_by_keys(studio: Studio) -> None:
    page = studio.window()
    page.wait_for_selector(".cell")
    for key in ("Home", " ", "Shift+ArrowRight", "Shift+ArrowRight", "ArrowRight", " "):
        page.keyboard.press(key)
    becomes(page, page.locator(".cell[aria-selected=true]").count, 4)
    page.keyboard.press("Escape")
    becomes(page, page.locator(".cell[aria-selected=true]").count, 0)
    page.keyboard.press("Control+a")
    page.wait_for_selector("text=6 selected")
    page.get_by_role("button", name="Select none").click()
    becomes(page, page.locator(".selection").is_hidden, True)


def test_marks_of_the_previous_picture_are_copied(studio: Studio) -> None:
    source = DatasetFolder(studio.folder)["train-0002"].marks
    assert source.boxes
    page = studio.open(BARE)
    copy = page.get_by_role("button", name=re.compile("^Copy .*tags"))
    copy.click()
    counts = f"{len(source.boxes)} boxes, {len(source.tags)} tags"
    page.wait_for_selector(f"text=Copied from train-0002: {counts}.")
    saved(page)
    found = DatasetFolder(studio.folder)[BARE].marks
    assert (found.tags, found.boxes) == (source.tags, source.boxes)
    # What is here stays as it is.
    copy.click()
    page.wait_for_selector("text=train-0002 has nothing that could be copied here.")
    page.keyboard.press("Control+z")
    saved(page)
    assert DatasetFolder(studio.folder)[BARE].kinds == frozenset()
    page.keyboard.press("1")
    copy.click()
    page.wait_for_selector(f"text=Copied from train-0002: {len(source.boxes)} boxes.")
    saved(page)
    found = DatasetFolder(studio.folder)[BARE].marks
    assert (found.tags, found.boxes) == ((0,), source.boxes)
