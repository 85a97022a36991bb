"""The report's page as people see it: on a desk, on a phone, in the dark, on paper."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, expect

from campaigns.analysis.study import study
from campaigns.analysis.tables import Table, all_tables
from campaigns.report.figures import all_figures
from campaigns.report.page.report import report_page
from tests.browser import needs_chromium, running_browser, shown
from tests.campaigns.analysis.pools import again, idle, main

pytestmark = [needs_chromium, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return all_tables(study([main(), again(), idle()]))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, tables: dict[str, Table]) -> Path:
    found = study([main(), again(), idle()])
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(report_page(found, tables, all_figures(found, tables)), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_is_asked_for_and_nothing_complained_of(
    browser: Browser, page: Path, width: int
) -> None:
    with shown(browser, page.as_uri(), width) as found:
        shown_svgs = "wide" if width > 640 else "narrow"
        for room in ("wide", "narrow"):
            drawn = found.page.locator(f"figure .{room} svg")
            assert drawn.count() == 11
            assert drawn.first.is_visible() == (room == shown_svgs)
        # A figure is as wide as its place: none is scrolled sideways.
        assert found.page.evaluate(
            "[...document.querySelectorAll('figure svg')].every("
            "(svg) => svg.getBoundingClientRect().right <= innerWidth)"
        )
        # The page itself never scrolls sideways, whatever its figures do.
        assert found.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for url in found.asked:
            assert url.startswith((page.as_uri(), "data:")), url
        assert found.said == []


def test_the_data_of_a_figure_is_a_click_away(
    browser: Browser, page: Path, tables: dict[str, Table], tmp_path: Path
) -> None:
    with shown(browser, page.as_uri()) as found:
        details = found.page.locator("#directed details")
        details.locator("summary").click()
        table = details.locator("table")
        table.wait_for()
        assert table.locator("tbody tr").count() == tables["directed"].frame.height
        assert "-$0.30" in table.inner_text(), "30 cents, as dollars"
        with found.page.expect_download() as download:
            details.get_by_role("button", name="directed.csv").click()
        file = tmp_path / "directed.csv"
        download.value.save_as(file)
        assert pl.read_csv(file).equals(tables["directed"].frame)
        assert found.said == []


def test_it_is_dark_where_the_system_is_and_the_button_decides(
    browser: Browser, page: Path
) -> None:
    with shown(browser, page.as_uri(), colours="dark") as found:

        def paper() -> str:
            return str(
                found.page.evaluate(
                    "getComputedStyle(document.querySelector('.bar')).backgroundColor"
                )
            )

        def ink() -> str:
            return str(
                found.page.evaluate(
                    "getComputedStyle(document.querySelector('#directed text[style*=--ink]')).fill"
                )
            )

        assert (paper(), ink()) == ("rgb(23, 25, 29)", "rgb(230, 232, 236)")
        found.page.get_by_role("button", name="Change the colours").click()
        assert (paper(), ink()) == ("rgb(253, 253, 254)", "rgb(28, 30, 34)")
        found.page.reload()
        assert paper() == "rgb(253, 253, 254)", "it is remembered"


def test_contents_lead_to_figures(browser: Browser, page: Path) -> None:
    with shown(browser, page.as_uri(), 390, 844) as found:
        contents = found.page.locator("nav.contents details")
        assert contents.get_attribute("open") is None, "closed where there is little room"
        contents.locator("summary").click()
        contents.get_by_role("link", name="Who does what to whom").click()
        expect(found.page.locator("#directed h3")).to_be_in_viewport()
        assert found.page.url.endswith("#directed")


def test_on_paper_there_are_only_figures_and_text(browser: Browser, page: Path) -> None:
    with shown(browser, page.as_uri(), 718, colours="dark") as found:
        found.page.emulate_media(media="print")
        assert not found.page.locator("nav.contents").is_visible()
        assert not found.page.locator("#theme").is_visible()
        assert not found.page.locator("#tables").is_visible(), "a heading with nothing below"
        assert found.page.locator("#directed .wide svg").is_visible()
        assert not found.page.locator("#directed .narrow svg").is_visible()
        # Nothing is cut off at the edge of the sheet.
        assert found.page.evaluate(
            "[...document.querySelectorAll('figure, .card, h1, h2')].every("
            "(each) => each.getBoundingClientRect().left >= 0)"
        )
        background = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(255, 255, 255)"
