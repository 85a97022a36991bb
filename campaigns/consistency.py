"""What must agree between the fields of a campaign.

The checks read plain data, well-formed or not: a field of a wrong type is passed over here, because
its own check reports it, so that one message can tell everything that is wrong with a file.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from campaigns.problems import Location, Problem, listed, shown, suggestion
from campaigns.size import oversizes

# How many seats a message lists at most.
LISTED_SEATS: Final = 12

# Ids that the plan gives away itself in a search.
PROFILE_PREFIX: Final = "profile-"
SEARCH_WINNER: Final = "search-winner"

Table = Mapping[str, Any]


def inconsistencies(data: Table) -> list[Problem]:
    """Every disagreement between the fields of a campaign, in the order of the checks below."""
    candidates = _tables(data.get("candidates"))
    groups = _tables(data.get("groups"))
    search = data.get("search")
    problems = [
        *_doubled_names(("candidates",), "id", candidates),
        *_doubled_names(("groups",), "name", groups),
        *_players(candidates),
        *_seeds(data, groups),
        *_doubled_lineups(data, groups),
        *oversizes(data),
    ]
    if len(candidates) != len(_items(data.get("candidates"))) or not candidates:
        # Without readable candidates nothing more can be said about seats and baselines.
        return problems
    problems += _seats(candidates, search)
    if isinstance(search, Mapping):
        return [*problems, *_search(data, search, candidates)]
    baselines = list(_baselines(data, groups, candidates))
    # A misspelt baseline leaves its candidate unused; one message is enough.
    return [*problems, *(baselines or _unused(data, groups, candidates))]


def _doubled_names(
    location: Location, field: str, tables: list[tuple[int, Table]]
) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for index, table in tables:
        name = _text(table.get(field))
        if name is None:
            continue
        # File names come from these, and not every file system tells upper from lower case.
        earlier = first.get(name.casefold())
        first.setdefault(name.casefold(), name)
        if earlier is not None:
            case = "" if earlier == name else f' as "{earlier}", in another case,'
            yield Problem(
                (*location, index, field),
                f'"{name}" is already taken{case} by an earlier entry',
                f"Give every entry of {location[-1]} its own {field}.",
            )


def _players(candidates: list[tuple[int, Table]]) -> Iterator[Problem]:
    for index, candidate in candidates:
        given = [field for field in ("policy", "route") if candidate.get(field) is not None]
        if len(given) != 1:
            yield Problem(
                ("candidates", index),
                "has both a policy and a route" if given else "has neither a policy nor a route",
                'Write either policy = "<name>" or a [candidates.route] table, not both.',
            )
        elif given == ["route"] and candidate.get("parameters"):
            yield Problem(
                ("candidates", index, "parameters"),
                "belongs to a policy, but this candidate has a route",
                "Move it into the route or remove it.",
            )


def _seats(candidates: list[tuple[int, Table]], search: Any) -> Iterator[Problem]:
    taken: dict[int, str] = {}
    doubled: list[tuple[int, int]] = []
    contested = _whole(search.get("seat", 1)) if isinstance(search, Mapping) else None
    if contested is not None:
        taken[contested] = "the profiles of the search"
    for index, candidate in candidates:
        seat = _whole(candidate.get("seat"))
        if seat in taken:
            doubled.append((index, seat))
        elif seat is not None:
            taken[seat] = shown(candidate.get("id"))
    seated = len(taken) + len(doubled)
    free = [seat for seat in range(1, seated + 1) if seat not in taken]
    for index, seat in doubled:
        yield Problem(
            ("candidates", index, "seat"),
            f"seat {seat} is already taken by {taken[seat]}",
            f"Give each seated candidate a seat of its own; free: {listed(free[:LISTED_SEATS])}.",
        )
    if any(_is_unreadable(candidate.get("seat")) for _, candidate in candidates):
        return
    if not taken:
        yield Problem(
            ("candidates",), "no candidate has a seat", "Write seat = 1 for the first one."
        )
    elif len(free) > len(doubled):
        yield Problem(
            ("candidates",),
            f"no candidate has seat {listed(free[:LISTED_SEATS])}; taken are "
            f"{listed(sorted(taken)[:LISTED_SEATS])}",
            f"{seated} seated candidates have the seats 1 to {seated}, without a gap.",
        )


def _is_unreadable(seat: Any) -> bool:
    return seat is not None and _whole(seat) is None


def _seeds(data: Table, groups: list[tuple[int, Table]]) -> Iterator[Problem]:
    tables: list[tuple[Location, Table]] = [((), data)]
    tables += [(("groups", index), group) for index, group in groups]
    for location, table in tables:
        yield from _doubled((*location, "seeds"), "seed", table.get("seeds"))
    if data.get("seeds") is not None:
        return
    for location, table in tables[1:] or tables:
        if table.get("seeds") is None:
            yield Problem(
                (*location, "seeds"),
                "is missing: no seed to run",
                "Write seeds = [11, 29, 47], for instance, here or above the first [table].",
            )


def _doubled_lineups(data: Table, groups: list[tuple[int, Table]]) -> Iterator[Problem]:
    yield from _doubled(("lineups",), "kind of lineup", data.get("lineups"))
    for index, group in groups:
        yield from _doubled(("groups", index, "lineups"), "kind of lineup", group.get("lineups"))


def _doubled(location: Location, what: str, values: Any) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, value in enumerate(_items(values)):
        if repr(value) not in seen:
            seen.add(repr(value))
        else:
            yield Problem(
                (*location, index),
                f"{what} {shown(value)} stands twice",
                f"Write each {what} once"
                + ("; repeats runs a seed again." if what == "seed" else "."),
            )


def _baselines(
    data: Table, groups: list[tuple[int, Table]], candidates: list[tuple[int, Table]]
) -> Iterator[Problem]:
    seats = {
        name: candidate.get("seat")
        for _, candidate in candidates
        if (name := _text(candidate.get("id"))) is not None
    }
    tables: list[tuple[Location, Table]] = [((), data)]
    tables += [(("groups", index), group) for index, group in groups]
    for location, table in tables:
        baseline = _text(table.get("baseline"))
        if baseline is None:
            continue
        if baseline not in seats:
            yield Problem(
                (*location, "baseline"),
                f'"{baseline}" is no candidate of this campaign',
                f"{suggestion(baseline, seats)}Known are: {listed(seats)}.",
            )
        elif seats[baseline] is not None:
            yield Problem(
                (*location, "baseline"),
                f'"{baseline}" sits on seat {shown(seats[baseline])} and cannot replace others',
                "Name a candidate without a seat; the same policy or route may stand there again.",
            )
    for location, table in tables[1:] or tables:
        wanted = table.get("lineups") or data.get("lineups") or ("replacements",)
        named = table.get("baseline") or data.get("baseline")
        if named is None and "replacements" in _items(wanted):
            yield Problem(
                (*location, "baseline"),
                "is missing: replacement lineups need a candidate for the seat left empty",
                'Write baseline = "<id of a candidate without a seat>" or lineups = ["reference"].',
            )


def _unused(
    data: Table, groups: list[tuple[int, Table]], candidates: list[tuple[int, Table]]
) -> Iterator[Problem]:
    used = [data.get("baseline"), *(group.get("baseline") for _, group in groups)]
    for index, candidate in candidates:
        if candidate.get("seat") is None and candidate.get("id") not in used:
            yield Problem(
                ("candidates", index, "seat"),
                "is missing: this candidate has no seat and is no baseline",
                "Write seat = <number>, name it as a baseline, or remove it.",
            )


def _search(data: Table, search: Table, candidates: list[tuple[int, Table]]) -> Iterator[Problem]:
    for field in ("baseline", "groups", "lineups"):
        if data.get(field):
            yield Problem(
                (field,),
                "does not go with a search, which has lineups of its own",
                f"Remove {field}, or put the search into a campaign file of its own.",
            )
    if data.get("repeats", 1) != 1:
        yield Problem(
            ("repeats",),
            f"received {shown(data['repeats'])}, but a search runs every seed once",
            "Remove repeats.",
        )
    for index, candidate in candidates:
        name = _text(candidate.get("id")) or ""
        if name.startswith(PROFILE_PREFIX) or name == SEARCH_WINNER:
            yield Problem(
                ("candidates", index, "id"),
                f'"{name}" is a name that the search gives to its own candidates',
                "Choose another id.",
            )
        if candidate.get("seat") is None:
            yield Problem(
                ("candidates", index, "seat"),
                "is missing: beside a search every candidate has a seat",
                "Write seat = <number> or remove the candidate.",
            )
    yield from _axes(search)
    yield from _doubled(("search", "profiles"), "profile", search.get("profiles"))
    yield from _doubled(
        ("search", "validation_seeds"), "validation seed", search.get("validation_seeds")
    )


def _axes(search: Table) -> Iterator[Problem]:
    owners = dict.fromkeys(_table(search.get("parameters")), "search.parameters")
    count = 1
    for index, axis in _tables(search.get("axes")):
        values = _tables(axis.get("values"))
        count *= len(_items(axis.get("values")))
        own = {name: f"search.axes[{index}]" for _, value in values for name in value}
        for name, owner in own.items():
            if name in owners:
                yield Problem(
                    ("search", "axes", index, "values"),
                    f'"{name}" is already set by {owners[name]}',
                    "Set every parameter in one place.",
                )
            owners.setdefault(name, owner)
    for index, number in enumerate(_items(search.get("profiles"))):
        if count and (_whole(number) or 0) > count:
            yield Problem(
                ("search", "profiles", index),
                f"received {number}, but the grid has {count} profiles",
                f"Choose from 1 to {count}.",
            )


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _tables(value: Any) -> list[tuple[int, Table]]:
    return [(index, item) for index, item in enumerate(_items(value)) if isinstance(item, Mapping)]


def _table(value: Any) -> Table:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None
