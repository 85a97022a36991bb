"""A bundle: files, and one signed statement about all of them (manifests.md section 3).

This module knows files and signatures. What stands in the files is told by those who write and read
them; here, only the manifest and the summary of the results, which the statement repeats.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from manifests.canonical import canonical_json, parse_json
from manifests.containers import (
    Fault,
    Source,
    Target,
    new_container,
    open_container,
    replace_last,
)
from manifests.errors import ArenaError, InputError, IntegrityError
from manifests.keys import PrivateKey, PublicKey
from manifests.model import CampaignManifest
from manifests.signing import (
    Digests,
    Envelope,
    Size,
    Statement,
    Subject,
    sign,
    signature_faults,
)

FORMAT: Final = "ceos-bundle-v1"
PREDICATE_TYPE: Final = f"urn:ceo-arena:{FORMAT}"

ENVELOPE_FILE: Final = "envelope.json"
MANIFEST_FILE: Final = "manifest.json"
RESULTS_FILE: Final = "results.json"

LARGEST_DOCUMENT_BYTES: Final = 256 * 1024 * 1024
LARGEST_LINE_BYTES: Final = 64 * 1024 * 1024
_PIECE_BYTES: Final = 1024 * 1024
_MOST_TOLD: Final = 8

THE_ENVELOPE: Final = f"the envelope ({ENVELOPE_FILE})"


class Predicate(BaseModel):
    """What the statement says: the manifest and the summary of the results, by value.

    `written_with` are the versions on which the bytes of the files depend.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    format: Literal["ceos-bundle-v1"] = FORMAT
    written_with: dict[str, str]
    conversations: bool
    manifest: dict[str, JsonValue]
    results: dict[str, JsonValue]


def document(value: Any) -> bytes:
    """A JSON document as bundles have it: keys in order, two spaces, a newline at the end."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


class BundleWriter:
    """A bundle as it is written, file by file."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._subjects: list[Subject] = []

    def add(self, name: str, pieces: Iterable[bytes]) -> None:
        """Write a file."""
        digest = hashlib.sha256()
        size = 0

        def told() -> Iterator[bytes]:
            nonlocal size
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                yield piece

        self._target.add(name, told())
        self._subjects.append(
            Subject(
                name=name,
                digest=Digests(sha256=digest.hexdigest()),
                annotations=Size(bytes=size),
            )
        )

    @property
    def files(self) -> int:
        """How many files there are, the envelope left out."""
        return len(self._subjects)

    def seal(self, predicate: Predicate, keys: Sequence[PrivateKey]) -> Envelope:
        """Write the manifest, the results, and the envelope; nothing can be added afterwards."""
        # As a reader finds them: canonical JSON knows no 5.0 beside 5.
        said = parse_json(canonical_json(predicate.model_dump(mode="json")), "The predicate")
        self.add(MANIFEST_FILE, [document(said["manifest"])])
        self.add(RESULTS_FILE, [document(said["results"])])
        statement = Statement(
            subject=tuple(self._subjects), predicate_type=PREDICATE_TYPE, predicate=said
        )
        envelope = sign(statement, keys)
        self._target.add(ENVELOPE_FILE, [envelope.to_json()])
        return envelope


@contextmanager
def new_bundle(path: Path) -> Iterator[BundleWriter]:
    """A bundle to be written at a path, complete or not at all; errors as `new_container`."""
    with new_container(path) as target:
        yield BundleWriter(target)


class Bundle:
    """A bundle as it is read. A file is handed out when its bytes have the digest of the statement,
    whose signatures `verify` checks.
    """

    def __init__(self, source: Source, place: str) -> None:
        self.place = place
        self.source = source

    @classmethod
    def open(cls, path: Path) -> Self:
        """The bundle at a path. Raises InputError when there is none."""
        return cls(open_container(path), str(path))

    @cached_property
    def envelope(self) -> Envelope:
        """The envelope. Raises IntegrityError when there is none, or not in its written form."""
        if ENVELOPE_FILE not in self.source.names:
            raise IntegrityError(
                f"{self.place} has no {ENVELOPE_FILE}.", "Name a bundle that `export` has made."
            )
        with self.source.open(ENVELOPE_FILE) as file:
            return Envelope.from_json(_bounded(file, ENVELOPE_FILE, LARGEST_DOCUMENT_BYTES))

    @cached_property
    def statement(self) -> Statement:
        """The statement. Raises IntegrityError when the envelope holds none about a bundle."""
        statement = Statement.from_payload(self.envelope.payload)
        if statement.predicate_type != PREDICATE_TYPE:
            raise IntegrityError(
                f"The statement in the envelope is about {statement.predicate_type}, "
                f"not about a bundle ({PREDICATE_TYPE}).",
                "A bundle of another version is read by the version that made it.",
            )
        return statement

    @cached_property
    def predicate(self) -> Predicate:
        """What the statement says of the files. Raises IntegrityError."""
        try:
            return Predicate.model_validate_json(json.dumps(self.statement.predicate))
        except ValidationError as error:
            message = error.errors()[0]["msg"]
            raise IntegrityError(
                f"The predicate of the statement is not valid: {message}."
            ) from error

    @cached_property
    def manifest(self) -> CampaignManifest:
        """The manifest in the statement. Raises IntegrityError when its plan hash does not fit."""
        return manifest_of(self.predicate.manifest, "The manifest in the envelope")

    @cached_property
    def subjects(self) -> dict[str, Subject]:
        """The files that the statement is about, by name, in its order."""
        return {subject.name: subject for subject in self.statement.subject}

    def content(self, name: str) -> bytes:
        """All of a file. Raises IntegrityError when it is not there or not the signed one."""
        self.check(name)
        with self.source.open(name) as file:
            return _bounded(file, name, LARGEST_DOCUMENT_BYTES)

    def document(self, name: str) -> Any:
        """The value of a JSON document; errors as `content`."""
        return parse_json(self.content(name), name)

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a file, one at a time; errors as `content`."""
        self.check(name)
        with self.source.open(name) as file:
            while line := file.readline(LARGEST_LINE_BYTES):
                if not line.endswith(b"\n"):
                    raise IntegrityError(f"{name} has a line without an end.")
                yield line

    def check(self, name: str) -> None:
        """Raise IntegrityError when a file is not the one that the statement is about."""
        if name not in self.subjects:
            raise IntegrityError(f"The statement of the bundle names no file {name}.")
        fault = self.file_fault(self.subjects[name])
        if fault is not None:
            raise IntegrityError(f"{fault}.", "Ask for the bundle as it was exported.")

    def file_fault(self, subject: Subject) -> Fault | None:
        """What is wrong with one file."""
        if subject.name not in self.source.names:
            return Fault(subject.name, "this file is missing")
        digest = hashlib.sha256()
        size = 0
        with self.source.open(subject.name) as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
                size += len(piece)
        if size != subject.annotations.bytes:
            return Fault(
                subject.name,
                f"this file has {size:,} bytes, and {subject.annotations.bytes:,} were exported",
            )
        if digest.hexdigest() != subject.digest.sha256:
            return Fault(subject.name, "this file is not the one that was exported")
        return None


def faults(bundle: Bundle, keys: Sequence[PublicKey]) -> list[Fault]:
    """Everything in which a bundle is not what the owners of these keys have signed.

    Without keys its signatures stay unchecked, so that only accidents are found.
    """
    try:
        envelope, statement, _manifest = bundle.envelope, bundle.statement, bundle.manifest
    except ArenaError as error:
        return [*bundle.source.faults, Fault(THE_ENVELOPE, error.message)]
    found = list(bundle.source.faults)
    if keys:
        found += [Fault(THE_ENVELOPE, fault) for fault in signature_faults(envelope, keys)]
    names = [subject.name for subject in statement.subject]
    if len(set(names)) < len(names):
        found.append(Fault(THE_ENVELOPE, "a file is named twice in it"))
    of_another = _other_campaign(bundle)
    if of_another is not None:
        return [*found, of_another]
    for subject in statement.subject:
        fault = bundle.file_fault(subject)
        if fault is not None:
            found.append(fault)
    found += [
        Fault(name, "this file was added: the statement does not name it")
        for name in bundle.source.names
        if name not in bundle.subjects and name != ENVELOPE_FILE
    ]
    return found or [*_order_faults(bundle), *_repeated_faults(bundle)]


def checked(path: Path, keys: Sequence[PublicKey]) -> Bundle:
    """The bundle at a path, without a fault.

    Raises:
        InputError: there is none.
        IntegrityError: it is not what the owners of these keys have signed; names the first faults.
    """
    bundle = Bundle.open(path)
    found = faults(bundle, keys)
    if found:
        lines = [f"  {fault}" for fault in found[:_MOST_TOLD]]
        more = [f"  and {len(found) - _MOST_TOLD} more"] if len(found) > _MOST_TOLD else []
        raise IntegrityError(
            "\n".join([f"{path} is not as it was exported:", *lines, *more]),
            "Ask for the bundle as it was made, and for the key of whoever signed it.",
        )
    return bundle


def add_signature(path: Path, keys: Sequence[PublicKey], signer: PrivateKey) -> Envelope:
    """Sign a bundle that the owners of `keys` have signed; nothing but its envelope changes.

    Raises:
        InputError: there is no bundle, or the signer has signed it already.
        IntegrityError: it is not what they have signed.
        StoreError: the system refuses to write.
    """
    envelope = checked(path, keys).envelope
    if signer.public.id in envelope.signatures:
        raise InputError(
            f"{path} is signed with key {signer.public.id} already.", "Sign it with another key."
        )
    signature = signer.sign(envelope.signed_bytes())
    again = envelope._replace(signatures={**envelope.signatures, signer.public.id: signature})
    replace_last(path, ENVELOPE_FILE, again.to_json())
    return again


def manifest_of(value: Any, source: str) -> CampaignManifest:
    """The manifest in a JSON value. Raises IntegrityError when it is none."""
    try:
        return CampaignManifest.from_json(json.dumps(value), source)
    except ArenaError as error:
        raise IntegrityError(error.message, error.remedy) from error


def _other_campaign(bundle: Bundle) -> Fault | None:
    """Says that the envelope belongs to other files, when they have a manifest of their own."""
    if MANIFEST_FILE not in bundle.source.names:
        return None
    try:
        with bundle.source.open(MANIFEST_FILE) as file:
            content = _bounded(file, MANIFEST_FILE, LARGEST_DOCUMENT_BYTES)
        there = CampaignManifest.from_json(content, MANIFEST_FILE)
    except ArenaError:
        # It was changed, and its digest will say so.
        return None
    here = bundle.manifest
    if there.plan_hash == here.plan_hash:
        return None
    return Fault(
        THE_ENVELOPE,
        f"it is about campaign {here.provenance.campaign} with plan {here.plan_hash}, but the "
        f"files are of campaign {there.provenance.campaign} with plan {there.plan_hash}",
    )


def _order_faults(bundle: Bundle) -> Iterator[Fault]:
    names = [subject.name for subject in bundle.statement.subject]
    if bundle.source.has_order and list(bundle.source.names) != [*names, ENVELOPE_FILE]:
        yield Fault("the archive", "its files do not stand in the order of the statement")


def _repeated_faults(bundle: Bundle) -> Iterator[Fault]:
    for name, said in (
        (MANIFEST_FILE, bundle.predicate.manifest),
        (RESULTS_FILE, bundle.predicate.results),
    ):
        if name not in bundle.subjects:
            yield Fault(THE_ENVELOPE, f"it is not about a file {name}")
        elif bundle.content(name) != document(said):
            yield Fault(name, "it does not say what the statement says")


def _bounded(file: BinaryIO, name: str, most: int) -> bytes:
    content = file.read(most + 1)
    if len(content) > most:
        raise IntegrityError(f"{name} is larger than {most:,} bytes, which no such file is.")
    return content
