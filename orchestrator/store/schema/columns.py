"""The kinds of columns, and how constraints are called."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    TypeDecorator,
)

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

# SQLite numbers rows by itself only where the key is INTEGER.
Number: Final = BigInteger().with_variant(Integer(), "sqlite")


def integer(name: str) -> Column[int]:
    """A whole number of 64 bits."""
    return Column(name, BigInteger, nullable=False)


class Words(TypeDecorator[str]):
    """Text that may come from anywhere, such as the reason of an error: without what PostgreSQL
    cannot hold, a zero, and what no encoding can, half a surrogate pair.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace("\0", "\ufffd").encode(errors="replace").decode()


def text(name: str) -> Column[str]:
    """Text of any origin."""
    return Column(name, Words, nullable=False)


def binary(name: str) -> Column[bytes]:
    """Bytes, such as canonical JSON or an encoded state."""
    return Column(name, LargeBinary, nullable=False)


def of_run() -> Column[int]:
    """The run of a row, as part of its key."""
    return Column("run", BigInteger, ForeignKey("runs.run"), primary_key=True)


def key(name: str) -> Column[int]:
    """A whole number as part of a row's key."""
    return Column(name, BigInteger, primary_key=True, autoincrement=False)
