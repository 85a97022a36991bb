"""Scenario files of other people: what is wrong is named (market.md, preface)."""

from pathlib import Path
from typing import Any

import pytest

from engine.scenario import Scenario, default_scenario, load_scenario, parse_scenario
from manifests.errors import InputError
from tests.engine.worlds import find


def test_a_written_scenario_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "market.json"
    path.write_text(default_scenario().to_json(), encoding="utf-8")
    assert load_scenario(path) == default_scenario()


def problem_of(data: Any) -> str:
    with pytest.raises(InputError) as caught:
        parse_scenario(data, "market.json")
    message = str(caught.value)
    assert message.startswith("market.json is not valid:")
    assert "`ceo-arena scenario show`" in message
    return message


@pytest.mark.parametrize(
    ("path", "value", "field", "reason"),
    [
        ("horizon_days", 0, "horizon_days", "greater than or equal to 1"),
        ("horizon_days", 500.0, "horizon_days", "valid integer"),
        ("horizon_days", "500", "horizon_days", "valid integer"),
        ("horizon_days", True, "horizon_days", "valid integer"),
        ("horizon_days", None, "horizon_days", "valid integer"),
        ("initial_cash_cents", -1, "initial_cash_cents", "greater than or equal to 0"),
        (
            "products.0.procurement_days",
            2**53,
            "products[0].procurement_days",
            "less than or equal",
        ),
        ("initial_cash_cents", 10**30, "initial_cash_cents", "less than or equal"),
        ("macro.volatility", -0.1, "macro.volatility", "greater than or equal to 0"),
        ("macro.mean", "1", "macro.mean", "valid number"),
        ("macro.mean", float("nan"), "macro.mean", "finite number"),
        ("macro.mean", float("inf"), "macro.mean", "finite number"),
        ("phases.mean_days", 0.5, "phases.mean_days", "greater than or equal to 1"),
        ("phases.initial", "boom", "phases.initial", "'boom' is none of"),
        ("phases.states.1.id", "balanced", "phases.states", "each id may occur once"),
        ("phases.states.0.mix", {"value": 1.0}, "phases.states.balanced.mix", "needs exactly"),
        ("phases.states.2.quality_shift", -0.6, "quality_growth.quality_shift", "zero or negative"),
        ("segments.0.baseline_demand", 0.0, "segments[0].baseline_demand", "greater than 0"),
        ("segments.0.seasonal_amplitude", 1.0, "segments[0].seasonal_amplitude", "less than 1"),
        ("segments.0.id", "zzz", "segments", "in identifier order"),
        (
            "segments.0.product_match",
            {"A": 1.0},
            "segments.mainstream.product_match",
            "needs exactly",
        ),
        (
            "segments.1.channel_effect",
            {"affiliate": 1.0, "display": 1.0, "radio": 1.0},
            "segments.premium.channel_effect",
            "radio",
        ),
        ("segments", [], "segments", "at least one"),
        ("products.1.id", "A", "products", "unique and in identifier order"),
        (
            "products.0.procurement_days",
            0,
            "products[0].procurement_days",
            "greater than or equal to 1",
        ),
        (
            "products.0.purchase_cost_cents",
            0,
            "products[0].purchase_cost_cents",
            "greater than or equal to 1",
        ),
        ("channels", ["search", "display", "affiliate"], "channels", "in identifier order"),
        ("channels.0", "a b", "channels[0]", "match pattern"),
        ("capacity.tiers", [], "capacity.tiers", "at least tier 0"),
        ("capacity.tiers.2.capital_cents", 1, "capacity.tiers", "may not fall"),
        ("initial_capacity_tier", 4, "initial_capacity_tier", "tiers are 0..3"),
        (
            "capacity.cancellation_fee_basis_points",
            10_001,
            "basis_points",
            "less than or equal to 10000",
        ),
        ("advertising.initial_awareness", 1.0, "advertising.initial_awareness", "less than 1"),
        ("knowledge.depreciation", 1.1, "knowledge.depreciation", "less than or equal to 1"),
        (
            "innovation.tiers.2.median_days",
            2**53 - 1,
            "innovation.tiers[2].median_days",
            "may draw more than 9007199254740991",
        ),
        ("innovation.gain_log_sd", 5.0, "innovation.tiers[0].expected_gain_cents", "may draw"),
        ("innovation.max_pending", 0, "innovation.max_pending", "greater than or equal to 1"),
        ("choice.utility_floor", 0.0, "choice.utility_floor", "less than 0"),
        ("choice.switching_share", 1.01, "choice.switching_share", "less than or equal to 1"),
        ("tenders.minimum_share", 0.5, "tenders.minimum_share", "may not exceed maximum_share"),
        ("service.failure_floor", 0.5, "service.failure_floor", "may not exceed failure_base"),
        (
            "information.research_levels.0.log_sd",
            0.0,
            "research_levels[0].log_sd",
            "greater than 0",
        ),
    ],
)
def test_invalid_values_are_named(path: str, value: Any, field: str, reason: str) -> None:
    """The field, what is wrong with it, what was received, and where a complete scenario comes
    from.
    """
    data = default_scenario().to_data()
    place, key = find(data, path)
    place[key] = value
    message = problem_of(data)
    assert field in message
    assert reason in message


def test_unknown_and_missing_fields_are_named() -> None:
    data = default_scenario().to_data()
    data["macro"]["moood"] = 1
    del data["service"]["abandonment"]
    message = problem_of(data)
    assert "macro.moood" in message
    assert "service.abandonment" in message


@pytest.mark.parametrize("data", [None, [], "text", 7, {}])
def test_other_json_is_no_scenario(data: Any) -> None:
    problem_of(data)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "JSON"),
        (b"", "JSON: it is empty"),
        (b"\xff\xfe\x00", "is no text in UTF-8"),
        (b'{"name": "a", "name": "b"}', "'name' is written twice"),
        (b'{"horizon_days": NaN}', "NaN is not a finite number"),
    ],
)
def test_unreadable_files_are_named(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "market.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)


def test_missing_files_and_directories_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(InputError, match="cannot be read") as caught:
            load_scenario(path)
        assert str(path) in str(caught.value)


def test_horizons_are_validated_like_files() -> None:
    scenario: Scenario = default_scenario()
    assert scenario.with_horizon(30).horizon_days == 30
    with pytest.raises(InputError, match="horizon_days"):
        scenario.with_horizon(0)
