"""What must not leave the store: endpoints, and whatever the variables of routes hold.

Providers keep secrets out of what is journaled. This is the second lock: everything that people or
services worded freely is searched once more for what this process knows to be secret.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

import msgspec

from campaigns.records import Record
from manifests.errors import InputError
from manifests.model import CampaignManifest

REMOVED: Final = "[removed]"

_SHORTEST: Final = 8
_LARGEST_KEY_FILE_BYTES: Final = 64 * 1024


class Redaction:
    """Takes secrets out of texts, and does not show them when it is printed itself."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Iterator[str]) -> None:
        # The longest first: one secret may be a part of another.
        long_enough = {secret for secret in secrets if len(secret) >= _SHORTEST}
        self._secrets = sorted(long_enough, key=lambda secret: (-len(secret), secret))

    @classmethod
    def of(cls, definitions: Iterable[Mapping[str, Any]], environment: Mapping[str, str]) -> Self:
        """What is secret about the routes of campaign files."""
        return cls(
            secret
            for definition in definitions
            for route in _routes(definition)
            for secret in _secrets(route, environment)
        )

    def __repr__(self) -> str:
        return "Redaction(hidden)"

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, REMOVED)
        return text

    def value(self, value: Any) -> Any:
        """A JSON value without secrets in its texts, those of keys included."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(key): self.value(member) for key, member in value.items()}
            case list() | tuple():
                return [self.value(member) for member in value]
        return value

    def record(self, record: Record) -> Record:
        """A record without secrets in its texts."""
        if not self._secrets:
            return record
        texts = {
            name: self.text(value)
            for name, value in msgspec.structs.asdict(record).items()
            if isinstance(value, str)
        }
        return msgspec.structs.replace(record, **texts)


def shown_manifest(manifest: CampaignManifest, redaction: Redaction) -> dict[str, Any]:
    """The manifest as an export shows it: without endpoints in the campaign file that it records.

    Raises:
        InputError: what decides results, and so cannot be left out, holds a secret.
    """
    shown = manifest.model_dump(mode="json")
    for route in _routes(shown["provenance"]["definition"]):
        route.pop("endpoint", None)
    shown["provenance"] = redaction.value(shown["provenance"])
    if redaction.value(shown["decisive"]) != shown["decisive"]:
        raise InputError(
            "The plan itself holds an endpoint or a credential, and would not be the plan without.",
            "Give routes their secrets by variables, and launch the campaign anew.",
        )
    return shown


def _routes(definition: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every route in a campaign file, wherever in it one stands."""
    for key, value in definition.items():
        if key == "route" and isinstance(value, dict):
            yield value
        elif isinstance(value, dict):
            yield from _routes(value)
        elif isinstance(value, list):
            for member in value:
                if isinstance(member, dict):
                    yield from _routes(member)


def _secrets(route: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[str]:
    variable = route.get("endpoint_env")
    for endpoint in (route.get("endpoint"), environment.get(str(variable))):
        if endpoint:
            yield from _parts(str(endpoint))
    names = route.get("credentials")
    for name in names if isinstance(names, list) else []:
        yield environment.get(name, "").strip()
        file = environment.get(f"{name}_FILE")
        if file:
            yield _content(Path(file))


def _parts(endpoint: str) -> Iterator[str]:
    """An endpoint, and what of it tells where it is. A bare word may be any word."""
    url = urlsplit(endpoint.strip())
    yield endpoint.strip().rstrip("/")
    if "." in url.netloc or ":" in url.netloc:
        yield url.netloc
    if url.hostname and "." in url.hostname:
        yield url.hostname


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_KEY_FILE_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError):
        # A key that cannot be read here was not read for the campaign either.
        return ""
