"""From a definition to its runs: every world that a campaign needs, in the order of the scheduler.

Runs are ordered by the position of their seed in the campaign's seed list, then by group in the
order of the file, by repeat, and by lineup: the reference first, then the replacements by the seat
left out. The campaign's seed list is `seeds` of the whole campaign, followed by what groups add. In
a search the profiles come in grid order and the validation runs last.

Run ids read `<campaign>[.<group>]-s<seed>[-r<repeat>]-<lineup>`. The group is left out where it has
the campaign's name, and the first repeat is not marked, so that a campaign which later gets more
repeats or seeds keeps the ids of its finished runs.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from campaigns.consistency import SEARCH_WINNER
from campaigns.definition import CampaignDefinition, Group, LineupKind, Search
from manifests.errors import InputError

PLAN_VERSION: Final = "ceos-campaign-plan-v1"
REFERENCE: Final = "reference"
DEVELOPMENT: Final = "development"
VALIDATION: Final = "validation"
ALL_LINEUPS: Final[tuple[LineupKind, ...]] = ("reference", "replacements")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One world to run: its seed and who sits where.

    `lineup` holds candidate ids by seat, seat 1 first. `replaced` is the candidate left out, whose
    seat `baseline` takes; both are None in the reference lineup and in a search. A run may start
    when all of `depends_on` (run ids) are completed; a lineup with `SEARCH_WINNER` in it must be
    resolved first.
    """

    run_id: str
    position: int
    group: str
    repeat: int
    seed: int
    seed_position: int
    lineup_label: str
    lineup: tuple[str, ...]
    replaced: str | None = None
    baseline: str | None = None
    stage: str | None = None
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """A definition with its runs in scheduling order; `seeds` is the campaign's whole seed list."""

    definition: CampaignDefinition
    seeds: tuple[int, ...]
    runs: tuple[PlannedRun, ...]

    def groups(self) -> tuple[str, ...]:
        """The names of the groups, in the order of the file."""
        return tuple(group.name for group in _groups(self.definition))


@dataclass(frozen=True, slots=True)
class _Lineup:
    label: str
    seats: tuple[str, ...]
    replaced: str | None = None
    baseline: str | None = None
    stage: str | None = None


@dataclass(frozen=True, slots=True)
class _Block:
    """The runs of one group on one seed in one repeat."""

    group: str
    seed: int
    repeat: int
    lineups: tuple[_Lineup, ...]


def plan(definition: CampaignDefinition) -> CampaignPlan:
    """All runs of a campaign, for any number of seats, seeds, repeats and groups.

    Raises:
        InputError: two runs would have the same id, because names of groups and candidates read
            alike when joined.
    """
    seeds = _seed_list(definition)
    blocks = (
        _matrix_blocks(definition, seeds)
        if definition.search is None
        else _search_blocks(definition, definition.search)
    )
    runs = _numbered(definition, seeds, blocks)
    doubled = [run_id for run_id, count in Counter(run.run_id for run in runs).items() if count > 1]
    if doubled:
        raise InputError(
            f'Campaign "{definition.name}": two runs would have the id "{doubled[0]}".',
            "Rename a group or a candidate so that their joined names differ.",
        )
    return CampaignPlan(definition, seeds, runs)


def resolve(run: PlannedRun, winner: str) -> PlannedRun:
    """The run with the search's winner, a candidate id, in the seat that was kept for it."""
    seats = tuple(winner if seat == SEARCH_WINNER else seat for seat in run.lineup)
    return replace(run, lineup=seats)


def _groups(definition: CampaignDefinition) -> tuple[Group, ...]:
    return definition.groups or (Group(name=definition.name),)


def _seed_list(definition: CampaignDefinition) -> tuple[int, ...]:
    seeds = list(definition.seeds or ())
    for group in definition.groups:
        seeds += group.seeds or ()
    if definition.search is not None:
        seeds += definition.search.validation_seeds
    return tuple(dict.fromkeys(seeds))


def _matrix_blocks(definition: CampaignDefinition, seeds: tuple[int, ...]) -> Iterator[_Block]:
    for seed in seeds:
        for group in _groups(definition):
            if seed not in (group.seeds or definition.seeds or ()):
                continue
            lineups = tuple(_lineups(definition, group))
            for repeat in range(1, (group.repeats or definition.repeats) + 1):
                yield _Block(group.name, seed, repeat, lineups)


def _lineups(definition: CampaignDefinition, group: Group) -> Iterator[_Lineup]:
    kinds = group.lineups or definition.lineups or ALL_LINEUPS
    baseline = group.baseline or definition.baseline
    panel = tuple(candidate.id for candidate in definition.panel())
    if "reference" in kinds:
        yield _Lineup(REFERENCE, panel)
    if "replacements" in kinds and baseline is not None:
        for index, replaced in enumerate(panel):
            seats = (*panel[:index], baseline, *panel[index + 1 :])
            yield _Lineup(f"without-{replaced}", seats, replaced, baseline)


def _search_blocks(definition: CampaignDefinition, search: Search) -> Iterator[_Block]:
    background = tuple(candidate.id for candidate in definition.panel())
    before, after = background[: search.seat - 1], background[search.seat - 1 :]
    contenders = tuple(
        _Lineup(profile.candidate, (*before, profile.candidate, *after), stage=DEVELOPMENT)
        for profile in search.chosen()
    )
    for seed in definition.seeds or ():
        yield _Block(definition.name, seed, 1, contenders)
    winner = _Lineup("winner", (*before, SEARCH_WINNER, *after), stage=VALIDATION)
    for seed in search.validation_seeds:
        yield _Block(definition.name, seed, 1, (winner,))


def _numbered(
    definition: CampaignDefinition, seeds: tuple[int, ...], blocks: Iterator[_Block]
) -> tuple[PlannedRun, ...]:
    positions = {seed: position for position, seed in enumerate(seeds)}
    runs: list[PlannedRun] = []
    development: list[str] = []
    for block in blocks:
        for lineup in block.lineups:
            run_id = _run_id(definition.name, block, lineup)
            if lineup.stage == DEVELOPMENT:
                development.append(run_id)
            runs.append(
                PlannedRun(
                    run_id=run_id,
                    position=len(runs),
                    group=block.group,
                    repeat=block.repeat,
                    seed=block.seed,
                    seed_position=positions[block.seed],
                    lineup_label=lineup.label,
                    lineup=lineup.seats,
                    replaced=lineup.replaced,
                    baseline=lineup.baseline,
                    stage=lineup.stage,
                    depends_on=tuple(development) if lineup.stage == VALIDATION else (),
                )
            )
    return tuple(runs)


def _run_id(campaign: str, block: _Block, lineup: _Lineup) -> str:
    group = "" if block.group == campaign else f".{block.group}"
    repeat = "" if block.repeat == 1 else f"-r{block.repeat}"
    return f"{campaign}{group}-s{block.seed}{repeat}-{lineup.label}"
