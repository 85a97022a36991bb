"""What would run: a campaign's plan in numbers and lineups, before anything is created."""

from dataclasses import asdict, dataclass
from typing import Any

from campaigns.definition import load_definition
from campaigns.plan import CampaignPlan, PlannedRun, plan
from campaigns.sources import library_names
from manifests.model import CampaignManifest, Candidate, ModelCandidate, PolicyCandidate
from orchestrator.binding import frozen
from orchestrator.bound import bound_scenario
from orchestrator.markets import PlayedMarket


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """A campaign of the library; `models` are the ids of the candidates that need a model."""

    name: str
    runs: int
    companies: int
    seeds: tuple[int, ...]
    models: tuple[str, ...]
    notes: str

    def to_json(self) -> dict[str, Any]:
        """The entry as plain JSON, keys as the fields."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Member:
    """A candidate of a plan: its seat in the panel or None, and the policy or model it is.

    `kind` is `policy`, `model` or `search-winner`.
    """

    id: str
    seat: int | None
    kind: str
    player: str
    identity: str


@dataclass(frozen=True, slots=True)
class LineupRow:
    """All runs of one group with one lineup.

    `seat` is the seat in which the lineup differs from the others and `candidate` who sits there;
    both are None in the reference lineup.
    """

    group: str
    lineup: str
    seat: int | None
    candidate: str | None
    seeds: tuple[int, ...]
    repeats: int
    runs: int


@dataclass(frozen=True, slots=True)
class Overview:
    """A plan under the manifest that a launch would freeze now.

    `windows` are those of all runs; a company decides once in each window while it is active, so
    that there are at most `decisions` of them.
    """

    manifest: CampaignManifest
    planned: CampaignPlan
    market: PlayedMarket
    windows_per_run: int
    members: tuple[Member, ...]
    lineups: tuple[LineupRow, ...]

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        return self.planned.runs

    @property
    def company_outcomes(self) -> int:
        return sum(len(run.lineup) for run in self.runs)

    @property
    def windows(self) -> int:
        return len(self.runs) * self.windows_per_run

    @property
    def decisions(self) -> int:
        return self.company_outcomes * self.windows_per_run

    @property
    def models(self) -> tuple[Member, ...]:
        """The candidates that need a model."""
        return tuple(member for member in self.members if member.kind == "model")

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON."""
        definition, decisive = self.planned.definition, self.manifest.decisive
        return {
            "campaign": definition.name,
            "plan_hash": self.manifest.plan_hash,
            "release": decisive.release,
            "market": self.market.to_json(),
            "seeds": list(self.planned.seeds),
            "counts": {
                "runs": len(self.runs),
                "company_outcomes": self.company_outcomes,
                "windows": self.windows,
                "decisions_at_most": self.decisions,
            },
            "candidates": [asdict(member) for member in self.members],
            "models": [member.id for member in self.models],
            "lineups": [asdict(row) for row in self.lineups],
            "runs": [asdict(run) for run in self.runs],
        }


def library() -> tuple[LibraryEntry, ...]:
    """The campaigns that come with the project, by name."""
    return tuple(_entry(name) for name in library_names())


def overview(reference: str, days: int | None = None) -> Overview:
    """The plan of a library campaign or of a campaign file, or of its short form over so many days,
    with the hash that a launch would have.

    Raises:
        InputError: the campaign cannot be read, or its scenario, a policy or a route is unusable.
    """
    planned = plan(load_definition(reference).short_form(days))
    manifest = frozen(planned)
    scenario = bound_scenario(manifest)
    candidates = (*manifest.decisive.candidates, *manifest.decisive.baselines)
    return Overview(
        manifest=manifest,
        planned=planned,
        market=PlayedMarket.of(scenario),
        windows_per_run=scenario.windows,
        members=tuple(_member(candidate) for candidate in candidates),
        lineups=tuple(_lineups(planned)),
    )


def _entry(name: str) -> LibraryEntry:
    planned = plan(load_definition(name))
    return LibraryEntry(
        name=name,
        runs=len(planned.runs),
        companies=len(planned.runs[0].lineup),
        seeds=planned.seeds,
        models=tuple(
            candidate.id
            for candidate in planned.definition.all_candidates()
            if candidate.route is not None
        ),
        notes=planned.definition.notes,
    )


def _member(candidate: Candidate) -> Member:
    if isinstance(candidate, PolicyCandidate):
        player, identity = candidate.policy, candidate.identity
    elif isinstance(candidate, ModelCandidate):
        player, identity = str(candidate.route["model"]), candidate.route_identity
    else:
        player, identity = f"the best of {len(candidate.among)}", ""
    return Member(candidate.id, candidate.seat, candidate.kind, player, identity)


def _lineups(planned: CampaignPlan) -> list[LineupRow]:
    by_lineup: dict[tuple[str, str], list[PlannedRun]] = {}
    for run in planned.runs:
        by_lineup.setdefault((run.group, run.lineup_label), []).append(run)
    return [
        LineupRow(
            group=group,
            lineup=label,
            seat=(seat := _changed_seat(planned, runs[0])),
            candidate=None if seat is None else runs[0].lineup[seat - 1],
            seeds=tuple(dict.fromkeys(run.seed for run in runs)),
            repeats=max(run.repeat for run in runs),
            runs=len(runs),
        )
        for (group, label), runs in by_lineup.items()
    ]


def _changed_seat(planned: CampaignPlan, run: PlannedRun) -> int | None:
    if planned.definition.search is not None:
        return planned.definition.search.seat
    return None if run.baseline is None else run.lineup.index(run.baseline) + 1
