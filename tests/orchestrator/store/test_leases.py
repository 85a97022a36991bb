"""Who may write: expiry by the database's clock, and the epoch that keeps stale owners out."""

import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from manifests.errors import ArenaError
from orchestrator.lifecycle import RunState
from orchestrator.store import (
    Lease,
    LeaseHeld,
    LeaseLost,
    RunStore,
    Store,
    WindowConflict,
    open_store,
)
from tests.orchestrator.store import samples
from tests.patience import until

ROOT = Path(__file__).parents[3]


def wait_for_expiry(run: RunStore) -> None:
    until(lambda: run.status().lease.expires_in_seconds <= 0)


def test_one_owner_at_a_time(store: Store, run: RunStore) -> None:
    run.acquire("host-1", 60)
    with open_store(store.location) as other, pytest.raises(LeaseHeld) as caught:
        other.run(samples.KEY).acquire("host-2", 60)
    assert caught.value.owner == "host-1"
    assert 0 < caught.value.expires_in_seconds <= 60
    assert "run trial-s11-reference of campaign trial belongs to host-1" in str(caught.value)


def test_every_acquisition_raises_the_epoch(run: RunStore) -> None:
    first = run.acquire("host-1", 60)
    second = run.acquire("host-1", 60)
    run.release(second)
    third = run.acquire("host-2", 60)
    assert [lease.epoch for lease in (first, second, third)] == [1, 2, 3]
    status = run.status().lease
    assert (status.owner, status.epoch) == ("host-2", 3)


def test_nobody_waits_for_an_owner_that_has_ended(run: RunStore) -> None:
    run.acquire("host-1", 60)
    with pytest.raises(LeaseHeld):
        run.acquire("host-3", 60, ended="host-2")
    second = run.acquire("host-2", 60, ended="host-1")
    assert (second.owner, second.epoch) == ("host-2", 2)
    with pytest.raises(LeaseHeld):
        run.acquire("host-3", 60, ended="host-1")


def test_that_a_running_run_was_left_without_a_word_is_part_of_its_history(run: RunStore) -> None:
    def left() -> list[str]:
        return [each.reason for each in run.transitions() if each.reason]

    run.acquire("host-1, process 7 [0123456789ab.1]", 60)
    lease = run.acquire("host-2", 60, ended="host-1, process 7 [0123456789ab.1]")
    assert left() == [], "it was not at work yet"
    run.set_status(lease, RunState.QUEUED, "")
    run.set_status(lease, RunState.RUNNING, "")
    run.acquire("host-2", 60)
    assert left() == [], "an owner may ask again"
    third = run.acquire("host-3", 60, ended="host-2")
    why = "left it without a word: it was killed, stood still, or could not write."
    assert left() == [f"host-2 {why}"]
    run.release(third)
    fourth = run.acquire("host-4, process 7 [0123456789ab.1]", 0)
    assert left() == [f"host-2 {why}"], "the third gave it up"
    run.acquire("host-5", 60)
    assert left() == [f"host-2 {why}", f"host-4, process 7 {why}"]
    assert run.status().reason == "", "the history alone tells"
    with pytest.raises(LeaseLost):
        run.renew(fourth)


def test_an_expired_lease_can_be_taken_over(run: RunStore) -> None:
    run.acquire("host-1", 0.01)
    wait_for_expiry(run)
    assert run.acquire("host-2", 60).epoch == 2


def test_an_expired_lease_that_nobody_took_still_works(run: RunStore) -> None:
    lease = samples.start(run, seconds=0.01)
    wait_for_expiry(run)
    run.commit_window(lease, samples.window(0))
    run.renew(replace(lease, seconds=60))
    assert run.status().lease.expires_in_seconds > 1


def test_a_released_lease_is_free_and_useless(run: RunStore) -> None:
    lease = samples.start(run)
    run.release(lease)
    run.release(lease)
    assert run.status().lease.owner is None
    with pytest.raises(LeaseLost):
        run.renew(lease)
    with pytest.raises(LeaseLost):
        run.commit_window(lease, samples.window(0))


def test_a_late_release_does_not_touch_the_successor(run: RunStore) -> None:
    stale = run.acquire("host-1", 0)
    present = run.acquire("host-2", 60)
    run.release(stale)
    run.renew(present)
    assert run.status().lease.owner == "host-2"


STALE_WRITES: list[Callable[[RunStore, Lease], None]] = [
    lambda run, lease: run.renew(lease),
    lambda run, lease: run.set_status(lease, RunState.PAUSED, "stale"),
    lambda run, lease: run.begin(lease, samples.first_state()),
    lambda run, lease: run.commit_window(lease, samples.window(1)),
]


@pytest.mark.parametrize("write", STALE_WRITES, ids=["renew", "status", "begin", "commit"])
def test_a_stale_owner_changes_nothing(
    store: Store, run: RunStore, write: Callable[[RunStore, Lease], None]
) -> None:
    stale = samples.start(run, "host-1", 0)
    run.commit_window(stale, samples.window(0))
    with open_store(store.location) as other:
        successor = other.run(samples.KEY)
        successor.acquire("host-2", 60)
        before = replace(successor.status(), lease=stale)  # type: ignore[arg-type]
        with pytest.raises(LeaseLost, match=r"host-1 no longer owns .*epoch 1"):
            write(run, stale)
        assert replace(successor.status(), lease=stale) == before  # type: ignore[arg-type]
        assert [day.day for day in successor.days()] == list(range(1, 8))
        assert successor.status().lease.owner == "host-2"


def test_the_same_name_in_an_old_epoch_is_stale_too(run: RunStore) -> None:
    stale = samples.start(run, "host-1")
    run.acquire("host-1", 60)
    with pytest.raises(LeaseLost):
        run.commit_window(stale, samples.window(0))


def test_a_lease_opens_one_run_only(store: Store, run: RunStore) -> None:
    lease = samples.start(run)
    other = store.run(samples.OTHER_KEY)
    other.acquire("host-1", 60)
    with pytest.raises(ValueError, match="was shown for"):
        other.set_status(lease, RunState.QUEUED, "")


def test_no_lease_exists_before_the_run_was_taken(run: RunStore) -> None:
    with pytest.raises(ValueError, match="was never taken"):
        run.renew(Lease(str(samples.KEY), "host-1", 1, 60))


def test_owners_that_take_over_from_each_other_lose_no_window(store: Store) -> None:
    """Threads with stores of their own seize the run from each other and commit what is next."""
    samples.create_campaign(store)
    with open_store(store.location) as first:
        samples.start(first.run(samples.KEY), "host-0", 0)
    barrier = threading.Barrier(4)
    failures: list[BaseException] = []

    def host(name: str) -> None:
        with open_store(store.location) as own:
            run = own.run(samples.KEY)
            barrier.wait()
            while (latest := run.latest()) is not None and latest.version < samples.WINDOWS:
                try:
                    lease = run.acquire(name, 0)
                    time.sleep(0.001)
                    run.commit_window(lease, samples.window(latest.version))
                except (LeaseHeld, LeaseLost, WindowConflict):
                    continue

    def guarded(name: str) -> None:
        try:
            host(name)
        except BaseException as failure:  # noqa: BLE001 - shown by the test's own thread
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(f"host-{n}",)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    run = store.run(samples.KEY)
    records = [day for version in range(samples.WINDOWS) for day in samples.window(version).days]
    assert list(run.day_records()) == records
    assert run.status().status is RunState.COMPLETED


STOPPED_HOST = """
import sys
from orchestrator.store import LeaseLost, open_store
from tests.orchestrator.store import samples

with open_store(sys.argv[1]) as store:
    run = store.run(samples.KEY)
    lease = samples.start(run, "host-1", 0)
    run.commit_window(lease, samples.window(0))
    print("working", flush=True)
    sys.stdin.readline()
    try:
        run.commit_window(lease, samples.window(1))
    except LeaseLost as error:
        print(error.message)
"""


def test_a_process_that_was_stopped_finds_its_successor(store: Store, run: RunStore) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED_HOST, store.location],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        assert host.stdout.readline() == "working\n"
        host.send_signal(signal.SIGSTOP)
        lease = run.acquire("host-2", 60)
        samples.play(run, lease)
        host.send_signal(signal.SIGCONT)
        said, _ = host.communicate("go on\n")
    assert "host-1 no longer owns run trial-s11-reference" in said
    assert [point.epoch for point in run.checkpoints()] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    "error", [LeaseHeld("run r", "host-1", 2.5), LeaseLost("run r", "host-1", 3)]
)
def test_refusals_survive_the_way_between_processes(error: ArenaError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))
