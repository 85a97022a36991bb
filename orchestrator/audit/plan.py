"""A campaign's plan as the catalogue has it, against its manifest."""

from collections.abc import Iterator, Sequence

from campaigns.consistency import SEARCH_WINNER
from manifests.model import CampaignManifest, unlisted
from orchestrator.store import RunRow


def plan_faults(manifest: CampaignManifest, rows: Sequence[RunRow]) -> Iterator[str]:
    """Where the planned runs, in scheduling order, are not those that the manifest froze."""
    frozen = {run.id: run for run in manifest.decisive.runs}
    planned = {row.planned.run_id: row.planned for row in rows}
    for run_id, is_bound in unlisted(manifest, planned):
        yield (
            f"its run {run_id} is not in the catalogue"
            if is_bound
            else f"the catalogue has a run {run_id} that its manifest does not"
        )
    positions = [row.planned.position for row in rows]
    if positions != sorted(positions):
        yield "the catalogue has its runs in another order"
    for run_id in sorted(frozen.keys() & planned.keys()):
        found, bound = planned[run_id], frozen[run_id]
        if (found.position, found.seed) != (bound.position, bound.seed):
            yield f"run {run_id} has another position or seed than in the manifest"
        for seat, candidate in bound.seats.items():
            sits = found.lineup[seat - 1] if seat <= len(found.lineup) else "nobody"
            if candidate not in (sits, SEARCH_WINNER):
                yield f"run {run_id} seats {sits} in seat {seat}, and its manifest {candidate}"
