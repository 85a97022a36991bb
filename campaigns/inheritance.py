"""`extends`: a campaign that says only where it differs from another one.

The file takes over everything that it does not write itself, except `name` and `notes`. What it
writes replaces what it would inherit, with two exceptions: `limits` are merged key by key, and a
candidate whose id the other campaign has changes the fields it writes and keeps the rest (`policy`
and `route` exclude each other, so writing one drops the inherited other). Candidates with a new id
are added. An inherited candidate without a seat that is no baseline here is left out.
"""

from collections.abc import Mapping
from typing import Any, Final

from campaigns.problems import RawCampaign

NOT_INHERITED: Final = frozenset({"name", "notes"})

# A candidate as written, with the file and the entry that wrote it.
Written = tuple[tuple[str, int], Any]


def written_here(source: str, data: Mapping[str, Any]) -> RawCampaign:
    """A campaign that extends no other: all its candidates stand in its own file."""
    candidates = data.get("candidates")
    count = len(candidates) if isinstance(candidates, list) else 0
    return RawCampaign(source, data, tuple((source, entry) for entry in range(count)))


def extend(parent: RawCampaign, source: str, changes: Mapping[str, Any]) -> RawCampaign:
    """The campaign that `changes`, the content of the file `source`, makes of its valid parent."""
    merged = {key: value for key, value in parent.data.items() if key not in NOT_INHERITED}
    for key, value in changes.items():
        merged[key] = _merged_tables(merged.get(key), value) if key == "limits" else value
    entries = changes.get("candidates", [])
    if not isinstance(entries, list):
        return RawCampaign(source, merged, ())
    baselines = _baselines(merged)
    kept = [
        (where, candidate)
        for where, candidate in _merged_candidates(parent, source, entries)
        if where[0] == source or "seat" in candidate or candidate["id"] in baselines
    ]
    merged["candidates"] = [candidate for _, candidate in kept]
    return RawCampaign(source, merged, tuple(where for where, _ in kept))


def _merged_candidates(parent: RawCampaign, source: str, entries: list[Any]) -> list[Written]:
    merged: list[Written] = list(zip(parent.written_at, parent.data["candidates"], strict=True))
    inherited = {candidate["id"]: slot for slot, (_, candidate) in enumerate(merged)}
    for entry, changes in enumerate(entries):
        # Taken out once used: a second entry of the same id is a duplicate, not a second change.
        slot = inherited.pop(_id_of(changes), None)
        if slot is None:
            merged.append(((source, entry), changes))
        else:
            merged[slot] = ((source, entry), _merged_candidate(merged[slot][1], changes))
    return merged


def _id_of(candidate: Any) -> str:
    name = candidate.get("id") if isinstance(candidate, Mapping) else None
    return name if isinstance(name, str) else ""


def _merged_candidate(inherited: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    dropped: set[str] = set()
    if "route" in changes:
        dropped = {"policy", "parameters"}
    elif "policy" in changes:
        dropped = {"route", "parameters"}
    kept = {key: value for key, value in inherited.items() if key not in dropped}
    return {**kept, **changes}


def _merged_tables(inherited: Any, changes: Any) -> Any:
    if not isinstance(inherited, Mapping) or not isinstance(changes, Mapping):
        return changes
    merged = dict(inherited)
    for key, value in changes.items():
        merged[key] = _merged_tables(merged.get(key), value)
    return merged


def _baselines(data: Mapping[str, Any]) -> list[Any]:
    groups = data.get("groups", [])
    entries = groups if isinstance(groups, list) else []
    named = [group.get("baseline") for group in entries if isinstance(group, Mapping)]
    return [data.get("baseline"), *named]
