"""What is said and written in sessions, by the digest of its content and compressed (runtime.md
section 3). Whoever refers to a blob names its SHA-256; equal contents of a run are stored once, and
what is read back is checked.
"""

import hashlib
import zlib
from typing import Final, NamedTuple, Self

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    LargeBinary,
    bindparam,
    exists,
    insert,
    select,
)

from manifests.errors import RESTORE, IntegrityError
from orchestrator.store.schema import blobs

_COMPRESSION: Final = 3

_RUN = bindparam("of_run", type_=BigInteger())
_DIGEST = bindparam("of_digest", type_=LargeBinary())
_KEEP: Final = insert(blobs).from_select(
    ["run", "digest", "content"],
    select(_RUN, _DIGEST, bindparam("packed", type_=LargeBinary())).where(
        ~exists().where(blobs.c.run == _RUN, blobs.c.digest == _DIGEST)
    ),
)


class Blob(NamedTuple):
    """A content, ready to be stored."""

    digest: bytes
    packed: bytes

    @classmethod
    def of(cls, content: bytes) -> Self:
        """The blob of a content."""
        return cls(hashlib.sha256(content).digest(), zlib.compress(content, _COMPRESSION))

    def keep(self, connection: Connection, run: int) -> None:
        """Store it with the run, unless it is there."""
        connection.execute(_KEEP, {"of_run": run, "of_digest": self.digest, "packed": self.packed})


def referred(run: int, digest: ColumnElement[bytes]) -> ColumnElement[bool]:
    """What joins `blobs` to a column that names one."""
    return (blobs.c.run == run) & (blobs.c.digest == digest)


def content_of(digest: bytes, packed: bytes | None, place: str) -> bytes:
    """The content that was read back under a digest. Raises IntegrityError when it is missing or
    damaged; `place` says what it is.
    """
    try:
        content = b"" if packed is None else zlib.decompress(packed)
    except zlib.error:
        content = b""
    if packed is None or hashlib.sha256(content).digest() != digest:
        problem = "missing" if packed is None else "damaged"
        raise IntegrityError(f"{place[0].upper()}{place[1:]} is {problem}.", RESTORE)
    return content
