"""From a route to its provider."""

from providers.contract import Provider
from providers.routes import Route


def open_provider(route: Route) -> Provider:
    """The provider that speaks the route's protocol; nothing is sent before the first request.

    The protocols' libraries are imported here, late: they are slow to load, and most commands need
    none.

    Raises:
        InputError: the route's options do not fit its protocol.
    """
    match route.protocol:
        case "responses":
            from providers.responses import ResponsesProvider

            return ResponsesProvider(route)
        case "messages":
            from providers.messages import MessagesProvider

            return MessagesProvider(route)
        case "chat":
            from providers.chat import ChatProvider

            return ChatProvider(route)
