"""Refusals in the form of the Chat Completions service: a status and an error object."""

import msgspec


class ErrorObject(msgspec.Struct, frozen=True):
    """The error object that clients find in the body of a refusal."""

    message: str
    type: str
    param: str | None
    code: str | None


class Refusal(Exception):
    """A request that the gateway refuses; `status` is the HTTP status."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        kind: str = "invalid_request_error",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = ErrorObject(message, kind, param, code)

    def body(self) -> bytes:
        """The JSON body of the response."""
        return msgspec.json.encode({"error": self.error})


def bad_request(message: str, param: str | None = None, code: str | None = None) -> Refusal:
    """A 400: the request itself is wrong."""
    return Refusal(400, message, param=param, code=code)
