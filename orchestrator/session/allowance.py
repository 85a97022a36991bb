"""The allowance of one company-window attempt (interface.md section 6): what is used, what is left,
when finalization starts. Pure; active time comes in with the journaled events.
"""

from __future__ import annotations

from typing import Final

import msgspec

FINALIZATION_REPLIES: Final = 4
"""Finalization starts so many replies before the limit, and has so many at the most."""

_THRESHOLD_QUARTERS: Final = 3

_CLOCK_SECONDS: Final = 0.001
"""Clocks agree no better than this: less time than this is none."""


class Allowance(msgspec.Struct, frozen=True, array_like=True):
    """The hard limits of an attempt; ``output_tokens`` None is no limit.

    ``native_ceiling`` and ``smallest_ceiling`` are the route's: the most tokens one reply may have,
    and the fewest that are worth asking for.
    """

    replies: int
    output_tokens: int | None
    seconds: int
    native_ceiling: int
    smallest_ceiling: int

    @property
    def replies_threshold(self) -> int:
        """Replies after which finalization starts."""
        return max(self.replies - FINALIZATION_REPLIES, 0)

    @property
    def tokens_threshold(self) -> int | None:
        """Generated tokens at which finalization starts."""
        limit = self.output_tokens
        return None if limit is None else limit * _THRESHOLD_QUARTERS // 4

    @property
    def seconds_threshold(self) -> float:
        """Active seconds at which finalization starts."""
        return self.seconds * _THRESHOLD_QUARTERS / 4


class Use(msgspec.Struct, frozen=True, array_like=True):
    """What an attempt has used: accounting-valid replies, their tokens, and active seconds.

    ``final_replies`` are those of the replies that came in finalization.
    """

    replies: int = 0
    output_tokens: int = 0
    final_replies: int = 0
    seconds: float = 0.0

    def since(self, earlier: Use) -> Use:
        """What was used after ``earlier``, which is a part of it."""
        return Use(
            self.replies - earlier.replies,
            self.output_tokens - earlier.output_tokens,
            self.final_replies - earlier.final_replies,
            self.seconds - earlier.seconds,
        )


NOTHING: Final = Use()


def finalization_reason(allowance: Allowance, use: Use) -> str | None:
    """Why finalization starts now, in words, or None while it does not."""
    if use.replies >= allowance.replies_threshold:
        return f"{use.replies} of {allowance.replies} replies are used"
    threshold = allowance.tokens_threshold
    if threshold is not None:
        if use.output_tokens >= threshold:
            return f"{use.output_tokens} of {allowance.output_tokens} generated tokens are used"
        if threshold - use.output_tokens < allowance.smallest_ceiling:
            return (
                f"fewer than {allowance.smallest_ceiling} generated tokens are left before "
                f"finalization"
            )
    if use.seconds >= allowance.seconds_threshold:
        return f"{use.seconds:.0f} of {allowance.seconds} active seconds are used"
    return None


def time_is_up(allowance: Allowance, seconds: float) -> bool:
    """Whether so many active seconds are all that an attempt has."""
    return seconds >= allowance.seconds - _CLOCK_SECONDS


def spent_reason(allowance: Allowance, use: Use) -> str | None:
    """Why nothing more may be asked, in words, or None while something may."""
    if use.replies >= allowance.replies:
        return f"all {allowance.replies} replies are used"
    if use.final_replies >= FINALIZATION_REPLIES:
        return f"all {FINALIZATION_REPLIES} replies of the finalization are used"
    limit = allowance.output_tokens
    if limit is not None and limit - use.output_tokens < allowance.smallest_ceiling:
        return (
            f"{use.output_tokens} of {limit} generated tokens are used, and fewer than "
            f"{allowance.smallest_ceiling} are not worth asking for"
        )
    if time_is_up(allowance, use.seconds):
        return f"all {allowance.seconds} active seconds are used"
    return None


def reply_ceiling(allowance: Allowance, use: Use, *, final: bool) -> int:
    """The most tokens that the next reply may have: the route's ceiling or what is left of the
    phase, whichever is smaller.
    """
    phase = allowance.output_tokens if final else allowance.tokens_threshold
    if phase is None:
        return allowance.native_ceiling
    return min(allowance.native_ceiling, phase - use.output_tokens)
