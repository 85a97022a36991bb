"""The stored forms of decisions, plans and records."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decision import CompanyDecision
from manifests.canonical import canonical_json, digest_bytes
from manifests.errors import IntegrityError
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.store import CompanyWindow, StoredCheckpoint, StoredDay, codec
from orchestrator.store.connection import moment
from tests.orchestrator.store import samples

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
amounts = st.integers(0, 2**53 - 1)
optional_amounts = st.none() | amounts
products = st.fixed_dictionaries(
    {},
    optional={
        "price_cents": optional_amounts,
        "promotion_cents": optional_amounts,
        "reorder_target": optional_amounts,
        "daily_development_budget_cents": optional_amounts,
    },
)
capacities = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"action": st.sampled_from(["expand", "downsize"]), "target_tier": amounts}
    ),
    st.fixed_dictionaries({"action": st.just("cancel"), "project_id": names}),
)
decisions = st.fixed_dictionaries(
    {"company_id": names, "world_version": amounts},
    optional={
        "products": st.dictionaries(names, products, max_size=3),
        "marketing": st.dictionaries(names, st.dictionaries(names, amounts), max_size=3),
        "reliability_budget_cents": optional_amounts,
        "support_budget_cents": optional_amounts,
        "innovation_tier": st.none() | st.integers(1, 3),
        "capacity": capacities,
        "bids": st.dictionaries(names, amounts, max_size=3),
        "research": st.lists(
            st.fixed_dictionaries({"segment_id": names, "level": st.integers(1, 5)}), max_size=2
        ),
    },
).map(lambda value: CompanyDecision.model_validate_json(canonical_json(value)))


@given(decisions)
def test_every_decision_has_one_canonical_form_and_comes_back(decision: CompanyDecision) -> None:
    content = codec.decision_json(decision)
    assert content == canonical_json(decision.model_dump(mode="json", exclude_none=True))
    assert codec.read_decision(content, "it") == decision


def test_the_form_does_not_depend_on_the_order_of_writing() -> None:
    def decide(bids: dict[str, int]) -> CompanyDecision:
        return CompanyDecision(company_id="company-1", world_version=0, bids=bids)

    one, two = decide({"t1": 5, "t2": 6}), decide({"t2": 6, "t1": 5})
    assert codec.decision_json(one) == codec.decision_json(two)


def test_a_hold_and_no_decision_differ() -> None:
    hold = CompanyDecision(company_id="company-1", world_version=3)
    closed = window(decision=hold)
    assert closed.decision == hold
    assert window(decision=None).decision_json is None


def window(**changes: Any) -> CompanyWindow:
    parts: dict[str, Any] = {
        "version": 3,
        "seat": 1,
        "status": CompanyWindowStatus.SEALED,
        "candidate": "grower",
        "identity": "grower-v1",
        "decision": CompanyDecision(company_id="company-1", world_version=3),
    }
    return CompanyWindow.closed(**{**parts, **changes})


def test_a_changed_decision_is_noticed() -> None:
    sealed = window()
    assert sealed.decision_json is not None
    forged = replace(sealed, decision_json=sealed.decision_json.replace(b"3", b"4"))
    with pytest.raises(IntegrityError, match="decision of company-1 at world version 3"):
        _ = forged.decision
    broken = sealed.decision_json[:-1]
    unreadable = replace(sealed, decision_json=broken, decision_digest=digest_bytes(broken))
    with pytest.raises(IntegrityError, match="cannot be read"):
        _ = unreadable.decision


def test_a_planned_run_comes_back() -> None:
    planned = replace(
        samples.planned_run(), replaced="a", baseline="b", stage="validation", depends_on=("x", "y")
    )
    content = codec.planned_json(planned)
    assert codec.read_planned(content, "it") == planned
    with pytest.raises(IntegrityError, match="it cannot be read"):
        codec.read_planned(content[:-2], "it")


def test_a_changed_record_is_noticed() -> None:
    record = samples.window(0).days[0]
    stored = StoredDay(
        1, 0, record.state_digest, codec.day_digest(record), codec.day_details(record)
    )
    with pytest.raises(IntegrityError, match="The record of day 1 is not what was settled"):
        stored.record([])
    with pytest.raises(IntegrityError, match="the record of day 1 cannot be read"):
        replace(stored, details=stored.details[:-1]).record([])
    with pytest.raises(IntegrityError, match="day 1 of company-2 cannot be read"):
        codec.read_company_day(b"\xc1", "day 1 of company-2")


def test_a_changed_state_is_noticed() -> None:
    stored = StoredCheckpoint(1, 7, b"\x90", "sha256:0", 1, moment(0))
    with pytest.raises(IntegrityError, match="world version 1, day 7, is not what was settled"):
        stored.world()


def test_a_record_with_its_companies_has_one_digest() -> None:
    record = samples.window(0).days[0]
    before = codec.day_digest(record)
    codec.day_details(record)
    assert len(record.companies) == 2
    assert codec.day_digest(record) == before
