"""How a campaign stands and what it waits for, read from its store alone."""
