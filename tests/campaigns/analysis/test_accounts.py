"""Money: sums of days, cash, outlays, profiles, identity, salvage and decomposition, by hand."""

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from campaigns.analysis.accounts import FLOWS, OUTLAYS, cash_series, company_sums
from campaigns.analysis.decomposition import decomposition
from campaigns.analysis.identity import identities
from campaigns.analysis.outlays import outlays
from campaigns.analysis.profiles import profiles
from campaigns.analysis.salvage import salvage_sensitivity
from campaigns.plan import plan
from campaigns.records import CompanyDayRecord
from campaigns.records.frames import to_frame
from tests.campaigns.analysis.panels import two
from tests.campaigns.analysis.recorded import company_day
from tests.campaigns.builders import campaign, outcome, outcomes


def frame(*days: CompanyDayRecord) -> pl.DataFrame:
    return to_frame(CompanyDayRecord, days)


def test_days_are_summed_by_company() -> None:
    days = frame(
        company_day("one", 2, 1, revenue_cents=7, closing_cash_cents=900),
        company_day("one", 1, 1, revenue_cents=5, holding_cents=2, opening_cash_cents=1_100),
        company_day("one", 1, 2, candidate="bob", fulfilled_units=3),
    )
    ada, bob = company_sums(days).iter_rows(named=True)
    assert (ada["seat"], ada["days"], ada["revenue_cents"], ada["holding_cents"]) == (1, 2, 12, 2)
    assert (ada["opening_cash_cents"], ada["closing_cash_cents"]) == (1_100, 900)
    assert (bob["candidate"], bob["fulfilled_units"], bob["days"]) == ("bob", 3, 1)


def test_cash_has_the_opening_every_nth_and_the_last_day() -> None:
    days = frame(
        *(
            company_day("one", day, 1, opening_cash_cents=100, closing_cash_cents=100 - day)
            for day in range(1, 9)
        ),
        company_day("one", 9, 1, closing_cash_cents=-1, exited=True),
    )
    series = cash_series(days, 4)
    assert series["day"].to_list() == [0, 4, 8, 9]
    assert series["cash_cents"].to_list() == [100, 96, 92, -1]
    assert series["exited"].to_list() == [False, False, False, True]


def test_outlay_categories_are_all_outflows_once() -> None:
    named = [column for columns in OUTLAYS.values() for column in columns]
    assert sorted([*named, "revenue_cents", "refunds_cents"]) == sorted(FLOWS)


def test_outlays_by_category() -> None:
    sums = company_sums(
        frame(
            company_day("one", 1, 1, procurement_cents=50, overhead_cents=20, capacity_cents=5),
            company_day("two", 1, 1, procurement_cents=25, refunds_cents=9),
            company_day("one", 1, 2, candidate="bob"),
        )
    )
    rows = {(row["candidate"], row["category"]): row for row in outlays(sums).iter_rows(named=True)}
    assert rows["ada", "procurement"]["spent_cents"] == 75
    assert rows["ada", "procurement"]["share"] == 0.75
    assert rows["ada", "capacity"]["share"] == 0.25
    assert rows["ada", "capacity"]["runs"] == 2
    # 75 / 2 = 37.5 is rounded to the even 38; 25 / 2 = 12.5 to 12.
    assert rows["ada", "procurement"]["spent_per_run_cents"] == 38
    assert rows["ada", "capacity"]["spent_per_run_cents"] == 12
    assert rows["bob", "marketing"]["share"] is None, "it spent nothing"


@given(st.lists(st.integers(0, 2**52), min_size=1, max_size=5))
def test_spending_per_run_is_the_exact_mean_rounded_half_to_even(amounts: list[int]) -> None:
    sums = company_sums(
        frame(
            *(
                company_day(f"run-{number}", 1, 1, marketing_cents=amount)
                for number, amount in enumerate(amounts)
            )
        )
    )
    (row,) = outlays(sums).filter(pl.col("category") == "marketing").iter_rows(named=True)
    assert row["spent_per_run_cents"] == round(Fraction(sum(amounts), len(amounts)))


RUNS = plan(campaign(("ada", "bob"), seeds=[1])).runs


def test_profiles_divide_outcomes_by_the_sign_of_the_score() -> None:
    found = [
        outcome(RUNS[0], 1, 100, revenue_cents=500, fulfilled_units=3),
        outcome(RUNS[0], 2, -5, revenue_cents=90, net_outlays_cents=7),
        outcome(RUNS[1], 2, 31, revenue_cents=100, fulfilled_units=4),
        outcome(RUNS[2], 1, 0, revenue_cents=10),
    ]
    marketing = {(each.run_id, each.seat): each.seat * 10 for each in found}
    rows = {(row.candidate, row.is_gain): row for row in profiles(found, marketing)}
    gained = rows[None, True]
    assert (gained.outcomes, gained.score) == (2, Fraction(131, 2))
    assert gained.revenue == 300
    assert gained.fulfilled_units == Fraction(7, 2)
    assert gained.marketing == 15
    assert rows[None, False].outcomes == 2
    assert rows["ada", False].score == 0, "zero is no gain"
    assert rows["bob", False].net_outlays == 7
    assert ("rule", True) not in rows
    (alone,) = profiles(found[:1], {})[:1]
    assert alone.marketing is None, "daily accounts are not there"


def test_the_identity_is_checked_to_the_cent() -> None:
    # 4,100,000 - 3,850,000 + 900,000 - 1,600,000 = -450,000.
    good = outcome(
        RUNS[0],
        1,
        -450_000,
        initial_stock_cents=1_600_000,
        revenue_cents=4_100_000,
        net_outlays_cents=3_850_000,
        salvage_cents=900_000,
    )
    days = company_sums(
        frame(
            company_day(
                good.run_id,
                1,
                1,
                revenue_cents=4_100_000,
                procurement_cents=3_850_001,
                refunds_cents=1,
            )
        )
    )
    (check,) = identities([good], days)
    assert check.closes
    (check,) = identities([replace(good, score_cents=-449_999)], days)
    assert (check.score_gap, check.closes) == (1, False)
    (check,) = identities([replace(good, revenue_cents=4_100_001, score_cents=-449_999)], days)
    assert (check.score_gap, check.revenue_gap, check.closes) == (0, 1, False)
    (check,) = identities([good], None)
    assert (check.revenue_gap, check.closes) == (None, True)


def test_salvage_can_change_ranks_and_signs() -> None:
    planned, found = two()
    # All of bob's reference Scores are stock: without it he has 50 - 50 and 20 - 20.
    stocked = [
        replace(each, salvage_cents=each.score_cents)
        if each.candidate == "bob" and each.replaced is None
        else each
        for each in found
    ]
    rows = {row.candidate: row for row in salvage_sensitivity(planned.runs, stocked)}
    # bob: 50, 20, 80, 5 with salvage; 0, 0, 80, 5 without. ada: 100, 10, 120, 0. rule: 30, 40,
    # -10, 25.
    assert rows["bob"].official == Fraction(155, 4)
    assert rows["bob"].cash_only == Fraction(85, 4)
    assert rows["bob"].salvage == Fraction(70, 4)
    assert (rows["bob"].official_rank, rows["bob"].cash_only_rank) == (2, 2)
    assert rows["ada"].signs is not None
    # ada's market: seed 5: 150 - 110 = 40, seed 3: 30 - 45 = -15; mean 12.5. Without salvage
    # 100 - 110 = -10 and 10 - 45 = -35: the mean and seed 5 change their sign.
    assert (rows["ada"].signs.market, rows["ada"].signs.by_seed, rows["ada"].signs.seeds) == (
        False,
        1,
        2,
    )
    # ada -> bob: -30 and 15, mean -7.5; without salvage -80 and -5: the sign is kept.
    assert (rows["ada"].signs.directed, rows["ada"].signs.pairs) == (1, 1)
    assert rows["rule"].signs is None, "a baseline is no entrant"


def test_differences_of_the_accounts_make_up_that_of_the_score() -> None:
    planned = plan(campaign(("ada", "bob"), seeds=[1]))
    found = outcomes(planned.runs, lambda run: (10, 4) if run.replaced is None else (3, 9))
    found = [
        replace(
            each,
            revenue_cents=each.score_cents + 100 * each.seat,
            net_outlays_cents=100 * each.seat + 7,
            salvage_cents=7,
            consumer_orders=each.seat,
        )
        for each in found
    ]
    rows = {(row.entrant, row.account): row for row in decomposition(planned.runs, found)}
    ada = rows["ada", "score_cents"]
    assert [ada.private, ada.others, ada.market] == [7, -5, 2]
    for entrant in ("ada", "bob"):
        for part in ("private", "others", "market"):
            revenue, spent, salvage, score = (
                getattr(rows[entrant, account], part)
                for account in (
                    "revenue_cents",
                    "net_outlays_cents",
                    "salvage_cents",
                    "score_cents",
                )
            )
            assert revenue - spent + salvage == score
    assert rows["bob", "consumer_orders"].market == 0


def test_without_a_whole_seed_there_is_no_decomposition() -> None:
    planned, found = two()
    rows = decomposition(planned.runs, found[:2])
    assert {row.market for row in rows} == {None}
    assert salvage_sensitivity(planned.runs, found[:2]) == []


@pytest.mark.parametrize("amount", [2**53 + 1, -(2**60) - 1])
def test_no_cent_is_lost_beyond_the_integers_of_a_float(amount: int) -> None:
    days = frame(company_day("one", 1, 1, revenue_cents=amount))
    assert company_sums(days)["revenue_cents"].to_list() == [amount]
