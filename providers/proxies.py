"""Which proxy a request takes, as the environment says it."""

from collections.abc import Mapping
from urllib.parse import urlsplit

_THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


def proxy_variable(url: str, environment: Mapping[str, str]) -> str | None:
    """The name of the variable by which requests to this address go through a proxy, if they do.

    What is on this machine is reached directly, and so is what `NO_PROXY` names.
    """
    address = urlsplit(url)
    host = address.hostname or ""
    if host in _THIS_MACHINE or _is_direct(host, environment):
        return None
    names = (f"{address.scheme}_proxy", "all_proxy")
    both = (each for name in names for each in (name, name.upper()))
    return next((name for name in both if environment.get(name)), None)


def _is_direct(host: str, environment: Mapping[str, str]) -> bool:
    """Whether `NO_PROXY` names the host, a domain above it, or everything."""
    listed = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    names = [name.strip().lstrip(".").lower() for name in listed.split(",")]
    return any(name == "*" or f".{host}".endswith(f".{name}") for name in names if name)
