"""Any folder in a real browser: first steps, labels that are mended, photos that are gone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from browser_cases import BARE, Studio, saved
from multiutility.datasets.folder import DatasetFolder
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
        assert page.locator(".cell").count() == 6
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
