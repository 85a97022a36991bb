"""The system prompt: one text for every CEO, versioned and bound by its digest (interface.md
section 5).
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from manifests.canonical import digest_bytes

PROMPT_VERSION: Final = "ceos-prompt-v1"
"""Changes with every change of the text."""


@cache
def system_prompt() -> str:
    """The text, as every CEO gets it in every window."""
    text = resources.files("orchestrator.session").joinpath("prompt.md").read_text(encoding="utf-8")
    return text.strip()


@cache
def prompt_digest() -> str:
    """``sha256:<hex>`` of the text's UTF-8 bytes."""
    return digest_bytes(system_prompt().encode())
