"""A store's life, killed before and after each of its commits and then lived on to the end.

Run as a program with an empty directory: every commit ends the life of a store of its own. With the
URLs of two databases of PostgreSQL, too, one store lives there, and dies once at every kind of
commit, and another whose connection is lost once at each. It prints one JSON object: the `points`
that an undisturbed life commits, and as `faults` what went wrong. Each life is a process of its
own, forked before anything is open.
"""

import json
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, event, select
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
from orchestrator.store.location import is_shared
from orchestrator.store.schema import acts, metadata, run_environments, run_transitions
from tests.orchestrator.store import raw, samples
from tests.orchestrator.store.grounds import Databases, Directories, Ground

# What may differ between an undisturbed life and one in two parts: times, and who did it.
VOLATILE = {
    "held_until",
    *("created_at", "replaced_at", "changed_at", "updated_at", "committed_at", "expires_at"),
    *("owner", "epoch", "at", "failed_at", "granted_at"),
}
GIVEN = {"run", "number"}
# These have a row for everybody who comes.
PER_OWNER = (acts, run_environments)
# Of these, who follows on a dead owner adds one, which says so; in an undisturbed life none does.
PER_DEATH = run_transitions
WAITING = replace(samples.RUNS[1], lineup=("grower", SEARCH_WINNER))
FIRST = (samples.RUNS[0], WAITING)
LONGER = (*samples.RUNS, samples.planned_run("trial-s11-longer", 2))


def live(location: str, another: str) -> None:
    """All that can be done with a store, going on from wherever it stands."""
    owner = f"host-{os.getpid()}"
    with open_store(location) as store:
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
    open_store(another, create=True).close()
    if not is_shared(location) and not (Path(location) / "copy").exists():
        backup(location, Path(location) / "copy")


def live_controls(store: Store) -> None:
    """One request that is paid for, going on from wherever it stands."""
    controls, campaign, seat = store.controls, samples.CAMPAIGN, Asking("s11", 0, 1, 0, 1, 1)
    if not controls.caps(campaign):
        controls.pause(campaign, "grower", "refused", "no credit")
        controls.set_cap(campaign, WHOLE_CAMPAIGN, 500, "a test")
    controls.resolve(campaign)
    if not controls.spent(campaign):
        controls.set_aside(campaign, "grower", seat, 40_000, {})
    controls.hold(campaign, [seat])
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


Due = Callable[[CommitPoint, str], bool]
"""Whether to die at a commit; the second word is "before" or "after"."""


def die_when(due: Due) -> None:
    """Arrange for this process to end itself by SIGKILL at a commit."""
    committing: list[CommitPoint] = []

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def reached(point: CommitPoint) -> None:
        if due(point, "before"):
            die()
        committing.append(point)

    def returned(*_arguments: Any) -> None:
        # The connection goes back to its pool right after the commit.
        if committing and due(committing.pop(), "after"):
            die()

    on_commit(reached)
    event.listen(Pool, "reset", returned)


def once(number: int, when: str) -> Due:
    """Due at the commit of a number, counted from 1."""
    count = 0

    def due(_point: CommitPoint, found: str) -> bool:
        nonlocal count
        count += found == "before"
        return (count, found) == (number, when)

    return due


def not_yet(log: Path) -> Due:
    """Due where nobody has died yet by the lines of a file, which gets another."""

    def due(point: CommitPoint, found: str) -> bool:
        place = f"{point} {found}"
        with log.open("a+", encoding="utf-8") as lines:
            lines.seek(0)
            new = place not in lines.read().splitlines()
            if new:
                lines.write(f"{place}\n")
        return new

    return due


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


Content = Sequence[tuple[str, str]]


def content(ground: Ground, location: str) -> Iterator[tuple[str, str]]:
    """Every table of every database with a digest of its rows, in the order of their keys."""
    for name, database in ground.databases(location):
        with database.read() as connection:
            for table in metadata.sorted_tables:
                columns = [column for column in table.c if column.name not in VOLATILE]
                if table not in PER_OWNER:
                    query = select(*columns).order_by(*table.primary_key.columns)
                    if table is PER_DEATH:
                        query = query.where(table.c.reason == "")
                    rows = [str(row) for row in _counted(connection.execute(query).mappings())]
                    yield f"{name}.{table.name}", digest_bytes("\n".join(rows).encode())


def _counted(rows: Iterable[RowMapping]) -> Iterator[list[Any]]:
    """The rows with the numbers that a database gives counted from 0: it leaves out those that it
    gave in a transaction that came to nothing.
    """
    given: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for row in rows:
        yield [
            given[name].setdefault(value, len(given[name])) if name in GIVEN else value
            for name, value in row.items()
        ]


def undisturbed(ground: Ground, location: str, log: Path) -> list[CommitPoint]:
    """Live once without a fault, and tell the commits in order."""

    def work() -> None:
        points: list[str] = []
        on_commit(points.append)
        live(location, ground.another(location))
        log.write_text("\n".join(points))

    if forked(work) != 0:
        sys.exit("the undisturbed life failed")
    return [CommitPoint(line) for line in log.read_text().splitlines()]


def died(ground: Ground, location: str, due: Due) -> int:
    """How a life ends that is to die."""

    def work() -> None:
        die_when(due)
        live(location, ground.another(location))

    return forked(work)


def faults_in(ground: Ground, location: str, expected: Content) -> Iterator[str]:
    """What is wrong with a store after its last life."""
    if ground.leftover(location):
        yield "something was left behind"
    differing = {name for name, _ in set(content(ground, location)) ^ set(expected)}
    if differing:
        yield f"differs in {sorted(differing)}"


def each_alone(ground: Ground, points: list[CommitPoint], expected: Content) -> Iterator[str]:
    """One store for every commit, whose life ends there and is then lived on."""
    for number, point in enumerate(points, start=1):
        for when in ("before", "after"):
            location = ground.fresh(f"{number}-{when}")
            ends = (
                died(ground, location, once(number, when)),
                forked(partial(live, location, ground.another(location))),
            )
            for fault in faults_in(ground, location, expected):
                yield f"{when} {number}, {point}: {fault}"
            if ends != (-signal.SIGKILL, 0):
                yield f"{when} {number}, {point}: the lives end with {ends}"


def all_in_turn(
    ground: Ground, points: list[CommitPoint], expected: Content, log: Path
) -> Iterator[str]:
    """One store, whose every life ends where none before it did, until one comes to its end."""
    location = ground.fresh("mortal")
    while (end := died(ground, location, not_yet(log))) == -signal.SIGKILL:
        pass
    if end != 0:
        yield f"the last life ends with {end}"
    yield from faults_in(ground, location, expected)
    everywhere = {f"{point} {when}" for point in points for when in ("before", "after")}
    missing = everywhere - set(log.read_text(encoding="utf-8").splitlines())
    if missing:
        yield f"nobody died at {sorted(missing)}"


def cut_off_in_turn(ground: Ground, expected: Content) -> Iterator[str]:
    """One store, whose server ends the connection once before every kind of commit."""
    location = ground.fresh("cut off")
    seen: set[CommitPoint] = set()

    def cut(connection: Connection) -> None:
        point = connection.get_execution_options().get("commit_point")
        if point is not None and point not in seen:
            seen.add(point)
            backend = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            raw.execute(location, f"SELECT pg_terminate_backend({backend}, 5000)")

    def work() -> None:
        event.listen(Engine, "commit", cut)
        live(location, ground.another(location))

    if forked(work) != 0:
        yield "a life that is cut off from its server does not come to its end"
    yield from faults_in(ground, location, expected)


def main(directory: Path, *places: str) -> None:
    ground: Ground = Databases(*places) if places else Directories(directory)
    whole = ground.fresh("undisturbed")
    points = undisturbed(ground, whole, directory / "points")
    expected = list(content(ground, whole))
    if places:
        faults = [
            *all_in_turn(ground, points, expected, directory / "deaths"),
            *cut_off_in_turn(ground, expected),
        ]
    else:
        faults = list(each_alone(ground, points, expected))
    found = {"points": points, "tables": len(expected), "faults": faults}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
