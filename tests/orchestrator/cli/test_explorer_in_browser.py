"""The trajectory explorer as people use it, written by `report` from a store of scripted agents."""

import base64
import gzip
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from orchestrator.cli.main import main
from orchestrator.session.events import ToolReceipt, encode_event, kind_of
from orchestrator.session.files import FileChange
from orchestrator.store import AttemptKey, FileVersion, RunKey, SessionStore, open_store
from tests.browser import Shown, needs_chromium, running_browser, shown
from tests.orchestrator.bundle.exported import write
from tests.orchestrator.cli.rehearsed import EVENTS, NAME, OPEN, PLAYED, make_store

pytestmark = [needs_chromium, pytest.mark.xdist_group("browser")]

HOSTILE = "</script><script>document.title='taken'</script>\u2028<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorer")
    location = make_store(folder)
    _write_hostile_note(location)
    return _reported(folder / "report", "--store", location)


@pytest.fixture(scope="module")
def bundled(page: Path) -> dict[bool, Path]:
    """The explorers of bundles of the same store, without and with conversations."""
    store = page.parent.with_name("store")
    found = {}
    for told in (False, True):
        bundle = write(store, store.with_name(f"bundle-{told}"), with_conversations=told)
        found[told] = _reported(store.with_name(f"report-{told}"), "--bundle", bundle)
    return found


@pytest.fixture(scope="module")
def browser(page: Path, bundled: dict[bool, Path]) -> Iterator[Browser]:
    pages = [page, *bundled.values()]
    assert all(each.exists() for each in pages), "all that needs an event loop is done"
    with running_browser() as running:
        yield running


def _reported(folder: Path, option: str, place: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        arguments = ["report", option, str(place), "--out", str(folder), "--json"]
        patch.setattr(sys, "argv", ["ceo-arena", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
    assert end.value.code == 1, "one of its two runs is not completed"
    return folder / "explorer.html"


def _write_hostile_note(location: Path) -> None:
    """The open window of the other run goes on with one more note."""
    with open_store(str(location)) as store:
        run = store.run(RunKey(NAME, OPEN))
        lease = run.acquire("a test", 600)
        change = FileChange("MEMORY.md", 2, HOSTILE)
        event = ToolReceipt(7.0, "d", HOSTILE, HOSTILE, ok=True, file_change=change)
        file = FileVersion(change.path, change.version, change.content)
        SessionStore(run).append(
            lease, AttemptKey(0, 1, 0), len(EVENTS), kind_of(event), encode_event(event), file
        )
        run.release(lease)


def link(page: Path, run: str, seat: int, day: int) -> str:
    return f"{page.as_uri()}#{NAME}/{run}/{seat}/{day}"


def moment(found: Shown) -> str:
    return found.page.url.rpartition("#")[2]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_it_opens_at_a_moment_asks_for_files_beside_it_and_complains_of_nothing(
    browser: Browser, page: Path, width: int, colours: str
) -> None:
    address = link(page, PLAYED, 1, 7)
    with shown(browser, address, width, colours="dark" if colours == "dark" else "light") as found:
        expect(found.page.get_by_role("heading", name="writer sealed")).to_be_visible()
        expect(found.page.locator("#moment")).to_have_text("day 7")
        assert found.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        asked = [url.removeprefix(page.parent.as_uri()) for url in found.asked]
        assert asked[0].startswith("/explorer.html")
        assert all(url.startswith((page.parent.as_uri(), "data:")) for url in found.asked)
        # One script of the run, one of the company, and nothing else of the campaign.
        scripts = sorted(url for url in asked if url.endswith(".js"))
        assert scripts == ["/explorer/c1r1.js", "/explorer/c1r1s1.js"]
        assert found.said == []


def test_what_was_read_done_and_written_is_told(browser: Browser, page: Path) -> None:
    with shown(browser, link(page, PLAYED, 1, 7)) as found:
        story = found.page.locator("#story")
        expect(story.locator("summary", has_text="Briefing")).to_be_visible()
        expect(story.locator("pre.sql").first).to_contain_text("SELECT")
        expect(story.locator(".decision").first).to_contain_text("Sealed decision")
        expect(story.locator(".diff .added").first).to_be_visible()
        market = found.page.locator("#market")
        assert market.locator("table").first.locator("tbody tr").count() == 3
        expect(market).to_contain_text("Prices")


def test_keys_step_through_windows_companies_and_runs(browser: Browser, page: Path) -> None:
    with shown(browser, link(page, PLAYED, 1, 0)) as found:
        keys = found.page.keyboard
        place = found.page.locator("#moment")
        expect(place).to_have_text("day 0")
        for pressed, expected in (
            ("ArrowRight", f"{NAME}/{PLAYED}/1/7"),
            ("n", f"{NAME}/{PLAYED}/1/7"),
            ("p", f"{NAME}/{PLAYED}/1/0"),
            ("ArrowLeft", f"{NAME}/{PLAYED}/1/0"),
            ("End", f"{NAME}/{PLAYED}/1/7"),
            ("j", f"{NAME}/{PLAYED}/2/7"),
            ("k", f"{NAME}/{PLAYED}/1/7"),
            ("]", f"{NAME}/{OPEN}/1/0"),
            ("[", f"{NAME}/{PLAYED}/1/0"),
        ):
            keys.press(pressed)
            expect(found.page).to_have_url(re.compile(re.escape(f"#{expected}") + "$"))
            expect(place).to_have_text(f"day {expected.rpartition('/')[2]}")
        keys.press("?")
        expect(found.page.get_by_role("dialog")).to_be_visible()
        keys.press("Escape")
        found.page.go_back()
        expect(found.page).to_have_url(re.compile(f"#{NAME}/{OPEN}/1/0$"))
        assert found.said == []


def test_keys_that_come_faster_than_the_page_are_all_heeded(browser: Browser, page: Path) -> None:
    with shown(browser, link(page, PLAYED, 1, 0)) as found:
        expect(found.page.locator("#moment")).to_have_text("day 0")
        found.page.evaluate(
            "for (const key of ['j', 'j', 'k', 'n'])"
            "  document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
        )
        assert moment(found) == f"{NAME}/{PLAYED}/2/7"
        expect(found.page.locator("#moment")).to_have_text("day 7")


def test_filters_lead_to_windows_of_a_status_and_to_a_candidate(
    browser: Browser, page: Path
) -> None:
    with shown(browser, link(page, PLAYED, 1, 0)) as found:
        expect(found.page.locator("#moment")).to_have_text("day 0")
        found.page.locator("#candidate").select_option(label="buyer")
        assert moment(found) == f"{NAME}/{PLAYED}/3/0"
        found.page.locator("#status").select_option(label="provider error")
        assert moment(found) == f"{NAME}/{OPEN}/3/0", "the only run with such a window"
        assert found.page.locator("#run").locator("option").count() == 1
        expect(found.page.locator("#story")).to_contain_text("no credit left")
        assert found.page.get_by_role("button", name="Next window").is_disabled()


# As soon as the controls are there, and before a moment is: its scripts are loaded later.
EARLY = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("#company option")) return;
  observer.disconnect();
  const control = document.querySelector("#%s");
  control.value = [...control.options].find((each) => each.text.includes("%s")).value;
  control.dispatchEvent(new Event("change"));
}).observe(document, { childList: true, subtree: true });
"""


@pytest.mark.parametrize(
    ("control", "choice", "expected"),
    [
        ("candidate", "buyer", f"{NAME}/{PLAYED}/3/0"),
        ("status", "provider error", f"{NAME}/{OPEN}/1/0"),
        ("run", OPEN, f"{NAME}/{OPEN}/1/0"),
        ("company", "rival", f"{NAME}/{PLAYED}/2/0"),
    ],
)
def test_what_is_chosen_before_a_moment_is_shown_is_heeded(
    browser: Browser, page: Path, control: str, choice: str, expected: str
) -> None:
    tab = browser.new_page()
    try:
        found = Shown(tab)
        tab.add_init_script(EARLY % (control, choice))
        tab.goto(link(page, PLAYED, 1, 0))
        expect(tab.locator("#story h2").first).to_be_visible()
        expect(tab).to_have_url(re.compile(re.escape(f"#{expected}") + "$"))
        expect(tab.locator(f"#{control} option:checked")).to_contain_text(choice)
        assert found.said == []
    finally:
        tab.close()


def test_a_company_is_chosen_in_the_table_of_all(browser: Browser, page: Path) -> None:
    with shown(browser, link(page, PLAYED, 1, 7)) as found:
        found.page.locator("#market").get_by_role("button", name="rival").click()
        assert moment(found) == f"{NAME}/{PLAYED}/2/7"
        expect(found.page.locator("#story")).to_contain_text("A company without a model")


def test_a_link_to_what_is_not_there_says_so(browser: Browser, page: Path) -> None:
    with shown(browser, link(page, "no-such-run", 9, 999)) as found:
        expect(found.page.locator("#said")).to_contain_text("not in this report")
        expect(found.page.locator("#story h2").first).to_be_visible()
        assert found.said == []


def test_text_of_a_model_is_never_read_as_markup(browser: Browser, page: Path) -> None:
    with shown(browser, link(page, OPEN, 1, 0)) as found:
        diff = found.page.locator("#story .diff").last
        expect(diff).to_contain_text("</script><script>document.title='taken'</script>")
        assert found.page.locator("#story img, #story script").count() == 0
        assert found.page.title() != "taken"
        assert found.said == []
    for file in page.parent.glob("explorer*/**/*.js"):
        assert "</script" not in file.read_text(encoding="ascii")


def test_report_and_explorer_lead_to_each_other(browser: Browser, page: Path) -> None:
    with shown(browser, link(page, PLAYED, 1, 0)) as found:
        found.page.get_by_role("link", name="Report").click()
        found.page.get_by_role("link", name="Explorer").click()
        expect(found.page.locator("#story h2").first).to_be_visible()


def test_a_script_that_is_missing_is_named(browser: Browser, page: Path) -> None:
    chunk = page.parent / "explorer" / "c1r1s2.js"
    away = chunk.rename(chunk.with_suffix(".away"))
    try:
        with shown(browser, link(page, PLAYED, 2, 0)) as found:
            expect(found.page.locator("#said")).to_contain_text("explorer/c1r1s2.js is not")
    finally:
        away.rename(chunk)


def test_a_bundle_is_followed_as_its_store(
    browser: Browser, page: Path, bundled: dict[bool, Path]
) -> None:
    texts = []
    for each in (page, bundled[True]):
        with shown(browser, link(each, PLAYED, 1, 7)) as found:
            expect(found.page.locator("#story .diff .added").first).to_be_visible()
            texts.append([found.page.locator(part).inner_text() for part in ("#story", "#market")])
            assert found.said == []
    assert texts[0] == texts[1]


def test_a_bundle_without_conversations_says_so(
    browser: Browser, bundled: dict[bool, Path]
) -> None:
    with shown(browser, link(bundled[False], PLAYED, 3, 0)) as found:
        story = found.page.locator("#story")
        expect(story).to_contain_text("exported without conversations")
        expect(story).to_contain_text(re.compile(r"and \d+ quer(y|ies) of its books"))
        expect(story).to_contain_text("Sealed decision")
        expect(found.page.locator("#market")).to_contain_text("What happened")
        assert found.said == []
    with shown(browser, link(bundled[False], PLAYED, 1, 7)) as found:
        expect(found.page.locator("#story")).to_contain_text(re.compile(r"MEMORY\.md version \d+"))
        assert found.said == []
    with shown(browser, link(bundled[False], PLAYED, 2, 7)) as found:
        expect(found.page.locator("#story")).to_contain_text("A company without a model")
        expect(found.page.locator("#story")).not_to_contain_text("exported without conversations")


def test_prices_are_what_is_paid(browser: Browser, page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(page.parent, folder)
    chunk = folder / "explorer" / "c1r1.js"
    told = chunk.read_text(encoding="ascii")
    packed = told.split('"')[3]
    market = json.loads(gzip.decompress(base64.b64decode(packed)))
    # (list price, promotion) of company 1's first product, at day 0 and from then on.
    market["prices"][0][0][0], market["prices"][1][0][0] = [4_000, 0], [4_100, 235]
    market["prices"][0][1][0] = market["prices"][1][1][0] = [3_900, 400]
    again = base64.b64encode(gzip.compress(json.dumps(market).encode())).decode()
    chunk.write_text(told.replace(packed, again), encoding="ascii")
    with shown(browser, link(folder / page.name, PLAYED, 1, 0)) as found:
        prices = found.page.locator("#market section", has_text="list price less promotion")
        rows = prices.locator("tbody tr")
        expect(rows.nth(0).locator("td").first).to_have_text("\u25bc $38.65")
        expect(rows.nth(1).locator("td").first).to_have_text("$35.00")
        assert found.said == []
