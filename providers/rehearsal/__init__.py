"""The rehearsal gateway: a server on loopback that plays scripted CEOs over the vendors' protocols.

A rehearsal tool and a test double. No model answers here, and nothing it says costs anything. It is
as strict as the services whose protocols it speaks.
"""

from providers.rehearsal.embedded import RunningGateway, keep_gateway, start_gateway
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.serving import serve

__all__ = ["GatewayOptions", "RunningGateway", "keep_gateway", "serve", "start_gateway"]
