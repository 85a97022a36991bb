import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from manifests.validation import SHOWN_FINDINGS, input_error


class Firm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    seats: list[int]

    @field_validator("name")
    @classmethod
    def _short(cls, name: str) -> str:
        if len(name) > 10:
            raise ValueError("the name is longer than 10 characters")
        return name


def told(value: object) -> str:
    with pytest.raises(ValidationError) as caught:
        Firm.model_validate(value)
    return str(input_error("firm.toml", caught.value, "See the guide."))


def test_each_finding_names_its_field() -> None:
    text = told({"name": "a much too long name", "seats": [1, "x"], "colour": "red"})
    assert text.splitlines() == [
        "firm.toml is not valid:",
        "  name: the name is longer than 10 characters",
        "  seats[1]: Input should be a valid integer, unable to parse string as an integer",
        "  colour: Extra inputs are not permitted",
        "  See the guide.",
    ]


def test_rejected_values_are_not_repeated() -> None:
    assert "hunter2" not in told({"name": "a", "seats": "hunter2", "token": "hunter2"})


def test_a_wrong_kind_of_value_has_no_field() -> None:
    assert "the whole: Input should be" in told([])


def test_a_flood_of_findings_is_cut() -> None:
    text = told({"name": "a", "seats": ["x"] * (SHOWN_FINDINGS + 5)})
    assert text.count("seats[") == SHOWN_FINDINGS
    assert "and 5 more" in text
