"""The harness of a language-model CEO: what it is told, and what it can do, in one window."""
