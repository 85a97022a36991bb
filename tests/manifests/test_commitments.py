"""Commitments to endpoints."""

import hmac
from hashlib import sha256

from manifests.canonical import canonical_json
from manifests.commitments import commitment, commitments, new_key, proves

ENDPOINT = "https://models.example/v1"


def test_the_endpoint_is_proven_with_the_key_and_not_without_it() -> None:
    key = new_key()
    committed = commitment(key, "writer", ENDPOINT)
    assert proves(key, "writer", ENDPOINT, committed)
    assert not proves(key, "writer", ENDPOINT + "/", committed)
    assert not proves(key, "buyer", ENDPOINT, committed)
    assert not proves(new_key(), "writer", ENDPOINT, committed)


def test_a_guess_cannot_be_confirmed_by_what_is_public() -> None:
    committed = commitment(new_key(), "writer", ENDPOINT)
    message = canonical_json(["ceos-endpoint-v1", "writer", ENDPOINT])
    guesses = {
        sha256(message).hexdigest(),
        sha256(ENDPOINT.encode()).hexdigest(),
        hmac.new(b"", message, sha256).hexdigest(),
        hmac.new(b"writer", message, sha256).hexdigest(),
    }
    assert committed.removeprefix("hmac-sha256:") not in guesses


def test_equal_endpoints_look_different_for_every_candidate_and_campaign() -> None:
    key, endpoints = new_key(), {"writer": ENDPOINT, "buyer": ENDPOINT}
    made = {*commitments(key, endpoints).values(), *commitments(new_key(), endpoints).values()}
    assert len(made) == 4
