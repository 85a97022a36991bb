"""Model-free CEOs: deterministic policies that decide from an observation alone (interface.md section 8)."""
