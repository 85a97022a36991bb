"""The process that `start_gateway` starts."""

from providers.rehearsal.embedded import obey

if __name__ == "__main__":
    obey()
