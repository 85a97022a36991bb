"""Policies are found by name through entry points, checked, and bound by hash."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.policies.base import make_policy, policy_names, policy_type
from manifests.canonical import digest, digest_bytes
from manifests.errors import InputError
from tests.engine.policies.boundaries import POLICIES

ROOT = Path(__file__).parents[3]


def test_the_policies_of_the_project_are_registered() -> None:
    assert set(POLICIES) <= set(policy_names())
    for name, kind in POLICIES.items():
        assert policy_type(name) is kind
        assert make_policy(name, {}).identity == kind(kind.parameters_type()).identity


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("rule", {"price_multiplier": 1}, r"price_multiplier: .*received 1"),
        ("rule", {"price_multiplier_percent": 1.5}, r"price_multiplier_percent: .*received 1.5"),
        ("rule", {"price_multiplier_percent": -1}, r"price_multiplier_percent: .*received -1"),
        ("rule", {"focus_segment": "luxury"}, r"focus_segment: .*mainstream, premium, value"),
        ("rule", {"reorder_targets": {"A": -1}}, r"reorder_targets.A: .*received -1"),
        ("rule", {"reorder_targets": {"A": "150"}}, r"reorder_targets.A: .*received '150'"),
        ("rule", {"cash_floor_cents": True}, r"cash_floor_cents: .*received True"),
        ("rule", {"support_cents": 2**53}, r"support_cents: .*received 9007199254740992"),
        ("no-action", {"anything": 0}, r"anything: .*received 0"),
        ("balanced", {"step_percent": "2"}, r"step_percent: .*received '2'"),
        ("discounter", {"focus_segment": 3}, r"focus_segment: .*received 3"),
        ("growth", {"fill_percent": 10_001}, r"fill_percent: .*received 10001"),
        ("harvester", {"harvest_days": None}, r"harvest_days: .*received None"),
        ("overspender", {"marketing_cents": -5}, r"marketing_cents: .*received -5"),
        ("price-follower", {"follow_percent": []}, r"follow_percent: .*received \[\]"),
        ("quality-leader", {"largest_tier": 0.5}, r"largest_tier: .*received 0.5"),
        ("tender-hunter", {"bids": 94}, r"bids: .*received 94"),
    ],
)
def test_bad_parameters_are_named(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"policy '{name}'") as refused:
        make_policy(name, parameters)
    assert refused.match(message)


SOURCE = '''
from typing import ClassVar

from engine.decision import CompanyDecision
from engine.observation import Observation
from engine.policies.base import Parameters, Policy


class LevelParameters(Parameters):
    level_cents: int = 4321


class Level(Policy):
    """Asks one price for everything."""

    name: ClassVar[str] = "level"
    version: ClassVar[str] = "v7"
    parameters_type = LevelParameters
    parameters: LevelParameters

    def decide(self, observation: Observation) -> CompanyDecision:
        price = {"price_cents": self.parameters.level_cents}
        return self.hold(observation, products=dict.fromkeys(observation.products, price))


class Bare(Policy):
    def decide(self, observation: Observation) -> CompanyDecision:
        return self.hold(observation)


NOT_A_POLICY = 5
'''

REPORT = """
import json, sys
from engine.boundary import Boundary
from engine.policies.base import make_policy, policy_names
from engine.scenario import default_scenario
from engine.settle import initial_state, settle_window
from engine.streams import Streams
from manifests.canonical import digest, digest_bytes
from manifests.errors import InputError

try:
    policy = make_policy(sys.argv[1], json.loads(sys.argv[2]))
except InputError as error:
    print(json.dumps({"error": str(error)}))
    sys.exit()
scenario, streams = default_scenario(), Streams(1)
state = initial_state(scenario, streams, 1)
decision = policy.decide(Boundary(scenario, state, []).observe(1))
state = settle_window(scenario, streams, state, {1: decision}).state
print(json.dumps({
    "names": policy_names(),
    "identity": policy.identity,
    "code": policy.code_digest,
    "prices": state.firms[0].price_cents,
}))
"""


def install(folder: Path, distribution: str, points: dict[str, str], source: str = SOURCE) -> Path:
    """A throwaway distribution: a module and the metadata that an installer writes."""
    module = folder / "level_policies.py"
    module.write_text(source, encoding="utf-8")
    metadata = folder / f"{distribution}-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = [f"{name} = {target}" for name, target in points.items()]
    (metadata / "entry_points.txt").write_text(
        "\n".join(["[ceo_arena.policies]", *lines, ""]), encoding="utf-8"
    )
    return module


def report(folder: Path, name: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a fresh interpreter finds with the folder on its path."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, name, json.dumps(parameters or {})],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_policy_of_another_package_plays_and_is_bound_by_hash(tmp_path: Path) -> None:
    module = install(tmp_path, "level_ceo", {"level": "level_policies:Level"})
    found = report(tmp_path, "level", {"level_cents": 5_000})
    assert "level" in found["names"]
    assert found["prices"] == [5_000, 5_000, 5_000]
    assert found["identity"].startswith("level-v7-")
    assert found["code"] == digest({module.name: digest_bytes(module.read_bytes())})

    assert report(tmp_path, "level")["identity"] != found["identity"]

    module.write_text(SOURCE + "# changed\n", encoding="utf-8")
    changed = report(tmp_path, "level", {"level_cents": 5_000})
    assert changed["identity"] == found["identity"]
    assert changed["code"] != found["code"]


@pytest.mark.parametrize(
    ("points", "name", "message"),
    [
        ({"level": "level_policies:Level"}, "levle", "There is no policy 'levle'"),
        ({"five": "level_policies:NOT_A_POLICY"}, "five", "not a subclass"),
        (
            {"gone": "level_policies:Missing"},
            "gone",
            "cannot be loaded from level_policies:Missing",
        ),
        ({"gone": "no_such_module:Level"}, "gone", "cannot be loaded from no_such_module:Level"),
        ({"bare": "level_policies:Bare"}, "bare", "has no name and version"),
        ({"level": "level_policies:Level"}, "level", "level_price"),
    ],
)
def test_an_unusable_registration_is_an_error_that_names_it(
    tmp_path: Path, points: dict[str, str], name: str, message: str
) -> None:
    install(tmp_path, "level_ceo", points)
    assert message in report(tmp_path, name, {"level_price": 1})["error"]


def test_two_packages_may_not_register_one_name(tmp_path: Path) -> None:
    install(tmp_path, "level_ceo", {"level": "level_policies:Level"})
    install(tmp_path, "other_ceo", {"level": "level_policies:Other"})
    error = report(tmp_path, "level")["error"]
    assert "Two packages register the policy 'level'" in error
    assert "level_policies:Other" in error
