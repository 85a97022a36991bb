"""Commands about keys that sign, and the passphrase that opens one."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from manifests.errors import InputError
from orchestrator.cli.output import JsonOption, notice, print_json
from orchestrator.cli.tables import print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from manifests.keys import PrivateKey, PublicKey

app = typer.Typer()
keys_app = typer.Typer(no_args_is_help=True, help="Keys that sign bundles: make one, show one.")
app.add_typer(keys_app, name="keys")

PASSPHRASE_VARIABLE: Final = "CEO_ARENA_KEY_PASSPHRASE"

PublicKeysOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="The public key of whoever signed; give one for each signature.",
    ),
]


@keys_app.command()
def generate(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where the private key goes, such as mine.pem.")
    ],
    encrypt: Annotated[
        bool,
        typer.Option(
            "--encrypt",
            help=f"Ask for a passphrase, or take it from {PASSPHRASE_VARIABLE}.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make an Ed25519 key; its public half goes beside it, into a file that ends with .pub.pem.

    Without a passphrase the private half is readable by its owner alone (mode 0600).

    JSON: id, private, public (the files), encrypted.
    """
    from manifests import keys

    key = keys.generate(path, _new_passphrase() if encrypt else None)
    public = keys.public_path(path)
    if as_json:
        print_json(
            {"id": key.id, "private": str(path), "public": str(public), "encrypted": encrypt}
        )
        return
    print_text(f"Key {key.id}", f"  private: {path}", f"  public:  {public}")


@keys_app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A private or a public key.")],
    as_json: JsonOption = False,
) -> None:
    """Show the public half of a key, as PEM.

    JSON: id, kind, pem.
    """
    from manifests.keys import public_half

    public = public_half(path, passphrase)
    if as_json:
        print_json({"id": public.id, "kind": public.kind, "pem": public.pem})
        return
    notice(f"Key {public.id}, {public.kind}")
    print_text(public.pem.rstrip())


def private_keys(paths: "Sequence[Path]") -> "list[PrivateKey]":
    """The keys that sign. Raises InputError."""
    from manifests.keys import read_private

    return [read_private(path, passphrase) for path in paths]


def public_keys(paths: "Sequence[Path] | None") -> "list[PublicKey]":
    """The keys that check. Raises InputError."""
    from manifests.keys import read_public

    return [read_public(path) for path in paths or []]


def passphrase() -> bytes:
    """The passphrase of a key, from its variable or from the person at the terminal.

    Raises:
        InputError: there is neither.
    """
    known = os.environ.get(PASSPHRASE_VARIABLE)
    if known:
        return known.encode()
    if not sys.stdin.isatty():
        raise InputError(
            "The key has a passphrase, and there is nobody to ask for it.",
            f"Put it into the variable {PASSPHRASE_VARIABLE}.",
        )
    answer: str = typer.prompt("Passphrase of the key", hide_input=True, err=True)
    return answer.encode()


def _new_passphrase() -> bytes:
    known = os.environ.get(PASSPHRASE_VARIABLE)
    if known is None and sys.stdin.isatty():
        known = typer.prompt(
            "Passphrase for the new key", hide_input=True, confirmation_prompt=True, err=True
        )
    if not known:
        raise InputError(
            "A key is to be encrypted, and there is no passphrase.",
            f"Put one into the variable {PASSPHRASE_VARIABLE}, or answer at a terminal.",
        )
    return known.encode()
