"""Identifiers that follow from the place in a conversation: the same for the same request."""

import hashlib


def item_id(prefix: str, place: bytes, number: int) -> str:
    """The identifier of part `number` of the reply at a place, such as `fc_0a1b...`."""
    digest = hashlib.sha256(prefix.encode() + place + number.to_bytes(4, "big"))
    return f"{prefix}_{digest.hexdigest()[:48]}"
