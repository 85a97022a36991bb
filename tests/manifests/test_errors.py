import ast
import importlib
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from manifests.errors import ArenaError, InputError, IntegrityError, StoreError

PACKAGES = ("campaigns", "engine", "manifests", "orchestrator", "providers")


@pytest.mark.parametrize(
    ("kind", "code"), [(InputError, 2), (StoreError, 3), (IntegrityError, 1), (ArenaError, 1)]
)
def test_each_kind_has_its_exit_code(kind: type[ArenaError], code: int) -> None:
    error = kind("The seed is missing.")
    assert isinstance(error, ArenaError)
    assert error.exit_code == code


def test_text_is_the_message_and_the_remedy_below_it() -> None:
    assert str(InputError("The seed is missing.")) == "The seed is missing."
    text = str(InputError("The seed is missing.", "Add seed = 11."))
    assert text == "The seed is missing.\n  Add seed = 11."


def test_an_error_crosses_processes_unchanged() -> None:
    error = pickle.loads(pickle.dumps(StoreError("The store is full.", "Free some space.")))
    assert type(error) is StoreError
    assert (error.message, error.remedy) == ("The store is full.", "Free some space.")


def test_in_one_line_the_message_ends_before_the_remedy_begins() -> None:
    assert InputError("The seed is missing.").in_one_line == "The seed is missing."
    told = InputError("The seed is missing.", "Add seed = 11.").in_one_line
    assert told == "The seed is missing. Add seed = 11."
    foreign = InputError("Ray failed: no such host", "Look at its log.").in_one_line
    assert foreign == "Ray failed: no such host. Look at its log."


@pytest.mark.parametrize("package", PACKAGES)
def test_messages_and_remedies_are_sentences(package: str) -> None:
    """They are shown below each other, behind each other, and behind the name of a place."""
    said = [text for path in sorted(_sources(package)) for text in _said(path)]
    assert said
    for place, argument, first, last in said:
        assert not first[:1].islower(), f"{place} begins without a capital: {first}"
        # A remedy may end in a command, which a person copies.
        ends = (".", ":", ":\n") if argument == 0 else (".", *_commands(last))
        assert not last or last.endswith(ends), f"{place} ends without a full stop: {last}"


def _sources(package: str) -> Iterator[Path]:
    (root,) = importlib.import_module(package).__path__
    return Path(root).rglob("*.py")


def _commands(text: str) -> tuple[str, ...]:
    _, colon, command = text.rpartition(": ")
    return (command,) if colon and command.startswith(("ceo-arena", "chmod")) else ()


def _said(path: Path) -> Iterator[tuple[str, int, str, str]]:
    """Where an error is made, which of its texts, and how that begins and ends as far as it is
    written there; what is filled in is empty.
    """
    kinds = {"ArenaError", *(kind.__name__ for kind in ArenaError.__subclasses__())}
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id not in kinds:
            continue
        texts = [*node.args, *(keyword.value for keyword in node.keywords)]
        for argument, text in enumerate(texts[:2]):
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            ends = [_written(part) for part in (parts[0], parts[-1])]
            if any(ends):
                yield f"{path.name}:{node.lineno}", argument, ends[0], ends[1]


def _written(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""
