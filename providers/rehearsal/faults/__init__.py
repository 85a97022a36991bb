"""Faults on purpose: a plan says which requests meet one, a strike is the fault that one meets."""

from providers.rehearsal.faults.plan import FaultPlan, load_fault_plan
from providers.rehearsal.faults.strikes import Strike, Striker

__all__ = ["FaultPlan", "Strike", "Striker", "load_fault_plan"]
