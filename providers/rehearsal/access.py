"""Who may ask: the key in the headers."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.refusals import Refusal
from providers.rehearsal.seals import same

AUTHORIZATION: Final = "authorization"

_BEARER: Final = re.compile(r"(?i)^bearer +(\S+)$")


class Keeper:
    """Lets requests in that carry the key, or any key where none is set."""

    def __init__(self, options: GatewayOptions) -> None:
        self._key = None if options.api_key is None else options.api_key.get_secret_value()
        self._is_open = self._key is None and not options.needs_key

    def admit(self, headers: Mapping[str, str], sources: Sequence[str] = (AUTHORIZATION,)) -> None:
        """Pass a request with these headers, names in lower case; the key may stand in `sources`.

        Raises:
            Refusal: no key, or the wrong one; the message repeats neither.
        """
        if self._is_open:
            return
        given = next(filter(None, (_key_in(name, headers) for name in sources)), None)
        if given is None:
            raise Refusal(
                401,
                "You didn't provide an API key. You need to provide your API key in an "
                "Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            )
        if self._key is not None and not same(given, self._key):
            raise Refusal(401, "Incorrect API key provided.", code="invalid_api_key")


def _key_in(name: str, headers: Mapping[str, str]) -> str | None:
    if name != AUTHORIZATION:
        return headers.get(name)
    bearer = _BEARER.match(headers.get(name, ""))
    return None if bearer is None else bearer[1]
