"""A store's life, killed before and after each of its commits and then lived on to the end.

Run as a program with an empty directory. It prints one JSON object: the `points` that an
undisturbed life commits, and what went wrong in the lives that were killed, as `faults`. Each life
is a process of its own, forked before anything is open.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event, select
from sqlalchemy.pool import Pool

# Every life upgrades a store. Imported here, Alembic is there when they are forked.
import orchestrator.store.migrations  # noqa: F401
from campaigns.consistency import SEARCH_WINNER
from manifests.canonical import digest_bytes
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.store import (
    WHOLE_CAMPAIGN,
    Asking,
    AttemptFailure,
    AttemptKey,
    AttemptStore,
    CommitPoint,
    DesiredState,
    FileVersion,
    FreshGrant,
    Lease,
    RunKey,
    SessionStore,
    Store,
    Target,
    open_store,
)
from orchestrator.store.copying import backup
from orchestrator.store.files import open_file
from orchestrator.store.schema import acts, metadata, run_environments
from tests.orchestrator.store import samples

# What may differ between an undisturbed life and one in two parts: times, and who did it.
VOLATILE = {
    *("created_at", "replaced_at", "changed_at", "updated_at", "committed_at", "expires_at"),
    *("owner", "epoch", "at", "failed_at", "granted_at"),
}
# These have a row for everybody who comes.
PER_OWNER = (acts, run_environments)
WAITING = replace(samples.RUNS[1], lineup=("grower", SEARCH_WINNER))
FIRST = (samples.RUNS[0], WAITING)
LONGER = (*samples.RUNS, samples.planned_run("trial-s11-longer", 2))


def live(place: Path) -> None:
    """All that can be done with a store, going on from wherever it stands."""
    owner = f"host-{os.getpid()}"
    with open_store(str(place)) as store:
        first, longer = samples.manifest_of(FIRST), samples.manifest_of(LONGER)
        if longer.plan_hash not in {row.plan_hash for row in store.catalogue.campaigns()}:
            store.catalogue.create_campaign(first, FIRST)
        campaign = store.catalogue.acquire_campaign(samples.CAMPAIGN, owner, 0)
        store.catalogue.renew(campaign)
        live_controls(store)
        live_run(store, samples.KEY, owner)
        store.catalogue.resolve_run(samples.CAMPAIGN, samples.RUNS[1])
        store.catalogue.set_desired(samples.CAMPAIGN, DesiredState.PAUSED, "done")
        store.holds.set(Target(*samples.KEY), DesiredState.STOPPED, "enough")
        store.holds.lift(Target(*samples.KEY), "")
        store.catalogue.release(campaign)
        store.catalogue.extend_campaign(first.plan_hash, longer, LONGER, {samples.KEY.run_id})
        store.run(samples.KEY).close()
        store.run(samples.KEY).status()
    open_store(str(place / "another"), create=True).close()
    if not (place / "copy").exists():
        backup(str(place), place / "copy")


def live_controls(store: Store) -> None:
    """One request that is paid for, going on from wherever it stands."""
    controls, campaign, seat = store.controls, samples.CAMPAIGN, Asking("s11", 1, "a")
    if not controls.caps(campaign):
        controls.pause(campaign, "grower", "refused", "no credit")
        controls.set_cap(campaign, WHOLE_CAMPAIGN, 500, "a test")
    controls.resolve(campaign)
    if not controls.spent(campaign):
        controls.set_aside(campaign, "grower", seat, 40_000, {})
    if controls.spent(campaign)[0].set_aside:
        controls.settle(campaign, seat, 30_000)


def live_run(store: Store, key: RunKey, owner: str) -> None:
    run = store.run(key)
    lease = run.acquire(owner, 0)
    run.renew(lease)
    if run.status().status is RunState.PLANNED:
        run.set_status(lease, RunState.QUEUED, "")
    if run.status().status is RunState.QUEUED:
        run.set_status(lease, RunState.RUNNING, "")
    run.begin(lease, samples.first_state())
    live_session(SessionStore(run), lease)
    if run.status().world_version == 0:
        live_failure(AttemptStore(run), lease)
    samples.play(run, lease)
    run.release(lease)


def live_session(sessions: SessionStore, lease: Lease) -> None:
    key = AttemptKey(0, 1, 0)
    for ordinal in range(len(sessions.events(key)), 3):
        file = FileVersion("MEMORY.md", ordinal, f"text {ordinal}") if ordinal else None
        sessions.append(lease, key, ordinal, "kind", b"event", file)
    sessions.beat(lease, {key: 5})
    if not sessions.late_replies():
        sessions.keep_late_reply(lease, key, 1, b"reply")


def live_failure(attempts: AttemptStore, lease: Lease) -> None:
    key = AttemptKey(0, 1, 0)
    failure = AttemptFailure(
        key=key,
        ordinal=2,
        status=CompanyWindowStatus.TIMEOUT,
        cause="time",
        needs_person=False,
        reason="slow",
        verdict="fresh attempt 1",
        verdict_reason="after timeout",
    )
    fresh = FreshGrant(
        key=key._replace(attempt=1),
        granted_by="supervisor",
        reason="after timeout",
        files_digest="sha256:0",
        carried=b"",
        archive=b"{}",
    )
    attempts.record(lease, failure, fresh)


def on_commit(do: Callable[[CommitPoint], None]) -> None:
    """Call `do` before every commit of a writing transaction."""

    def listen(connection: Connection) -> None:
        point = connection.get_execution_options().get("commit_point")
        if point is not None:
            do(point)

    event.listen(Engine, "commit", listen)


def kill_at(number: int, *, after: bool) -> None:
    """Arrange for this process to die at its commit of this number, counted from 1."""
    count = 0

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def reached(_point: CommitPoint) -> None:
        nonlocal count
        count += 1
        if count == number and not after:
            die()

    def returned(*_arguments: Any) -> None:
        if count == number:
            die()

    on_commit(reached)
    if after:
        # The connection goes back to its pool right after the commit.
        event.listen(Pool, "reset", returned)


def forked(work: Callable[[], None]) -> int:
    """Do the work in a process of its own; its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the parent reads the file
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def content(place: Path) -> Iterator[tuple[str, str]]:
    """Every table of every database with a digest of its rows."""
    for path in sorted(place.rglob("*.db")):
        database = open_file(path)
        with database.read() as connection:
            for table in metadata.sorted_tables:
                columns = [column for column in table.c if column.name not in VOLATILE]
                if table not in PER_OWNER:
                    rows = sorted(repr(tuple(row)) for row in connection.execute(select(*columns)))
                    yield f"{path.name}.{table.name}", digest_bytes("\n".join(rows).encode())
        database.close()


def prepare(place: Path) -> None:
    """An empty store of the revision before the first, so that it is upgraded, too."""
    open_store(str(place), create=True).close()
    samples.rewind(place / "catalogue.db")


def undisturbed(place: Path) -> list[CommitPoint]:
    """Live once without a fault, and tell the commits in order."""
    log = place.with_suffix(".log")

    def work() -> None:
        points: list[str] = []
        on_commit(points.append)
        live(place)
        log.write_text("\n".join(points))

    if forked(work) != 0:
        sys.exit("the undisturbed life failed")
    return [CommitPoint(line) for line in log.read_text().splitlines()]


def fault_of(
    place: Path, number: int, *, after: bool, expected: list[tuple[str, str]]
) -> str | None:
    """What is wrong with a life that was killed at a commit and lived on, if anything."""

    def killed() -> None:
        kill_at(number, after=after)
        live(place)

    if forked(killed) != -signal.SIGKILL:
        return "was not killed"
    if forked(lambda: live(place)) != 0:
        return "could not go on"
    if any(place.rglob(".*")):
        return "left something behind"
    differing = {name for name, _ in set(content(place)) ^ set(expected)}
    return f"differs in {sorted(differing)}" if differing else None


def main(directory: Path) -> None:
    template = directory / "template"
    prepare(template)
    shutil.copytree(template, directory / "undisturbed")
    points = undisturbed(directory / "undisturbed")
    expected = list(content(directory / "undisturbed"))
    faults = {}
    for number, point in enumerate(points, start=1):
        for after in (False, True):
            place = directory / f"{number}-{after}"
            shutil.copytree(template, place)
            fault = fault_of(place, number, after=after, expected=expected)
            if fault is not None:
                faults[f"{number} {point} {'after' if after else 'before'}"] = fault
    sys.stdout.write(json.dumps({"points": points, "tables": len(expected), "faults": faults}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
