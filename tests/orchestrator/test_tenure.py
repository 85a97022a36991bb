"""Taking, keeping and giving up a lease beside some work."""

import asyncio
import subprocess
import sys
from collections.abc import Callable

import pytest

from manifests.errors import StoreError
from orchestrator.lifecycle import RunState
from orchestrator.owners import own_name
from orchestrator.store import Lease, LeaseHeld, LeaseLost
from orchestrator.tenure import Tenure, Unrecorded

SECONDS = 0.06


class Row:
    """A lease as the store keeps it, with a clock that the test moves."""

    def __init__(self, owner: str | None = None, expires_in: float = 0.0) -> None:
        self.owner = owner
        self.epoch = 0
        self.expires_in = expires_in
        self.renewals = 0
        self.trouble: Exception | None = None
        self.looks = 0
        self.at_look: Callable[[int], None] = lambda _look: None

    def acquire(self, owner: str, ended: str | None) -> Lease:
        self.looks += 1
        self.at_look(self.looks)
        if self.owner not in {None, owner, ended} and self.expires_in > 0:
            assert self.owner is not None
            raise LeaseHeld("the run", self.owner, self.expires_in)
        self.owner = owner
        self.epoch += 1
        self.expires_in = SECONDS
        return Lease("the run", owner, self.epoch, SECONDS)

    def renew(self, lease: Lease) -> None:
        if self.trouble is not None:
            raise self.trouble
        if (lease.owner, lease.epoch) != (self.owner, self.epoch):
            raise LeaseLost("the run", lease.owner, lease.epoch)
        self.renewals += 1

    def release(self, lease: Lease) -> None:
        if self.trouble is not None:
            raise self.trouble
        if (lease.owner, lease.epoch) == (self.owner, self.epoch):
            self.owner = None

    def tenure(self) -> Tenure:
        return Tenure(self.acquire, self.renew, self.release, own_name())


@pytest.fixture(scope="module")
def dead() -> str:
    """The name of a process that has ended."""
    program = "from orchestrator.owners import own_name; print(own_name())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def always() -> bool:
    return True


def test_a_free_lease_is_taken_at_once() -> None:
    row = Row()
    lease = asyncio.run(row.tenure().take(always))
    assert lease is not None
    assert row.owner == lease.owner == own_name()
    assert row.looks == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the proof needs /proc")
def test_a_dead_owner_is_succeeded_without_waiting_and_loses_its_epoch(dead: str) -> None:
    row = Row(dead, expires_in=1000.0)
    old = Lease("the run", dead, row.epoch, SECONDS)
    lease = asyncio.run(row.tenure().take(always))
    assert lease is not None
    assert row.owner == own_name()
    with pytest.raises(LeaseLost):
        row.renew(old)


def test_the_lease_of_an_owner_that_may_live_is_taken_when_it_expires() -> None:
    row = Row("somebody", expires_in=0.01)

    def pass_time(look: int) -> None:
        row.expires_in = 0.01 if look < 4 else -1.0

    row.at_look = pass_time
    assert asyncio.run(row.tenure().take(always)) is not None
    assert row.looks == 4


def test_waiting_ends_when_the_lease_is_no_longer_wanted() -> None:
    row = Row("somebody", expires_in=0.01)
    assert asyncio.run(row.tenure().take(lambda: row.looks < 3)) is None
    assert row.owner == "somebody"
    assert row.looks == 3


def test_an_owner_that_lives_is_left_in_peace() -> None:
    row = Row(own_name().replace(", process", "'s twin, process"), expires_in=20.0)
    with pytest.raises(LeaseHeld):
        asyncio.run(row.tenure().take_unless_kept())
    assert row.looks == 1


def test_an_owner_elsewhere_that_renews_is_left_in_peace() -> None:
    row = Row("somebody", expires_in=0.04)

    def pass_time(look: int) -> None:
        row.expires_in = [0.04, 0.03, 0.02, 0.05][look - 1]

    row.at_look = pass_time
    with pytest.raises(LeaseHeld):
        asyncio.run(row.tenure().take_unless_kept())
    assert row.looks == 4


def test_an_owner_elsewhere_that_is_gone_is_succeeded_at_expiry() -> None:
    row = Row("somebody", expires_in=0.03)

    def pass_time(look: int) -> None:
        row.expires_in = [0.03, 0.02, 0.01, -0.01][look - 1]

    row.at_look = pass_time
    lease = asyncio.run(row.tenure().take_unless_kept())
    assert lease.owner == own_name()


def test_two_who_wait_for_one_lease_do_not_both_get_it() -> None:
    row = Row("somebody", expires_in=0.02)

    def pass_time(look: int) -> None:
        if look == 2:
            row.owner, row.expires_in = "another", 0.02

    row.at_look = pass_time
    with pytest.raises(LeaseHeld):
        asyncio.run(row.tenure().take_unless_kept())


def test_long_work_keeps_its_lease_and_gives_it_up_at_the_end() -> None:
    row = Row()

    async def work() -> str:
        while row.renewals < 3:
            await asyncio.sleep(0.001)
        return "done"

    async def all_of_it() -> str:
        lease = await row.tenure().take_unless_kept()
        return await row.tenure().keep(lease, work())

    assert asyncio.run(all_of_it()) == "done"
    assert row.owner is None


def test_work_whose_lease_is_lost_is_cancelled_and_the_new_owner_stays() -> None:
    row = Row()
    ends: list[str] = []

    async def work() -> None:
        row.owner, row.epoch = "another", row.epoch + 1
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    async def all_of_it() -> None:
        lease = await row.tenure().take_unless_kept()
        await row.tenure().keep(lease, work())

    with pytest.raises(LeaseLost):
        asyncio.run(all_of_it())
    assert ends == ["cancelled"]
    assert row.owner == "another"


def test_a_store_that_refuses_for_a_while_costs_no_lease() -> None:
    row = Row()

    async def work() -> None:
        row.trouble = StoreError("the disk is full")
        await asyncio.sleep(SECONDS)
        assert row.renewals == 0
        row.trouble = None
        while row.renewals == 0:
            await asyncio.sleep(0.001)

    async def all_of_it() -> None:
        lease = await row.tenure().take_unless_kept()
        await row.tenure().keep(lease, work())

    asyncio.run(all_of_it())
    assert row.renewals > 0


def test_a_lease_under_which_nobody_could_say_why_the_work_ended_is_not_given_up() -> None:
    row = Row()

    async def work() -> None:
        raise Unrecorded(RunState.PAUSED, "the disk is full")

    async def all_of_it() -> None:
        lease = await row.tenure().take_unless_kept()
        await row.tenure().keep(lease, work())

    with pytest.raises(Unrecorded, match="the disk is full"):
        asyncio.run(all_of_it())
    assert row.owner == own_name()


def test_the_failure_of_the_work_passes_through_even_when_the_lease_cannot_be_given_up() -> None:
    row = Row()

    async def work() -> None:
        row.trouble = StoreError("the disk is full")
        raise KeyError("a defect")

    async def all_of_it() -> None:
        lease = await row.tenure().take_unless_kept()
        await row.tenure().keep(lease, work())

    with pytest.raises(KeyError, match="a defect"):
        asyncio.run(all_of_it())
