"""What runs of priced models spend, by their journals and by the ledger that a cap goes by."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.audit import audit_store
from orchestrator.lifecycle import RunState
from orchestrator.session.services import settle_left_over
from orchestrator.status.progress import ProgressReader
from orchestrator.status.waiting import why_seat
from orchestrator.store import (
    WHOLE_CAMPAIGN,
    Asking,
    AttemptKey,
    DesiredState,
    RunKey,
    SessionReader,
    Spent,
    open_store,
)
from orchestrator.store.copying import backup
from tests.orchestrator.cli.commands import ceo_arena
from tests.orchestrator.session.rehearsal import NAME, Rehearsal, at, campaign, rehearsal, run_id
from tests.orchestrator.store import raw

pytestmark = pytest.mark.xdist_group("sessions")

Capture = pytest.CaptureFixture[str]
PRICES = {"input": "1.25", "cached_input": "0.125", "output": "10"}
ROUTES = {"diarist": {"prices": PRICES}, "minimalist": {"prices": PRICES}}
RUN = RunKey(NAME, run_id(11))
FIRST = AttemptKey(0, 1, 0)
# A reply without usage, and one that was cut: of what either cost nobody knows.
UNKNOWN = [at("diarist", fault="leave-out-usage"), at("minimalist", 1, fault="cut-stream")]


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one completed run of two priced models."""
    folder = tmp_path_factory.mktemp("spent")
    data = campaign(["diarist", "minimalist"], [11], ROUTES, spending_cap_cents=5_000)
    with rehearsal(folder, data, UNKNOWN) as played:
        assert played.play(11) is RunState.COMPLETED
    return folder / "store"


@pytest.fixture
def store(spent: Path, tmp_path: Path) -> Path:
    return shutil.copytree(spent, tmp_path / "store")


@pytest.fixture
def priced(tmp_path: Path) -> Iterator[Rehearsal]:
    with rehearsal(tmp_path, campaign(["diarist"], [11], ROUTES)) as played:
        yield played


def problems(store: Path | str) -> list[str]:
    with open_store(str(store)) as opened:
        return [problem.fault for problem in audit_store(opened, lambda _row: None).problems]


def ledger(store: Path) -> list[Spent]:
    with open_store(str(store)) as opened:
        return opened.controls.spent(NAME)


def test_a_store_whose_ledger_and_journals_agree(store: Path) -> None:
    assert problems(store) == []
    diarist, minimalist = ledger(store)
    assert min(diarist.known, minimalist.known) > 0
    assert min(diarist.uncertain, minimalist.uncertain) > 500_000
    assert diarist.set_aside == minimalist.set_aside == 0


CHANGES = {
    "known": (None, "UPDATE spending SET known_microdollars = 1", "ledger has $0.000001"),
    "unknown": (
        None,
        "UPDATE spending SET uncertain_microdollars = 0",
        "ledger has $0.000000 (at most",
    ),
    "more": (None, "UPDATE spending SET known_microdollars = 9000000", "ledger has $9.000000"),
    "ledger": (None, "DELETE FROM spending", "ledger has $0.000000"),
    "cost": (
        RUN,
        "UPDATE request_costs SET microdollars = 1 WHERE request = 1 AND seat = 1",
        "request 1, whose cost is not",
    ),
    "guess": (
        RUN,
        "UPDATE request_costs SET at_most_microdollars = 1 WHERE request = 1 AND seat = 1",
        "request 1, which may cost more",
    ),
    "no cost": (
        RUN,
        "DELETE FROM request_costs WHERE request = 1 AND seat = 1",
        "request 1, of which no cost",
    ),
    "no request": (
        RUN,
        "UPDATE request_costs SET request = 99 WHERE request = 1 AND seat = 1",
        "request 99 as one that costs",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_audit_names_what_was_changed(store: Path, change: str) -> None:
    key, statement, told = CHANGES[change]
    raw.execute(str(store), statement, key)
    assert any(told in fault for fault in problems(store)), problems(store)


def test_the_ledger_of_a_lost_catalogue_is_made_again_from_the_journals(store: Path) -> None:
    before = ledger(store)
    (store / "catalogue.db").unlink()
    assert ledger(store) == before
    assert problems(store) == []


def test_what_was_under_way_is_spent_when_the_catalogue_is_lost(store: Path) -> None:
    before = ledger(store)[0]
    one = "FROM request_costs WHERE seat = 1 AND request = 1"
    query = f"SELECT at_most_microdollars, microdollars {one}"
    ((at_most, cost),) = raw.execute(str(store), query, RUN)
    raw.execute(
        str(store),
        "UPDATE request_costs SET microdollars = NULL WHERE seat = 1 AND request = 1",
        RUN,
    )
    (store / "catalogue.db").unlink()
    found = ledger(store)[0]
    expected = Spent("diarist", before.known - cost, before.uncertain + at_most, 0)
    assert found == expected


def test_caps_that_were_lost_are_told_and_keep_a_campaign_at_rest(
    capsys: Capture, store: Path
) -> None:
    with open_store(str(store)) as opened:
        opened.controls.set_cap(NAME, WHOLE_CAMPAIGN, 100, "")
    # An open run, so that there is something to resume.
    raw.execute(str(store), "UPDATE run_states SET status = 'paused'", RUN)
    (store / "catalogue.db").unlink()
    for command in ("spending", "results", "why", "status"):
        told = ceo_arena(capsys, command, NAME, "--store", store, "--json").err
        assert "was lost and is made again from its runs" in told, command
    for options in ((), ("--run", run_id(11))):
        refused = ceo_arena(capsys, "resume", NAME, *options, "--store", store)
        assert refused.code == 2
        assert "caps that were set for campaign faulty were lost" in refused.err
        assert "its file has a cap of $50.00" in refused.err
        assert "ceo-arena spending faulty --store" in refused.err
    file = store.parent / "faulty.toml"
    file.write_text(f'name = "{NAME}"\nextends = "rehearsal"\n', encoding="utf-8")
    skipped = ("--skip-calls", "--skip-ray")
    found = ceo_arena(capsys, "doctor", file, "--store", store, "--json", *skipped)
    (cap,) = (each for each in found.data["checks"] if each["check"] == "cap")
    assert (cap["health"], "were lost" in cap["found"]) == ("failed", True)
    assert ceo_arena(capsys, "spending", NAME, "--cap", "1", "--store", store).code == 0
    answer = ceo_arena(capsys, "why", NAME, "--store", store, "--json")
    assert "made again" not in answer.err
    with open_store(str(store)) as opened:
        assert not opened.controls.caps_are_lost(NAME)
        assert opened.catalogue.campaign(NAME).desired is DesiredState.PAUSED


def test_a_backup_agrees_with_itself_whenever_it_was_made(store: Path, tmp_path: Path) -> None:
    # The catalogue is copied first: a run that goes on meanwhile knows more than it.
    raw.execute(str(store), "UPDATE spending SET known_microdollars = 0")
    with open_store(str(store)) as opened:
        opened.controls.set_aside(NAME, "diarist", Asking(RUN.run_id, 0, 1, 0, 9, 1), 70_000, {})
    backup(str(store), tmp_path / "copy")
    assert problems(tmp_path / "copy") == []


def test_whoever_plays_a_run_next_settles_what_was_left(store: Path) -> None:
    with open_store(str(store)) as opened:
        run, before = opened.run(RUN), opened.controls.spent(NAME)[0]
        sessions = SessionReader(run)
        costs = sessions.request_costs(FIRST)
        known = next(number for number, each in costs.items() if each.cost is not None)
        unknown = next(number for number, each in costs.items() if each.cost is None)
        epoch = costs[known].epoch
        for request, of in ((known, epoch), (unknown, epoch), (99, epoch), (known, epoch + 1)):
            asking = Asking(RUN.run_id, *FIRST, request, of)
            opened.controls.set_aside(NAME, "diarist", asking, 70_000, {})
        settle_left_over(opened.controls, run, sessions, epoch)
        cost = costs[known].cost
        assert cost is not None
        expected = Spent("diarist", before.known + cost, before.uncertain + 70_000, 70_000)
        assert opened.controls.spent(NAME)[0] == expected, "what a later owner holds is left alone"


def test_a_request_without_an_intent_was_never_sent(priced: Rehearsal) -> None:
    # A host died after it had set money aside, and before the intent was journaled.
    lost = Asking(RUN.run_id, *FIRST, 1, 0)
    priced.store.controls.set_aside(NAME, "diarist", lost, 3_900_000, {})
    assert priced.play(11) is RunState.COMPLETED
    (found,) = priced.store.controls.spent(NAME)
    assert (found.uncertain, found.set_aside) == (0, 0)


def test_a_disk_that_takes_no_intent_costs_nothing(priced: Rehearsal) -> None:
    run = priced.store.run(RUN)
    run.release(run.acquire("a test", 600))
    full = "CREATE TRIGGER full BEFORE INSERT ON session_events WHEN NEW.kind = 'asked'"
    raw.execute(priced.store.location, f"{full} BEGIN SELECT RAISE(FAIL, 'full'); END", RUN)
    assert priced.play(11) in (RunState.PAUSED, RunState.STOPPED)
    assert "full" in priced.status(11).reason
    assert priced.store.controls.spent(NAME) == []
    raw.execute(priced.store.location, "DROP TRIGGER full", RUN)
    assert priced.resume(11) is RunState.COMPLETED
    assert problems(priced.store.location) == []


def test_why_tells_of_a_company_that_waits_for_money(priced: Rehearsal) -> None:
    run, controls = priced.store.run(RUN), priced.store.controls
    sessions = SessionReader(run)
    priced.lose_host(11, lambda: len(sessions.request_costs(FIRST)) > 0)
    run.acquire("a test", 600)
    controls.set_cap(NAME, WHOLE_CAMPAIGN, 10_000, "")
    controls.set_aside(NAME, "diarist", Asking("another", 0, 1, 0, 1, 1), 60_000_000, {})
    controls.set_aside(NAME, "diarist", Asking(RUN.run_id, *FIRST, 2, 9), 60_000_000, {})
    answer = why_seat(ProgressReader(priced.store, NAME).read(), RUN.run_id, 1)
    assert (answer.state, answer.waits_for) == ("open", "money")
    assert "set aside under the spending cap" in answer.reason


def test_a_lost_host_has_spent_what_it_asked_for(priced: Rehearsal) -> None:
    sessions = SessionReader(priced.store.run(RUN))
    priced.lose_host(11, lambda: len(sessions.request_costs(FIRST)) > 0)
    assert priced.play(11) is RunState.COMPLETED
    (found,) = priced.store.controls.spent(NAME)
    unknown = [each.at_most for each in sessions.request_costs(FIRST).values() if each.cost is None]
    assert (found.uncertain, found.set_aside) == (sum(unknown), 0)
    assert problems(priced.store.location) == []
