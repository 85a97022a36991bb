"""Commitments to endpoints: where a model was reached, provable later and not to be guessed.

A commitment is an HMAC-SHA256 under a random key that stays in the campaign's store. Who has the
key can prove to anybody that an endpoint is the one that was committed to; without it nobody can
confirm a guess, however few endpoints there are to be guessed.
"""

import hmac
import secrets
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from manifests.canonical import canonical_json

KEY_BYTES: Final = 32
PREFIX: Final = "hmac-sha256:"


def new_key() -> bytes:
    """A key for the commitments of one campaign."""
    return secrets.token_bytes(KEY_BYTES)


def commitment(key: bytes, candidate: str, endpoint: str) -> str:
    """`hmac-sha256:` and 64 hexadecimal digits over the canonical JSON of both texts, the candidate
    first: one endpoint looks different for every candidate.
    """
    message = canonical_json(["ceos-endpoint-v1", candidate, endpoint])
    return PREFIX + hmac.new(key, message, sha256).hexdigest()


def commitments(key: bytes, endpoints: Mapping[str, str]) -> dict[str, str]:
    """The commitment to each candidate's endpoint."""
    return {name: commitment(key, name, endpoint) for name, endpoint in endpoints.items()}


def proves(key: bytes, candidate: str, endpoint: str, committed: str) -> bool:
    """Whether an endpoint is the one that was committed to under this key."""
    return hmac.compare_digest(commitment(key, candidate, endpoint), committed)
