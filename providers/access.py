"""Where a route's requests go and with what key: read at the moment of use, and kept nowhere."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from providers.contract import Fault, ProviderFault
from providers.faults import Scrub
from providers.routes import Route, plain_url

# A key goes into a header: visible ASCII, in one piece.
_KEY: Final = re.compile(r"[!-~]+")
_LARGEST_KEY_FILE_BYTES: Final = 64 * 1024
# Shorter texts would be cut out of ordinary words, and guard nothing.
_SHORTEST_SECRET: Final = 4


class Access:
    """A base URL without its closing slash, and a key or None; printing it shows neither."""

    __slots__ = ("base_url", "key")

    def __init__(self, base_url: str, key: str | None) -> None:
        self.base_url = base_url
        self.key = key

    def __repr__(self) -> str:
        return "Access(hidden)"

    @property
    def key_mark(self) -> str | None:
        """Tells keys apart, and nothing else about them: 24 bits of a digest; None without a key.

        A window's encrypted reasoning belongs to the credentials under which it came, so a journal
        notes whether they are still the same.
        """
        if self.key is None:
            return None
        return hashlib.sha256(b"ceo-arena key mark:" + self.key.encode()).hexdigest()[:6]

    def scrub(self) -> Scrub:
        """Keeps the key, and where the service is, out of what is stored and shown."""
        url = urlsplit(self.base_url)
        parts = (self.key or "", self.base_url, url.netloc, url.hostname or "")
        return Scrub([part for part in parts if len(part) >= _SHORTEST_SECRET])


def read_access(route: Route, environment: Mapping[str, str], vendor_url: str) -> Access:
    """The access that the route's variables hold now.

    A key stands in the variable that the route names or, when that is not set, in the file whose
    path stands in the variable of the same name with `_FILE` after it. `vendor_url` is the
    protocol's home, for a route that names no endpoint.

    Raises:
        ProviderFault: refused: a variable or file is missing or unusable; it is named, its
            contents are not.
    """
    return Access(_base_url(route, environment, vendor_url), _key(route, environment))


def missing_variables(routes: Iterable[Route], environment: Mapping[str, str]) -> list[str]:
    """The variables that these routes name and that hold nothing, each once, in order of use."""
    missing: dict[str, None] = {}
    for route in routes:
        if route.endpoint_env is not None and not environment.get(route.endpoint_env, "").strip():
            missing[route.endpoint_env] = None
        name = route.key_variable
        if name is None:
            continue
        if not environment.get(name, "").strip() and not environment.get(f"{name}_FILE"):
            missing[name] = None
    return list(missing)


def _base_url(route: Route, environment: Mapping[str, str], vendor_url: str) -> str:
    if route.endpoint_env is None:
        return (route.endpoint or vendor_url).rstrip("/")
    url = environment.get(route.endpoint_env, "").strip()
    if not url:
        raise _refused(f"The variable {route.endpoint_env}, the route's base URL, is not set.")
    try:
        return plain_url(url).rstrip("/")
    except ValueError as error:
        message = f"The variable {route.endpoint_env} holds no usable base URL: {error}."
    raise _refused(message)


def _key(route: Route, environment: Mapping[str, str]) -> str | None:
    name = route.key_variable
    if name is None:
        return None
    key = environment.get(name, "").strip()
    source = f"The variable {name}"
    if not key and environment.get(f"{name}_FILE"):
        source = f"The file named by the variable {name}_FILE"
        key = _read(Path(environment[f"{name}_FILE"]), source)
    if not key:
        raise _refused(f"Neither the variable {name} nor {name}_FILE holds the route's key.")
    if not _KEY.fullmatch(key):
        raise _refused(f"{source} holds no usable key: it has spaces or unusual characters.")
    return key


def _read(path: Path, source: str) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_KEY_FILE_BYTES).decode().strip()
    except OSError as error:
        message = f"{source} cannot be read: {error.strerror}."
    except UnicodeDecodeError:
        message = f"{source} is not text."
    raise _refused(message)


def _refused(message: str) -> ProviderFault:
    return ProviderFault(Fault(kind="refused", message=message))
