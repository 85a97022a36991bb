"""Which runs a table of Scores is of: worlds told apart, their lineups named, and those that the
table's own design leaves open.

Every lineup of a group is looked for at each of its seeds and repeats; what is not there is a
planned run without outcomes, so that means leave its seed out and say so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from campaigns.plan import REFERENCE, PlannedRun
from manifests.errors import InputError

WITHOUT: Final = "without-"
_UNKNOWN: Final = "unknown"


class World(NamedTuple):
    """A world's place in the table; `lineup` is the name that the table has for it."""

    group: str
    repeat: int
    seed: int
    lineup: str


Seats: TypeAlias = Mapping[int, Mapping[str, Any]]
"""The rows of one world by seat."""


class _Lineup(NamedTuple):
    """A lineup of a group: who is left out, and who has the seat instead; None in the reference."""

    name: str
    replaced: str | None
    baseline: str | None


def designed(worlds: Mapping[World, Seats], file: Path) -> list[PlannedRun]:
    """The run of every world, in their order, and then those that are missing.

    Raises:
        InputError: the lineups are not those of one panel for each group.
    """
    panels = _panels(worlds, file)
    shared = next(iter(panels.values()))
    lineups = {
        key: _lineup(key, seats, panels.get(key.group, shared), file)
        for key, seats in worlds.items()
    }
    planned = [*worlds, *_absent(lineups)]
    known = {(key.group, key.lineup): lineup for key, lineup in lineups.items()}
    return [
        _run(position, key, known[key.group, key.lineup], panels.get(key.group, shared))
        for position, key in enumerate(planned)
    ]


def _absent(lineups: Mapping[World, _Lineup]) -> Iterator[World]:
    """The worlds that some seed or repeat of a group has and another has not."""
    for group in dict.fromkeys(key.group for key in lineups):
        own = [key for key in lineups if key.group == group]
        there = {(key.repeat, key.seed, lineups[key].replaced) for key in own}
        names: dict[str | None, str] = {}
        for key in own:
            names.setdefault(lineups[key].replaced, key.lineup)
        for repeat in dict.fromkeys(key.repeat for key in own):
            for seed in dict.fromkeys(key.seed for key in own):
                for replaced, name in names.items():
                    if (repeat, seed, replaced) not in there:
                        yield World(group, repeat, seed, name)


def _panels(worlds: Mapping[World, Seats], file: Path) -> dict[str, tuple[str, ...]]:
    """The reference lineup of each group that has one, with all of its seats."""
    references: dict[str, list[tuple[str, ...] | None]] = {}
    for key, seats in worlds.items():
        if _said_to_be_replaced(key, seats) == "":
            references.setdefault(key.group, []).append(_seated(seats))
    for group, found in references.items():
        if not any(found):
            key = next(key for key in worlds if key.group == group)
            raise InputError(
                f"{file}: no reference of group {group} has all of its seats, the first at seed "
                f"{key.seed}.",
                "Number the seats from 1 without a gap.",
            )
    panels = {
        group: max((lineup for lineup in found if lineup), key=len)
        for group, found in references.items()
    }
    panels = panels or dict(_found_panels(worlds))
    if not panels:
        raise InputError(
            f"{file} has no reference lineup.", "Add the world in which nobody is replaced."
        )
    return panels


def _seated(seats: Seats) -> tuple[str, ...] | None:
    """The candidates by seat; None where a seat is missing."""
    if sorted(seats) != list(range(1, len(seats) + 1)):
        return None
    return tuple(str(seats[seat]["candidate"]) for seat in sorted(seats))


def _found_panels(worlds: Mapping[World, Seats]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The reference of each group that has three or more lineups: the one from which every other
    differs in one seat, since two replacements differ from each other in two.
    """
    lineups: dict[str, set[tuple[str, ...]]] = {}
    for key, seats in worlds.items():
        lineup = tuple(str(seats[seat]["candidate"]) for seat in sorted(seats))
        lineups.setdefault(key.group, set()).add(lineup)
    for group, found in lineups.items():
        for lineup in sorted(found):
            distances = [_distance(lineup, other) for other in found if other != lineup]
            if len(distances) > 1 and set(distances) == {1}:
                yield group, lineup


def _distance(one: Sequence[str], two: Sequence[str]) -> int:
    """In how many seats two lineups differ."""
    if len(one) != len(two):
        return len(one) + len(two)
    return sum(here != there for here, there in zip(one, two, strict=True))


def _lineup(key: World, seats: Seats, panel: tuple[str, ...], file: Path) -> _Lineup:
    replaced = _said_to_be_replaced(key, seats)
    if replaced is None:
        differing = [
            panel[seat - 1]
            for seat, row in seats.items()
            if 1 <= seat <= len(panel) and panel[seat - 1] != row["candidate"]
        ]
        replaced = differing[0] if len(differing) == 1 else ""
    if replaced and replaced not in panel:
        raise InputError(
            f"{file}: lineup {key.lineup} leaves out {replaced}, who is not in the reference.",
            f"The reference seats {', '.join(panel)}.",
        )
    own = seats.get(panel.index(replaced) + 1) if replaced else None
    baseline = _UNKNOWN if own is None else str(own["candidate"])
    _check_seats(key, seats.items(), replaced, panel, file)
    return _Lineup(key.lineup, replaced or None, baseline if replaced else None)


def _check_seats(
    key: World,
    seats: Iterable[tuple[int, Mapping[str, Any]]],
    replaced: str,
    panel: tuple[str, ...],
    file: Path,
) -> None:
    """Everyone but the one left out sits where the reference has it."""
    place = f"{file}: group {key.group}, repeat {key.repeat}, seed {key.seed}, lineup {key.lineup}"
    for seat, row in seats:
        if not 1 <= seat <= len(panel):
            raise InputError(
                f"{place} has a seat {seat}.", f"The reference has the seats 1 to {len(panel)}."
            )
        expected = panel[seat - 1]
        if (row["candidate"] == expected) is (expected == replaced):
            told = f"{expected} is left out" if expected == replaced else f"it is {expected}'s"
            raise InputError(
                f"{place}: seat {seat} has {row['candidate']}, and {told}.",
                "A lineup is the reference, or differs from it in the seat of the one left out.",
            )


def _run(position: int, key: World, lineup: _Lineup, panel: tuple[str, ...]) -> PlannedRun:
    seated = tuple(
        lineup.baseline if lineup.baseline and name == lineup.replaced else name for name in panel
    )
    return PlannedRun(
        run_id=f"{key.group}-s{key.seed}-r{key.repeat}-{key.lineup}",
        position=position,
        group=key.group,
        repeat=key.repeat,
        seed=key.seed,
        seed_position=0,
        lineup_label=REFERENCE if lineup.replaced is None else f"{WITHOUT}{lineup.replaced}",
        lineup=seated,
        replaced=lineup.replaced,
        baseline=lineup.baseline,
    )


def _said_to_be_replaced(key: World, seats: Seats) -> str | None:
    """Who is left out, "" in the reference; None when only a comparison can tell."""
    row = next(iter(seats.values()))
    if "replaced" in row:
        return str(row["replaced"] or "")
    if key.lineup.lower() == REFERENCE:
        return ""
    return key.lineup.removeprefix(WITHOUT) if key.lineup.startswith(WITHOUT) else None
