"""Bundles of campaigns: exported from a store, replayed and analysed without one
(manifests.md section 3).
"""
