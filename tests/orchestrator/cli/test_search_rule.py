"""The Rule search: what it refuses, and one on Ray against worlds played one by one."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.policies.base import make_policy
from engine.scenario import default_scenario, load_scenario
from orchestrator.single import Ceo, play
from tests.orchestrator.cli.commands import Answer, ceo_arena, ceo_arena_process, is_plain

Capture = pytest.CaptureFixture[str]

# The grid, profile by profile: multiplier, focus, spending, floor (interface.md section 8).
LIGHT = (5_000, 5_000, 2_500, 5_000)
STANDARD = (10_000, 10_000, 5_000, 10_000)


def rule(
    focus: str, percent: int = 100, spending: tuple[int, ...] = LIGHT, floor: int = 5_000_000
) -> Ceo:
    names = ("development_cents", "marketing_cents", "reliability_cents", "support_cents")
    parameters: dict[str, Any] = dict(zip(names, spending, strict=True))
    parameters |= {
        "focus_segment": focus,
        "price_multiplier_percent": percent,
        "cash_floor_cents": floor,
    }
    return Ceo("rule", make_policy("rule", parameters))


BACKGROUND = [*[rule("value")] * 3, *[rule("mainstream")] * 3, *[rule("premium")] * 2]
PROFILES = {
    1: rule("value", 90),
    2: rule("value", 90, floor=15_000_000),
    17: rule("mainstream"),
    24: rule("premium", 100, STANDARD, 15_000_000),
}
"""Some of the 24, written down from the specification: the floor varies fastest."""


class TestSearchRule:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["--seeds", "7,x"], "'x' is no seed"),
            (["--seeds", ""], "'' is no seed"),
            (["--seeds", "-7"], "'-7' is no seed"),
            (["--seeds", "7,19,7"], "seed 7 stands twice"),
            (["--seeds", str(2**53)], "is no seed"),
            (["--seeds", "9" * 5_000], "is no seed"),
            (["--profiles", "0"], "'0' is no profile"),
            (["--profiles", "25"], "1 to 24"),
            (["--profiles", "1-99999999999"], "1 to 24"),
            (["--profiles", "8-1"], "1-8"),
            (["--profiles", "1-3,2"], "profile 2 stands twice"),
            (["--profiles", "all"], "'all' is no profile"),
            (["--scenario", "/nowhere/market.json"], "/nowhere/market.json"),
            (["--hosts", "0"], "--hosts"),
            (["--store", "mysql://somewhere/arena"], "mysql"),
        ],
    )
    def test_wrong_options_are_refused_before_anything_starts(
        self, capsys: Capture, arguments: list[str], expected: str
    ) -> None:
        answer = ceo_arena(capsys, "search-rule", *arguments)
        assert (answer.code, answer.out) == (2, "")
        assert expected in answer.err
        assert "Traceback" not in answer.err


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario file of 16 days without macro noise and phases."""
    data = default_scenario().to_data() | {"horizon_days": 16}
    data["macro"]["volatility"] = 0.0
    data["phases"]["mean_days"] = None
    file = tmp_path_factory.mktemp("market") / "calm.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def search(market: Path, *arguments: str | Path) -> Answer:
    """A search of two seeds and four profiles: 8 worlds, and 3 of the winner."""
    return ceo_arena_process(
        "search-rule", "--seeds", "7,19", "--profiles", "1-2,17,24",
        "--scenario", market, "--hosts", "2", *arguments,
    )  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the search is kept."""
    return tmp_path_factory.mktemp("search") / "store"


@pytest.fixture(scope="module")
def answer(kept: Path, market: Path) -> Answer:
    """What the search answers, played on Ray."""
    return search(market, "--store", kept, "--json")


@pytest.mark.xdist_group("ray")
class TestSearchOnRay:
    """One search on Ray, and what can be asked of its store afterwards."""

    def test_it_ranks_the_profiles_and_validates_the_winner(
        self, answer: Answer, market: Path
    ) -> None:
        assert answer.code == 0, answer.err
        scenario = load_scenario(market)

        def scored(number: int, seed: int) -> int:
            panel = [PROFILES[number], *BACKGROUND]
            return play(scenario, seed, panel, lambda _state: None).companies[0].score_cents

        scores = {number: {7: scored(number, 7), 19: scored(number, 19)} for number in PROFILES}
        ranked = sorted(PROFILES, key=lambda number: (-sum(scores[number].values()), number))
        data = answer.data
        assert data["profiles"] == [
            {
                "id": number,
                "scores_cents": {str(seed): found for seed, found in scores[number].items()},
                "mean_cents": round(Fraction(sum(scores[number].values()), 2)),
            }
            for number in ranked
        ]
        assert data["winner"] == ranked[0]
        assert (data["worlds"], data["bankrupt"], data["missing"]) == (11, 0, [])
        validation = {str(seed): scored(ranked[0], seed) for seed in (211, 307, 401)}
        assert data["validation"] == {
            "profile": ranked[0],
            "scores_cents": validation,
            "mean_cents": round(Fraction(sum(validation.values()), 3)),
        }

    def test_floors_tie_and_stand_in_grid_order(self, answer: Answer) -> None:
        order = [profile["id"] for profile in answer.data["profiles"]]
        by_number = {profile["id"]: profile for profile in answer.data["profiles"]}
        assert by_number[1]["scores_cents"] == by_number[2]["scores_cents"]
        assert order.index(2) == order.index(1) + 1

    def test_a_kept_search_is_answered_from_its_store(
        self, answer: Answer, kept: Path, market: Path
    ) -> None:
        again = search(market, "--store", kept, "--json")
        assert again.code == 0
        assert again.out == answer.out
        assert "Ray" not in again.err
        text = search(market, "--store", kept)
        assert is_plain(text.out)
        assert f"profile {answer.data['winner']}, mean Score" in text.out
        assert "0 of 99 companies" in text.out
        assert "100% mainstream $50/$50/$25/$50 $50,000" in text.out
        spending = "development_cents, marketing_cents, reliability_cents, support_cents"
        assert f"  spending: {spending}\n" in text.out
        # The floors of 1 and 2 tie to the cent, and share a rank.
        rows = re.findall(r"^ *([0-9]+)  (1|2|17|24) +-?\$", text.out, re.MULTILINE)
        ranks = {number: rank for rank, number in rows}
        assert len(ranks) == 4
        assert ranks["1"] == ranks["2"]
        assert "Equal means share a rank" in text.out

    def test_results_and_plan_of_a_kept_search(
        self, answer: Answer, kept: Path, capsys: Capture
    ) -> None:
        found = ceo_arena(capsys, "results", "--store", kept, "--json").data
        assert found["search"] == answer.data
        assert (found["complete"], found["runs"]["planned"]) == (True, 11)

    @pytest.mark.usefixtures("answer")
    def test_another_search_needs_another_name(self, kept: Path) -> None:
        other = ceo_arena_process("search-rule", "--seeds", "8", "--store", kept)
        assert (other.code, other.out) == (2, "")
        assert "another plan" in other.err
        assert "name" in other.err

    def test_without_a_store_nothing_is_left(self, market: Path, tmp_path: Path) -> None:
        answer = ceo_arena_process(
            "search-rule", "--seeds", "7", "--profiles", "17", "--scenario", market, "--json",
            environment={"TMPDIR": str(tmp_path)},
        )  # fmt: skip
        assert answer.data["winner"] == 17
        assert answer.data["worlds"] == 4
        assert list(tmp_path.iterdir()) == []
