"""Model-free CEOs: policies that decide from an observation alone (interface.md section 8)."""
