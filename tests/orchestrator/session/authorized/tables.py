"""All 29 tables as the contract has them."""

from collections.abc import Callable, Iterator
from typing import Final

from tests.orchestrator.session.authorized import past, present
from tests.orchestrator.session.authorized.view import Authorized, Cells

TABLES: Final[dict[str, Callable[[Authorized], Iterator[Cells]]]] = {
    "scenario": present.scenario,
    "company": present.company,
    "segments": present.segments,
    "channels": present.channels,
    "product_catalog": present.product_catalog,
    "products": present.products,
    "marketing_policy": present.marketing_policy,
    "operations_policy": present.operations_policy,
    "capacity_policy": present.capacity_policy,
    "inventory": present.inventory,
    "inbound_shipments": present.inbound_shipments,
    "backlog": present.backlog,
    "enterprise_contracts": present.enterprise_contracts,
    "capacity_catalog": present.capacity_catalog,
    "capacity_action_quotes": present.capacity_action_quotes,
    "innovation_catalog": past.innovation_catalog,
    "innovation_projects": past.innovation_projects,
    "research_catalog": past.research_catalog,
    "research_reports": past.research_reports,
    "beliefs": past.beliefs,
    "public_prices": past.public_prices,
    "open_tenders": past.open_tenders,
    "tender_history": past.tender_history,
    "market_signal": past.market_signal,
    "action_receipts": past.action_receipts,
    "daily_cashflow": past.daily_cashflow,
    "daily_expenses": past.daily_expenses,
    "daily_product_sales": past.daily_product_sales,
    "daily_segment_service": past.daily_segment_service,
}
