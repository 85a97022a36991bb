"""The live view: a campaign followed while it is played, through rests and restarts."""

import http.client
import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from campaigns.definition import parse_definition
from campaigns.plan import plan
from orchestrator.lifecycle import RunState
from orchestrator.owners import own_name
from orchestrator.store import DesiredState, RunKey, open_store
from tests.browser import needs_chromium, running_browser, shown
from tests.chaos.harness import PATIENCE_SECONDS, Place, finished, place
from tests.orchestrator.cli import rehearsed
from tests.orchestrator.cli.played import (
    campaign_data,
    play_campaign,
    play_runs,
    poor_scenario,
)

pytestmark = pytest.mark.xdist_group("browser")

PATIENCE: float = PATIENCE_SECONDS * 1_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a campaign that is completed."""
    folder = tmp_path_factory.mktemp("whole")
    play_campaign(folder / "store", campaign_data("whole", poor_scenario(folder)))
    return folder / "store"


@pytest.fixture(scope="module")
def browser(whole: Path, first: Path, small: Path) -> Iterator[Browser]:
    # Its process runs no other event loop from here on, and what is needed of one is done.
    assert {whole.name, first.name, small.name} == {"store"}
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the same campaign with its first run played."""
    folder = tmp_path_factory.mktemp("first")
    data = campaign_data("whole", poor_scenario(folder))
    runs = plan(parse_definition(data, "the campaign of a test")).runs
    play_campaign(folder / "store", data, {run.run_id for run in runs[1:]})
    return folder / "store"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a campaign of models, one run of which stands in the middle of a window."""
    return rehearsed.make_store(tmp_path_factory.mktemp("small"))


@pytest.fixture
def begun(tmp_path: Path, first: Path) -> Iterator[Place]:
    """The campaign with one run played, in a place of its own."""
    shutil.copytree(first, tmp_path / "store")
    with place(tmp_path) as made:
        yield made


@pytest.fixture
def completed(tmp_path: Path, whole: Path) -> Iterator[Place]:
    """The completed campaign, in a place of its own."""
    shutil.copytree(whole, tmp_path / "store")
    with place(tmp_path) as made:
        yield made


@contextmanager
def served(trial: Place, port: int = 0) -> Iterator[str]:
    """The address of a live view of the store's campaign, in a process of its own."""
    process = trial.start("watch", "--browser", "--json", "--port", str(port))
    try:
        assert process.stdout is not None
        yield str(json.loads(process.stdout.readline())["url"])
        process.send_signal(signal.SIGINT)
        ended = finished(process)
        assert (ended.returncode, ended.stderr) == (0, "")
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def answered(
    address: str, path: str, method: str = "GET", host: str | None = None
) -> tuple[int, Any, dict[str, str]]:
    """Status, text and headers of one answer; `host` is what the request asks for by name."""
    place = address.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(place, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path, headers={"Host": host or place})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


@needs_chromium
def test_it_follows_a_campaign_that_rests_and_goes_on(begun: Place, browser: Browser) -> None:
    with served(begun) as address, shown(browser, address) as found:
        lead, matrix = found.page.locator("#lead"), found.page.locator("#matrix")
        expect(matrix.locator(".completed")).to_have_count(1, timeout=PATIENCE)
        expect(matrix.locator(".planned")).to_have_count(7)
        expect(found.page.locator("#chart polyline")).to_have_count(3)

        assert begun.run("pause", "--reason", "to look").returncode == 0
        expect(lead).to_contain_text("It is paused: to look.", timeout=PATIENCE)
        with open_store(begun.location) as store:
            store.catalogue.set_desired("whole", DesiredState.RUNNING, "")
            planned = [row.key.run_id for row in store.catalogue.runs("whole")]
        expect(lead).to_contain_text("Nobody carries it out now.", timeout=PATIENCE)

        player = Thread(target=play_runs, args=(begun.store, "whole", planned[1:]))
        player.start()
        expect(lead).to_contain_text("Completed.", timeout=PATIENCE)
        player.join()
        expect(matrix.locator(".completed")).to_have_count(8)
        assert all(url.startswith((address, "data:")) for url in found.asked)
        assert found.said == []


@needs_chromium
def test_who_holds_a_barrier_and_what_waits_for_somebody(
    tmp_path: Path, small: Path, browser: Browser
) -> None:
    shutil.copytree(small, tmp_path / "store")
    with place(tmp_path) as trial, open_store(trial.location) as store:
        run = store.run(RunKey(rehearsed.NAME, rehearsed.OPEN))
        lease = run.acquire(own_name(), 600)
        for status in (RunState.QUEUED, RunState.RUNNING):
            run.set_status(lease, status, "")
        with served(trial) as address, shown(browser, address) as found:
            slow, needs = found.page.locator("#slow"), found.page.locator("#needs")
            expect(found.page.locator("#open-windows")).to_contain_text(
                "1 open window,", timeout=PATIENCE
            )
            expect(slow).to_contain_text("running the calls of a reply")
            expect(needs).to_contain_text("nobody carries it out")
            expect(needs).to_contain_text("1 for replies of their models")
            pips = found.page.locator(".pips i")
            expect(pips).to_have_count(2)
            expect(pips.first).to_have_attribute("data-open", "true")
            expect(found.page.locator("#barrier")).to_contain_text("provider error")
            found.page.locator("#matrix button").first.click()
            expect(found.page.locator("#about-run")).to_contain_text(rehearsed.PLAYED)
            slow.get_by_role("link", name="seed 29, reference").click()
            expect(found.page.locator("#about-run")).to_contain_text(rehearsed.OPEN)
            # What every run becomes is no failure and no rest.
            expect(found.page.locator("#history")).to_contain_text("None.")
            assert found.said == []
        run.release(lease)


@needs_chromium
def test_a_page_waits_for_its_server_and_tells_of_a_store_that_is_away(
    completed: Place, browser: Browser
) -> None:
    with served(completed) as address, shown(browser, address) as found:
        trouble = found.page.get_by_role("alert")
        expect(found.page.locator("#lead")).to_contain_text("Completed.", timeout=PATIENCE)
        expect(trouble).to_be_hidden()
        run = found.page.locator("#matrix button").nth(3)
        run.click()
        expect(run).to_have_attribute("aria-pressed", "true")
        assert found.page.url.endswith(f"#{run.get_attribute('data-run')}")

        away = completed.store.rename(completed.store.with_name("away"))
        expect(trouble).to_contain_text("Trying again.", timeout=PATIENCE)
        away.rename(completed.store)
        expect(trouble).to_be_hidden(timeout=PATIENCE)


@needs_chromium
def test_a_page_goes_on_when_its_server_starts_again(completed: Place, browser: Browser) -> None:
    with served(completed) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        page = browser.new_page()
        page.goto(address)
        expect(page.locator("#lead")).to_contain_text("Completed.", timeout=PATIENCE)
    trouble = page.get_by_role("alert")
    expect(trouble).to_contain_text("does not answer", timeout=PATIENCE)
    with served(completed, port) as again:
        assert again == address
        expect(trouble).to_be_hidden(timeout=PATIENCE)
    page.close()


def test_it_only_reads_and_answers_this_machine_alone(completed: Place) -> None:
    with served(completed) as address:
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert answered(address, "/state.json", method)[0] == 405, method
        for host in ("evil.example", "127.0.0.1.evil.example:80", "10.0.0.1"):
            assert answered(address, "/state.json", host=host)[0] == 400, host
        status, text, headers = answered(address, "/state.json", host="localhost")
        assert (status, json.loads(text)["runs"]["completed"]) == (200, 8)
        assert "access-control-allow-origin" not in {name.lower() for name in headers}
        assert "default-src 'none'" in answered(address, "/")[2]["content-security-policy"]

        assert answered(address, "/cash.json?run=none")[0] == 404
        assert answered(address, "/cash.json?run=x&after=-1")[0] == 400
        run_id = json.loads(text)["matrix"][0]["run"]
        cash = json.loads(answered(address, f"/cash.json?run={run_id}&after=15")[1])["cash"]
        assert {day for day, _, _ in cash} == {16, 17}
        taken = address.rstrip("/").rpartition(":")[2]
        refused = completed.run("watch", "--browser", "--port", taken)
        assert (refused.returncode, "Choose another port" in refused.stderr) == (2, True)
