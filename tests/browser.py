"""Pages in a real browser: Debian's Chromium, which is given no network service of its own."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium on PATH; Debian: apt install chromium"
)

_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Shown:
    """A page that is open, with what it said on its console and what it asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser for the tests of one module: while it runs, its process can run no event loop."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def shown(
    browser: Browser,
    address: str,
    width: int = 1280,
    height: int = 900,
    colours: Literal["light", "dark"] = "light",
) -> Iterator[Shown]:
    """A page in a window of this size, with nothing remembered; `colours` is what the system
    prefers.
    """
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colours)
    try:
        found = Shown(page)
        page.goto(address)
        yield found
    finally:
        page.close()
