"""Messages: requests checked, replies rendered, whole or as a stream of events."""
