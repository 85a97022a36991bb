"""Refusals: a status, and what the protocols make their error objects of."""

from collections.abc import Mapping

import msgspec


class ErrorObject(msgspec.Struct, frozen=True):
    """The error object of a refusal as most services write it."""

    message: str
    type: str
    param: str | None
    code: str | None


class Refusal(Exception):
    """A request that the gateway refuses; `status` is the HTTP status.

    `headers` are sent beside the usual ones. `page` is HTML that is sent in place of the error
    object, as a proxy in front of a service does.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        kind: str = "invalid_request_error",
        headers: Mapping[str, str] | None = None,
        page: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.page = page
        self.error = ErrorObject(message, kind, param, code)


def bad_request(message: str, param: str | None = None, code: str | None = None) -> Refusal:
    """A 400: the request itself is wrong."""
    return Refusal(400, message, param=param, code=code)
