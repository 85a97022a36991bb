"""Outcomes follow from the days and the terminal state, to the cent (evaluation.md section 2)."""

from collections.abc import Iterator

import pytest

from manifests.errors import IntegrityError
from orchestrator.bound import bound_scenario
from orchestrator.outcomes import Totals, company_outcomes
from tests.orchestrator.trial import Trial


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    trial = Trial.new(tmp_path_factory.mktemp("outcomes") / "store", horizon_days=120)
    with trial.store:
        trial.play()
        yield trial


def test_outcomes_are_the_sums_of_the_days_and_the_terminal_value(played: Trial) -> None:
    run = played.run()
    days = list(run.day_records())
    for outcome in run.outcomes():
        own = [day for record in days for day in record.companies if day.seat == outcome.seat]
        assert outcome.revenue_cents == sum(day.ledger.revenue_cents for day in own)
        outlays = sum(day.ledger.outlays_cents - day.ledger.refunds_cents for day in own)
        assert outcome.net_outlays_cents == outlays
        assert outcome.terminal_cash_cents == own[-1].closing_cash_cents
        assert outcome.fulfilled_units == sum(day.fulfilled_units for day in own)
        orders = sum(product.orders for day in own for product in day.products)
        assert outcome.consumer_orders == orders
        assert (outcome.exit_day is not None) is own[-1].exited
        assert outcome.score_cents == (
            outcome.revenue_cents
            - outcome.net_outlays_cents
            + outcome.salvage_cents
            - outcome.initial_stock_cents
        )
    assert [outcome.exit_day is None for outcome in run.outcomes()] == [True, True, False]
    assert {outcome.initial_value_cents for outcome in run.outcomes()} == {51_600_000}


def test_accounts_that_do_not_close_are_refused(played: Trial) -> None:
    world = played.run().latest()
    assert world is not None
    planned = played.store.catalogue.run(played.key()).planned
    manifest = played.store.catalogue.manifest("trial")
    totals = Totals(3)
    totals.add(played.run().day_records())
    scenario = bound_scenario(manifest)
    assert company_outcomes("trial", planned, scenario, world.state, totals) == (
        played.run().outcomes()
    )
    totals.companies[1].revenue_cents += 1
    with pytest.raises(IntegrityError, match="company-2 in run trial-s11-reference"):
        company_outcomes("trial", planned, scenario, world.state, totals)
