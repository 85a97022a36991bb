"""The 29 private tables: their documented schema, and rows that can be worked out by hand."""

import pytest

from engine.records import Ledger
from engine.settle import initial_state
from engine.state import Bid, CapacityProject, Shipment
from engine.streams import Streams
from engine.tables import EXPENSES, TABLES, Table
from tests.engine.shown import BY_NAME, SCENARIO, observed, rows
from tests.engine.worlds import A, B, consumer_order, enterprise_order, new_world

EXPECTED_NAMES = """
scenario company segments channels product_catalog
products marketing_policy operations_policy capacity_policy
inventory inbound_shipments backlog enterprise_contracts
capacity_catalog capacity_action_quotes innovation_catalog innovation_projects research_catalog
research_reports beliefs
public_prices open_tenders tender_history market_signal
action_receipts daily_cashflow daily_expenses daily_product_sales daily_segment_service
"""


# --- schema ---------------------------------------------------------------------------------------


def test_the_29_tables() -> None:
    names = [table.name for table in TABLES]
    assert names == EXPECTED_NAMES.split()
    assert len(set(names)) == 29


FIXED_COLUMNS = {
    "scenario": {"days_remaining"},
    "daily_product_sales": {"day", "product_id", "fulfilled_units"},
    "daily_segment_service": {"day", "segment_id", "failures", "satisfaction"},
}


@pytest.mark.parametrize("name", FIXED_COLUMNS)
def test_columns_fixed_by_prior_use(name: str) -> None:
    assert FIXED_COLUMNS[name] <= {column.name for column in BY_NAME[name].columns}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_tables_are_documented(table: Table) -> None:
    assert table.group
    assert table.description.endswith(".")
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names)
    assert set(table.key) <= set(names)
    assert table.present or table.added
    for column in table.columns:
        assert column.description.endswith("."), column
        assert column.type in ("INTEGER", "REAL", "TEXT")
        assert (column.type == "TEXT") == (not column.unit), column
        if column.name.endswith("_cents"):
            assert (column.type, column.unit) == ("INTEGER", "cents")
        if column.name.endswith("_day") and not column.name.endswith("_per_day"):
            assert (column.type, column.unit) == ("INTEGER", "day")
        if column.name.endswith("_units"):
            assert (column.type, column.unit) == ("INTEGER", "units")
    if table.present and table.added:
        assert "status" in names


@pytest.mark.parametrize(("table", "columns"), [("segments", 2), ("channels", 2)])
def test_segments_and_channels_have_identifiers_and_labels_only(table: str, columns: int) -> None:
    assert len(BY_NAME[table].columns) == columns
    assert all(column.type == "TEXT" for column in BY_NAME[table].columns)


def test_the_expense_categories_are_the_outflows_of_the_ledger() -> None:
    outflows = [
        name.removesuffix("_cents")
        for name in Ledger.__struct_fields__
        if name not in ("revenue_cents", "refunds_cents")
    ]
    assert list(EXPENSES) == outflows


# --- by hand --------------------------------------------------------------------------------------


def test_the_frame_at_day_0() -> None:
    view = observed(new_world(SCENARIO))
    (scenario,) = rows("scenario", view)
    assert (scenario["days_remaining"], scenario["horizon_days"]) == (500, 500)
    assert (scenario["window_days"], scenario["initial_value_cents"]) == (7, 51_600_000)
    assert scenario["score_definition"].startswith("Score = cash at the end + liquidation value")
    assert rows("company", view) == [
        {
            "company_id": "company-1",
            "status": "active",
            "world_version": 0,
            "day": 0,
            "cash_cents": 50_000_000,
            "support_queue": 0,
        }
    ]
    assert rows("segments", view)[1] == {"segment_id": "premium", "label": "Premium"}
    assert [row["channel"] for row in rows("channels", view)] == ["affiliate", "display", "search"]
    assert rows("product_catalog", view)[2] == {
        "product_id": "C",
        "base_quality": 0.82,
        "initial_price_cents": 13_500,
        "purchase_cost_cents": 8_500,
        "liquidation_value_cents": 2_600,
        "holding_cost_cents": 6,
        "procurement_days": 10,
        "development_days": 7,
    }


def test_standing_policies() -> None:
    state = new_world(SCENARIO)
    firm = state.firms[0]
    firm.price_cents[B], firm.promotion_cents[B], firm.reorder_target[B] = 7_000, 250, 333
    firm.development_cents[B] = 1_234
    firm.marketing_cents[2][1] = 99
    firm.reliability_cents, firm.support_cents = 11, 22
    firm.capacity_projects = [
        CapacityProject("capacity-000", 0, 1, 0, 21, 1_200_000, "canceled"),
        CapacityProject("capacity-007", 0, 2, 7, 42, 3_000_000),
    ]
    view = observed(state)
    assert rows("products", view)[1] == {
        "product_id": "B",
        "price_cents": 7_000,
        "promotion_cents": 250,
        "effective_price_cents": 6_750,
        "reorder_target": 333,
        "daily_development_budget_cents": 1_234,
        "realized_quality": 0.68,
    }
    budgets = {
        (row["segment_id"], row["channel"]): row["daily_budget_cents"]
        for row in rows("marketing_policy", view)
    }
    assert len(budgets) == 9
    assert budgets.pop(("value", "display")) == 99
    assert not any(budgets.values())
    assert rows("operations_policy", view) == [
        {"reliability_budget_cents": 11, "support_budget_cents": 22}
    ]
    assert rows("capacity_policy", view) == [
        {
            "tier": 0,
            "units_per_day": 60,
            "overhead_cents": 40_000,
            "pending_project_id": "capacity-007",
            "pending_target_tier": 2,
            "pending_started_day": 7,
            "pending_effective_day": 42,
            "pending_prepaid_cents": 3_000_000,
        }
    ]


def test_stock_and_orders() -> None:
    state = new_world(SCENARIO)
    state.day, state.version = 14, 2
    firm = state.firms[0]
    firm.reserved[B] = 9
    firm.inbound[A] = [Shipment(15, 10), Shipment(16, 20)]
    firm.queue = [
        consumer_order(11, A, 5, 3_900, segment=2),
        enterprise_order(12, B, 9, 7_000, due=19),
        consumer_order(13, A, 6, 4_000, segment=0),
    ]
    view = observed(state)
    assert rows("inventory", view)[1] == {
        "product_id": "B",
        "on_hand_units": 400,
        "reserved_units": 9,
        "available_units": 391,
        "inbound_units": 0,
    }
    assert rows("inbound_shipments", view) == [
        {"product_id": "A", "arrival_day": 15, "units": 10},
        {"product_id": "A", "arrival_day": 16, "units": 20},
    ]
    first, second = rows("backlog", view)
    assert first == {
        "position": 1,
        "entered_day": 11,
        "age_days": 3,
        "segment_id": "value",
        "product_id": "A",
        "units": 5,
        "price_cents": 3_900,
    }
    assert (second["position"], second["units"]) == (2, 6)
    assert rows("enterprise_contracts", view) == [
        {
            "tender_id": "tender-012",
            "product_id": "B",
            "remaining_units": 9,
            "unit_price_cents": 7_000,
            "awarded_day": 12,
            "due_day": 19,
        }
    ]


def test_exited_rivals_are_marked_and_own_offers_told_apart() -> None:
    state = new_world(SCENARIO, firms=2)
    state.firms[1].active = False
    prices = rows("public_prices", observed(state))
    assert [(row["company_id"], row["status"], row["is_own"]) for row in prices[2:4]] == [
        ("company-1", "active", 1),
        ("company-2", "exited", 0),
    ]


def test_only_the_own_bid_is_in_the_open_tender() -> None:
    state = initial_state(SCENARIO, Streams(11), 3)
    state.tenders[0].bids = [Bid(1, 3_000), Bid(3, 2_900)]
    shown = {
        seat: [row["own_bid_cents"] for row in rows("open_tenders", observed(state, seat))]
        for seat in (1, 2, 3)
    }
    assert shown == {1: [3_000], 2: [None], 3: [2_900]}
