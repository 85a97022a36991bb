"""The accounting identities of an outcome (evaluation.md section 2)."""

import json

from hypothesis import given
from hypothesis import strategies as st

from campaigns.plan import plan
from tests.campaigns.builders import campaign, outcome

RUN = plan(campaign(("ada",), seeds=[1])).runs[0]
CENTS = st.integers(-(10**12), 10**12)


def test_an_outcome_worked_out_by_hand() -> None:
    # Cash 500,000 + 41,000 - 38,500 = 502,500; Score 502,500 + 9,000 - 516,000 = -4,500 dollars.
    record = outcome(
        RUN,
        1,
        -450_000,
        initial_cash_cents=50_000_000,
        initial_stock_cents=1_600_000,
        revenue_cents=4_100_000,
        net_outlays_cents=3_850_000,
        terminal_cash_cents=50_250_000,
        salvage_cents=900_000,
    )

    assert record.initial_value_cents == 51_600_000
    assert record.cash_gap_cents == 0
    assert record.score_gap_cents == 0
    assert record.score_cents == 4_100_000 - 3_850_000 + 900_000 - 1_600_000


def test_a_cent_too_many_shows() -> None:
    record = outcome(RUN, 1, 70, revenue_cents=60, terminal_cash_cents=1_071)

    assert record.cash_gap_cents == 11
    assert record.score_gap_cents == -1


@given(cash=CENTS, stock=CENTS, revenue=CENTS, outlays=CENTS, salvage=CENTS)
def test_closed_gaps_are_the_identity_of_the_score(
    cash: int, stock: int, revenue: int, outlays: int, salvage: int
) -> None:
    record = outcome(
        RUN,
        1,
        revenue - outlays + salvage - stock,
        initial_cash_cents=cash,
        initial_stock_cents=stock,
        revenue_cents=revenue,
        net_outlays_cents=outlays,
        terminal_cash_cents=cash + revenue - outlays,
        salvage_cents=salvage,
    )

    assert (record.cash_gap_cents, record.score_gap_cents) == (0, 0)


def test_a_record_is_plain_json() -> None:
    record = outcome(RUN, 1, 5, exit_day=77)

    data = json.loads(json.dumps(record.to_json()))

    assert data["run_id"] == "trial-s1-reference"
    assert data["exit_day"] == 77
    assert data["score_cents"] == 5
