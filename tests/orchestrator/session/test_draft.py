"""A draft is the fold of its changes."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decision import CompanyDecision
from orchestrator.session.draft import (
    EMPTY,
    BidPlaced,
    CapacityMove,
    Draft,
    DraftChange,
    DraftReset,
    InnovationStart,
    MarketingChange,
    OperationsChange,
    ProductChange,
    Quote,
    ResearchOrder,
    apply,
    fold,
)

QUOTE = Quote(100, 0, 7)
EXPAND = CapacityMove("expand", 2, None, QUOTE)
CANCEL = CapacityMove("cancel", None, "capacity-007", Quote(0, 900, 7))


def decided(*changes: DraftChange) -> CompanyDecision:
    return fold(changes).to_decision("company-1", 4)


def decision(**fields: object) -> CompanyDecision:
    return CompanyDecision.model_validate(
        {"company_id": "company-1", "world_version": 4, **fields}, strict=False
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], {}),
        (
            [ProductChange("A", price_cents=5), ProductChange("A", promotion_cents=0)],
            {"products": {"A": {"price_cents": 5, "promotion_cents": 0}}},
        ),
        (
            [ProductChange("A", price_cents=5), ProductChange("A", price_cents=6)],
            {"products": {"A": {"price_cents": 6}}},
        ),
        (
            [
                ProductChange("A", reorder_target=5),
                ProductChange("B", daily_development_budget_cents=6),
            ],
            {
                "products": {
                    "A": {"reorder_target": 5},
                    "B": {"daily_development_budget_cents": 6},
                }
            },
        ),
        (
            [
                MarketingChange("value", "search", 1),
                MarketingChange("value", "display", 2),
                MarketingChange("premium", "search", 3),
                MarketingChange("value", "search", 0),
            ],
            {"marketing": {"value": {"search": 0, "display": 2}, "premium": {"search": 3}}},
        ),
        (
            [OperationsChange(reliability_budget_cents=1), OperationsChange(None, 2)],
            {"reliability_budget_cents": 1, "support_budget_cents": 2},
        ),
        ([InnovationStart(1, QUOTE), InnovationStart(3, QUOTE)], {"innovation_tier": 3}),
        ([CANCEL, EXPAND], {"capacity": {"action": "expand", "target_tier": 2}}),
        ([EXPAND, CANCEL], {"capacity": {"action": "cancel", "project_id": "capacity-007"}}),
        (
            [EXPAND, CapacityMove("downsize", 0, None, QUOTE)],
            {"capacity": {"action": "downsize", "target_tier": 0}},
        ),
        (
            [BidPlaced("t1", 5), BidPlaced("t2", 6), BidPlaced("t1", 7)],
            {"bids": {"t1": 7, "t2": 6}},
        ),
        (
            [ResearchOrder("value", 1, QUOTE), ResearchOrder("value", 1, QUOTE)],
            {
                "research": [
                    {"segment_id": "value", "level": 1},
                    {"segment_id": "value", "level": 1},
                ]
            },
        ),
        ([EXPAND, ProductChange("A", price_cents=5), DraftReset()], {}),
        ([EXPAND, DraftReset(), BidPlaced("t1", 5)], {"bids": {"t1": 5}}),
    ],
)
def test_what_changes_come_to(changes: list[DraftChange], expected: dict[str, object]) -> None:
    assert decided(*changes) == decision(**expected)


def test_a_change_leaves_the_earlier_draft_as_it_was() -> None:
    before = fold([ProductChange("A", price_cents=5), MarketingChange("value", "search", 1)])
    encoded = msgspec.msgpack.encode(before)
    apply(before, ProductChange("A", price_cents=6))
    apply(before, MarketingChange("value", "search", 2))
    apply(before, DraftReset())
    assert msgspec.msgpack.encode(before) == encoded


def test_only_an_empty_draft_is_a_hold() -> None:
    assert EMPTY.is_hold
    assert fold([EXPAND, DraftReset()]).is_hold
    assert not fold([OperationsChange(support_budget_cents=0)]).is_hold


def test_commitments_are_all_that_moves_cash_once() -> None:
    draft = fold(
        [
            ProductChange("A", price_cents=5),
            BidPlaced("t1", 5),
            InnovationStart(2, Quote(10, 0, 0)),
            CANCEL,
            ResearchOrder("value", 1, Quote(1, 0, 2)),
            ResearchOrder("value", 1, Quote(1, 0, 2)),
        ]
    )
    commitments = list(draft.commitments())
    assert [commitment.item for commitment in commitments] == [
        "innovation project of tier 2",
        "capacity: cancel capacity-007",
        "market research on value, level 1",
        "market research on value, level 1",
    ]
    assert [commitment.quote.charge_cents for commitment in commitments] == [10, 0, 1, 1]
    assert [commitment.quote.refund_cents for commitment in commitments] == [0, 900, 0, 0]


names = st.sampled_from(["A", "B", "value"])
amounts = st.integers(0, 2**53 - 1)
maybe = st.none() | amounts
quotes = st.builds(Quote, amounts, amounts, st.integers(0, 600))
changes: st.SearchStrategy[DraftChange] = st.one_of(
    st.builds(ProductChange, names, maybe, maybe, maybe, maybe),
    st.builds(MarketingChange, names, names, amounts),
    st.builds(OperationsChange, maybe, maybe),
    st.builds(InnovationStart, st.integers(1, 3), quotes),
    st.builds(
        CapacityMove, st.sampled_from(["expand", "downsize"]), st.integers(0, 3), st.none(), quotes
    ),
    st.builds(CapacityMove, st.just("cancel"), st.none(), names, quotes),
    st.builds(BidPlaced, names, amounts),
    st.builds(ResearchOrder, names, st.integers(1, 5), quotes),
    st.builds(DraftReset),
)


@given(st.lists(changes))
def test_journaled_changes_build_the_same_draft(made: list[DraftChange]) -> None:
    draft = EMPTY
    journal: list[bytes] = []
    for change in made:
        draft = apply(draft, change)
        journal.append(msgspec.msgpack.encode(change))
    decoder: msgspec.msgpack.Decoder[DraftChange] = msgspec.msgpack.Decoder(DraftChange)
    assert fold(map(decoder.decode, journal)) == draft
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(draft), type=Draft) == draft


@given(st.lists(changes), st.lists(changes))
def test_nothing_before_a_reset_counts(
    earlier: list[DraftChange], later: list[DraftChange]
) -> None:
    assert fold([*earlier, DraftReset(), *later]) == fold(later)
