"""Leases: who may write, until when, and the epoch that tells a stale owner from the present.

A lease expires by the database's clock, and expiry only decides who may try to take over. What
keeps a stale owner out is the epoch: every acquisition raises it, and every write checks it in its
own transaction.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Table,
    Text,
    and_,
    bindparam,
    or_,
    select,
    update,
)

from orchestrator.store.connection import DatabaseNow
from orchestrator.store.errors import LeaseHeld, LeaseLost


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of `owner`, in `epoch`, to write to one run or campaign, the `subject`.

    `seconds` is the time for which it was taken, and for which every renewal keeps it.
    """

    subject: str
    owner: str
    epoch: int
    seconds: float


class LeaseState(NamedTuple):
    """Who holds a lease, or None, in which epoch; `expires_in_seconds` is negative after expiry."""

    owner: str | None
    epoch: int
    expires_in_seconds: float


class LeaseTable:
    """The leases in one table, whose column `key` says on what each is.

    Every method works inside the caller's transaction, on the lease of the row `of`, which messages
    call `subject`.
    """

    def __init__(self, table: Table, key: Column[Any]) -> None:
        # Built once, because the check runs in every writing transaction.
        columns = table.c
        row = key == bindparam("of")
        held = and_(
            row, columns.owner == bindparam("by_owner"), columns.epoch == bindparam("in_epoch")
        )
        free = or_(
            columns.owner.is_(None),
            columns.owner.in_((bindparam("by_owner"), bindparam("ended", type_=Text()))),
            columns.expires_at <= DatabaseNow(),
        )
        expires_at = DatabaseNow() + bindparam("milliseconds", type_=BigInteger)
        self._take = (
            update(table)
            .where(row, free)
            .values(owner=bindparam("by_owner"), epoch=columns.epoch + 1, expires_at=expires_at)
        )
        self._renew = update(table).where(held).values(expires_at=expires_at)
        self._release = update(table).where(held).values(owner=None, expires_at=DatabaseNow())
        self._check = select(columns.epoch).where(held).with_for_update()
        self._state = select(
            columns.owner, columns.epoch, columns.expires_at - DatabaseNow()
        ).where(row)

    def acquire(
        self,
        connection: Connection,
        of: Any,
        subject: str,
        owner: str,
        seconds: float,
        ended: str | None,
    ) -> Lease:
        """Take the lease if it is free, expired, the owner's already, or that of one that has
        `ended`; the epoch rises.

        Raises:
            LeaseHeld: another owner has it and it has not expired.
        """
        taken = connection.execute(
            self._take,
            {
                "of": of,
                "by_owner": owner,
                "ended": ended,
                "milliseconds": _milliseconds(seconds),
            },
        )
        found = self.state(connection, of)
        if taken.rowcount != 1:
            raise LeaseHeld(subject, found.owner or "nobody", found.expires_in_seconds)
        return Lease(subject, owner, found.epoch, seconds)

    def renew(self, connection: Connection, of: Any, subject: str, lease: Lease) -> None:
        """Let the lease expire its time from now. An expired one that nobody took can be renewed.

        Raises:
            LeaseLost: the lease was taken over or released.
        """
        renewed = connection.execute(
            self._renew,
            {**_holder(of, subject, lease), "milliseconds": _milliseconds(lease.seconds)},
        )
        if renewed.rowcount != 1:
            raise LeaseLost(subject, lease.owner, lease.epoch)

    def release(self, connection: Connection, of: Any, subject: str, lease: Lease) -> None:
        """Give the lease up; one that is lost or released already stays as it is."""
        connection.execute(self._release, _holder(of, subject, lease))

    def check(self, connection: Connection, of: Any, subject: str, lease: Lease) -> None:
        """Raise LeaseLost unless the lease is the present one; it stays so until the commit."""
        if connection.execute(self._check, _holder(of, subject, lease)).first() is None:
            raise LeaseLost(subject, lease.owner, lease.epoch)

    def state(self, connection: Connection, of: Any) -> LeaseState:
        """The lease as it stands."""
        owner, epoch, milliseconds = connection.execute(self._state, {"of": of}).one()
        return LeaseState(owner, epoch, milliseconds / 1000)


def _holder(of: Any, subject: str, lease: Lease) -> dict[str, Any]:
    if lease.subject != subject:
        raise ValueError(f"a lease on {lease.subject} was shown for {subject}")
    return {"of": of, "by_owner": lease.owner, "in_epoch": lease.epoch}


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
