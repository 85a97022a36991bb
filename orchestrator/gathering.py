"""Evidence from several places: campaigns of stores, and plain tables of Scores."""

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

from campaigns.analysis.evidence import Evidence, read_evidence
from campaigns.analysis.scores_file import read_scores
from campaigns.records.trajectories import TrajectorySource
from manifests.errors import InputError
from orchestrator.bundle.reading import BundleSource
from orchestrator.records import StoreSource
from orchestrator.store import open_store


def gather(
    stores: Sequence[str],
    names: Sequence[str],
    scores: Sequence[Path] = (),
    bundled: Sequence[Evidence] = (),
) -> list[Evidence]:
    """The campaigns of these names, each from every store that has it, in the order of the names;
    without names the only campaign of each store. Then those from bundles, and the plain tables.

    Campaigns of one name from several places are told apart by a number.

    Raises:
        InputError: no store has a campaign of some name, or none is named and there is a choice.
        StoreError: a store cannot be opened.
    """
    found = [_read(store, name) for store, name in _chosen(stores, names)]
    return _told_apart([*found, *bundled, *(read_scores(file) for file in scores)])


def followed(
    stores: Sequence[str], names: Sequence[str], bundles: Sequence[BundleSource] = ()
) -> Generator[TrajectorySource]:
    """The same campaigns in the same order, to be followed window by window; the store of one is
    closed when the next is asked for. Errors as `gather`.
    """
    for store, name in _chosen(stores, names):
        with open_store(store) as opened:
            yield StoreSource(opened, name)
    yield from bundles


def _chosen(stores: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    held: dict[str, list[str]] = {}
    for store in stores:
        with open_store(store) as opened:
            held[store] = [row.name for row in opened.catalogue.campaigns()]
    if not names:
        return [(store, _only(store, there)) for store, there in held.items()]
    for name in names:
        if not any(name in there for there in held.values()):
            known = ", ".join(sorted({each for there in held.values() for each in there}))
            raise InputError(
                f"There is no campaign {name} in {', '.join(stores)}.",
                f"Name one of them: {known or 'there is none'}.",
            )
    return [(store, name) for name in names for store, there in held.items() if name in there]


def _only(store: str, there: Sequence[str]) -> str:
    if len(there) == 1:
        return there[0]
    if not there:
        raise InputError(
            f"The store {store} has no campaign.", "Launch one: ceo-arena launch rehearsal"
        )
    raise InputError(
        f"The store {store} has {len(there)} campaigns.",
        f"Name one or several of them: {', '.join(there)}.",
    )


def _read(store: str, name: str) -> Evidence:
    with open_store(store) as opened:
        return read_evidence(StoreSource(opened, name))


def _told_apart(found: Sequence[Evidence]) -> list[Evidence]:
    several = {
        name for name, count in Counter(each.campaign for each in found).items() if count > 1
    }
    seen: Counter[str] = Counter()
    told: list[Evidence] = []
    for each in found:
        seen[each.campaign] += 1
        name = f"{each.campaign} #{seen[each.campaign]}"
        told.append(replace(each, campaign=name) if each.campaign in several else each)
    return told
