"""The results of a campaign, whole and partial, as tables and as JSON."""

import asyncio
import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from campaigns.definition import parse_definition
from campaigns.plan import plan
from campaigns.records import CompanyOutcome
from engine.policies.base import make_policy
from engine.scenario import load_scenario
from engine.state import WorldState
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.ceos import Closed, Window, seated
from orchestrator.cli.experiments import print_results
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.single import Ceo, play
from orchestrator.store import RunKey, open_store
from orchestrator.world import StopRequest, World
from tests.orchestrator.cli.commands import ceo_arena, is_plain
from tests.orchestrator.cli.played import PANEL, campaign_data, play_campaign, poor_scenario

Capture = pytest.CaptureFixture[str]

SEALED = CompanyWindowStatus.SEALED
BUDGET_EXHAUSTED = CompanyWindowStatus.BUDGET_EXHAUSTED
TIMEOUT = CompanyWindowStatus.TIMEOUT
PROTOCOL_ERROR = CompanyWindowStatus.PROTOCOL_ERROR

ROUTE = {
    "protocol": "chat",
    "model": "analyst-1",
    "native_ceiling": 65_536,
    "endpoint": "http://127.0.0.1:9/v1",
    "credentials": "no key",
}

RIVALS = [f"the-{policy}" for policy in PANEL]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two campaigns: `whole`, and `broken` without one run of its second seed."""
    folder = tmp_path_factory.mktemp("played")
    scenario, store = poor_scenario(folder), folder / "store"
    play_campaign(store, campaign_data("whole", scenario))
    play_campaign(store, campaign_data("broken", scenario), {"broken-s5-without-the-growth"})
    return store


def stored_outcomes(store: Path, campaign: str) -> list[CompanyOutcome]:
    with open_store(str(store)) as opened:
        return opened.outcomes(campaign)


def score(
    outcomes: list[CompanyOutcome], seed: int, lineup: str, candidate: str | None = None
) -> int:
    """The Score of one candidate in one world, or of all its companies together."""
    return sum(
        outcome.score_cents
        for outcome in outcomes
        if (outcome.seed, outcome.lineup_label) == (seed, lineup)
        and candidate in (None, outcome.candidate)
    )


class TestResults:
    def test_the_ranking_is_by_mean_score(self, capsys: Capture, played: Path) -> None:
        answer = ceo_arena(capsys, "results", "whole", "--store", played, "--json")
        assert (answer.code, answer.err) == (0, "")
        outcomes = stored_outcomes(played, "whole")
        assert len(outcomes) == answer.data["companies"] == 24
        means = {}
        for candidate in (*RIVALS, "the-rule"):
            own = [found.score_cents for found in outcomes if found.candidate == candidate]
            assert len(own) == 6
            means[candidate] = round(Fraction(sum(own), 6))
        expected = sorted(means.items(), key=lambda entry: -entry[1])
        rows = answer.data["ranking"]
        assert [(row["candidate"], row["mean_score_cents"]) for row in rows] == expected
        assert [row["rank"] for row in rows] == [1, 2, 3, 4]
        assert {row["group"] for row in rows} == {"whole"}

    def test_contrasts_are_differences_of_matched_worlds(
        self, capsys: Capture, played: Path
    ) -> None:
        data = ceo_arena(capsys, "results", "whole", "--store", played, "--json").data
        outcomes = stored_outcomes(played, "whole")
        assert [entrant["candidate"] for entrant in data["entrants"]] == RIVALS
        for entrant in data["entrants"]:
            name, lineup = entrant["candidate"], f"without-{entrant['candidate']}"
            for contrast in entrant["matched"]:
                seed = contrast["seed"]
                private = score(outcomes, seed, "reference", name)
                private -= score(outcomes, seed, lineup, "the-rule")
                market = score(outcomes, seed, "reference") - score(outcomes, seed, lineup)
                assert contrast["private_cents"] == private
                assert contrast["market_cents"] == market
                assert contrast["others_cents"] == market - private
            assert [contrast["seed"] for contrast in entrant["matched"]] == [3, 5]
            assert entrant["positive_market_seeds"] == sum(
                contrast["market_cents"] > 0 for contrast in entrant["matched"]
            )
        pairs = {(pair["entrant"], pair["rival"]): pair for pair in data["directed"]}
        assert len(pairs) == 6
        for (entrant, rival), pair in pairs.items():
            effects = [
                score(outcomes, seed, "reference", rival)
                - score(outcomes, seed, f"without-{entrant}", rival)
                for seed in (3, 5)
            ]
            assert [found["cents"] for found in pair["matched"]] == effects
            assert pair["mean_cents"] == round(Fraction(sum(effects), 2))

    def test_bankruptcies_are_listed(self, capsys: Capture, played: Path) -> None:
        data = ceo_arena(capsys, "results", "whole", "--store", played, "--json").data
        exits = {(row["run"], row["seat"]): row["exit_day"] for row in data["bankruptcies"]}
        assert exits == {
            (outcome.run_id, outcome.seat): outcome.exit_day
            for outcome in stored_outcomes(played, "whole")
            if outcome.exit_day is not None
        }
        assert {row["candidate"] for row in data["bankruptcies"]} == {"the-overspender"}
        assert len(exits) == 6, "in every lineup but its own replacement, on both seeds"

    def test_the_tables_say_the_same(self, capsys: Capture, played: Path) -> None:
        data = ceo_arena(capsys, "results", "whole", "--store", played, "--json").data
        answer = ceo_arena(capsys, "results", "whole", "--store", played)
        assert (answer.code, answer.err) == (0, "")
        assert is_plain(answer.out)
        rows = [line.split() for line in answer.out.splitlines()]
        for row in data["ranking"]:
            cents = row["mean_score_cents"]
            shown = f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02}"
            bankrupt = "100%" if row["candidate"] == "the-overspender" else "0%"
            assert [str(row["rank"]), row["candidate"], shown, "6", bankrupt] in rows
        for entrant in data["entrants"]:
            means = [
                entrant[key]
                for key in (
                    "private_cents",
                    "mean_externality_per_rival_cents",
                    "others_cents",
                    "market_cents",
                )
            ]
            seeds = [str(entrant["positive_market_seeds"]), "of", "2"]
            assert [entrant["candidate"], *map(whole_dollars, means), *seeds] in rows
            for measure in ("private", "others", "market"):
                by_seed = [contrast[f"{measure}_cents"] for contrast in entrant["matched"]]
                assert [entrant["candidate"], measure, *map(whole_dollars, by_seed)] in rows
        pairs = {(pair["entrant"], pair["rival"]): pair["mean_cents"] for pair in data["directed"]}
        for number, entrant in enumerate(RIVALS, start=1):
            effects = [
                "-" if rival == entrant else whole_dollars(pairs[entrant, rival])
                for rival in RIVALS
            ]
            assert [str(number), entrant, *effects] in rows
        assert "6 of 24 companies" in answer.out
        assert "a market of your own" in answer.out

    def test_a_partial_campaign_says_what_is_missing(self, capsys: Capture, played: Path) -> None:
        answer = ceo_arena(capsys, "results", "broken", "--store", played, "--json")
        assert answer.code == 1
        data = answer.data
        assert not data["complete"]
        assert data["runs"] == {"planned": 8, "completed": 7}
        assert data["missing"] == [
            {"run": "broken-s5-without-the-growth", "status": "planned", "day": 0, "reason": ""}
        ]
        (group,) = data["groups"]
        assert (group["seeds"], group["left_out_seeds"], group["worlds"]) == ([3], [5], 4)
        assert {row["outcomes"] for row in data["ranking"]} == {3}
        matched = {
            entrant["candidate"]: [contrast["seed"] for contrast in entrant["matched"]]
            for entrant in data["entrants"]
        }
        assert matched == {
            "the-overspender": [3, 5],
            "the-growth": [3],
            "the-harvester": [3, 5],
        }
        whole = ceo_arena(capsys, "results", "whole", "--store", played, "--json").data
        for row, entrant in zip(data["entrants"], whole["entrants"], strict=True):
            assert row["market_cents"] == entrant["matched"][0]["market_cents"], "of seed 3 alone"
        text = ceo_arena(capsys, "results", "broken", "--store", played)
        assert text.code == 1
        assert is_plain(text.out)
        assert "1 of 8 runs are not completed" in text.out
        assert "broken-s5-without-the-growth  planned, day 0" in text.out
        assert "seed 3 (without 5)" in text.out

    def test_nothing_is_averaged_before_a_seed_is_whole(
        self, capsys: Capture, tmp_path: Path
    ) -> None:
        data = campaign_data("early", poor_scenario(tmp_path), seeds=[3])
        played = ["early-s3-reference", "early-s3-without-the-harvester"]
        left_out = {f"early-s3-without-{rival}" for rival in RIVALS} - {*played}
        play_campaign(tmp_path / "store", data, left_out)
        found = ceo_arena(capsys, "results", "--store", tmp_path / "store", "--json").data
        assert found["ranking"] == []
        assert [entrant["market_cents"] for entrant in found["entrants"]] == [None] * 3
        text = ceo_arena(capsys, "results", "--store", tmp_path / "store").out
        assert "No ranking" in text
        assert "No means" in text
        rows = [line.split()[:2] for line in text.splitlines()]
        assert ["the-harvester", "market"] in rows, "the one contrast that is there is shown"

    def test_groups_and_lineups_without_contrasts(self, capsys: Capture, tmp_path: Path) -> None:
        groups = [
            {"name": "plain", "lineups": ["reference"]},
            {"name": "halves", "lineups": ["replacements"], "seeds": [3]},
        ]
        data = campaign_data("grouped", poor_scenario(tmp_path), groups=groups)
        play_campaign(tmp_path / "store", data)
        found = ceo_arena(capsys, "results", "--store", tmp_path / "store", "--json").data
        assert [group["group"] for group in found["groups"]] == ["plain", "halves"]
        assert [group["equal_sets"] for group in found["groups"]] == [True, False]
        assert {row["group"] for row in found["ranking"]} == {"plain", "halves"}
        assert {entrant["group"] for entrant in found["entrants"]} == {"halves"}
        assert found["groups"][1]["unplanned"] == ["lineup reference at seed 3, repeat 1"]
        text = ceo_arena(capsys, "results", "--store", tmp_path / "store").out
        assert "Group halves" in text
        assert "different numbers of outcomes" in text
        assert "lineup reference at seed 3, repeat 1" in text

    def test_repeats_stand_side_by_side(self, capsys: Capture, tmp_path: Path) -> None:
        data = campaign_data("twice", poor_scenario(tmp_path), seeds=[3], repeats=2)
        play_campaign(tmp_path / "store", data)
        found = ceo_arena(capsys, "results", "--store", tmp_path / "store", "--json").data
        first, second = found["entrants"][1]["matched"]
        assert (first["repeat"], second["repeat"]) == (1, 2)
        assert first["market_cents"] == second["market_cents"], "nothing here has luck of its own"
        rows = [
            line.split()
            for line in ceo_arena(capsys, "results", "--store", tmp_path / "store").out.splitlines()
        ]
        assert ["entrant", "seed", "3", "R1", "seed", "3", "R2"] in rows
        assert ["the-growth", "market", *[whole_dollars(first["market_cents"])] * 2] in rows

    def test_it_can_be_printed_from_an_open_store(self, capsys: Capture, played: Path) -> None:
        with open_store(str(played)) as opened:
            assert print_results(opened, "whole", as_json=True)
            printed = json.loads(capsys.readouterr().out)
            assert not print_results(opened, "broken", as_json=False)
            assert "7 of 8 runs" in capsys.readouterr().out
        assert printed == ceo_arena(capsys, "results", "whole", "--store", played, "--json").data

    def test_a_campaign_must_be_named_and_known(self, capsys: Capture, played: Path) -> None:
        unnamed = ceo_arena(capsys, "results", "--store", played)
        assert (unnamed.code, unnamed.out) == (2, "")
        assert "whole, broken" in unnamed.err
        unknown = ceo_arena(capsys, "results", "other", "--store", played)
        assert unknown.code == 2
        assert "other" in unknown.err
        assert "whole" in unknown.err

    def test_a_store_must_be_there(self, capsys: Capture, tmp_path: Path) -> None:
        answer = ceo_arena(capsys, "results", "--store", tmp_path / "nowhere")
        assert (answer.code, answer.out) == (3, "")
        assert "nowhere" in answer.err
        assert not (tmp_path / "nowhere").exists()

    def test_a_world_played_alone_equals_a_run_of_a_campaign(self, played: Path) -> None:
        with open_store(str(played)) as opened:
            run = opened.run(RunKey("whole", "whole-s5-reference"))
            digests = [day.state_digest for day in run.days()]
            outcomes = run.outcomes()
        panel = [Ceo(name, make_policy(name, {})) for name in PANEL]
        states: list[WorldState] = []
        scenario = load_scenario(played.parent / "poor.json")
        result = play(scenario, 5, panel, states.append)
        assert result.final_state_digest == digests[-1]
        assert [state.day for state in states] == [7, 14, 17]
        assert [company.score_cents for company in result.companies] == [
            outcome.score_cents for outcome in outcomes
        ]


def whole_dollars(cents: int) -> str:
    amount = round(Fraction(cents, 100))
    return f"{'-' if amount < 0 else ''}${abs(amount):,}"


class Closing:
    """A model's seat whose windows close as they are told to, the last way again and again."""

    identity = "a test"

    def __init__(self, *statuses: CompanyWindowStatus) -> None:
        self._statuses = list(statuses)

    async def decide(self, window: Window) -> Closed:
        status = self._statuses[0] if len(self._statuses) == 1 else self._statuses.pop(0)
        if status is not CompanyWindowStatus.SEALED:
            return Closed(status, None, "as a test wants it")
        return Closed(status, make_policy("no-action", {}).decide(window.observation))


def play_with_models(store: Path, models: Mapping[str, Closing]) -> None:
    """A campaign in which each of these sits in a seat of its own, over three windows."""
    candidates: list[dict[str, Any]] = [
        {"id": name, "seat": seat, "route": ROUTE} for seat, name in enumerate(models, start=1)
    ]
    candidates.append({"id": "rival", "seat": len(models) + 1, "policy": "growth"})
    data = {"name": "faint", "seeds": [3], "horizon_days": 17, "lineups": ["reference"]}
    planned = plan(parse_definition({**data, "candidates": candidates}, "the campaign of a test"))
    with open_store(str(store), create=True) as opened:
        opened.catalogue.create_campaign(frozen(planned), planned.runs)
        manifest, (row,) = opened.catalogue.manifest("faint"), opened.catalogue.runs("faint")
        run, scenario = opened.run(row.key), bound_scenario(manifest)
        lease = run.acquire("a test", 600)
        ceos = seated(manifest, row.planned.lineup, lambda candidate, _: models[candidate.id])
        world = World(run, lease, row.planned, scenario, ceos, StopRequest())
        assert asyncio.run(world.play()) is RunState.COMPLETED
        run.release(lease)


class TestModelsThatHardlyDecide:
    """A Score without decisions is no measurement of a model, and is not shown as one."""

    def test_what_never_sealed_for_its_service_is_an_answer_that_is_no(
        self, capsys: Capture, tmp_path: Path
    ) -> None:
        models = {
            "mute": Closing(PROTOCOL_ERROR, PROTOCOL_ERROR, TIMEOUT),
            "half": Closing(SEALED, SEALED, TIMEOUT),
        }
        play_with_models(tmp_path / "store", models)
        for as_json in ((), ("--json",)):
            answer = ceo_arena(capsys, "results", "--store", tmp_path / "store", *as_json)
            assert answer.code == 1
            assert answer.err.startswith(
                "WARNING: mute sealed none of its 3 settled company-windows (1 timeout, 2 protocol "
                "error)."
            )
            assert "ceo-arena failures faint" in answer.err
            assert "half" not in answer.err, "it sealed most of its windows"
        answer = ceo_arena(capsys, "resume", "--store", tmp_path / "store")
        assert (answer.code, "WARNING: mute" in answer.err) == (1, True)

    def test_what_spent_its_allowance_is_named_and_is_an_answer(
        self, capsys: Capture, tmp_path: Path
    ) -> None:
        models = {"slow": Closing(BUDGET_EXHAUSTED), "seldom": Closing(SEALED, TIMEOUT)}
        play_with_models(tmp_path / "store", models)
        answer = ceo_arena(capsys, "results", "--store", tmp_path / "store")
        assert answer.code == 0
        assert "slow sealed none of its 3 settled" in answer.err
        assert "seldom sealed 1 of its 3 settled company-windows (2 timeout)" in answer.err
