"""The manifest under which a run is replayed: its copies compared, and the damaged one told."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from campaigns.consistency import SEARCH_WINNER
from campaigns.plan import PlannedRun
from manifests.errors import ArenaError
from manifests.model import CampaignManifest, unlisted
from orchestrator.replay.differences import (
    Difference,
    FieldDifference,
    json_difference,
    unreadable,
)
from orchestrator.store import RunRow, Store


class Copy(NamedTuple):
    """A stored manifest: its bytes, and what they say when they have their own plan hash."""

    content: bytes
    manifest: CampaignManifest | None
    fault: str


def read_copy(content: bytes) -> Copy:
    """A stored manifest, intact or not."""
    try:
        return Copy(content, CampaignManifest.from_json(content), "")
    except ArenaError as error:
        return Copy(content, None, unreadable(error))


def catalogue_difference(store: Store, campaign: str, rows: list[RunRow]) -> Difference | None:
    """What is wrong with the catalogue: its manifest, by the first intact copy that a run has, or
    its list of runs, by its manifest.
    """
    kept = read_copy(store.catalogue.manifest_json(campaign))
    if kept.manifest is not None:
        listed = [row.planned.run_id for row in store.catalogue.runs(campaign)]
        return list_difference(kept.manifest, listed, "the catalogue's list of runs")
    field = FieldDifference("manifest", kept.fault, None)
    for row in rows:
        own = store.run(row.key).manifest_json()
        if own is not None and read_copy(own).manifest is not None:
            field = json_difference("", kept.content, own) or field
            break
    return _difference(None, "the manifest", field)


def list_difference(
    manifest: CampaignManifest, listed: Sequence[str], what: str
) -> Difference | None:
    """The first run that the manifest binds and `what` does not list, or the other way round."""
    for run_id, is_bound in unlisted(manifest, listed):
        state = ("missing", "present") if is_bound else ("present", "missing")
        return _difference(run_id, what, FieldDifference("row", *state))
    return None


def manifest_of(
    kept: bytes, own: bytes | None, run_id: str
) -> tuple[CampaignManifest | None, Difference | None]:
    """The manifest to replay a run under, or what is wrong with the run's `own` copy of it.

    `kept` is the catalogue's, for whose damage no run is to blame.
    """
    catalogue = read_copy(kept)
    copy = catalogue if own is None else read_copy(own)
    if copy.manifest is None:
        intact = catalogue.manifest is not None
        field = json_difference("", copy.content, kept) if intact else None
        field = field or FieldDifference("manifest", copy.fault, None)
        return None, _difference(run_id, "the manifest", field)
    if catalogue.manifest is not None:
        field = json_difference("", copy.content, kept)
        if field is not None:
            return None, _difference(run_id, "the manifest", field)
    return copy.manifest, None


def plan_differences(manifest: CampaignManifest, planned: PlannedRun) -> Iterator[Difference]:
    """Where a planned run is not the one that its manifest binds."""
    bound = {run.id: run for run in manifest.decisive.runs}.get(planned.run_id)
    if bound is None:
        field = FieldDifference("id", planned.run_id, "no run of the manifest")
        yield _difference(planned.run_id, "the planned run", field)
        return
    expected = {"seed": bound.seed, "group": bound.group, "repeat": bound.repeat}
    for name, value in expected.items():
        found = getattr(planned, name)
        if found != value:
            field = FieldDifference(name, found, value)
            yield _difference(planned.run_id, "the planned run", field)
    for seat, candidate in enumerate(planned.lineup, start=1):
        seated = bound.seats.get(seat)
        if candidate != seated and seated != SEARCH_WINNER:
            field = FieldDifference(f"lineup[{seat}]", candidate, seated)
            yield _difference(planned.run_id, "the planned run", field)


def _difference(run_id: str | None, what: str, field: FieldDifference) -> Difference:
    return Difference(
        run=run_id,
        day=0,
        company=None,
        field=field.field.removeprefix("."),
        recorded=field.recorded,
        recomputed=field.recomputed,
        what=what,
    )
