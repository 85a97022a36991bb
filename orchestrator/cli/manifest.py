"""Commands about manifests: show one, compare two, prove an endpoint."""

import binascii
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manifests.errors import InputError
from orchestrator.cli.output import ANSWER_IS_NO, DEFAULT_STORE, JsonOption, StoreOption, print_json
from orchestrator.cli.tables import NOTHING, print_table, print_text

if TYPE_CHECKING:
    from manifests.comparison import Difference
    from manifests.model import CampaignManifest

app = typer.Typer()
manifest_app = typer.Typer(
    no_args_is_help=True,
    help="What binds a campaign's results: show it, compare two, prove an endpoint.\n\n"
    "MANIFEST is a campaign of the store, or the path of a bundle, of a manifest as JSON, or of a "
    "campaign file, which is frozen under this package, here and now. A name that the store does "
    "not have may be one of the library.",
)
app.add_typer(manifest_app, name="manifest")

ManifestArgument = Annotated[
    str, typer.Argument(metavar="MANIFEST", help="Where it is; see `ceo-arena manifest --help`.")
]


@manifest_app.command()
def show(
    manifest: ManifestArgument, store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False
) -> None:
    """Show a manifest: its plan hash, and all that it binds.

    JSON: the whole manifest.
    """
    from orchestrator.cli.manifests_at import manifest_at

    found = manifest_at(manifest, store)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    _show(found)


@manifest_app.command()
def diff(
    left: ManifestArgument,
    right: Annotated[
        str | None,
        typer.Argument(
            metavar="MANIFEST",
            help="The other one.",
            show_default="the same campaign as this package binds it",
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Name every field in which two manifests differ, with both values.

    What decides results stands first, under `decisive`; ends with 1 when any of it differs, so that
    the plan hashes do. What only says where the manifest comes from is under `provenance`.

    JSON: same_plan, left and right (plan hashes), differences (path, decisive,
    left, right; a side that lacks the field has no key).
    """
    from manifests.comparison import difference
    from orchestrator.binding import rebound
    from orchestrator.cli.manifests_at import manifest_at

    one = manifest_at(left, store)
    two = rebound(one) if right is None else manifest_at(right, store)
    found = difference(one, two)
    if as_json:
        print_json(
            {
                "same_plan": one.plan_hash == two.plan_hash,
                "left": one.plan_hash,
                "right": two.plan_hash,
                "differences": [_difference_json(each) for each in found],
            }
        )
    else:
        _show_differences(one, two, found)
    if one.plan_hash != two.plan_hash:
        raise typer.Exit(ANSWER_IS_NO)


@manifest_app.command()
def endpoint(
    manifest: ManifestArgument,
    candidate: Annotated[str, typer.Argument(metavar="ID", help="A candidate that is a model.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="The endpoint to be proven.")],
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="HEX",
            help="The key of the campaign's commitments.",
            show_default="that of the store",
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Prove that a model was launched with an endpoint, to anybody who has the manifest.

    The key never leaves the store by itself. Whoever is told it can check the same URL against the
    manifest in a bundle, and guess those of the campaign's other models from then on.

    JSON: proven, candidate, committed, key.
    """
    from manifests.commitments import proves
    from orchestrator.cli.manifests_at import endpoint_key_at, manifest_at
    from providers.routes import plain_url

    try:
        endpoint_url = plain_url(url.strip().rstrip("/"))
    except ValueError as wrong:
        raise InputError(
            f"What is to be proven cannot be an endpoint: {wrong}.",
            "Give the whole base URL, such as https://service.example/v1.",
        ) from wrong
    endpoints = manifest_at(manifest, store).provenance.endpoints
    committed = endpoints.get(candidate)
    if committed is None:
        raise InputError(
            f"The manifest has no commitment to an endpoint of {candidate}.",
            "Models have one whose endpoint was known when the campaign was launched; here: "
            f"{', '.join(endpoints) or 'none'}.",
        )
    secret = endpoint_key_at(manifest, store) if key is None else _bytes(key)
    proven = proves(secret, candidate, endpoint_url, committed)
    if as_json:
        print_json(
            {
                "proven": proven,
                "candidate": candidate,
                "committed": committed,
                "key": secret.hex(),
            }
        )
    else:
        verb = "was" if proven else "was not"
        print_text(f"{candidate} {verb} launched with {url}.", f"  committed: {committed}")
        if key is None:
            print_text(f"  key:       {secret.hex()}")
    if not proven:
        raise typer.Exit(ANSWER_IS_NO)


def _bytes(key: str) -> bytes:
    try:
        return bytes.fromhex(key)
    except (ValueError, binascii.Error) as error:
        raise InputError(
            "The key is not in hexadecimal digits.", "Give it as `manifest endpoint` printed it."
        ) from error


def _show(manifest: "CampaignManifest") -> None:
    decisive, provenance = manifest.decisive, manifest.provenance
    rows: list[tuple[str, object]] = [
        ("plan hash", manifest.plan_hash),
        *((f"{name} version", value) for name, value in decisive.versions.model_dump().items()),
        ("release", decisive.release),
        ("scenario", decisive.scenario_digest),
        ("days", decisive.horizon_days),
        ("seeds", ", ".join(map(str, decisive.seeds))),
        ("runs", len(decisive.runs)),
        ("recovery policy", decisive.recovery_policy),
        ("sources", f"{decisive.sources.overall}, {len(decisive.sources.files)} files"),
        ("random streams", decisive.random_streams),
        ("libraries", ", ".join(f"{name} {each}" for name, each in decisive.libraries.items())),
    ]
    if decisive.harness is not None:
        rows += [
            ("prompt", f"{decisive.harness.prompt}, {decisive.harness.prompt_digest}"),
            ("tools", decisive.harness.tools_digest),
        ]
    rows += [
        ("frozen", f"{provenance.created_at:%Y-%m-%d %H:%M} on {provenance.host}"),
        ("interpreter", " ".join(provenance.interpreter.values())),
    ]
    print_table(f"Manifest of {provenance.campaign}", ["what", "value"], rows)
    candidates = (*decisive.candidates, *decisive.baselines)
    print_table(
        "Candidates",
        ["candidate", "seat", "kind", "identity"],
        (
            (
                each.id,
                each.seat,
                each.kind,
                getattr(each, "route_identity", None) or getattr(each, "identity", NOTHING),
            )
            for each in candidates
        ),
    )


def _show_differences(
    one: "CampaignManifest", two: "CampaignManifest", found: "list[Difference]"
) -> None:
    decisive = [each for each in found if each.path.startswith("decisive")]
    if one.plan_hash == two.plan_hash:
        print_text(f"Both have plan {one.plan_hash}.")
    else:
        print_text(
            f"The plans differ in {len(decisive)} fields:",
            f"  left  {one.plan_hash}",
            f"  right {two.plan_hash}",
        )
    for each in found:
        print_text(f"{each.path}", f"  left  {each.left}", f"  right {each.right}")


def _difference_json(found: "Difference") -> dict[str, Any]:
    from manifests.comparison import ABSENT

    sides = {"left": found.left, "right": found.right}
    return {
        "path": found.path,
        "decisive": found.path.startswith("decisive"),
        **{side: value for side, value in sides.items() if value is not ABSENT},
    }
