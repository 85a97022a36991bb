"""What a check found: a subject, how it is, and what to do about it."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Health(StrEnum):
    """How a checked thing is; only `failed` keeps a campaign from running."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result. `subject` is a candidate, or empty for the machine; `remedy` is empty if all is
    well.
    """

    check: str
    subject: str
    health: Health
    found: str
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        """The finding as plain JSON."""
        return asdict(self) | {"health": self.health.value}


def ok(check: str, subject: str, found: str) -> Finding:
    return Finding(check, subject, Health.OK, found)


def failed(check: str, subject: str, found: str, remedy: str) -> Finding:
    return Finding(check, subject, Health.FAILED, found, remedy)


def warning(check: str, subject: str, found: str, remedy: str) -> Finding:
    return Finding(check, subject, Health.WARNING, found, remedy)


def skipped(check: str, subject: str, why: str) -> Finding:
    return Finding(check, subject, Health.SKIPPED, why)
