"""Thin Ray shells around the worlds and the scheduler; nothing here knows what the store lacks."""
