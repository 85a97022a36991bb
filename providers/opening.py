"""From a route to its provider."""

from manifests.errors import InputError
from providers.contract import Provider
from providers.routes import Route


def open_provider(route: Route) -> Provider:
    """The provider that speaks the route's protocol; nothing is sent before the first request.

    The protocol's library is imported here, late: it is slow to load, and most commands need none.

    Raises:
        InputError: the protocol is not spoken, or the route's options do not fit it.
    """
    if route.protocol == "chat":
        from providers.chat import ChatProvider

        return ChatProvider(route)
    raise InputError(
        f'The route to {route.model} wants the protocol "{route.protocol}", which is not spoken.',
        'Use a route of protocol "chat".',
    )
