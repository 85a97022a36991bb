"""What a person has to put right before a route can be asked again (providers.md section 4)."""

from providers.contract import Fault
from providers.faults import WEB_PAGE
from providers.routes import Route


def what_to_fix(fault: Fault, route: Route) -> str:
    """A sentence that names it, after a fault that waits for a person; empty after any other."""
    key = f"the key in {route.key_variable}" if route.key_variable else "access without a key"
    place = f"the base URL in {route.endpoint_env}" if route.endpoint_env else "the base URL"
    if fault.kind == "identity":
        return (
            f"If both ids name one model, put the returned one into accepted_aliases; else {place} "
            "leads to another service."
        )
    if fault.kind != "refused":
        return ""
    if fault.code == WEB_PAGE:
        return f"Look at {place}: it leads to a web page, of a proxy perhaps, and not to a model."
    match fault.status:
        case 401 | 403:
            return f"Look at {key}, and at what it may be used for."
        case 402 | 429:
            return f"The account behind {key} needs credit or a higher quota."
        case 404:
            return f"Look at the model id {route.model} and at {place}."
        case _:
            return f"Look at {key}, at {place}, and at the account."
