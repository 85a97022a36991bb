"""Signed statements about files: an in-toto Statement in a DSSE envelope (manifests.md section 2).

A statement names files with their digests and says something about them, the predicate. Its
canonical JSON is the envelope's payload, and what is signed is the payload with its type in front
(the pre-authentication encoding of DSSE). An envelope has one written form: every other text, even
one that decodes to the same, is refused, so that no byte of it can change unnoticed.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError
from securesystemslib.dsse import Envelope as DsseEnvelope

from manifests.canonical import canonical_json, parse_json
from manifests.errors import InputError, IntegrityError
from manifests.keys import PrivateKey, PublicKey
from manifests.validation import input_error

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"

_Hexadecimal = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Text = Annotated[str, StringConstraints(min_length=1)]
_Model = TypeVar("_Model", bound=BaseModel)


class _Signed(BaseModel):
    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True
    )


class Digests(_Signed):
    """The digest of a file, by algorithm."""

    sha256: _Hexadecimal


class Size(_Signed):
    """What is said of a file beside its digest: its length in bytes."""

    bytes: Annotated[int, Field(ge=0)]


class Subject(_Signed):
    """One file that a statement is about; its name is its path, with slashes."""

    name: _Text
    digest: Digests
    annotations: Size


class Statement(_Signed):
    """An in-toto Statement, version 1. Subjects stand in the order in which they were written."""

    type: Literal["https://in-toto.io/Statement/v1"] = Field(default=STATEMENT_TYPE, alias="_type")
    subject: tuple[Subject, ...]
    predicate_type: _Text = Field(alias="predicateType")
    predicate: dict[str, JsonValue]

    def payload(self) -> bytes:
        """The canonical JSON of the statement: what is signed."""
        return canonical_json(self.model_dump(mode="json", by_alias=True))

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        """The statement in a payload.

        Raises:
            IntegrityError: it is none, or not in its canonical form.
        """
        statement = _read(cls, payload, "The statement in the envelope")
        if statement.payload() != payload:
            raise IntegrityError("The statement in the envelope is not canonical JSON (RFC 8785).")
        return statement


class EnvelopeSignature(_Signed):
    """A signature, base64, and the id of its key."""

    keyid: _Text
    sig: _Text


class EnvelopeFile(_Signed):
    """A DSSE envelope as it is written; the payload is base64."""

    payload: str
    payload_type: Literal["application/vnd.in-toto+json"] = Field(alias="payloadType")
    signatures: tuple[EnvelopeSignature, ...]


class Envelope(NamedTuple):
    """A payload with its signatures by the ids of their keys, in the order of the file."""

    payload: bytes
    signatures: Mapping[str, bytes]

    def signed_bytes(self) -> bytes:
        """What every signature is over: the payload and its type, each with its length."""
        return _signed_bytes(self.payload)

    def to_json(self) -> bytes:
        """The one written form: JSON, two spaces, keys in order, a newline at the end."""
        value = {
            "payload": _base64(self.payload),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [
                {"keyid": key, "sig": _base64(signature)}
                for key, signature in self.signatures.items()
            ],
        }
        return (json.dumps(value, indent=2) + "\n").encode()

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """The envelope in a file.

        Raises:
            IntegrityError: it is none, or not in the one written form.
        """
        found = _read(EnvelopeFile, content, "The envelope")
        try:
            payload = base64.b64decode(found.payload, validate=True)
            signatures = {
                signature.keyid: base64.b64decode(signature.sig, validate=True)
                for signature in found.signatures
            }
        except binascii.Error as error:
            raise IntegrityError(f"The envelope cannot be read: {error}.") from error
        envelope = cls(payload, signatures)
        if envelope.to_json() != content:
            raise IntegrityError(
                "The envelope is not in the form in which it was written: "
                "something in it was changed, added or put in another order."
            )
        return envelope


def sign(statement: Statement, keys: Sequence[PrivateKey]) -> Envelope:
    """The statement in an envelope, signed with every key."""
    payload = statement.payload()
    message = _signed_bytes(payload)
    return Envelope(payload, {key.public.id: key.sign(message) for key in keys})


def signature_faults(envelope: Envelope, keys: Sequence[PublicKey]) -> list[str]:
    """What is wrong with the signatures of an envelope that these keys, and no others, have signed.

    A signature of a key that is not at hand is a fault as well: nobody has checked its bytes.
    """
    message = envelope.signed_bytes()
    known = {key.id: key for key in keys}
    faults = []
    for key_id, key in known.items():
        signature = envelope.signatures.get(key_id)
        if signature is None:
            faults.append(f"there is no signature of key {key_id}")
        elif not key.verifies(signature, message):
            faults.append(f"the signature of key {key_id} does not belong to this statement")
    faults += [
        f"there is a signature of key {key_id}, which is none of the keys at hand"
        for key_id in envelope.signatures
        if key_id not in known
    ]
    return faults


def _signed_bytes(payload: bytes) -> bytes:
    return bytes(DsseEnvelope(payload, PAYLOAD_TYPE, {}).pae())


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _read(model: type[_Model], content: bytes, source: str) -> _Model:
    # What was handed in is evidence: that it cannot be read is an answer, not a wrong question.
    try:
        parse_json(content, source)
        return model.model_validate_json(content)
    except InputError as error:
        raise IntegrityError(error.message) from error
    except ValidationError as error:
        raise IntegrityError(input_error(source, error).message) from error
