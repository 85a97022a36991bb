"""How many runs a campaign would have, counted before any of them is made.

Like the other checks of plain data, these pass over what is not well-formed.
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, Final

from campaigns.problems import Location, Problem

MOST_RUNS: Final = 100_000
"""Beyond this a campaign is a slip of the finger: each run is a database of its own."""

MOST_COMPANIES: Final = 1_000_000
"""The same for the companies of all its runs: their number grows with the square of the panel's."""

Table = Mapping[str, Any]


def oversizes(data: Table) -> Iterator[Problem]:
    """The problem of a campaign with too many runs or companies, or of a search with too many
    profiles.
    """
    search = data.get("search")
    if isinstance(search, Mapping):
        counts = [_length(axis.get("values")) for axis in _tables(search.get("axes"))]
        profiles = prod(counts) if counts else 0
        yield from _refused(("search", "axes"), profiles, "profiles")
        if profiles <= MOST_RUNS:
            chosen = min(_length(search.get("profiles")) or profiles, profiles)
            runs = chosen * _length(data.get("seeds")) + _length(search.get("validation_seeds"))
            yield from _too_many(("seeds",), runs, _panel(data) + 1)
        return
    groups = _tables(data.get("groups")) or [{}]
    runs = sum(_runs(data, group) for group in groups)
    repeated = any("repeats" in table for table in (data, *groups))
    yield from _too_many(("repeats",) if repeated else ("seeds",), runs, _panel(data))


def _runs(data: Table, group: Table) -> int:
    panel = _panel(data)
    kinds = group.get("lineups") or data.get("lineups") or ("reference", "replacements")
    lineups = ("reference" in kinds) + panel * ("replacements" in kinds) if _length(kinds) else 0
    repeats = group.get("repeats") or data.get("repeats") or 1
    seeds = _length(group.get("seeds")) or _length(data.get("seeds"))
    return seeds * lineups * (repeats if type(repeats) is int else 1)


def _panel(data: Table) -> int:
    """How many candidates have a seat."""
    return sum(candidate.get("seat") is not None for candidate in _tables(data.get("candidates")))


def _too_many(location: Location, runs: int, companies: int) -> Iterator[Problem]:
    """The problem of so many runs with so many companies each."""
    yield from _refused(location, runs, "runs")
    if runs <= MOST_RUNS:
        yield from _refused(("candidates",), runs * companies, "companies", MOST_COMPANIES)


def _refused(location: Location, count: int, what: str, most: int = MOST_RUNS) -> Iterator[Problem]:
    if count > most:
        yield Problem(
            location,
            f"makes {count:,} {what}, and a campaign may have {most:,}",
            "Lower the numbers, or divide the campaign.",
        )


def _tables(value: Any) -> list[Table]:
    items = value if isinstance(value, list | tuple) else ()
    return [item for item in items if isinstance(item, Mapping)]


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple) else 0
