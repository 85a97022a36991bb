"""A model in a seat of a stored run: its windows, its files from week to week, its recovery."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from manifests.errors import IntegrityError
from orchestrator.ceos import Closed
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session import ceo, desk, loop
from orchestrator.session.books import Books
from orchestrator.session.events import decode_event
from orchestrator.session.tools.registry import run_tool
from orchestrator.store import AttemptKey, SessionStore
from tests.orchestrator.session.attempts import (
    PREVIEW,
    PRICE,
    SEAL,
    SEAT,
    STANDARD,
    call,
    reply,
)
from tests.orchestrator.session.office import FIRST, Office, receipts, successor, write


def test_a_model_reads_its_tables_stages_and_seals(office: Office) -> None:
    look = call("query_company", sql="SELECT day, world_version FROM company")
    status, decision, *_ = office.decide(reply(look, PRICE), reply(SEAL))
    assert status is CompanyWindowStatus.SEALED
    assert decision is not None
    assert (decision.company_id, decision.world_version) == ("company-1", 0)
    assert decision.products["A"].price_cents == 4_200
    assert json.loads(receipts(office)[0].text)["rows"] == [[0, 0]]


def test_files_reach_the_next_window_and_its_briefing(office: Office) -> None:
    notes = reply(write("MEMORY.md", "Price A rose."), write("plans/later.md", "wait"))
    assert office.decide(notes, reply(SEAL)).status is CompanyWindowStatus.SEALED
    assert "There is no such file yet." in office.briefing()
    office.settle(0)
    read = reply(call("read_file", path="plans/later.md"))
    edit = reply(call("edit_file", path="MEMORY.md", old_string="rose", new_string="fell"))
    office.decide(read, edit, reply(SEAL))
    assert "Price A rose." in office.briefing()
    results = receipts(office, AttemptKey(1, SEAT, 0))
    assert json.loads(results[0].text)["text"] == "1\twait"
    assert json.loads(results[1].text)["version"] == 2
    office.settle(1)
    office.decide(reply(SEAL))
    assert "Price A fell." in office.briefing()


def test_files_survive_a_spent_allowance_and_the_draft_does_not(office: Office) -> None:
    office = successor(office)
    few = msgspec.structs.replace(STANDARD, replies=2)
    office = Office(office.run, office.lease, office.folder, office.workers, few)
    closed = office.decide(reply(write("MEMORY.md", "Seal sooner.")), reply(PRICE))
    assert closed.status is CompanyWindowStatus.BUDGET_EXHAUSTED
    assert closed.decision is None
    assert closed.reason
    office.settle(0)
    status, decision, *_ = office.decide(reply(SEAL))
    assert "Seal sooner." in office.briefing()
    assert status is CompanyWindowStatus.SEALED
    assert decision is not None
    assert decision.products == {}


@pytest.mark.parametrize("kind", ["write", "edit", "rewrite"])
def test_files_before_a_window_are_the_same_right_after_a_crash_inside_it(
    office: Office, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    office.decide(reply(write("MEMORY.md", "one two")), reply(SEAL))
    office.settle(0)
    change = {
        "write": write("other.md", "x"),
        "edit": call("edit_file", path="MEMORY.md", old_string="one", new_string="three"),
        "rewrite": write("MEMORY.md", "all new"),
    }[kind]
    with dying(monkeypatch, after=1), pytest.raises(Gone):
        office.decide(reply(change, PREVIEW))
    sessions = SessionStore(office.run)
    assert sessions.files_before(SEAT, 1) == {"MEMORY.md": ("one two", 1)}
    later = successor(office)
    status, *_ = later.decide(reply(SEAL))
    assert status is CompanyWindowStatus.SEALED
    assert len(later.model.asked) == 1, "the reply that is stored is not asked for again"
    assert "one two" in later.briefing()
    texts = [json.loads(receipt.text) for receipt in receipts(later, AttemptKey(1, SEAT, 0))]
    assert [text["status"] for text in texts] == ["written", "preview", "sealed"]
    after = sessions.files_before(SEAT, 2)
    expected = {
        "write": {"MEMORY.md": ("one two", 1), "other.md": ("x", 1)},
        "edit": {"MEMORY.md": ("three two", 2)},
        "rewrite": {"MEMORY.md": ("all new", 2)},
    }
    assert after == expected[kind]


def test_a_repeated_edit_after_a_crash_does_no_harm(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow = call("edit_file", path="MEMORY.md", old_string="one", new_string="one and one")
    with dying(monkeypatch, after=2), pytest.raises(Gone):
        office.decide(reply(write("MEMORY.md", "one")), reply(grow, PREVIEW))
    later = successor(office)
    later.decide(reply(grow), reply(SEAL))
    assert SessionStore(later.run).files_before(SEAT, 1) == {"MEMORY.md": ("one and one", 2)}
    assert json.loads(receipts(later)[3].text)["status"] == "unchanged"


def test_a_sealed_window_is_given_again_without_asking(office: Office) -> None:
    first = office.decide(reply(PRICE), reply(SEAL))
    again = successor(office)
    assert again.decide() == first
    assert again.model.asked == []


def test_rest_leaves_the_window_open_and_charges_the_time(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = office.model.clock
    monkeypatch.setattr(ceo, "SystemClock", lambda: clock)

    def rests() -> bool:
        clock.seconds += 7.0
        return bool(office.model.asked)

    closed = office.decide(reply(PRICE), stopping=rests)
    assert closed == Closed(CompanyWindowStatus.OPEN, None, "the run is to rest")
    assert SessionStore(office.run).beaten_milliseconds(FIRST) == 14_000
    assert office.ceo.beat() == {}
    clock.seconds += 90_000.0
    assert office.decide(reply(SEAL)).status is CompanyWindowStatus.SEALED
    assert office.model.within == [3_593.0, 3_586.0]


def test_the_last_heartbeat_is_charged_after_a_crash(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dying(monkeypatch, after=0), pytest.raises(Gone):
        office.decide(reply(PRICE))
    sessions = SessionStore(office.run)
    sessions.beat(office.lease, {FIRST: 2_800_000})
    later = successor(office)
    assert later.decide(reply(PREVIEW), reply(SEAL)).status is CompanyWindowStatus.SEALED
    kinds = [type(decode_event(body)).__name__ for body in sessions.events(FIRST)]
    assert "FinalizationBegan" in kinds


def test_a_heartbeat_before_the_journal_was_read_tells_nothing_new(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = SessionStore(office.run)
    sessions.beat(office.lease, {FIRST: 1_234})
    beats: list[dict[AttemptKey, int]] = []
    whole = loop.Session.run

    async def run(session: loop.Session) -> tuple[CompanyWindowStatus, str]:
        beats.append(office.ceo.beat())
        return await whole(session)

    monkeypatch.setattr(loop.Session, "run", run)
    office.decide(reply(SEAL))
    assert beats == [{FIRST: 1_234}]


def test_a_window_that_began_with_other_limits_is_not_gone_on_with(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dying(monkeypatch, after=0), pytest.raises(Gone):
        office.decide(reply(PRICE))
    office.allowance = msgspec.structs.replace(STANDARD, replies=50)
    with pytest.raises(IntegrityError, match="allowance"):
        successor(office).decide(reply(SEAL))


def test_books_that_are_lost_are_made_again_with_the_same_briefing(office: Office) -> None:
    office.decide(reply(SEAL))
    office.settle(0)
    office.decide(reply(SEAL))
    office.settle(1)
    office.decide(reply(PREVIEW), stopping=lambda: bool(office.model.asked))
    briefing = office.briefing()
    later = successor(office)
    history = call("query_company", sql="SELECT count(*) FROM daily_cashflow")
    assert later.decide(reply(history), reply(SEAL)).status is CompanyWindowStatus.SEALED
    assert later.briefing() == briefing
    days = json.loads(receipts(later, AttemptKey(2, SEAT, 0))[1].text)["rows"]
    assert days == [[14]]


def test_a_successor_reads_no_past_before_it_asks(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in range(2):
        office.decide(reply(SEAL))
        office.settle(version)
    window = office.window()
    known = office.desk.books(window).preceding

    def read(*_arguments: object) -> None:
        raise AssertionError("the past takes the longer to read the further the run is")

    monkeypatch.setattr(desk, "past_boundaries", read)
    assert known
    assert successor(office).desk.preceding(window) == known


def test_books_that_somebody_removes_are_made_again_for_the_next_query(office: Office) -> None:
    office.decide(reply(SEAL))
    office.settle(0)
    books = office.desk.books(office.window())
    remove(books)
    history = call("query_company", sql="SELECT count(*) FROM daily_cashflow")
    assert office.decide(reply(history), reply(SEAL)).status is CompanyWindowStatus.SEALED
    assert json.loads(receipts(office, AttemptKey(1, SEAT, 0))[0].text)["rows"] == [[7]]


def test_books_that_somebody_removes_are_made_again_for_the_next_window(office: Office) -> None:
    office.decide(reply(SEAL))
    office.settle(0)
    remove(office.desk.books(office.window()))
    office.decide(reply(SEAL))
    office.settle(1)
    history = call("query_company", sql="SELECT count(*) FROM daily_cashflow")
    assert office.decide(reply(history), reply(SEAL)).status is CompanyWindowStatus.SEALED
    assert json.loads(receipts(office, AttemptKey(2, SEAT, 0))[0].text)["rows"] == [[14]]


def remove(books: Books) -> None:
    """What a cleaner of temporary files does."""
    shutil.rmtree(books.path.parent)


class Gone(Exception):
    """The process is gone."""


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, *, after: int) -> Iterator[None]:
    """The process ends when it begins a tool after so many that ran."""
    ran = 0
    whole = run_tool

    def mortal(*arguments: Any) -> Any:
        nonlocal ran
        if ran == after:
            raise Gone
        ran += 1
        return whole(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "run_tool", mortal)
        yield
