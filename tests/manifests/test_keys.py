"""Keys: private ones for their owner alone, public ones that other tools read."""

import stat
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from manifests.errors import InputError
from manifests.keys import PrivateKey, PublicKey, generate, public_path, read_private, read_public

SECRET = b"correct horse"


def never() -> bytes:
    raise AssertionError("nobody has to be asked for a passphrase")


def test_a_plain_key_is_for_its_owner_alone_and_signs(tmp_path: Path) -> None:
    path = tmp_path / "signing.pem"
    public = generate(path, None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    key = read_private(path, never)
    assert key.public.id == public.id == read_public(public_path(path)).id
    signature = key.sign(b"message")
    assert public.verifies(signature, b"message")
    assert not public.verifies(signature, b"Message")
    assert not public.verifies(signature[:-1], b"message")
    assert not public.verifies(b"", b"message")


def test_a_key_with_a_passphrase_is_unreadable_without_it(tmp_path: Path) -> None:
    path = tmp_path / "signing.pem"
    public = generate(path, SECRET)
    assert b"BEGIN ENCRYPTED PRIVATE KEY" in path.read_bytes()
    assert read_private(path, lambda: SECRET).public.id == public.id
    with pytest.raises(InputError, match="another passphrase") as found:
        read_private(path, lambda: b"wrong horse")
    assert "wrong horse" not in str(found.value)
    path.chmod(0o644)
    assert read_private(path, lambda: SECRET).public.id == public.id


def test_a_plain_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "signing.pem"
    generate(path, None)
    path.chmod(0o640)
    with pytest.raises(InputError, match=r"others can read\.\n  .*chmod 600"):
        read_private(path, never)


def test_no_key_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "signing.pem"
    generate(path, None)
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        generate(path, None)
    assert path.read_bytes() == before
    path.unlink()
    with pytest.raises(InputError, match=r"signing.pub.pem exists already"):
        generate(path, None)
    assert not path.exists()


def test_what_is_no_key_is_told_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "signing.pem"
    generate(path, None)
    with pytest.raises(InputError, match="holds a private key"):
        read_public(path)
    with pytest.raises(InputError, match="not a private key"):
        read_private(public_path(path), never)
    (tmp_path / "junk").write_bytes(b"\x00junk")
    with pytest.raises(InputError, match="junk is not a public key in PEM form"):
        read_public(tmp_path / "junk")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_public(tmp_path / "absent")
    with pytest.raises(InputError, match="cannot be written"):
        generate(tmp_path / "absent" / "signing.pem", None)


def test_the_id_is_what_openssl_computes(tmp_path: Path) -> None:
    path = tmp_path / "signing.pem"
    public = generate(path, None)
    command = "openssl pkey -pubin -outform DER | openssl dgst -sha256 -r"
    done = subprocess.run(
        command, shell=True, input=public.pem, capture_output=True, text=True, check=True
    )
    assert f"sha256:{done.stdout.split()[0]}" == public.id


def test_a_key_of_another_kind_signs_as_well() -> None:
    key = generate_private_key(SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    private = PrivateKey(pem, None)
    public = PublicKey(private.public.pem.encode())
    assert public.kind == "ecdsa"
    assert public.verifies(private.sign(b"message"), b"message")
