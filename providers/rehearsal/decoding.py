"""From bytes to typed requests, with the services' own words for what is wrong with them."""

import re
from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec

from providers.rehearsal.refusals import Refusal, bad_request

_PLACE: Final = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_UNKNOWN: Final = re.compile(r"^Object contains unknown field `(?P<name>.*)`$", re.DOTALL)
_MISSING: Final = re.compile(r"^Object missing required field `(?P<name>.*)`$", re.DOTALL)
_TYPE: Final = re.compile(r"^Expected `(?P<wanted>[^`]*)`, got `(?P<given>[^`]*)`$")

T = TypeVar("T")


def decoded(decoder: msgspec.json.Decoder[T], body: bytes, within: str = "") -> T:
    """The typed value of a JSON text that stands at a place within the request.

    Raises:
        Refusal: not JSON, an unknown or missing parameter, a wrong type or value.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), within) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(
            "We could not parse the JSON body of your request: it is not valid JSON, or nested "
            f"too deeply ({error})."
        ) from error


def _refusal(finding: str, within: str) -> Refusal:
    place = _PLACE.search(finding)
    path = place["path"] if place else ""
    detail = finding[: place.start()] if place else finding
    param = f"{within}{path}".lstrip(".")
    if match := _UNKNOWN.match(detail):
        name = _member(param, match["name"])
        return bad_request(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    if match := _MISSING.match(detail):
        name = _member(param, match["name"])
        return bad_request(
            f"Missing required parameter: '{name}'.", name, "missing_required_parameter"
        )
    if match := _TYPE.match(detail):
        return bad_request(
            f"Invalid type for '{param or 'body'}': expected {match['wanted']}, but got "
            f"{match['given']} instead.",
            param or None,
            "invalid_type",
        )
    return bad_request(f"Invalid value for '{param or 'body'}': {detail}.", param, "invalid_value")


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def refuse_unsupported(request: msgspec.Struct, names: Iterable[str]) -> None:
    """Refuse parameters that the service knows and this kind of model does not take."""
    for name in names:
        if getattr(request, name) is not msgspec.UNSET:
            raise bad_request(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                name,
                "unsupported_parameter",
            )
