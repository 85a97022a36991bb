"""Exact replay: every run settled again from its recorded decisions alone (runtime.md section 7).

Whatever the store recorded about it is compared with what comes out, to the last bit, and the first
difference of a run is named by day, company and field. No model, no network and no Ray is needed.
"""

from orchestrator.replay.campaign import replay_campaign
from orchestrator.replay.differences import Difference
from orchestrator.replay.reports import ReplayReport, RunReport

__all__ = ["Difference", "ReplayReport", "RunReport", "replay_campaign"]
