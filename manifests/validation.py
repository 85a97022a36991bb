"""Pydantic's findings about data that people hand in, told as one clear message."""

from pydantic import ValidationError

from manifests.errors import InputError

# A file of the wrong kind breaks every field; the first few findings say as much as all.
SHOWN_FINDINGS = 8


def input_error(source: str, error: ValidationError, remedy: str = "") -> InputError:
    """The findings of a failed validation as an `InputError`, one line per field.

    `source` names what was read. The rejected values themselves are not repeated: they may be
    secrets.
    """
    findings = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"  {_place(finding['loc'])}: {_sentence(finding['msg'])}"
        for finding in findings[:SHOWN_FINDINGS]
    ]
    if len(findings) > SHOWN_FINDINGS:
        lines.append(f"  and {len(findings) - SHOWN_FINDINGS} more")
    return InputError("\n".join([f"{source} is not valid:", *lines]), remedy)


def _place(location: tuple[int | str, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location]
    return "".join(parts).removeprefix(".") or "the whole"


def _sentence(message: str) -> str:
    # Pydantic announces the errors of our own validators with this prefix.
    return message.removeprefix("Value error, ")
