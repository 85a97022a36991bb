"""For how long nobody has been carrying a campaign out."""

from orchestrator.cli.absence import Absence


def test_an_absence_lasts_from_the_first_look_that_finds_nobody() -> None:
    absence = Absence()
    assert absence.lasted(10.0) == 0
    absence.note(None, 11.0)
    absence.note(None, 15.0)
    assert absence.lasted(71.0) == 60
    absence.note("ana", 72.0)
    assert absence.lasted(80.0) == 0
    absence.note(None, 81.0)
    assert absence.lasted(82.0) == 1
