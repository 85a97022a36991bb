"""Manifests compared: what decides results changes the plan and is named, all else does not."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from campaigns.definition import parse_definition
from campaigns.plan import plan
from engine.scenario import default_scenario
from manifests.commitments import new_key
from orchestrator.binding import frozen, with_endpoints
from orchestrator.store import open_store
from tests.orchestrator.cli.commands import SCRIPT, Answer, ceo_arena
from tests.orchestrator.cli.rehearsed import campaign_data
from tests.orchestrator.trial import Trial

ROOT = Path(__file__).parents[3]
PACKAGES = ("campaigns", "engine", "manifests", "orchestrator", "providers")

CAMPAIGN = """
# A comment decides nothing.
name = "compared"
seeds = [11, 29]
lineups = ["reference"]
horizon_days = 14
notes = "first"
scenario = "market.json"

[[candidates]]
id = "writer"
seat = 1
[candidates.route]
protocol = "chat"
model = "m-1"
native_ceiling = 65536
endpoint = "https://one.example/v1"
credentials = ["ONE_KEY"]
options = { reasoning_effort = "high" }

[[candidates]]
id = "rival"
seat = 2
policy = "growth"
"""

Run = Callable[..., Answer]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *arguments: ceo_arena(capsys, *arguments)


def campaign(
    folder: Path, *changes: tuple[str, str], scenario: dict[str, Any] | None = None
) -> Path:
    """A campaign file with some of its text replaced, and its market beside it."""
    folder.mkdir()
    text = CAMPAIGN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    market = default_scenario().to_data() | (scenario or {})
    (folder / "market.json").write_text(json.dumps(market), encoding="utf-8")
    (folder / "compared.toml").write_text(text, encoding="utf-8")
    return folder / "compared.toml"


DECISIVE: dict[str, tuple[list[tuple[str, str]], dict[str, Any], str]] = {
    "a scenario number": ([], {"initial_cash_cents": 1}, "decisive.scenario.initial_cash_cents"),
    "an option of a route": (
        [('"high"', '"low"')],
        {},
        "decisive.candidates[writer].route.options.reasoning_effort",
    ),
    "the ceiling of a route": (
        [("65536", "65535")],
        {},
        "decisive.candidates[writer].route.native_ceiling",
    ),
    "the order of seeds": ([("[11, 29]", "[29, 11]")], {}, "decisive.seeds[0]"),
    "a seed": ([("[11, 29]", "[11, 31]")], {}, "decisive.seeds[1]"),
    "a policy": ([('"growth"', '"rule"')], {}, "decisive.candidates[rival].policy"),
    "the horizon": ([("= 14", "= 15")], {}, "decisive.horizon_days"),
}


@pytest.mark.parametrize("name", DECISIVE)
def test_what_decides_changes_the_plan_and_is_named(run: Run, tmp_path: Path, name: str) -> None:
    changes, scenario, path = DECISIVE[name]
    if "initial_cash_cents" in scenario:
        scenario = {"initial_cash_cents": default_scenario().initial_cash_cents + 1}
    one = campaign(tmp_path / "one")
    two = campaign(tmp_path / "two", *changes, scenario=scenario)
    answer = run("manifest", "diff", one, two, "--json")
    assert answer.code == 1
    assert answer.data["same_plan"] is False
    named = {each["path"]: each for each in answer.data["differences"]}
    assert named[path]["decisive"] is True
    assert named[path]["left"] != named[path]["right"]
    told = run("manifest", "diff", one, two)
    assert f"\n{path}\n  left  {named[path]['left']}\n" in told.out


@pytest.mark.parametrize(
    "changes",
    [
        [("https://one.example/v1", "https://two.example/v2")],
        [('"ONE_KEY"', '"ANOTHER_KEY"')],
        [("A comment", "Another comment, which")],
        [('notes = "first"', 'notes = "second"')],
    ],
    ids=["endpoint", "credentials", "comment", "notes"],
)
def test_what_does_not_decide_leaves_the_plan_as_it_is(
    run: Run, tmp_path: Path, changes: list[tuple[str, str]]
) -> None:
    one, two = campaign(tmp_path / "one"), campaign(tmp_path / "two", *changes)
    answer = run("manifest", "diff", one, two, "--json")
    assert (answer.code, answer.data["same_plan"]) == (0, True)
    assert not any(each["decisive"] for each in answer.data["differences"])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, to be changed."""
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / "package" / name, ignore=ignored)
    return tmp_path / "package"


def frozen_by(package: Path, file: Path) -> Path:
    """The manifest of a campaign as another package freezes it, on a host of another name."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    shown = subprocess.run(
        [sys.executable, "-c", SCRIPT, "manifest", "show", str(file), "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        cwd=package,
    )
    manifest = file.with_name("by-another-package.json")
    manifest.write_text(shown.stdout, encoding="utf-8")
    return manifest


def test_another_package_is_named_by_prompt_tool_source_and_library(
    run: Run, tmp_path: Path, package: Path
) -> None:
    file = campaign(tmp_path / "one")
    same = run("manifest", "diff", file, frozen_by(package, file), "--json")
    assert (same.code, same.data["same_plan"]) == (0, True), "a stranger gets the same plan hash"

    prompt = package / "orchestrator" / "session" / "prompt.md"
    prompt.write_text(prompt.read_text(encoding="utf-8") + "\nBe bold.\n", encoding="utf-8")
    tool = package / "orchestrator" / "session" / "tools" / "products.py"
    words = tool.read_text(encoding="utf-8")
    assert '"""' in words
    tool.write_text(words.replace("price", "prize"), encoding="utf-8")
    source = package / "engine" / "score.py"
    source.write_text(source.read_text(encoding="utf-8") + "# another byte\n", encoding="utf-8")
    library = package / "msgspec-99.0.dist-info"
    library.mkdir()
    (library / "METADATA").write_text("Metadata-Version: 2.1\nName: msgspec\nVersion: 99.0\n")

    answer = run("manifest", "diff", file, frozen_by(package, file), "--json")
    assert answer.code == 1
    named = {each["path"]: each for each in answer.data["differences"]}
    assert {
        "decisive.harness.prompt_digest",
        "decisive.harness.tools.set_product",
        "decisive.harness.tools_digest",
        "decisive.sources.files[engine/score.py]",
        "decisive.sources.files[orchestrator/session/prompt.md]",
        "decisive.sources.files[orchestrator/session/tools/products.py]",
        "decisive.sources.overall",
        "decisive.libraries.msgspec",
        # A policy's code is bound with the package that it stands in.
        "decisive.candidates[rival].code",
    } == {path for path in named if path.startswith("decisive")}
    assert named["decisive.libraries.msgspec"]["right"] == "99.0"


def test_a_manifest_is_shown_from_wherever_it_is(run: Run, tmp_path: Path) -> None:
    file = campaign(tmp_path / "one")
    planned = run("plan", file, "--json").data["plan_hash"]
    shown = run("manifest", "show", file, "--json").data
    assert shown["plan_hash"] == planned
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps(shown))
    assert run("manifest", "show", saved, "--json").data == shown
    text = run("manifest", "show", saved).out
    assert planned in text
    assert "set_product" not in text
    assert "writer" in text
    saved.write_text(json.dumps(shown).replace('"m-1"', '"m-2"', 1))
    refused = run("manifest", "show", saved)
    assert refused.code == 1
    assert "changed after it was frozen" in refused.err
    assert run("manifest", "show", tmp_path / "absent.json").code == 2
    nothing = run("manifest", "show", tmp_path)
    assert (nothing.code, f"CAMPAIGN --store {tmp_path}" in nothing.err) == (2, True)


def test_a_campaign_is_named_as_everywhere(run: Run, tmp_path: Path) -> None:
    """In the store that is given, or the usual one; the library comes after it."""
    place, other = tmp_path / "store", tmp_path / "other"
    trial = Trial.new(place, name="rehearsal")
    held = trial.store.catalogue.manifest("rehearsal")
    trial.store.close()
    here = run("manifest", "show", "rehearsal", "--store", place, "--json")
    assert (here.code, here.err, here.data["plan_hash"]) == (0, "", held.plan_hash)

    library = run("manifest", "show", "rehearsal", "--store", other, "--json")
    assert library.data["plan_hash"] == run("plan", "rehearsal", "--json").data["plan_hash"]
    assert "has no campaign rehearsal; that of the library is meant" in library.err
    differs = run("manifest", "diff", "rehearsal", "./rehearsal.json", "--store", other)
    assert differs.code == 2

    saved = tmp_path / "saved.json"
    saved.write_text(held.to_json(), encoding="utf-8")
    same = run("manifest", "diff", saved, "rehearsal", "--store", place, "--json")
    assert (same.code, same.data["differences"]) == (0, [])
    absent = run("manifest", "show", "absent", "--store", place)
    assert (absent.code, "has rehearsal." in absent.err, "rule-search" in absent.err) == (
        2,
        True,
        True,
    )


def test_a_manifest_alone_is_compared_with_this_package(
    run: Run, tmp_path: Path, package: Path
) -> None:
    file = campaign(tmp_path / "one")
    same = run("manifest", "diff", file, "--json")
    assert (same.code, same.data["differences"]) == (0, [])
    score = package / "engine" / "score.py"
    score.write_text(score.read_text(encoding="utf-8") + "# another byte\n", encoding="utf-8")
    # A stranger has neither the campaign file nor its market.
    manifest = frozen_by(package, file)
    file.unlink()
    (file.parent / "market.json").unlink()
    answer = run("manifest", "diff", manifest, "--json")
    assert answer.code == 1
    paths = [each["path"] for each in answer.data["differences"]]
    assert "decisive.sources.files[engine/score.py]" in paths
    assert all(path.startswith("decisive") for path in paths)


def test_an_endpoint_is_proven_to_whoever_has_the_key(run: Run, tmp_path: Path) -> None:
    planned = plan(parse_definition(campaign_data(), "the campaign of a test"))
    key, url = new_key(), "https://models.example/v1"
    manifest = with_endpoints(frozen(planned), key, {"CEO_ARENA_REHEARSAL_URL": url + "/"})
    place = tmp_path / "store"
    with open_store(str(place), create=True) as store:
        store.catalogue.create_campaign(manifest, planned.runs, key)
    (tmp_path / "public.json").write_text(manifest.to_json())

    within = ("--store", place)
    proven = run("manifest", "endpoint", "small", "writer", url + "/", "--json", *within)
    assert (proven.code, proven.data["proven"], proven.data["key"]) == (0, True, key.hex())
    told = ("--key", proven.data["key"])
    assert run("manifest", "endpoint", tmp_path / "public.json", "writer", url, *told).code == 0
    other = run("manifest", "endpoint", tmp_path / "public.json", "writer", url + "x", *told)
    assert (other.code, "was not launched with" in other.out) == (1, True)
    unknown = run("manifest", "endpoint", tmp_path / "public.json", "writer", url)
    assert (unknown.code, "is in the store" in unknown.err) == (2, True)
    no_url = run("manifest", "endpoint", "small", "writer", "models.example", *within)
    assert (no_url.code, "is not an http or https URL" in no_url.err) == (2, True)
    nobody = run("manifest", "endpoint", "small", "rival", url, *within)
    assert (nobody.code, "no commitment to an endpoint of rival" in nobody.err) == (2, True)
    assert "here: " in nobody.err
    assert "writer" in nobody.err
    junk = run("manifest", "endpoint", "small", "writer", url, "--key", "no hex", *within)
    assert (junk.code, "hexadecimal" in junk.err) == (2, True)
