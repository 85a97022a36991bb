"""The stored forms: MessagePack for records, canonical JSON for decisions and plans."""

from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from typing import Final, TypeVar

import msgspec
from pydantic import ValidationError

from campaigns.plan import PlannedRun
from engine.decision import CompanyDecision
from engine.records import CompanyDay, DayRecord
from manifests.canonical import canonical_json, digest_bytes
from manifests.errors import RESTORE, IntegrityError
from orchestrator.store.schema import COMPANY_DAY_COLUMNS

_Record = TypeVar("_Record")
_Member = TypeVar("_Member", bound=StrEnum)

_pack: Final = msgspec.msgpack.Encoder().encode
_sorted_json: Final = msgspec.json.Encoder(order="deterministic").encode
_unpack_day: Final = msgspec.msgpack.Decoder(DayRecord).decode
_unpack_company_day: Final = msgspec.msgpack.Decoder(CompanyDay).decode
_parse_planned: Final = msgspec.json.Decoder(PlannedRun).decode


def decision_json(decision: CompanyDecision) -> bytes:
    """The canonical JSON (RFC 8785) of a decision; fields that are None are left out."""
    value = decision.model_dump(mode="json", exclude_none=True)
    fast = _sorted_json(value)
    # A decision holds texts and integers alone. With ASCII texts both forms are the same bytes, and
    # the general way takes fifty times as long; only texts outside ASCII are sorted differently.
    return fast if fast.isascii() else canonical_json(value)


def read_decision(content: bytes, place: str) -> CompanyDecision:
    """Inverse of `decision_json`. Raises IntegrityError when the bytes are no decision."""
    try:
        return CompanyDecision.model_validate_json(content)
    except ValidationError as error:
        raise IntegrityError(
            f"{place} cannot be read: {error.errors()[0]['msg']}.", RESTORE
        ) from error


def planned_json(planned: PlannedRun) -> bytes:
    """The canonical JSON of a planned run."""
    return canonical_json(asdict(planned))


def read_planned(content: bytes, place: str) -> PlannedRun:
    """Inverse of `planned_json`. Raises IntegrityError when the bytes are no planned run."""
    return _decoded(_parse_planned, content, place)


def day_digest(record: DayRecord) -> str:
    """`sha256:<hex>` of the MessagePack encoding of a whole day's record, companies included."""
    return digest_bytes(_pack(record))


def day_details(record: DayRecord) -> bytes:
    """The encoding of a day's record without its companies, which have rows of their own."""
    return _pack(msgspec.structs.replace(record, companies=[]))


def read_day(content: bytes, place: str) -> DayRecord:
    """Inverse of `day_details`. Raises IntegrityError when the bytes are no record."""
    return _decoded(_unpack_day, content, place)


def company_day_details(record: CompanyDay) -> bytes:
    """The encoding of a company-day's record."""
    return _pack(record)


def read_company_day(content: bytes, place: str) -> CompanyDay:
    """Inverse of `company_day_details`. Raises IntegrityError when the bytes are no record."""
    return _decoded(_unpack_company_day, content, place)


def company_day_columns(record: CompanyDay) -> dict[str, int]:
    """What the query columns of a company-day hold, by name, in the order of the table."""
    values = (
        record.opening_cash_cents,
        record.closing_cash_cents,
        *msgspec.structs.astuple(record.ledger),
        record.exited,
    )
    return dict(zip(COMPANY_DAY_COLUMNS, values, strict=True))


def read_member(kind: type[_Member], text: str, place: str) -> _Member:
    """The member of an enumeration that a column holds. Raises IntegrityError when it is none."""
    try:
        return kind(text)
    except ValueError as error:
        raise IntegrityError(f"{place} is {text!r}, which does not exist.", RESTORE) from error


def _decoded(decode: Callable[[bytes], _Record], content: bytes, place: str) -> _Record:
    try:
        return decode(content)
    except msgspec.MsgspecError as error:
        raise IntegrityError(f"{place} cannot be read: {error}.", RESTORE) from error
