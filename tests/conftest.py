"""Settings that all tests share."""

from hypothesis import settings

# No test depends on the clock: on a loaded machine a deadline would fail examples at random.
settings.register_profile("arena", deadline=None)
settings.load_profile("arena")
