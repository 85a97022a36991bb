"""Seals on reasoning: whether it came back as it was sent, and to its own place.

A seal is an HMAC over the model, the place in the conversation and what stands there, so that
reasoning that was altered, moved, lost or taken from another conversation is told from the true.
Two of the protocols send reasoning in a cipher, with the seal inside.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES: Final = 12
_DIGEST_BYTES: Final = 32

_ENCODER: Final = msgspec.msgpack.Encoder()


class Closed(NamedTuple):
    """Reasoning out of its cipher, and the digest of where it belongs."""

    reasoning: str
    digest: bytes


class Sealer:
    """Makes and checks seals under one key."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()
        self._cipher = AESGCM(hashlib.sha256(b"cipher" + self._key).digest())

    def reasoning(self, model: str, place: bytes, reasoning: str, call_ids: Sequence[str]) -> str:
        """The seal of reasoning at a place, before the calls it led to."""
        return self._seal("reasoning", model, place, reasoning, list(call_ids))

    def call(self, model: str, place: bytes, call_id: str) -> str:
        """The seal of the first call of a reply at a place."""
        return self._seal("call", model, place, call_id)

    def closed(self, model: str, place: bytes, reasoning: str, call_ids: Sequence[str]) -> str:
        """Reasoning that nobody else can read, with its seal: text that goes back as it came."""
        plain = self._digest("reasoning", model, place, reasoning, list(call_ids))
        plain += reasoning.encode()
        # The same reasoning at the same place is the same text, so that replies can be repeated.
        nonce = hmac.digest(self._key, b"nonce" + plain, hashlib.sha256)[:_NONCE_BYTES]
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, plain, None)).decode()

    def opened(self, text: str) -> Closed | None:
        """What `closed` has closed; None for any other text."""
        try:
            sealed = base64.b64decode(text.encode(), validate=True)
            plain = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
            return Closed(plain[_DIGEST_BYTES:].decode(), plain[:_DIGEST_BYTES])
        except (ValueError, InvalidTag):
            return None

    def belongs(self, closed: Closed, model: str, place: bytes, call_ids: Sequence[str]) -> bool:
        """Whether reasoning was said at this place, before these calls."""
        expected = self._digest("reasoning", model, place, closed.reasoning, list(call_ids))
        return hmac.compare_digest(closed.digest, expected)

    def _seal(self, *parts: object) -> str:
        return base64.b64encode(self._digest(*parts)).decode()

    def _digest(self, *parts: object) -> bytes:
        return hmac.digest(self._key, _ENCODER.encode(parts), hashlib.sha256)


def same(seal: str, expected: str) -> bool:
    """Whether two seals are equal; also for a seal that is no ASCII text."""
    return hmac.compare_digest(seal.encode(), expected.encode())
