"""The market a second time, naively, from the text of market.md alone.

It exists to be compared with the engine (`tests/engine/test_reference.py`). A file takes up one
section and says what the section says, one step after the other, with nothing kept for later and
nothing shared for speed. It knows parameters, streams and distributions, and keeps its world in the
engine's plain data, so that a comparison meets every field; of the engine's rules it knows nothing.
"""
