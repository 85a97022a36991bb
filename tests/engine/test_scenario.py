"""The default scenario against the tables of market.md."""

import dataclasses
from typing import Any, Final

import pytest

from engine.scenario import default_scenario, parse_scenario
from manifests.errors import InputError
from tests.engine.worlds import altered

# Changes only when a number of the evaluated market does.
DIGEST: Final = "sha256:5924602a48b00bedc669baf5921387d85783cd1745514ccb976c4586485774e5"

PHASES: Final = """
balanced       | 1.00 | 1   1 1   | 1    1    1    | 0
price_pressure | 0.90 | 1.5 1 0.7 | 1.08 0.90 1    | 0
quality_growth | 1.10 | 0.8 1 1.4 | 0.95 1.25 1    | 0.035
delivery_peak  | 1.35 | 1   1 1   | 0.97 1    1.35 | 0
"""

SEGMENTS: Final = """
                       | value        | mainstream  | premium
baseline_demand        | 240          | 300         | 150
reference_price_cents  | 4500         | 8000        | 14000
price_weight           | 5.8          | 4.4         | 2.2
quality_weight         | 1.7          | 2.6         | 2.7
service_weight         | 0.7          | 1.0         | 1.6
awareness_weight       | 0.3          | 0.4         | 0.3
loyalty_weight         | 0.5          | 0.8         | 1.1
outside_utility        | -2.145       | -0.921      | 0.086
expected_quality       | 0.50         | 0.63        | 0.78
service_target_days    | 2.0          | 1.5         | 1.0
seasonal_amplitude     | 0.10         | 0.08        | 0.12
seasonal_period_days   | 7            | 30          | 90
macro_sensitivity      | 1.2          | 1.0         | 0.7
product_match          | .45 .05 -.35 | 0 .40 0     | -.45 0 .55
channel_effect         | 1.25 .70 1.05 | 1.00 1.10 .90 | .85 1.20 1.15
"""

PRODUCTS: Final = """
                        | A    | B    | C
base_quality            | 0.55 | 0.68 | 0.82
initial_price_cents     | 4000 | 7500 | 13500
purchase_cost_cents     | 2600 | 4800 | 8500
liquidation_value_cents | 800  | 1500 | 2600
holding_cost_cents      | 2    | 3    | 6
initial_stock           | 600  | 400  | 200
initial_reorder_target  | 600  | 400  | 200
procurement_days        | 5    | 7    | 10
"""

CAPACITY: Final = """
                  | 0     | 1       | 2       | 3
units_per_day     | 60    | 90      | 135     | 200
overhead_cents    | 40000 | 53000   | 73000   | 100000
capital_cents     | 0     | 1200000 | 3000000 | 6000000
construction_days | 1     | 21      | 35      | 49
"""


def columns(table: str) -> dict[str, dict[str, list[float]]]:
    """Column heading -> row heading -> numbers of the cell."""
    head, *rows = [
        [cell.strip() for cell in line.split("|")] for line in table.strip("\n").splitlines()
    ]
    return {
        heading: {row[0]: [float(part) for part in row[place].split()] for row in rows}
        for place, heading in enumerate(head)
        if heading
    }


def expected_phases() -> list[dict[str, Any]]:
    rows = [line.split("|") for line in PHASES.strip().splitlines()]
    phases = []
    for name, demand, mix, weights, shift in rows:
        value, mainstream, premium = map(float, mix.split())
        price, quality, service = map(float, weights.split())
        phases.append(
            {
                "id": name.strip(),
                "demand": float(demand),
                "mix": {"value": value, "mainstream": mainstream, "premium": premium},
                "price_weight": price,
                "quality_weight": quality,
                "service_weight": service,
                "quality_shift": float(shift),
            }
        )
    return phases


def expected_segments() -> list[dict[str, Any]]:
    segments = []
    for name, cells in sorted(columns(SEGMENTS).items()):
        segment: dict[str, Any] = {field: numbers[0] for field, numbers in cells.items()}
        segment["id"] = name
        segment["product_match"] = dict(zip("ABC", cells["product_match"], strict=True))
        segment["channel_effect"] = dict(
            zip(("search", "display", "affiliate"), cells["channel_effect"], strict=True)
        )
        segments.append(segment)
    return segments


def expected_columns(table: str) -> list[dict[str, Any]]:
    return [
        {field: numbers[0] for field, numbers in cells.items()} for cells in columns(table).values()
    ]


EXPECTED: Final[dict[str, Any]] = {
    "name": "ceos-market-v3",
    "horizon_days": 500,
    "window_days": 7,
    "initial_cash_cents": 50_000_000,
    "initial_capacity_tier": 0,
    # section 2: m_0 = m_bar = 1, kappa = 0.02, sigma_m = 0.0016, floors 0.05
    "macro": {
        "mean": 1,
        "reversion": 0.02,
        "volatility": 0.0016,
        "floor": 0.05,
        "response_floor": 0.05,
    },
    "phases": {"initial": "balanced", "mean_days": 60, "states": expected_phases()},
    "quality_trend": {"per_day": 0.00015, "cap": 0.075},
    "segments": expected_segments(),
    "products": [
        {"id": name} | line for name, line in zip("ABC", expected_columns(PRODUCTS), strict=True)
    ],
    "channels": ["affiliate", "display", "search"],
    # section 5
    "capacity": {
        "tiers": expected_columns(CAPACITY),
        "downsizing_fee_cents": 100_000,
        "downsizing_days": 7,
        "cancellation_fee_basis_points": 1000,
        "cancellation_retention_basis_points": 500,
    },
    # section 4; awareness 0.20 and its floor from sections 2 and 3
    "advertising": {
        "base_cents": 10_000,
        "exponent": 0.45,
        "outside_attention": 1,
        "goodwill_decay": 0.025,
        "attention_gain": 0.08,
        "initial_awareness": 0.20,
        "awareness_floor": 1e-9,
    },
    "knowledge": {
        "development_yield": 2.0,
        "maturation_days": 7,
        "depreciation": 0.00045,
        "quality_gain": 0.18,
        "scale_cents": 5_000_000,
    },
    "innovation": {
        "tiers": [
            {"cost_cents": 1_000_000, "median_days": 45, "expected_gain_cents": 2_000_000},
            {"cost_cents": 3_000_000, "median_days": 90, "expected_gain_cents": 7_000_000},
            {"cost_cents": 7_500_000, "median_days": 150, "expected_gain_cents": 20_000_000},
        ],
        "duration_log_sd": 0.25,
        "gain_log_sd": 0.20,
        "max_pending": None,
    },
    # section 3
    "choice": {"utility_floor": -700, "switching_share": 0.76},
    # section 6
    "tenders": {
        "interval_days": 14,
        "bidding_days": 7,
        "delivery_days": 7,
        "size_units": 690,
        "minimum_share": 0.15,
        "maximum_share": 0.45,
        "quality_margin": 0.05,
        "reservation_markup": 1.25,
        "penalty_basis_points": 1000,
    },
    # section 7; abandonment from section 5
    "service": {
        "failure_floor": 0.001,
        "failure_base": 0.03,
        "reliability_scale_cents": 6000,
        "utilization_knee": 0.75,
        "utilization_factor": 2,
        "failure_cost_cents": 1200,
        "ticket_rate": 0.015,
        "tickets_per_failure": 0.20,
        "support_tickets": 12,
        "support_base_cents": 30_000,
        "price_penalty": 0.12,
        "wait_penalty": 0.15,
        "loss_aversion": 1.8,
        "satisfaction_memory": 0.96,
        "loyalty_memory": 0.9,
        "abandonment": 0.05,
    },
    # section 8
    "information": {
        "research_levels": [
            {"cost_cents": 100_000, "delay_days": 2, "log_sd": 0.65},
            {"cost_cents": 250_000, "delay_days": 4, "log_sd": 0.40},
            {"cost_cents": 600_000, "delay_days": 7, "log_sd": 0.25},
            {"cost_cents": 1_250_000, "delay_days": 10, "log_sd": 0.15},
            {"cost_cents": 2_500_000, "delay_days": 14, "log_sd": 0.08},
        ],
        "signal_delay_days": 7,
        "prior_variation": 0.80,
        "quality_prior_mean": 0.7,
        "quality_prior_variance": 0.16,
        "belief_drift": 0.03,
        "denominator_floor": 1e-12,
    },
}


def test_default_scenario_has_every_number_of_the_specification() -> None:
    data = default_scenario().to_data()
    for segment in data["segments"]:
        assert segment.pop("label") == segment["id"].capitalize()
    assert data == EXPECTED


def test_digest_of_the_default_scenario() -> None:
    assert default_scenario().digest == DIGEST


def test_derived_numbers() -> None:
    scenario = default_scenario()
    assert scenario.initial_value_cents == 51_600_000
    assert scenario.windows == 72
    assert scenario.with_horizon(7).windows == 1
    assert scenario.with_horizon(8).windows == 2
    assert scenario.segment_ids == ("mainstream", "premium", "value")
    assert scenario.product_ids == ("A", "B", "C")


def test_a_scenario_is_frozen() -> None:
    scenario = default_scenario()
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.horizon_days = 9  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario.macro.mean = 2.0  # type: ignore[misc]


def test_every_number_is_part_of_the_digest() -> None:
    """Changing any leaf changes the digest."""
    original = default_scenario()
    digests = {original.digest}
    leaves = list(paths(default_scenario().to_data()))
    assert len(leaves) > 200
    for path, value in leaves:
        if isinstance(value, str) or value is None:
            continue
        for changed in (value + 1, value / 2 if isinstance(value, float) else value + 2):
            try:
                digests.add(altered(original, {path: changed}).digest)
                break
            except InputError:
                continue
        else:
            pytest.fail(f"no valid change of {path}")
    numbers = sum(1 for _, value in leaves if isinstance(value, int | float))
    assert len(digests) == 1 + numbers


def paths(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        members = [(str(key), member) for key, member in value.items()]
    elif isinstance(value, list):
        members = [(str(number), member) for number, member in enumerate(value)]
    else:
        return [(path, value)]
    return [
        leaf for key, member in members for leaf in paths(member, f"{path}.{key}" if path else key)
    ]


def test_equal_scenarios_are_equal() -> None:
    again = parse_scenario(default_scenario().to_data(), "a copy")
    assert again == default_scenario()
    assert again.digest == default_scenario().digest
    assert hash(again) == hash(default_scenario())
    assert altered(again, {"macro.mean": 1.5}) != again


def test_whole_numbers_may_be_written_without_a_point() -> None:
    """A person writes 2 or 2.0: the same number, the same digest."""
    data = default_scenario().to_data()
    assert data["service"]["utilization_factor"] == 2.0
    data["service"]["utilization_factor"] = 2
    assert parse_scenario(data, "a file").digest == default_scenario().digest
