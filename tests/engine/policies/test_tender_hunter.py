from typing import Any

import pytest
from msgspec.structs import replace

from engine.decision import ResearchRequest
from engine.observation import OwnPendingReport, SegmentBeliefs
from engine.policies.tender_hunter import TenderHunter, TenderHunterParameters
from tests.engine.policies.boundaries import observed, segment_budgets, settings, tender

FLOOR = 6_000_000


def hunter(**parameters: Any) -> TenderHunter:
    return TenderHunter(TenderHunterParameters(**parameters))


@pytest.mark.parametrize(
    ("units", "minimum_quality", "reservation", "bid"),
    [
        # 94% of 168.75 is 158.625.
        (200, 0.82, 16_875, 15_862),
        (201, 0.82, 16_875, None),
        (200, 0.83, 16_875, None),
        # Purchase cost and 8% are 91.80.
        (200, 0.82, 9_200, 9_180),
        (200, 0.82, 9_180, 9_180),
        (200, 0.82, 9_179, None),
    ],
)
def test_it_bids_on_what_it_can_deliver_with_a_margin(
    units: int, minimum_quality: float, reservation: int, bid: int | None
) -> None:
    offered = tender(
        "C", units, minimum_quality=minimum_quality, reservation_price_cents=reservation
    )
    decision = hunter().decide(observed(tenders=(offered,)))
    assert decision.bids == ({} if bid is None else {"tender-0": bid})


def test_reserved_stock_is_not_offered_again() -> None:
    observation = observed(tenders=(tender("C", 150),))
    reserved = replace(observation.products["C"], reserved=51)
    products = {**observation.products, "C": reserved}
    assert hunter().decide(replace(observation, products=products)).bids == {}


def test_tenders_of_one_product_share_its_stock() -> None:
    offered = (
        tender("C", 150, number=1, reservation_price_cents=20_000),
        tender("C", 51, number=2, reservation_price_cents=20_000),
        tender("C", 50, number=3, reservation_price_cents=20_000),
        tender("B", 400, number=4),
    )
    bids = hunter().decide(observed(tenders=offered)).bids
    assert list(bids) == ["tender-1", "tender-3", "tender-4"]


def test_it_keeps_tender_stock_until_the_last_weeks() -> None:
    assert settings(hunter().decide(observed()), "reorder_target") == {
        "A": 920,
        "B": 720,
        "C": 520,
    }
    # Demand a day of 10, 5 and 2 over 5, 7 and 10 days of lead and 7 of cover.
    early = hunter().decide(observed(day=471, asked=(70, 35, 14)))
    assert settings(early, "reorder_target") == {"A": 440, "B": 390, "C": 354}
    late = hunter().decide(observed(day=472, asked=(70, 35, 0)))
    assert settings(late, "reorder_target") == {"A": 120, "B": 70, "C": 0}


def test_it_develops_until_no_tender_asks_too_much() -> None:
    observation = observed()
    products = {
        name: replace(product, quality=product.quality + gained)
        for (name, product), gained in zip(
            observation.products.items(), (0.0, 0.049, 0.051), strict=True
        )
    }
    decision = hunter().decide(replace(observation, products=products))
    assert settings(decision, "daily_development_budget_cents") == {"A": 4_000, "B": 4_000, "C": 0}


def test_it_buys_a_report_on_what_it_knows_least() -> None:
    observation = observed()
    assert hunter().decide(observation).research == (
        ResearchRequest(segment_id="mainstream", level=1),
    )
    known = replace(observation.beliefs["mainstream"].demand, variance=0.0)
    beliefs = {
        **observation.beliefs,
        "mainstream": replace(observation.beliefs["mainstream"], demand=known),
    }
    assert hunter().decide(replace(observation, beliefs=beliefs)).research == (
        ResearchRequest(segment_id="premium", level=1),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"pending_reports": (OwnPendingReport("research-000", "value", 1, 0, 2),)},
        {"cash_cents": FLOOR + 99_999},
        {"cash_cents": 0},
    ],
)
def test_it_does_without_a_report(changes: dict[str, Any]) -> None:
    assert hunter().decide(observed(**changes)).research == ()


def test_no_report_when_every_segment_is_known_well_enough() -> None:
    # The prior's squared coefficient of variation is 0.64.
    assert hunter(doubt_percent=63).decide(observed()).research != ()
    assert hunter(doubt_percent=65).decide(observed()).research == ()


def test_doubt_has_to_exceed_its_limit() -> None:
    observation = observed()
    beliefs = {
        segment_id: replace(belief, demand=replace(belief.demand, mean=2.0, variance=1.0))
        for segment_id, belief in observation.beliefs.items()
    }
    observation = replace(observation, beliefs=beliefs)
    assert hunter(doubt_percent=25).decide(observation).research == ()
    assert hunter(doubt_percent=24).decide(observation).research != ()


def test_marketing_follows_believed_demand_and_price_weight() -> None:
    observation = observed()
    assert set(segment_budgets(hunter().decide(observation)).values()) == {3_000}

    def believed(demand: float, price_weight: float) -> SegmentBeliefs:
        beliefs = observation.beliefs["value"]
        return replace(
            beliefs,
            demand=replace(beliefs.demand, mean=demand),
            price_weight=replace(beliefs.price_weight, mean=price_weight),
        )

    # 300 / 4, 150 / 2 and 300 / 2 are as 1 to 1 to 2.
    beliefs = {
        "mainstream": believed(300.0, 4.0),
        "premium": believed(150.0, 2.0),
        "value": believed(300.0, 2.0),
    }
    decision = hunter().decide(replace(observation, beliefs=beliefs))
    assert segment_budgets(decision) == {"mainstream": 2_250, "premium": 2_250, "value": 4_500}


@pytest.mark.parametrize(("cash", "spends"), [(FLOOR + 1, True), (FLOOR, False)])
def test_marketing_and_development_stop_at_the_cash_floor(cash: int, spends: bool) -> None:
    decision = hunter().decide(observed(cash_cents=cash))
    assert set(segment_budgets(decision).values()) == {3_000 * spends}
    assert set(settings(decision, "daily_development_budget_cents").values()) == {4_000 * spends}
