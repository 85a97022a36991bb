"""What a service's refusal means (providers.md section 4), whichever protocol it spoke.

Vendors word one refusal in many ways, so its meaning is looked up in three steps: the vendor's
error code where it is a telling one, the wording where only the wording says that the conversation
is too long, then the HTTP status. Pure: time and secrets are handed in.
"""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from providers.contract import Fault, FaultKind
from providers.rawjson import NotJson, parsed, whole_characters

LONGEST_MESSAGE: Final = 600
_LONGEST_CODE: Final = 100

# Codes and types as vendors write them, lower case, without separators and subcodes. They outrank
# the HTTP status.
_TELLING_CODES: Final[Mapping[str, FaultKind]] = {
    **dict.fromkeys(
        (
            "contextlengthexceeded",
            "contextwindowexceeded",
            "exceededcontextlength",
            "modelcontextwindowexceeded",
            "requesttoolarge",
            "stringabovemaxlength",
        ),
        "too_long",
    ),
    **dict.fromkeys(
        (
            "accessdenied",
            "accessterminatederror",
            "accountdeactivated",
            "accountoverdueerror",
            "arrearage",
            "authenticationerror",
            "billingerror",
            "billinghardlimitreached",
            "billingnotactive",
            "contractspendlimitreached",
            "enforcedspendlimitreached",
            "exceededcurrentquotaerror",
            "incorrectapikey",
            "insufficientbalance",
            "insufficientcredits",
            "insufficientquota",
            "invalidapikey",
            "invalidauthentication",
            "linkedorganizationbillingunavailable",
            "linkedorganizationspendlimitreached",
            "modelnotfound",
            "modelnotopen",
            "notfounderror",
            "organizationonhold",
            "permissiondenied",
            "permissiondeniederror",
            "permissionerror",
            "quotaexceeded",
            "setlimitexceeded",
            "unauthenticated",
            "unauthorized",
            "unsupportedcountryregionterritory",
        ),
        "refused",
    ),
    **dict.fromkeys(
        (
            "badgateway",
            "deadlineexceeded",
            "engineoverloaded",
            "engineoverloadederror",
            "gatewaytimeout",
            "internalerror",
            "internalservererror",
            "internalserviceerror",
            "limitburstrate",
            "limitrequests",
            "overloaded",
            "overloadederror",
            "ratelimitexceeded",
            "ratelimiterror",
            "ratelimitreachederror",
            "requesttimeout",
            "servererror",
            "serveroverloaded",
            "serviceunavailable",
            "serviceunavailableerror",
            "throttling",
            "timeout",
            "timeouterror",
            "toomanyrequests",
            "unavailable",
        ),
        "transient",
    ),
}

# How a service says that reasoning which came back is not, or no longer, readable to it.
UNREAD_REASONING: Final = frozenset({"invalid_encrypted_content"})

# Our own: a web page came with success where a model's reply was due.
WEB_PAGE: Final = "web_page"

# These say something only where no HTTP status does: inside a stream that began with success.
_VAGUE_CODES: Final = frozenset(
    {"badrequest", "badrequesterror", "invalidargument", "invalidparameter", "invalidrequesterror"}
)

_TOO_LONG_WORDING: Final = re.compile(
    r"maximum context length|context (length|window) (is |was |limit )?exceed|exceed context limit"
    r"|exceeds? the (model'?s? )?(maximum )?(context|number of tokens allowed)"
    r"|input token count .{0,40}exceed|prompt is too long|range of input length"
    r"|exceeded? (the )?max(imum)? message tokens|input is too long|too many input tokens",
    re.IGNORECASE,
)

_TRANSIENT_STATUSES: Final = frozenset({408, 409, 425, 429})
# Statuses by which a service says that it did no work for the request.
_UNSERVED_STATUSES: Final = frozenset({501, 503, 505, 529})

_REQUEST_ID_HEADERS: Final = ("x-request-id", "request-id", "x-ds-trace-id", "x-tt-logid")
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[a-z0-9+/=._~*-]{10,}|\bsk-[a-z0-9_*-]{6,}")
_HIDDEN: Final = "[hidden]"


class VendorError(NamedTuple):
    """An error object as a vendor sent it, in parts; `codes` from the most specific to the least.

    `status` is an HTTP status that the object itself states.
    """

    codes: tuple[str, ...]
    message: str
    status: int | None
    retry_after_seconds: float | None


class Scrub:
    """Makes text fit to be stored and shown: no secrets, no control characters, bounded.

    It holds the secrets it takes out, and does not show them when it is printed itself.
    """

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        # The longest first: one secret may be a part of another.
        self._secrets = sorted({secret for secret in secrets if secret}, key=len, reverse=True)

    def __repr__(self) -> str:
        return "Scrub(hidden)"

    def __call__(self, text: str, longest: int = LONGEST_MESSAGE) -> str:
        if not text:
            # As most names in most parts of a stream are.
            return ""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        text = _BEARER.sub(_HIDDEN, text)
        printable = (character if character.isprintable() else " " for character in text)
        text = whole_characters(" ".join("".join(printable).split()))
        return text if len(text) <= longest else text[: longest - 3] + "..."


def fault_of(
    error: VendorError,
    status: int | None,
    *,
    headers: Mapping[str, str],
    now: datetime,
    scrub: Scrub,
) -> Fault:
    """The fault that an error object and its HTTP status add up to.

    `status` is None for an error inside a stream that began with success; the service has then
    worked for the request.
    """
    effective = status if status is not None else error.status
    kind = _kind(error, effective)
    shown = next((code for code in error.codes if code), None)
    return Fault(
        kind=kind,
        message=_sentence(error.message, status, shown, scrub),
        status=status,
        code=None if shown is None else scrub(shown, _LONGEST_CODE),
        retry_after_seconds=retry_after(headers, now) or error.retry_after_seconds,
        maybe_billed=status is None or (status >= 500 and status not in _UNSERVED_STATUSES),
        request_id=request_id(headers, scrub),
    )


def vendor_error(body: bytes) -> VendorError:
    """The error object in the body of a refusal; of other bodies, HTML for instance, the text."""
    try:
        value = parsed(body)
    except NotJson:
        text = re.sub(r"<[^>]*>|\s+", " ", body[:4_096].decode("utf-8", "replace"))
        return VendorError((), " ".join(text.split()), None, None)
    return error_in(value)


def error_in(value: Any) -> VendorError:
    """The parts of an error object, wherever a vendor puts them."""
    if isinstance(value, list) and value:
        value = value[0]
    outer = value if isinstance(value, dict) else {"message": value}
    inner = outer.get("error")
    error = {**outer, "message": inner} if isinstance(inner, str) else inner or outer
    if not isinstance(error, dict):
        error = {"message": error}
    details = error.get("details")
    telling = details.get("error_code") if isinstance(details, dict) else None
    codes = [telling, *(error.get(key) for key in ("code", "type", "status"))]
    message = next((error[key] for key in ("message", "msg", "detail") if error.get(key)), "")
    return VendorError(
        tuple(str(code) for code in codes if isinstance(code, str | int) and code != "error"),
        message if isinstance(message, str) else str(message),
        next((number for code in codes if (number := _as_status(code)) is not None), None),
        _stated_delay(details),
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The wait that response headers ask for, in seconds: the longest where several do.

    Reads `retry-after-ms` and `Retry-After` as seconds or as an HTTP date, which is taken against
    the response's own `Date` where it has one, since clocks differ.
    """
    waits = [_number(headers.get("retry-after-ms"), 0.001), _number(headers.get("retry-after"))]
    date = _date(headers.get("retry-after"))
    if date is not None:
        waits.append(max(0.0, (date - (_date(headers.get("date")) or now)).total_seconds()))
    return max((wait for wait in waits if wait is not None), default=None)


def request_id(headers: Mapping[str, str], scrub: Scrub) -> str | None:
    """The id under which the service can find the request, if a header names one."""
    found = next((headers[name] for name in _REQUEST_ID_HEADERS if headers.get(name)), None)
    return None if found is None else scrub(found, _LONGEST_CODE)


def _kind(error: VendorError, status: int | None) -> FaultKind:
    names = [_normalized(code) for code in error.codes]
    for name in names:
        if name in _TELLING_CODES:
            return _TELLING_CODES[name]
    if status in (None, 400, 413, 422) and _TOO_LONG_WORDING.search(error.message):
        return "too_long"
    if status is None:
        return "bad_request" if _VAGUE_CODES.intersection(names) else "transient"
    return _kind_of_status(status)


def _kind_of_status(status: int) -> FaultKind:
    if status in _TRANSIENT_STATUSES or status >= 500:
        return "transient"
    if status == 413:
        return "too_long"
    return "bad_request" if status in (400, 422) else "refused"


def _normalized(code: str) -> str:
    return re.sub(r"[^a-z0-9]", "", code.partition(".")[0].lower())


def _as_status(code: object) -> int | None:
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None


def _stated_delay(details: object) -> float | None:
    """The delay in the `RetryInfo` that Google's services put into an error's details."""
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return _number(delay[:-1])
    return None


def _number(text: str | None, unit: float = 1.0) -> float | None:
    try:
        value = float(text or "") * unit
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _sentence(message: str, status: int | None, code: str | None, scrub: Scrub) -> str:
    said = "an error inside the stream" if status is None else f"HTTP {status}"
    if code is not None and code != str(status):
        said += f" ({code})"
    return scrub(f"{said}: {message}" if message else f"{said}, without a message.")
