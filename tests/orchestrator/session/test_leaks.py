"""Every cell and every number that a company sees, over a whole run, against the contract written
down a second time; and what is hidden changes no byte.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from engine.boundary import Boundary
from engine.observation import Observation
from engine.records import DayRecord, Ledger
from engine.scenario import Scenario
from engine.state import (
    Belief,
    Bid,
    FirmState,
    InnovationProject,
    Maturing,
    PendingReport,
    Shipment,
    Signal,
    WorldState,
    copy_state,
)
from engine.tables import TABLES
from orchestrator.session.allowance import Allowance
from orchestrator.session.books import Books
from orchestrator.session.briefing import briefing
from tests.engine.worlds import altered, consumer_order
from tests.orchestrator.session.authorized.numbers import NUMBER, authorized_numbers
from tests.orchestrator.session.authorized.tables import TABLES as CONTRACT
from tests.orchestrator.session.authorized.view import Authorized, Cells
from tests.orchestrator.session.played import SCENARIO, SEATS, Moment, run

ALLOWANCE = Allowance(
    replies=32, output_tokens=131_072, seconds=3_600, native_ceiling=65_536, smallest_ceiling=1_024
)
LIMITS = (32, 28, 131_072, 98_304, 3_600, 2_700)
MEMORY = "Nothing in here has digits."
EVERY_SEAT = range(1, SEATS + 1)


def rows_of(books: Books, table: str, where: str = "") -> list[Cells]:
    with closing(sqlite3.connect(f"{books.path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} {where}")]


def comparable(rows: list[Cells]) -> list[str]:
    """Rows as text, which tells 1 from 1.0 and does not mind the order."""
    return sorted(repr(list(row.items())) for row in rows)


def windows_of(seat: int) -> Iterator[tuple[int, Moment]]:
    for number, moment in enumerate(run()):
        if seat in moment.seats:
            yield number, moment


# --- the contract --------------------------------------------------------------------------------


def test_the_run_is_worth_looking_at() -> None:
    """All kinds of receipts and completions, reports, awards with and without a winner, an exit."""
    moments = run()
    kinds = {
        receipt.kind
        for moment in moments
        for receipts in moment.receipts.values()
        for receipt in receipts
    }
    assert len(kinds) == 6
    companies = [
        company for moment in moments for day in moment.elapsed for company in day.companies
    ]
    assert any(company.reports for company in companies)
    completions = {done.kind for company in companies for done in company.completions}
    assert completions == {"innovation_project", "capacity_project"}
    awards = [award for moment in moments for day in moment.elapsed for award in day.public.awards]
    assert any(award.winner_seat for award in awards)
    assert any(award.winner_seat is None for award in awards)
    assert [len(moments[0].seats), len(moments[-1].seats)] == [8, 7]


@pytest.mark.parametrize("seat", EVERY_SEAT)
def test_every_cell_of_every_table_is_authorized(seat: int, tmp_path: Path) -> None:
    """What holds today in every window, what has happened in full at some and at the last."""
    moments = run()
    books = Books(tmp_path / "books.db")
    growing = {table.name for table in TABLES if table.added is not None}
    last = max(number for number, _ in windows_of(seat))
    for number, moment in windows_of(seat):
        books.open_window(moment.observe(seat), moment.receipts.get(seat, []))
        view = Authorized(SCENARIO, moments[: number + 1], seat)
        for table, rows in CONTRACT.items():
            if table not in growing or number % 12 == 5 or number == last:
                assert comparable(rows_of(books, table)) == comparable(list(rows(view))), (
                    f"{table} at day {moment.state.day}"
                )


@pytest.mark.parametrize("seat", EVERY_SEAT)
def test_accounts_agree_with_the_engine_to_the_cent(seat: int, tmp_path: Path) -> None:
    """On every window: the rows of its days, and the sums of the briefing, against the records."""
    books = Books(tmp_path / "books.db")
    for _, moment in windows_of(seat):
        observation = moment.observe(seat)
        books.open_window(observation, moment.receipts.get(seat, []))
        (company,) = rows_of(books, "company")
        firm = moment.state.firms[seat - 1]
        assert company["cash_cents"] == firm.cash_cents
        for day in moment.elapsed:
            (own,) = (record for record in day.companies if record.seat == seat)
            (flow,) = rows_of(books, "daily_cashflow", f"WHERE day = {day.day}")
            assert flow["closing_cash_cents"] == own.closing_cash_cents
            assert flow["opening_cash_cents"] == own.opening_cash_cents
            assert (
                flow["opening_cash_cents"]
                + flow["revenue_cents"]
                + flow["refunds_cents"]
                - flow["outlays_cents"]
                == flow["closing_cash_cents"]
            )
            expenses = rows_of(books, "daily_expenses", f"WHERE day = {day.day}")
            assert {row["category"]: row["cents"] for row in expenses} == {
                name.removesuffix("_cents"): getattr(own.ledger, name)
                for name in Ledger.__struct_fields__
                if name not in ("revenue_cents", "refunds_cents")
            }
            assert sum(row["cents"] for row in expenses) == flow["outlays_cents"]
            sales = rows_of(books, "daily_product_sales", f"WHERE day = {day.day}")
            assert sum(row["revenue_cents"] for row in sales) == flow["revenue_cents"]
        text = message(moment, seat, books)
        assert amount(text, "Cash", place=0) == firm.cash_cents
        if moment.elapsed:
            own_days = [
                next(record for record in day.companies if record.seat == seat)
                for day in moment.elapsed
            ]
            for label, expected in {
                "Opening cash": own_days[0].opening_cash_cents,
                "Revenue": sum(day.ledger.revenue_cents for day in own_days),
                "Refunds": sum(day.ledger.refunds_cents for day in own_days),
                "Outlays": sum(day.ledger.outlays_cents for day in own_days),
                "- procurement": sum(day.ledger.procurement_cents for day in own_days),
                "- research": sum(day.ledger.research_cents for day in own_days),
                "Closing cash": own_days[-1].closing_cash_cents,
            }.items():
                assert amount(text, label, place=0) == expected


def amount(text: str, label: str, place: int) -> int:
    """Cents in a line of a table, by its first cell; `place` counts the other cells."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {label} "))
    cell = line.strip("| ").split("|")[1 + place].strip()
    return int(cell.replace("$", "").replace(",", "").replace(".", ""))


# --- the briefing --------------------------------------------------------------------------------


def message(moment: Moment, seat: int, books: Books) -> str:
    receipts = moment.receipts.get(seat, [])
    return briefing(moment.observe(seat), receipts, books.preceding, ALLOWANCE, MEMORY)


@pytest.mark.parametrize("seat", EVERY_SEAT)
def test_every_number_of_the_briefing_is_authorized(seat: int, tmp_path: Path) -> None:
    moments = run()
    books = Books(tmp_path / "books.db")
    for number, moment in windows_of(seat):
        books.open_window(moment.observe(seat), moment.receipts.get(seat, []))
        text = message(moment, seat, books)
        view = Authorized(SCENARIO, moments[: number + 1], seat)
        allowed = authorized_numbers(view, (*LIMITS, len(MEMORY)))
        unknown = [found for found in NUMBER.findall(text) if found not in allowed]
        assert not unknown, f"day {moment.state.day}: {unknown}"


@pytest.mark.parametrize("seat", EVERY_SEAT)
def test_no_text_names_what_is_hidden(seat: int, tmp_path: Path) -> None:
    """Phases by name, and other companies anywhere but in prices, awards and exits."""
    phases = {phase.id for phase in SCENARIO.phases.states} - {"balanced"}
    books = Books(tmp_path / "books.db")
    for _, moment in windows_of(seat):
        books.open_window(moment.observe(seat), moment.receipts.get(seat, []))
        text = message(moment, seat, books)
        assert not phases & set(re.findall(r"[a-z_]+", text))
    for table in TABLES:
        cells = {
            cell
            for row in rows_of(books, table.name)
            for cell in row.values()
            if isinstance(cell, str)
        }
        assert not cells & phases
        if table.name not in ("public_prices", "tender_history"):
            rivals = {f"company-{other}" for other in EVERY_SEAT if other != seat}
            assert not cells & rivals, table.name


# --- what is hidden ----------------------------------------------------------------------------

Change = Callable[[WorldState, list[DayRecord], int], None]
BUSY = 16
"""A boundary with a tender open, bids in it, projects and reports under way."""


def seen(
    moments: Sequence[Moment], seat: int, folder: Path, scenario: Scenario = SCENARIO
) -> tuple[list[str], str]:
    """All bytes that a company sees at the last of some moments: its tables and its briefing."""
    books = Books(folder / "books.db")
    books.append(
        (moment.observe(seat, scenario), moment.receipts.get(seat, [])) for moment in moments[:-1]
    )
    moment = moments[-1]
    observation: Observation = Boundary(scenario, moment.state, moment.elapsed).observe(seat)
    books.open_window(observation, moment.receipts.get(seat, []))
    tables = [repr(rows_of(books, table.name)) for table in TABLES]
    receipts = moment.receipts.get(seat, [])
    return tables, briefing(observation, receipts, books.preceding, ALLOWANCE, MEMORY)


def rivals_private(state: WorldState, days: list[DayRecord], seat: int) -> None:
    """Every private field of every rival, and every private record of theirs."""
    for other, firm in enumerate(state.firms, start=1):
        if other != seat:
            _scramble(firm)
    for day in days:
        for company in day.companies:
            if company.seat != seat:
                for name in Ledger.__struct_fields__:
                    setattr(company.ledger, name, getattr(company.ledger, name) + 7_777)
                company.closing_cash_cents += 7_777
                company.opening_cash_cents += 7_777
                company.products[0].fulfilled_units += 777
                company.segments[0].satisfaction = 0.777
                company.reports, company.completions = [], []


def _scramble(firm: FirmState) -> None:
    firm.cash_cents += 777_777
    firm.reorder_target = [777] * 3
    firm.development_cents = [777] * 3
    firm.marketing_cents = [[777] * 3] * 3
    firm.reliability_cents = firm.support_cents = firm.support_queue = 777
    firm.stock = [777] * 3
    firm.reserved = [77] * 3
    firm.inbound = [[Shipment(777, 77)]] * 3
    firm.queue = [consumer_order(7, 0, 77)]
    firm.tier = 3 - firm.tier
    firm.capacity_projects = []
    firm.knowledge_cents = [777_777.0] * 3
    firm.maturing = [Maturing(777, 0, 77)]
    firm.innovation_projects = [InnovationProject("innovation-777", 3, 7, 77, 777)]
    firm.pending_reports = [PendingReport("report-777-1", 0, 1, 7, 777, [7.0, 7.0, 7.0])]
    firm.beliefs = [[Belief(7.0, 7.0)] * 3] * 3
    firm.goodwill = firm.satisfaction = firm.loyalty = [0.777] * 3


def rivals_bids(state: WorldState, _: list[DayRecord], seat: int) -> None:
    for tender in state.tenders:
        own = [bid for bid in tender.bids if bid.seat == seat]
        tender.bids = sorted([*own, Bid(seat % SEATS + 1, 777)], key=lambda bid: bid.seat)


def hidden_draws(state: WorldState, _: list[DayRecord], seat: int) -> None:
    """The company's own luck that has not shown yet."""
    firm = state.firms[seat - 1]
    for project in firm.innovation_projects:
        project.due_day += 777
        project.gain_cents *= 7
    for report in firm.pending_reports:
        report.log_signals = [7.0, 7.0, 7.0]
    firm.goodwill = [0.777] * 3
    firm.maturing = [Maturing(777, 0, 77)]


def phase_and_macro(state: WorldState, days: list[DayRecord], _: int) -> None:
    """Today's conditions, the signals not yet published, and what only the settlement records."""
    state.phase = (state.phase + 1) % 4
    state.macro += 0.7
    state.signals[1:] = [Signal(7.0, 7.0, 7.0)] * (len(state.signals) - 1)
    for day in days:
        day.market.phase, day.market.macro = 3, 7.0
        day.market.opportunities = day.market.lost_switchers = [7, 7, 7]
        day.state_digest = "sha256:7"


def changed(moment: Moment, change: Change, seat: int) -> Moment:
    state = copy_state(moment.state)
    days = msgspec.msgpack.decode(msgspec.msgpack.encode(moment.elapsed), type=list[DayRecord])
    change(state, days, seat)
    assert (state, days) != (moment.state, list(moment.elapsed)), "nothing was changed"
    return Moment(state, tuple(days), moment.receipts)


@pytest.mark.parametrize("seat", [1, 2, 3, 5])
@pytest.mark.parametrize("change", [rivals_private, rivals_bids, hidden_draws, phase_and_macro])
def test_what_is_hidden_changes_no_byte(change: Change, seat: int, tmp_path: Path) -> None:
    moments = run()[: BUSY + 1]
    before = seen(moments, seat, tmp_path)
    assert seen([*moments[:-1], changed(moments[-1], change, seat)], seat, tmp_path) == before


@pytest.mark.parametrize("seat", [1, 2, 3, 5])
def test_what_is_hidden_changes_no_byte_of_the_whole_past(seat: int, tmp_path: Path) -> None:
    """Also when all earlier windows had other secrets."""
    moments = run()[: BUSY + 1]
    before = seen(moments, seat, tmp_path)
    others: list[Moment] = []
    for moment in moments:
        other = changed(changed(moment, rivals_private, seat), phase_and_macro, seat)
        others.append(changed(other, hidden_draws, seat))
    assert seen(others, seat, tmp_path) == before


def test_the_future_changes_no_byte(tmp_path: Path) -> None:
    """A window's books are the same, whatever the world does after it."""
    moments = run()
    early = seen(moments[: BUSY + 1], 2, tmp_path)
    seen(moments, 2, tmp_path)
    assert seen(moments[: BUSY + 1], 2, tmp_path) == early


HIDDEN_PARAMETERS = {
    "phases.states.1.demand": 3.0,
    "phases.states.1.quality_shift": 0.3,
    "quality_trend.per_day": 0.01,
    "segments.0.baseline_demand": 777.0,
    "segments.0.reference_price_cents": 777,
    "segments.1.price_weight": 7.7,
    "segments.1.quality_weight": 7.7,
    "segments.2.outside_utility": 7.7,
    "segments.2.expected_quality": 0.77,
    "segments.2.product_match.A": 7.7,
    "segments.2.channel_effect.search": 7.7,
    "advertising.exponent": 0.77,
    "service.failure_base": 0.77,
    "innovation.duration_log_sd": 0.77,
    "choice.switching_share": 0.77,
}


@pytest.mark.parametrize("path", HIDDEN_PARAMETERS)
def test_true_parameters_change_no_byte(path: str, tmp_path: Path) -> None:
    moments = run()[: BUSY + 1]
    scenario = altered(SCENARIO, {path: HIDDEN_PARAMETERS[path]})
    assert seen(moments, 2, tmp_path, scenario) == seen(moments, 2, tmp_path)


def test_a_public_change_does_change_the_bytes(tmp_path: Path) -> None:
    """The counterpart: the comparison is not blind."""

    def price(state: WorldState, _: list[DayRecord], seat: int) -> None:
        state.firms[seat % SEATS].price_cents[0] += 1

    moments = run()[: BUSY + 1]
    before = seen(moments, 2, tmp_path)
    after = seen([*moments[:-1], changed(moments[-1], price, 2)], 2, tmp_path)
    assert after[0] != before[0]
    assert after[1] != before[1]
