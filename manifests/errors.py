"""The errors that reach a person: each says what is wrong, where, and what to do about it.

Everything below `ArenaError` is an expected failure: the command line prints its text and ends
with its exit code, without a traceback. Anything else that escapes is a defect of this program.
"""

from typing import ClassVar, Final

RESTORE: Final = "Restore the database from a backup."
GO_ON: Final = "Resume the campaign: it goes on from what is stored."
DEFECT: Final = "Keep everything as it is, and report this: it is a defect of this program."
"""What to do about it, where several errors say the same."""


class ArenaError(Exception):
    """An expected failure with a message, an optional remedy and the exit code of its kind.

    Both parts travel in `args`, so that the error survives pickling between processes unchanged.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message

    @property
    def in_one_line(self) -> str:
        """Message and remedy behind each other, for a reason or a cell of a table."""
        if not self.remedy:
            return self.message
        # A message may end in what another program said, which need not be a sentence.
        stop = "" if self.message.endswith((".", "!", "?", ":")) else "."
        return f"{self.message}{stop} {self.remedy}"


class InputError(ArenaError):
    """What a person or another program handed in cannot be used: a file, an option, a value."""

    exit_code: ClassVar[int] = 2


class StoreError(ArenaError):
    """The store or the system under it refuses: read-only, full, locked, from a newer version."""

    exit_code: ClassVar[int] = 3


class IntegrityError(ArenaError):
    """Recorded data contradicts itself: a digest, a plan hash or a replayed value differs."""

    exit_code: ClassVar[int] = 1
