"""The record tables of a campaign, read from its store."""

from orchestrator.records.source import StoreSource

__all__ = ["StoreSource"]
