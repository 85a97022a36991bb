"""Which run is thought to end its hosts."""

from orchestrator.suspicion import Standing, Suspicion


def test_a_death_among_others_alone_makes_nobody_guilty() -> None:
    suspicion = Suspicion()
    standings = [suspicion.died("a", 3, alone=False) for _ in range(4)]
    assert standings == [
        Standing.FREE,
        Standing.SUSPECTED,
        Standing.SUSPECTED,
        Standing.SUSPECTED,
    ]
    assert suspicion.died("a", 3, alone=True) is Standing.GUILTY
    assert suspicion.deaths("a") == 5


def test_progress_between_deaths_counts_anew() -> None:
    suspicion = Suspicion()
    suspicion.died("a", 3, alone=False)
    assert suspicion.died("a", 4, alone=False) is Standing.FREE
    assert suspicion.died("a", 4, alone=False) is Standing.SUSPECTED


def test_progress_alone_acquits() -> None:
    suspicion = Suspicion()
    for _ in range(2):
        suspicion.died("a", 3, alone=False)
    assert not suspicion.progressed("a", 3)
    assert suspicion.progressed("a", 4)
    assert suspicion.standing("a") is Standing.FREE
    assert not suspicion.progressed("a", 5)


def test_the_runs_are_judged_apart() -> None:
    suspicion = Suspicion()
    for _ in range(2):
        suspicion.died("a", 0, alone=False)
    assert suspicion.died("b", 0, alone=False) is Standing.FREE
    suspicion.acquit("a")
    assert suspicion.standing("a") is Standing.FREE
    assert suspicion.standing("unknown") is Standing.FREE
