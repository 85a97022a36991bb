"""Campaigns in processes of their own, and what they must leave in their stores."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil

from campaigns.definition import load_definition
from campaigns.plan import PlannedRun, plan, resolve
from engine.boundary import Boundary
from engine.policies.base import make_policy
from engine.score import score_cents
from engine.settle import initial_state, settle_window
from engine.streams import Streams
from manifests.errors import StoreError
from orchestrator.audit import audit_store
from orchestrator.binding import scenario_of
from orchestrator.status.progress import CampaignProgress, ProgressReader
from orchestrator.store import Store, open_store
from tests.patience import until

COMMAND: Final = (sys.executable, "-c", "from orchestrator.cli.main import main; main()")
CAMPAIGN: Final = "trial"
PATIENCE_SECONDS: Final = 240.0
"""How long a command may take to end."""

PATIENT: Final = Path(__file__).with_name("patient")
"""Where the package of the policy "patient" is installed; "price-follower" decides as it does."""

MATRIX: Final = """
name = "trial"
seeds = [11, 29]
baseline = "rule"
horizon_days = {days}
limits = {{ lease_seconds = 3 }}
candidates = [
    {{ id = "ada", seat = 1, policy = "patient" }},
    {{ id = "bob", seat = 2, policy = "growth" }},
    {{ id = "cy", seat = 3, policy = "overspender" }},
    {{ id = "rule", policy = "rule" }},
]
"""

SEARCH: Final = """
name = "trial"
seeds = [7, 19]
horizon_days = {days}
limits = {{ lease_seconds = 1 }}
candidates = [
    {{ id = "value", seat = 2, policy = "rule", parameters = {{ focus_segment = "value" }} }},
    {{ id = "grower", seat = 3, policy = "growth" }},
]
[search]
policy = "rule"
validation_seeds = [211]
axes = [{{ values = [{{ price_multiplier_percent = 90 }}, {{ price_multiplier_percent = 100 }}] }}]
"""


class Evidence(NamedTuple):
    """What a run leaves: the digest of every day, and every company's Score and exit."""

    digests: tuple[str, ...]
    companies: tuple[tuple[str, int, int | None], ...]


class Place:
    """A campaign file, a store, and a short temporary directory of its own for Ray."""

    def __init__(
        self, directory: Path, short: str, text: str, days: int, location: str | None
    ) -> None:
        self.file = directory / "trial.toml"
        self.file.write_text(text.format(days=days), encoding="utf-8")
        self.store = directory / "store"
        self.location = location or str(self.store)
        self.temporary = short
        self._started: list[subprocess.Popen[str]] = []

    def start(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[str]":
        """A command at work, in a process group of its own; `launch` and others get the store."""
        surroundings = {**os.environ, "TMPDIR": self.temporary, **(environment or {})}
        packages = [str(PATIENT), surroundings.get("PYTHONPATH", "")]
        process = subprocess.Popen(
            [*COMMAND, *arguments, "--store", self.location],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.store.parent,
            env={**surroundings, "PYTHONPATH": os.pathsep.join(packages)},
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def run(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """A command from start to end."""
        process = self.start(*arguments, environment=environment)
        return finished(process)

    def launch(self, *options: str) -> "subprocess.Popen[str]":
        return self.start("launch", str(self.file), *options)

    def progress(self) -> CampaignProgress:
        with open_store(self.location) as store:
            return ProgressReader(store, CAMPAIGN).read()

    def wait_for_windows(self, number: int) -> None:
        """Until so many windows are settled."""
        until(self.campaign_exists)
        with open_store(self.location) as store:
            reader = ProgressReader(store, CAMPAIGN)
            until(lambda: reader.read().windows >= number)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Meanwhile, no "patient" company decides: a campaign that has one comes to no end."""
        hold = Path(self.temporary) / "hold"
        hold.touch()
        try:
            yield
        finally:
            hold.unlink()

    def end(self) -> None:
        """End what a test that failed has left running."""
        for process in self._started:
            if process.poll() is None:
                kill_all(process)
            process.communicate()

    def evidence(self) -> dict[str, Evidence]:
        """What every run left in the store, which an audit finds clean."""
        with open_store(self.location) as store:
            assert audit_store(store, lambda _: None).problems == []
            return evidence_in(store)

    def owners(self) -> set[int]:
        """The processes that play runs now, by the names under which they hold their leases."""
        return {
            int(run.owner.rpartition("process ")[2])
            for run in self.progress().runs
            if run.owner is not None
        }

    def campaign_exists(self) -> bool:
        try:
            with open_store(self.location) as store:
                return bool(store.catalogue.campaigns())
        except StoreError:
            return False


@contextmanager
def place(
    directory: Path, text: str = MATRIX, days: int = 21, location: str | None = None
) -> Iterator[Place]:
    """A place for a campaign, with a store in its directory unless it is elsewhere; whatever it
    leaves of Ray is removed.
    """
    with tempfile.TemporaryDirectory(prefix="a", dir="/tmp", ignore_cleanup_errors=True) as short:
        made = Place(directory, short, text, days, location)
        try:
            yield made
        finally:
            made.end()


def evidence_in(store: Store) -> dict[str, Evidence]:
    """What every run of the campaign left in a store."""
    found = {}
    for row in store.catalogue.runs(CAMPAIGN):
        run = store.run(row.key)
        found[row.key.run_id] = Evidence(
            tuple(day.state_digest for day in run.days()),
            tuple(
                (outcome.candidate, outcome.score_cents, outcome.exit_day)
                for outcome in run.outcomes()
            ),
        )
    return found


def finished(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
    """The process at its end."""
    try:
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        kill_all(process)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def descendants(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def kill_all(process: "subprocess.Popen[str]") -> None:
    """SIGKILL a command and everything that it started."""
    kill([*descendants(process), psutil.Process(process.pid)])


def kill(processes: Sequence[psutil.Process]) -> None:
    """SIGKILL processes, some of which may end with others."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def undisturbed(file: Path) -> dict[str, Evidence]:
    """What the campaign of a file must leave, by the engine alone: no store, no world, no Ray."""
    planned = plan(load_definition(file))
    policies = {
        candidate.id: make_policy(
            (candidate.policy or "").replace("patient", "price-follower"), candidate.parameters
        )
        for candidate in planned.definition.all_candidates()
    }
    scenario = scenario_of(planned.definition)
    found: dict[str, Evidence] = {}
    for run in planned.runs:
        known = resolve(run, _best(planned.runs, found)) if run.depends_on else run
        found[run.run_id] = _played(known, policies, scenario)
    return found


def _best(runs: Sequence[PlannedRun], found: Mapping[str, Evidence]) -> str:
    """The candidate in seat 1 with the highest Scores in all, of equals the first."""
    totals: dict[str, int] = {}
    for run in runs:
        if run.run_id in found and not run.depends_on:
            name, score, _ = found[run.run_id].companies[0]
            totals[name] = totals.get(name, 0) + score
    return max(totals, key=lambda name: totals[name])


def _played(run: PlannedRun, policies: Mapping[str, Any], scenario: Any) -> Evidence:
    streams = Streams(run.seed)
    state = initial_state(scenario, streams, len(run.lineup))
    digests: list[str] = []
    elapsed: list[Any] = []
    while state.day < scenario.horizon_days:
        boundary = Boundary(scenario, state, elapsed)
        decisions = {
            seat: policies[name].decide(boundary.observe(seat))
            for seat, name in enumerate(run.lineup, start=1)
            if state.firms[seat - 1].active
        }
        settlement = settle_window(scenario, streams, state, decisions)
        state, elapsed = settlement.state, settlement.days
        digests += [day.state_digest for day in elapsed]
    companies = tuple(
        (name, score_cents(scenario, firm), firm.exit_day)
        for name, firm in zip(run.lineup, state.firms, strict=True)
    )
    return Evidence(tuple(digests), companies)
