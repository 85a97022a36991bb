"""Keys for signatures: PEM files, Ed25519 unless somebody brings another kind.

A key's id is the SHA-256 of its public half in DER form, which
`openssl pkey -pubin -outform DER | openssl dgst -sha256` computes as well.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.exceptions import UnverifiedSignatureError, VerificationError
from securesystemslib.signer import CryptoSigner, Signature, SSlibKey

from manifests.canonical import digest_bytes
from manifests.errors import InputError

PUBLIC_SUFFIX: Final = ".pub.pem"

_LARGEST_KEY_BYTES: Final = 64 * 1024
_PRIVATE_MODE: Final = 0o600


class PublicKey:
    """The half that everybody may have; checks signatures."""

    def __init__(self, pem: bytes, source: str = "The key") -> None:
        """The key in a PEM text. Raises InputError when that is no public key."""
        try:
            key = load_pem_public_key(pem)
            der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            self.id = digest_bytes(der)
            self._key = SSlibKey.from_crypto(key, keyid=self.id)
        except (ValueError, UnsupportedAlgorithm) as error:
            if b"PRIVATE KEY" in pem:
                raise InputError(
                    f"{source} holds a private key; a public one is wanted.",
                    "Write its public half with: ceo-arena keys show",
                ) from error
            raise InputError(
                f"{source} is not a public key in PEM form.",
                "Give the file that `ceo-arena keys generate` wrote beside the private key.",
            ) from error
        self.pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    @property
    def kind(self) -> str:
        """The kind of key, such as `ed25519`."""
        return str(self._key.keytype)

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether a signature was made over a message with this key's private half."""
        try:
            self._key.verify_signature(Signature(self.id, signature.hex()), message)
        except (UnverifiedSignatureError, VerificationError):
            return False
        return True


class PrivateKey:
    """The half that signs."""

    def __init__(self, pem: bytes, passphrase: bytes | None, source: str = "The key") -> None:
        """The key in a PEM text.

        Raises:
            InputError: no private key of a kind that signs, or another passphrase.
        """
        try:
            key = load_pem_private_key(pem, passphrase)
            public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
            self.public = PublicKey(public, source)
            own = SSlibKey.from_crypto(key.public_key(), keyid=self.public.id)
            self._signer = CryptoSigner(key, own)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            # None of these messages is repeated: they may quote what was handed in.
            raise InputError(
                f"{source} cannot be used: it is not a private key, or has another passphrase.",
                "Make one with: ceo-arena keys generate",
            ) from error

    def sign(self, message: bytes) -> bytes:
        """The signature over a message."""
        return bytes.fromhex(self._signer.sign(message).signature)


def generate(path: Path, passphrase: bytes | None) -> PublicKey:
    """Make an Ed25519 key: its private half in `path`, for its owner's eyes only and encrypted when
    there is a passphrase; its public half beside it, in `public_path(path)`.

    Raises:
        InputError: one of the files exists, or cannot be written.
    """
    if not path.name:
        raise InputError("The name of the key's file is empty.", "Name one, such as mine.pem.")
    key = Ed25519PrivateKey.generate()
    how = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for place in (path, public_path(path)):
        # Unlike `exists`, this does not mind a name that no file can have.
        if os.path.lexists(place):
            raise InputError(
                f"{place} exists already.", "A key is never overwritten; name another."
            )
    _write(path, private, _PRIVATE_MODE)
    _write(public_path(path), public, 0o644)
    return PublicKey(public)


def public_path(path: Path) -> Path:
    """Where the public half of the key in `path` stands: `signing.pem` has `signing.pub.pem`."""
    return path.with_suffix(PUBLIC_SUFFIX)


def read_public(path: Path) -> PublicKey:
    """The public key in a file. Raises InputError."""
    return PublicKey(_content(path), str(path))


def public_half(path: Path, passphrase: Callable[[], bytes]) -> PublicKey:
    """The public half of a key, whichever half stands in the file; errors as `read_private`."""
    if b"PRIVATE KEY" in _content(path):
        return read_private(path, passphrase).public
    return read_public(path)


def read_private(path: Path, passphrase: Callable[[], bytes]) -> PrivateKey:
    """The private key in a file; the passphrase is asked for only when the key is encrypted.

    Raises:
        InputError: no such key, another passphrase, or a plain key that others can read.
    """
    pem = _content(path)
    if b"ENCRYPTED" in pem:
        return PrivateKey(pem, passphrase(), str(path))
    key = PrivateKey(pem, None, str(path))
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InputError(
            f"{path} is a private key without a passphrase that others can read.",
            f"Keep it to yourself: chmod 600 {path}",
        )
    return key


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_KEY_BYTES)
    except OSError as error:
        raise InputError(
            f"The key {path} cannot be read: {error.strerror}.",
            "Name a key as PEM; `ceo-arena keys generate` makes one.",
        ) from error


def _write(path: Path, content: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
    except OSError as error:
        raise InputError(
            f"The key {path} cannot be written: {error.strerror}.", "Name another place for it."
        ) from error
