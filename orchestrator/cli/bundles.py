"""Commands that hand a campaign on, and that check what was handed on."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from manifests.errors import InputError
from manifests.printable import counted
from orchestrator.cli.keys import PublicKeysOption, private_keys, public_keys
from orchestrator.cli.output import (
    ANSWER_IS_NO,
    DEFAULT_STORE,
    JsonOption,
    NameArgument,
    StoreOption,
    chosen_campaign,
    notice,
    print_json,
    writing,
)
from orchestrator.cli.tables import print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from manifests.bundle import Bundle
    from manifests.containers import Fault
    from manifests.keys import PublicKey
    from orchestrator.bundle.reading import BundleSource

app = typer.Typer()

_MOST_TOLD: Final = 20


BundleOption = Annotated[
    Path | None,
    typer.Option(
        "--bundle", metavar="BUNDLE", help="An exported bundle instead of a store's campaign."
    ),
]


@app.command()
def export(
    name: NameArgument = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Where the bundle goes: a directory, or one archive if it ends with .tar.",
            show_default="./CAMPAIGN.bundle",
        ),
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            "--key", metavar="FILE", help="A private key that signs; may be given several times."
        ),
    ] = None,
    conversations: Annotated[
        bool,
        typer.Option(
            "--conversations",
            help="Add what models were told, wrote and called, without any of their reasoning.",
        ),
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Write a campaign, as far as it went, into a signed bundle that a stranger can check.

    Credentials, endpoints and private reasoning are never in it. The same state gives the same
    bytes, whoever signs. docs/bundle.md tells every file.

    JSON: place, campaign, plan_hash, runs, completed, files, signed_by.
    """
    from orchestrator.bundle.export import export as write
    from orchestrator.store import open_store

    if not key:
        raise InputError(
            "A bundle is signed, and no key is named.",
            "Make one with `ceo-arena keys generate mine.pem`, then add --key mine.pem.",
        )
    signing = private_keys(key)
    with open_store(store) as opened:
        campaign = chosen_campaign(opened, name)
        written = write(
            opened,
            campaign,
            out or Path(f"{campaign}.bundle"),
            signing,
            os.environ,
            with_conversations=conversations,
        )
    if as_json:
        print_json(written.to_json())
        return
    partial = written.runs - written.completed
    print_text(
        f"Campaign {written.campaign} is in {written.place}: "
        f"{counted(written.files + 1, 'file')}, {counted(written.runs, 'run')}.",
        *([f"{partial} of the runs are not completed."] if partial else []),
        *(f"Signed by {signer}" for signer in written.signed_by),
    )


@app.command()
def verify(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A directory or a .tar file.")],
    key: PublicKeysOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the signatures of a bundle, and the digest of every file in it.

    Needs the bundle and the public key of everybody who signed, and nothing else. Ends with 1 when
    anything was changed, added or removed, and names it.

    JSON: ok, bundle, campaign, plan_hash, conversations, files, signed_by,
    faults (each with place and message).
    """
    from manifests.bundle import Bundle, faults

    keys = _needed(public_keys(key))
    opened = Bundle.open(bundle)
    found = faults(opened, keys)
    if as_json:
        print_json(_verdict(opened, found, keys))
    elif found:
        notice(f"{bundle} is not what was signed:")
        for fault in found[:_MOST_TOLD]:
            notice(f"  {fault}")
        if len(found) > _MOST_TOLD:
            notice(f"  and {len(found) - _MOST_TOLD} more")
    else:
        _show(opened, keys)
    if found:
        raise typer.Exit(ANSWER_IS_NO)


@app.command()
def sign(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A directory or a .tar file.")],
    private: Annotated[
        Path, typer.Option("--with", metavar="FILE", help="The private key that signs.")
    ],
    key: PublicKeysOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a signature to a bundle that others have signed, after checking what they signed.

    From then on the bundle is verified with the keys of all.

    JSON: bundle, signed_by.
    """
    from manifests.bundle import add_signature

    (signer,) = private_keys([private])
    envelope = add_signature(bundle, _needed(public_keys(key)), signer)
    if as_json:
        print_json({"bundle": str(bundle), "signed_by": list(envelope.signatures)})
        return
    print_text(f"{bundle}", *(f"  signed by {signed}" for signed in envelope.signatures))


@app.command()
def schemas(
    out: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where the schemas go.")],
) -> None:
    """Write the JSON Schemas of all files of a bundle; every bundle has them, too."""
    from manifests.bundle import document
    from orchestrator.bundle.schemas import schemas as all_schemas

    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for name, schema in all_schemas().items():
            (out / name).write_bytes(document(schema))


def checked_bundle(path: Path, keys: "list[PublicKey]") -> "BundleSource":
    """The bundle at a path, checked as a whole; says so when nobody's signature was.

    Raises:
        InputError: there is no bundle.
        IntegrityError: it is not as it was exported.
    """
    from orchestrator.bundle.reading import BundleSource

    source = BundleSource.open(path, keys)
    if not keys:
        notice(f"The signatures of {path} were not checked: no --key is named.")
    return source


def _needed(keys: "list[PublicKey]") -> "list[PublicKey]":
    if keys:
        return keys
    raise InputError(
        "No public key is named, so that nobody's signature can be checked.",
        "Add --key FILE with the key of whoever signed the bundle, from a place you trust.",
    )


def _verdict(
    bundle: "Bundle", found: "Sequence[Fault]", keys: "Sequence[PublicKey]"
) -> dict[str, Any]:
    said = {} if found else _contents(bundle)
    return {
        "ok": not found,
        "bundle": bundle.place,
        **said,
        "signed_by": [] if found else [key.id for key in keys],
        "faults": [fault._asdict() for fault in found],
    }


def _contents(bundle: "Bundle") -> dict[str, Any]:
    return {
        "campaign": bundle.manifest.provenance.campaign,
        "plan_hash": bundle.manifest.plan_hash,
        "conversations": bundle.predicate.conversations,
        "files": len(bundle.subjects),
    }


def _show(bundle: "Bundle", keys: "Sequence[PublicKey]") -> None:
    said = _contents(bundle)
    print_text(
        f"{bundle.place} is what was signed: {said['files']} files of campaign {said['campaign']}.",
        f"  plan {said['plan_hash']}",
        *(f"  signed by {key.id}" for key in keys),
    )
