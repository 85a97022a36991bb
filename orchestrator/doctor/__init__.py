"""Whether a campaign would run here: every check says what it found, and what to do about it."""

from orchestrator.doctor.campaign import check_campaign
from orchestrator.doctor.findings import Finding, Health
from orchestrator.doctor.machine import check_clock, check_store
from orchestrator.doctor.routes import check_routes, check_variables

__all__ = [
    "Finding",
    "Health",
    "check_campaign",
    "check_clock",
    "check_routes",
    "check_store",
    "check_variables",
]
