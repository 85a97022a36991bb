"""Signed statements: what is signed, and that no byte of an envelope changes unnoticed."""

import json
from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from manifests.errors import InputError, IntegrityError
from manifests.keys import PrivateKey, PublicKey
from manifests.signing import (
    Digests,
    Envelope,
    Size,
    Statement,
    Subject,
    sign,
    signature_faults,
)

HASH = 64 * "a"


@cache
def key(number: int) -> PrivateKey:
    private = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return PrivateKey(pem, None)


def statement(**predicate: object) -> Statement:
    subject = Subject(name="a/b.json", digest=Digests(sha256=HASH), annotations=Size(bytes=3))
    return Statement(
        subject=(subject,),
        predicate_type="urn:test",
        predicate={"über": "Ω", "large": str(2**70), **predicate},  # type: ignore[dict-item]
    )


def faults(content: bytes, *keys: PublicKey) -> list[str]:
    """All that is wrong with an envelope, however it is found."""
    try:
        envelope = Envelope.from_json(content)
        found = signature_faults(envelope, keys)
        Statement.from_payload(envelope.payload)
    except IntegrityError as error:
        return [error.message]
    return found


def test_the_statement_is_an_in_toto_statement_in_canonical_json() -> None:
    payload = statement().payload()
    assert payload.decode() == (
        '{"_type":"https://in-toto.io/Statement/v1",'
        f'"predicate":{{"large":"{2**70}","über":"Ω"}},'
        '"predicateType":"urn:test",'
        f'"subject":[{{"annotations":{{"bytes":3}},"digest":{{"sha256":"{HASH}"}},'
        '"name":"a/b.json"}]}'
    )
    assert Statement.from_payload(payload) == statement()


def test_an_envelope_is_deterministic_and_read_back() -> None:
    content = sign(statement(), [key(1), key(2)]).to_json()
    assert content == sign(statement(), [key(1), key(2)]).to_json()
    assert Envelope.from_json(content).to_json() == content
    assert faults(content, key(1).public, key(2).public) == []


def test_a_stripped_and_a_foreign_signature_are_named() -> None:
    content = sign(statement(), [key(1)]).to_json()
    assert faults(content, key(1).public, key(2).public) == [
        f"there is no signature of key {key(2).public.id}"
    ]
    assert faults(content, key(2).public) == [
        f"there is no signature of key {key(2).public.id}",
        f"there is a signature of key {key(1).public.id}, which is none of the keys at hand",
    ]
    both = sign(statement(), [key(1), key(2)]).to_json()
    (fault,) = faults(both, key(1).public)
    assert fault.startswith(f"there is a signature of key {key(2).public.id}")
    none = Envelope(statement().payload(), {}).to_json()
    assert faults(none, key(1).public) == [f"there is no signature of key {key(1).public.id}"]


def test_the_signature_of_another_statement_does_not_fit() -> None:
    other = sign(statement(note="another"), [key(1)])
    moved = Envelope(statement().payload(), other.signatures).to_json()
    assert faults(moved, key(1).public) == [
        f"the signature of key {key(1).public.id} does not belong to this statement"
    ]


def test_every_changed_byte_is_found() -> None:
    content = sign(statement(), [key(1)]).to_json()
    for place, byte in enumerate(content):
        for other in {byte ^ 1, byte ^ 0x20, ord(" "), ord("A"), 0}:
            changed = content[:place] + bytes([other]) + content[place + 1 :]
            if changed != content:
                assert faults(changed, key(1).public), (place, other)


def test_every_cut_and_every_addition_is_found() -> None:
    content = sign(statement(), [key(1)]).to_json()
    for place in range(len(content)):
        assert faults(content[:place], key(1).public), place
        assert faults(content[:place] + b" " + content[place:], key(1).public), place
    assert faults(content + b"\n", key(1).public)


def test_what_decodes_to_the_same_is_refused() -> None:
    content = sign(statement(), [key(1)]).to_json()
    data = json.loads(content)
    assert faults(json.dumps(data).encode(), key(1).public)
    assert faults(json.dumps({**data, "more": 1}, indent=2).encode(), key(1).public)
    twice = {**data, "signatures": data["signatures"] * 2}
    assert faults((json.dumps(twice, indent=2) + "\n").encode(), key(1).public)
    payload = json.dumps(json.loads(statement().payload())).encode()
    assert faults(Envelope(payload, {}).to_json()) == [
        "The statement in the envelope is not canonical JSON (RFC 8785)."
    ]


@given(st.binary(max_size=400))
def test_junk_is_an_answer_and_no_defect(content: bytes) -> None:
    assert faults(content, key(1).public)
    assert faults(Envelope(content, {}).to_json())


def test_large_integers_are_refused_rather_than_rounded() -> None:
    with pytest.raises(InputError, match="beyond 2\\*\\*53"):
        statement(large=2**53).payload()
