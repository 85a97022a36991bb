"""Pydantic's findings about data that people hand in, told as one clear message."""

from pydantic import ValidationError

from manifests.errors import InputError

# A file of the wrong kind breaks every field; the first few findings say as much as all.
SHOWN_FINDINGS = 8
SHOWN_CHARACTERS = 80


def input_error(
    source: str, error: ValidationError, remedy: str = "", *, repeat_values: bool = False
) -> InputError:
    """The findings of a failed validation as an `InputError`, one line per field.

    `source` names what was read. Rejected values are repeated only where they cannot be secrets.
    """
    findings = error.errors(include_url=False, include_context=False)
    lines = [
        f"  {_place(finding['loc'])}: {_sentence(finding['msg'])}"
        + (f", received {_shortened(finding['input'])}" if repeat_values and finding["loc"] else "")
        for finding in findings[:SHOWN_FINDINGS]
    ]
    if len(findings) > SHOWN_FINDINGS:
        lines.append(f"  and {len(findings) - SHOWN_FINDINGS} more")
    return InputError("\n".join([f"{source} is not valid:", *lines]), remedy)


def _place(location: tuple[int | str, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location]
    return "".join(parts).removeprefix(".") or "the whole"


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _sentence(message: str) -> str:
    # Pydantic announces the errors of our own validators with this prefix.
    return message.removeprefix("Value error, ")
