"""Rows of the private tables from window to window, over whole runs and by hand."""

from collections.abc import Iterator
from typing import Any

import pytest

from engine.boundary import Boundary
from engine.records import ActionReceipt, DayRecord
from engine.scenario import Scenario
from engine.settle import initial_state, settle_window
from engine.state import WorldState
from engine.streams import Streams
from engine.tables import PENDING, TABLES, Chronicle, Elapsed
from tests.engine.script import scripted_decisions
from tests.engine.shown import SCENARIO, added, observed, rows
from tests.engine.worlds import altered, decision


def windows(scenario: Scenario, seed: int, seat: int) -> Iterator[Elapsed]:
    """A scripted run as one company lives it."""
    streams, chronicle = Streams(seed), Chronicle()
    state = initial_state(scenario, streams, 8)
    days: list[DayRecord] = []
    receipts: list[ActionReceipt] = []
    while state.day < scenario.horizon_days and state.firms[seat - 1].active:
        yield chronicle.follow(Boundary(scenario, state, days).observe(seat), receipts)
        settled = settle_window(scenario, streams, state, scripted_decisions(scenario, state))
        state, days = settled.state, settled.days
        receipts = settled.receipts.get(seat, [])


TYPES = {"INTEGER": int, "REAL": float, "TEXT": str}


@pytest.mark.parametrize("seat", [1, 5, 8])
def test_rows_fit_their_columns_and_keys(seat: int) -> None:
    """Over a whole run: types, missing values only where announced, no key twice."""
    kept: dict[str, set[tuple[Any, ...]]] = {table.name: set() for table in TABLES}
    for elapsed in windows(SCENARIO, 47, seat):
        for table in TABLES:
            fresh = list(table.added(elapsed)) if table.added else []
            present = list(table.present(elapsed.observation)) if table.present else []
            places = [[column.name for column in table.columns].index(name) for name in table.key]
            for row in (*fresh, *present):
                assert len(row) == len(table.columns)
                for column, cell in zip(table.columns, row, strict=True):
                    expected = (TYPES[column.type], *((type(None),) if column.nullable else ()))
                    assert type(cell) in expected, (table.name, column.name, cell)
            if table.key:
                for row in fresh:
                    key = tuple(row[place] for place in places)
                    assert key not in kept[table.name], (table.name, key)
                    kept[table.name].add(key)
                keys = [tuple(row[place] for place in places) for row in present]
                assert len(keys) == len(set(keys)), table.name
                assert not kept[table.name] & set(keys), table.name
            elif table.name != "capacity_action_quotes":
                assert len(present) == 1
            if table.present and table.added:
                names = [column.name for column in table.columns]
                status = names.index("status")
                assert {row[status] for row in present} <= {PENDING}
                assert PENDING not in {row[status] for row in fresh}


def test_history_has_each_day_once_and_the_cash_identity_holds() -> None:
    flows, sales, service, expenses = [], [], [], []
    for elapsed in windows(SCENARIO, 11, 3):
        flows += added("daily_cashflow", elapsed)
        sales += added("daily_product_sales", elapsed)
        service += added("daily_segment_service", elapsed)
        expenses += added("daily_expenses", elapsed)
    days = list(range(1, 498))
    assert [row["day"] for row in flows] == days
    assert [row["day"] for row in sales] == [day for day in days for _ in range(3)]
    assert [row["day"] for row in service] == [day for day in days for _ in range(3)]
    assert [row["day"] for row in expenses] == [day for day in days for _ in range(12)]
    cash = SCENARIO.initial_cash_cents
    for row in flows:
        assert row["opening_cash_cents"] == cash
        cash += row["revenue_cents"] + row["refunds_cents"] - row["outlays_cents"]
        assert row["closing_cash_cents"] == cash


def test_one_signal_row_for_each_sampling_day() -> None:
    """The first eight days all publish day 0; from then on one more day becomes public a day."""
    signals = [
        row for elapsed in windows(SCENARIO, 11, 3) for row in added("market_signal", elapsed)
    ]
    assert [row["sample_day"] for row in signals] == list(range(491))
    assert signals[0]["published_day"] == 0
    assert all(row["published_day"] == row["sample_day"] + 7 for row in signals[1:])


# --- what needs more than one window --------------------------------------------------------------


def two_windows(scenario: Scenario, **changes: Any) -> tuple[Chronicle, list[Elapsed], WorldState]:
    """Day 0 with one decision, and the next boundary."""
    streams, chronicle = Streams(11), Chronicle()
    state = initial_state(scenario, streams, 2)
    first = chronicle.follow(observed(state, 1, scenario), [])
    settled = settle_window(scenario, streams, state, {1: decision(state, 1, **changes)})
    view = Boundary(scenario, settled.state, settled.days).observe(1)
    return chronicle, [first, chronicle.follow(view, settled.receipts[1])], settled.state


def test_a_project_shows_nothing_of_its_luck_until_it_completes() -> None:
    _, (_, second), state = two_windows(SCENARIO, innovation_tier=3)
    assert rows("innovation_projects", second.observation) == [
        {
            "project_id": "innovation-000",
            "tier": 3,
            "started_day": 0,
            "median_completion_day": 150,
            "expected_gain_cents": 20_000_000,
            "status": "pending",
            "completed_day": None,
        }
    ]
    assert state.firms[0].innovation_projects[0].gain_cents != 20_000_000
    assert added("innovation_projects", second) == []


def test_a_project_that_completes_in_its_first_window_is_not_lost() -> None:
    """It is in no observation; its receipt tells what it was."""
    quick = altered(
        SCENARIO, {"innovation.tiers.1.median_days": 3, "innovation.duration_log_sd": 0.0}
    )
    _, (_, second), _ = two_windows(quick, innovation_tier=2)
    assert rows("innovation_projects", second.observation) == []
    assert added("innovation_projects", second) == [
        {
            "project_id": "innovation-000",
            "tier": 2,
            "started_day": 0,
            "median_completion_day": 3,
            "expected_gain_cents": 7_000_000,
            "status": "completed",
            "completed_day": 3,
        }
    ]


def test_a_report_has_both_days_and_its_readings_on_delivery() -> None:
    _, (_, second), _ = two_windows(
        SCENARIO,
        research=(
            {"segment_id": "premium", "level": 1},
            {"segment_id": "value", "level": 5},
        ),
    )
    (pending,) = rows("research_reports", second.observation)
    (delivered,) = added("research_reports", second)
    assert (pending["report_id"], pending["status"]) == ("report-000-2", "pending")
    assert (pending["sample_day"], pending["delivery_day"]) == (0, 14)
    assert pending["demand"] is pending["price_weight"] is pending["expected_quality"] is None
    assert (delivered["report_id"], delivered["segment_id"]) == ("report-000-1", "premium")
    assert (delivered["sample_day"], delivered["delivery_day"]) == (0, 2)
    assert delivered["demand"] > 0
    assert [row["kind"] for row in added("action_receipts", second)] == ["market_research"] * 2


def test_the_first_tender_keeps_its_terms() -> None:
    """It was open at day 0 already, so no public day announces it."""
    _, (first, second), state = two_windows(SCENARIO, bids={"tender-000": 1})
    (terms,) = rows("open_tenders", first.observation)
    (award,) = added("tender_history", second)
    for name in (
        "tender_id",
        "product_id",
        "units",
        "minimum_quality",
        "reservation_price_cents",
        "opened_day",
        "close_day",
        "due_day",
    ):
        assert award[name] == terms[name]
    assert (award["winner_company_id"], award["unit_price_cents"]) in (
        ("company-1", 1),
        (None, None),
    )
    assert state.day == 7


def test_a_tender_without_a_bid_has_no_winner() -> None:
    _, (_, second), _ = two_windows(SCENARIO)
    (award,) = added("tender_history", second)
    assert award["winner_company_id"] is award["unit_price_cents"] is None


def test_boundaries_come_in_their_order() -> None:
    chronicle, (first, _), _ = two_windows(SCENARIO)
    assert chronicle.windows == 2
    with pytest.raises(ValueError, match="company-1: the next boundary has world version 2, got 0"):
        chronicle.follow(first.observation, [])
