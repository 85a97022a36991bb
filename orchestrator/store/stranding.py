"""Whether a migration would leave a campaign that nobody can finish any more.

A campaign goes on only under the package that froze it, and that package cannot open what a newer
one has migrated. So campaigns of another package are finished first, or given up on purpose.
"""

from collections.abc import Callable, Iterator

from sqlalchemy import Connection, inspect, select

from manifests.canonical import parse_json
from manifests.errors import IntegrityError, StoreError
from manifests.fingerprints import PACKAGES, source_fingerprint
from orchestrator.lifecycle import RunState
from orchestrator.store.records import RunKey
from orchestrator.store.schema import campaigns, run_states, runs


def check_nothing_is_stranded(
    catalogue: Connection, place: object, is_completed: Callable[[RunKey], bool]
) -> None:
    """Raise StoreError when the older store at a place has a campaign that another package froze,
    and of which a run is not completed, and IntegrityError when a manifest is damaged.
    """
    unfinished = [
        f"{name} (source {source})"
        for name, source in _frozen_elsewhere(catalogue)
        if not all(map(is_completed, _runs_of(catalogue, name)))
    ]
    if unfinished:
        raise StoreError(
            f"{place} was written by an older version, and only the package that froze a campaign "
            f"can finish it: {', '.join(unfinished)}. It could not open the store after this "
            "version had changed the tables.",
            "Finish them with that package, or look at a copy: `backup` with that package, then "
            "`ceo-arena upgrade --store COPY` with this one. `upgrade` also gives them up here.",
        )


def completed_in(connection: Connection, key: RunKey) -> bool:
    """Whether a run is completed by a database that has its state, of any revision."""
    state = connection.scalar(
        select(run_states.c.status)
        .join(runs, runs.c.run == run_states.c.run)
        .where(runs.c.campaign == key.campaign, runs.c.run_id == key.run_id)
    )
    return state == RunState.COMPLETED


def _frozen_elsewhere(catalogue: Connection) -> Iterator[tuple[str, str]]:
    """The campaigns that other sources than these froze, with the digest of theirs. Raises
    IntegrityError when a manifest names none.
    """
    # Before the first revision there are no tables.
    if not inspect(catalogue).has_table(campaigns.name):
        return
    own = source_fingerprint(PACKAGES).overall
    for name, content in catalogue.execute(select(campaigns.c.name, campaigns.c.manifest)).all():
        manifest = parse_json(content, f"The stored manifest of campaign {name}")
        try:
            source = manifest["decisive"]["sources"]["overall"]
        except (KeyError, TypeError) as error:
            raise IntegrityError(
                f"The stored manifest of campaign {name} names no sources.",
                "Put back the database that belongs to this campaign.",
            ) from error
        if source != own:
            yield name, source


def _runs_of(catalogue: Connection, campaign: str) -> Iterator[RunKey]:
    query = select(runs.c.run_id).where(runs.c.campaign == campaign)
    for run_id in catalogue.scalars(query).all():
        yield RunKey(campaign, run_id)
