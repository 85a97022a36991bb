"""Commands for a first look: one world, the policies, the scenario."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.boundary import Boundary
from engine.decision import CompanyDecision
from engine.observation import Observation
from engine.policies.base import Parameters, Policy, make_policy
from engine.scenario import default_scenario
from engine.score import score_cents
from engine.settle import initial_state, settle_window
from engine.streams import Streams
from manifests.errors import InputError
from orchestrator.single import Ceo, play
from tests.orchestrator.cli.commands import ceo_arena, ceo_arena_process, is_plain

Capture = pytest.CaptureFixture[str]

PANEL = [
    "price-follower",
    "growth",
    "quality-leader",
    "tender-hunter",
    "harvester",
    "overspender",
    "discounter",
    "balanced",
]

# Initial stock at liquidation value: 600 x $8 + 400 x $15 + 200 x $26 (market.md section 2).
INITIAL_STOCK_CENTS = 1_600_000


def test_run_seats_the_panel_of_the_rehearsal(capsys: Capture) -> None:
    data = ceo_arena(capsys, "run", "--days", "14", "--json").data
    assert [company["ceo"] for company in data["companies"]] == PANEL
    assert [company["seat"] for company in data["companies"]] == list(range(1, 9))
    assert (data["seed"], data["windows"], data["market"]["days"]) == (11, 2, 14)


def test_run_says_what_the_engine_settles(capsys: Capture) -> None:
    """The same world, settled here step by step."""
    data = ceo_arena(
        capsys, "run", "--firms", "2", "--ceo", "1=rule", "--ceo", "2=no-action",
        "--days", "10", "--seed", "5", "--json",
    ).data  # fmt: skip
    scenario, streams = default_scenario().with_horizon(10), Streams(5)
    ceos = {1: make_policy("rule", {}), 2: make_policy("no-action", {})}
    state, days = initial_state(scenario, streams, 2), []
    elapsed: list[Any] = []
    for _ in range(2):
        boundary = Boundary(scenario, state, elapsed)
        decisions = {seat: ceo.decide(boundary.observe(seat)) for seat, ceo in ceos.items()}
        settlement = settle_window(scenario, streams, state, decisions)
        state, elapsed = settlement.state, settlement.days
        days += settlement.days
    assert data["final_state_digest"] == days[-1].state_digest
    digests = "".join(f"{day.state_digest}\n" for day in days).encode()
    assert data["days_digest"] == "sha256:" + hashlib.sha256(digests).hexdigest()
    for company, firm in zip(data["companies"], state.firms, strict=True):
        assert company["score_cents"] == score_cents(scenario, firm)
        assert company["cash_cents"] == firm.cash_cents
    assert data["totals"]["fulfilled_units"] == sum(
        product.fulfilled_units
        for day in days
        for company in day.companies
        for product in company.products
    )
    assert data["totals"]["opportunities"] == sum(sum(day.market.opportunities) for day in days)
    assert [company["identity"] for company in data["companies"]] == [
        ceos[1].identity,
        ceos[2].identity,
    ]


def test_run_accounts_close_to_the_cent(capsys: Capture) -> None:
    data = ceo_arena(capsys, "run", "--days", "100", "--json").data
    for company in data["companies"]:
        assert company["score_cents"] == (
            company["revenue_cents"]
            - company["net_outlays_cents"]
            + company["salvage_cents"]
            - INITIAL_STOCK_CENTS
        )
    exits = [company["seat"] for company in data["companies"] if company["exit_day"] is not None]
    assert exits == [6], "the overspender is bankrupt before day 100, and nobody else"
    assert data["totals"]["bankruptcies"] == 1
    assert data["totals"]["score_cents"] == sum(
        company["score_cents"] for company in data["companies"]
    )


def test_run_shows_a_table_of_all_companies_best_first(capsys: Capture) -> None:
    answer = ceo_arena(capsys, "run", "--days", "100")
    data = ceo_arena(capsys, "run", "--days", "100", "--json").data
    assert answer.code == 0
    assert is_plain(answer.out)
    rows = [line.split() for line in answer.out.splitlines()[2:10]]
    ranked = sorted(data["companies"], key=lambda company: -company["score_cents"])
    assert [row[2] for row in rows] == [company["ceo"] for company in ranked]
    assert [row[0] for row in rows] == [str(rank) for rank in range(1, 9)]
    last = ranked[-1]
    cents = -last["score_cents"]
    assert rows[-1] == [
        "8",
        str(last["seat"]),
        "overspender",
        f"-${cents // 100:,}.{cents % 100:02}",
        f"-${-last['cash_cents'] / 100:,.2f}",
        f"{last['fulfilled_units']:,}",
        str(last["tier"]),
        "day",
        str(last["exit_day"]),
    ]
    assert data["final_state_digest"] in answer.out
    assert answer.err == ""


def test_run_seats_the_chosen_policies_and_repeats_the_characters(capsys: Capture) -> None:
    data = ceo_arena(
        capsys, "run", "--firms", "10", "--ceo", "3=rule", "--ceo", "10=no-action", "--days", "1",
        "--json",
    ).data  # fmt: skip
    ceos = [company["ceo"] for company in data["companies"]]
    assert ceos == [*PANEL[:2], "rule", *PANEL[3:], PANEL[0], "no-action"]


def test_run_is_the_same_in_every_process_and_under_every_hash_seed() -> None:
    answers = [
        ceo_arena_process("run", "--days", "21", "--json", environment={"PYTHONHASHSEED": seed})
        for seed in ("0", "1", "4242")
    ]
    assert answers[0].data["windows"] == 3
    assert len({answer.out for answer in answers}) == 1


def test_run_under_an_equal_scenario_file_is_the_same_world(
    capsys: Capture, tmp_path: Path
) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(ceo_arena(capsys, "scenario", "show").out, encoding="utf-8")
    plain = ceo_arena(capsys, "run", "--days", "9", "--json").data
    assert ceo_arena(capsys, "run", "--days", "9", "--scenario", file, "--json").data == plain
    assert plain["market"]["evaluated"]


def test_run_under_a_scenario_of_ones_own_says_so(capsys: Capture, tmp_path: Path) -> None:
    file = changed_scenario(tmp_path, {"horizon_days": 12, "initial_cash_cents": 1_000_000})
    data = ceo_arena(capsys, "run", "--scenario", file, "--json").data
    assert data["market"]["days"] == 12
    assert not data["market"]["evaluated"]
    assert "a market of your own" in ceo_arena(capsys, "run", "--scenario", file).out
    assert "a market of your own" not in ceo_arena(capsys, "run", "--days", "12").out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--ceo", "3=nobody"], ["--ceo 3=nobody", "There is no policy 'nobody'", *PANEL, "rule"]),
        (["--ceo", "9=rule"], ["--ceo 9=rule", "no seat 9 among 8 companies", "1 to 8"]),
        (["--ceo", "0=rule"], ["no seat 0"]),
        (["--ceo", "2=rule", "--ceo", "2=growth"], ["seat 2 is already taken by rule"]),
        (["--ceo", "rule"], ["--ceo rule", "--ceo 3=rule"]),
        (["--ceo", "3="], ["no choice of a CEO"]),
        (["--ceo", "-1=rule"], ["no choice of a CEO"]),
        (["--days", "0"], ["--days", "cannot last 0 days"]),
        (["--days", "100001"], ["cannot last 100001 days", "100,000"]),
        (["--days", "ten"], ["--days"]),
        (["--firms", "0"], ["--firms", "0 companies"]),
        (["--firms", "1001"], ["1001 companies"]),
        (["--seed", "-1"], ["--seed", "-1 is no seed"]),
        (["--seed", str(2**53)], ["is no seed"]),
        (["--scenario", "/nowhere/market.json"], ["/nowhere/market.json"]),
    ],
)
def test_run_refuses_wrong_options_clearly(
    capsys: Capture, arguments: list[str], expected: list[str]
) -> None:
    answer = ceo_arena(capsys, "run", *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert "Traceback" not in answer.err
    for part in expected:
        assert part in answer.err


@pytest.mark.parametrize("content", ["{", "[]", '{"name": "mine"}', "\x00"])
def test_run_refuses_an_unusable_scenario(capsys: Capture, tmp_path: Path, content: str) -> None:
    file = tmp_path / "market.json"
    file.write_text(content, encoding="utf-8")
    answer = ceo_arena(capsys, "run", "--scenario", file)
    assert (answer.code, answer.out) == (2, "")
    assert str(file) in answer.err
    assert "Traceback" not in answer.err


def test_run_says_which_ceo_does_not_fit_the_scenario(capsys: Capture, tmp_path: Path) -> None:
    data = default_scenario().to_data()
    for segment in data["segments"]:
        segment["id"] = segment["id"].replace("mainstream", "middle")
    for phase in data["phases"]["states"]:
        phase["mix"] = {
            name.replace("mainstream", "middle"): share for name, share in phase["mix"].items()
        }
    data["segments"].sort(key=lambda segment: segment["id"])
    file = tmp_path / "market.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    answer = ceo_arena(capsys, "run", "--scenario", file, "--ceo", "2=rule")
    assert answer.code == 2
    assert "company-2 (rule), day 0" in answer.err
    assert "mainstream" in answer.err


class Breaking(Policy):
    """Fails in its second window."""

    name = "breaking"
    version = "v1"

    def decide(self, observation: Observation) -> CompanyDecision:
        if observation.day:
            raise ZeroDivisionError("no customers")
        return self.hold(observation)


class Greedy(Policy):
    """Bids on a tender that does not exist."""

    name = "greedy"
    version = "v1"

    def decide(self, observation: Observation) -> CompanyDecision:
        return self.hold(observation, capacity={"action": "expand", "target_tier": 99})


class Leaving(Policy):
    """Wants to end the process."""

    name = "leaving"
    version = "v1"

    def decide(self, observation: Observation) -> CompanyDecision:
        raise SystemExit(observation.day)


class Wordy(Policy):
    """Fails with a text that neither a terminal nor a database takes."""

    name = "wordy"
    version = "v1"

    def decide(self, observation: Observation) -> CompanyDecision:
        raise ValueError(f"\x1b[2J \ud800\0 {observation.day}")


class Silent(Policy):
    """Answers with what it was asked."""

    name = "silent"
    version = "v1"

    def decide(self, observation: Observation) -> CompanyDecision:
        return observation  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Leaving, "company-1 (mine), day 0: SystemExit: 0"),
        (Wordy, r"company-1 (mine), day 0: ValueError: \x1b[2J \ud800\x00 0"),
        (Silent, "company-1 (mine), day 0: TypeError: the policy decided a Observation, not a"),
        (Breaking, "company-1 (mine), day 7: ZeroDivisionError: no customers"),
        (Greedy, "company-1 (mine), day 0: "),
    ],
)
def test_a_world_names_the_policy_that_breaks_it(policy: type[Policy], expected: str) -> None:
    panel = [Ceo("mine", policy(Parameters())), Ceo("rule", make_policy("rule", {}))]
    with pytest.raises(InputError) as refusal:
        play(default_scenario().with_horizon(21), 3, panel, lambda _state: None)
    assert refusal.value.message.startswith(expected)


def test_policies_lists_names_identities_and_defaults(capsys: Capture) -> None:
    entries = {
        entry["name"]: entry for entry in ceo_arena(capsys, "policies", "--json").data["policies"]
    }
    assert {*PANEL, "rule", "no-action"} <= entries.keys()
    rule = entries["rule"]
    assert rule["identity"] == make_policy("rule", {}).identity
    assert rule["parameters"]["reorder_targets"] == {"A": 150, "B": 100, "C": 50}
    assert rule["parameters"]["cash_floor_cents"] == 5_000_000
    for entry in entries.values():
        assert make_policy(entry["name"], entry["parameters"]).identity == entry["identity"]
    text = ceo_arena(capsys, "policies").out
    assert is_plain(text)
    for entry in entries.values():
        assert f"{entry['name']}  ({entry['identity']})" in text
        assert all(name in text for name in entry["parameters"])


def test_policies_of_other_packages_are_listed_with_what_is_wrong_with_them(
    tmp_path: Path,
) -> None:
    installed = tmp_path / "foreign-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        "[ceo_arena.policies]\nneedy = foreign:Needy\nlost = foreign:Lost\nbroken = no_such:Thing\n"
    )
    (tmp_path / "foreign.py").write_text(FOREIGN)
    path = os.pathsep.join([str(tmp_path), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    answer = ceo_arena_process("policies", "--json", environment={"PYTHONPATH": path})
    entries = {entry["name"]: entry for entry in answer.data["policies"]}
    needy = entries["needy"]
    assert needy["summary"] == "Wants to be told its price."
    assert (needy["identity"], needy["required"]) == (None, ["price_cents"])
    assert needy["parameters"] == {"price_cents": None, "patience": 3}
    assert "foreign:Lost" in entries["lost"]["problem"]
    assert "no_such" in entries["broken"]["problem"]
    assert entries["rule"]["problem"] is None
    refusal = ceo_arena_process("run", "--ceo", "1=needy", environment={"PYTHONPATH": path})
    assert refusal.code == 2
    assert "price_cents" in refusal.err


FOREIGN = '''
from engine.policies.base import Parameters, Policy

class Wishes(Parameters):
    price_cents: int
    patience: int = 3

class Needy(Policy):
    """Wants to be told
    its price."""
    name, version, parameters_type = "needy", "v1", Wishes
    def decide(self, observation):
        return self.hold(observation)
'''


def test_scenario_show_prints_the_scenario_and_nothing_else(capsys: Capture) -> None:
    answer = ceo_arena(capsys, "scenario", "show")
    assert (answer.code, answer.err) == (0, "")
    assert answer.data == default_scenario().to_data()
    digest = ceo_arena(capsys, "scenario", "show", "--digest").out
    assert digest == f"{default_scenario().digest}\n"


def test_scenario_check_names_what_differs(capsys: Capture, tmp_path: Path) -> None:
    data = default_scenario().to_data()
    data["phases"]["mean_days"] = None
    data["segments"][0]["price_weight"] = 4.5
    file = tmp_path / "market.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    report = ceo_arena(capsys, "scenario", "check", file, "--json").data
    segment = data["segments"][0]["id"]
    assert report["changes"] == [
        {"path": "phases.mean_days", "evaluated": 60.0, "here": None},
        {"path": f"segments.{segment}.price_weight", "evaluated": 4.4, "here": 4.5},
    ]
    text = ceo_arena(capsys, "scenario", "check", file).out
    assert "2 parameters differ" in text
    assert "phases.mean_days: 60.0 -> null" in text
    assert report["digest"] in text


def test_scenario_check_of_the_default_and_of_a_wrong_one(capsys: Capture, tmp_path: Path) -> None:
    file = changed_scenario(tmp_path, {})
    assert ceo_arena(capsys, "scenario", "check", file, "--json").data["changes"] == []
    wrong = changed_scenario(tmp_path, {"window_days": -7, "horizon": 3})
    answer = ceo_arena(capsys, "scenario", "check", wrong)
    assert (answer.code, answer.out) == (2, "")
    assert "window_days" in answer.err
    assert "horizon" in answer.err


def changed_scenario(folder: Path, changes: dict[str, Any]) -> Path:
    file = folder / "scenario.json"
    file.write_text(json.dumps(default_scenario().to_data() | changes), encoding="utf-8")
    return file
