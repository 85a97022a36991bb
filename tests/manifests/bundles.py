"""A small bundle of a small campaign, and the keys of its owner."""

from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from manifests.bundle import Predicate, new_bundle
from manifests.keys import PrivateKey
from manifests.model import CampaignManifest, freeze
from tests.manifests import samples

FILES = {
    "runs/one/days.jsonl": b'{"day":1}\n{"day":2}\n',
    "runs/one/accounts.parquet": bytes(range(256)) * 3,
    "runs/two/days.jsonl": b"",
}


@cache
def key(number: int = 1) -> PrivateKey:
    """A key that is the same every time."""
    private = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return PrivateKey(pem, None)


def manifest(campaign: str = "small") -> CampaignManifest:
    """The manifest of a campaign whose plan differs with its name."""
    return freeze(samples.decisive(release=campaign), samples.provenance(campaign=campaign))


def write(path: Path, campaign: str = "small", *keys: PrivateKey) -> Path:
    """Write the bundle of a campaign."""
    predicate = Predicate(
        written_with={"a-program": "1.0"},
        conversations=False,
        manifest=manifest(campaign).model_dump(mode="json"),
        results={"campaign": campaign, "note": "größer", "mean": 5.0, "zero": -0.0},
    )
    with new_bundle(path) as bundle:
        for name, content in FILES.items():
            bundle.add(name, [content[:100], content[100:]])
        bundle.seal(predicate, keys or (key(),))
    return path
