import pickle

import pytest

from manifests.errors import ArenaError, InputError, IntegrityError, StoreError


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
