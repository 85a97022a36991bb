"""Seals on reasoning: whether it came back as it was sent, and to its own place.

A seal is an HMAC over the model, the place in the conversation and what stands there, so that
reasoning that was altered, moved, lost or taken from another conversation is told from the true.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

import msgspec

_ENCODER: Final = msgspec.msgpack.Encoder()


class Sealer:
    """Makes and checks seals under one key."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def reasoning(self, model: str, place: bytes, reasoning: str, call_ids: Sequence[str]) -> str:
        """The seal of reasoning at a place, before the calls it led to."""
        return self._seal("reasoning", model, place, reasoning, list(call_ids))

    def call(self, model: str, place: bytes, call_id: str) -> str:
        """The seal of the first call of a reply at a place."""
        return self._seal("call", model, place, call_id)

    def _seal(self, *parts: object) -> str:
        return base64.b64encode(
            hmac.digest(self._key, _ENCODER.encode(parts), hashlib.sha256)
        ).decode()


def same(seal: str, expected: str) -> bool:
    """Whether two seals are equal; also for a seal that is no ASCII text."""
    return hmac.compare_digest(seal.encode(), expected.encode())
