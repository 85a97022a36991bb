"""Rate limits of routes, held by all campaigns of a machine or cluster together."""

from orchestrator.quota.ledger import Admission, LimitLedger, Pool, ledger_path

__all__ = ["Admission", "LimitLedger", "Pool", "ledger_path"]
