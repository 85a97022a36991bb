"""Language models as routes: how each is reached; nothing here knows the game."""
