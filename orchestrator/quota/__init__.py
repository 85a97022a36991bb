"""Rate limits of routes, held by all campaigns of a machine or cluster together."""

from orchestrator.quota.ledger import Admission, LimitLedger, Pool, machine_ledger

__all__ = ["Admission", "LimitLedger", "Pool", "machine_ledger"]
