"""Stability, repeats and baselines over several campaigns, with numbers worked out by hand."""

from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.analysis.blocks import blocks
from campaigns.analysis.exact import mean, variance
from campaigns.analysis.pool import pooled
from campaigns.analysis.stability import stability
from campaigns.analysis.study import study
from campaigns.plan import plan
from tests.campaigns.analysis.panels import two
from tests.campaigns.analysis.pools import again, evidence, idle, main
from tests.campaigns.builders import campaign, outcomes


def test_stability_over_three_blocks() -> None:
    found = stability(pooled([main(), again()]).blocks)
    assert found.blocks == ("main s5", "again s5 R1", "again s5 R2")
    ada, bob = found.pairs
    # bob's Score with ada less that without her: 50 - 80, 55 - 80, 45 - 80.
    assert (ada.entrant, ada.rival, ada.values) == ("ada", "bob", (-30, -25, -35))
    assert ada.mean == -30
    assert (ada.sd_cents, ada.same_sign, ada.is_stable) == (5.0, 3, True)
    # 100 - 120, 90 - 100, 110 - 120: mean -40/3, variance (400 + 100 + 100) / 9 / 2.
    assert (bob.values, bob.mean) == ((-20, -10, -10), Fraction(-40, 3))
    assert bob.sd_cents == pytest.approx((100 / 3) ** 0.5)
    assert bob.is_stable
    assert bob.to_json()["mean_cents"] == -13
    assert bob.to_json()["sd_cents"] == 6


def test_a_mean_within_its_deviation_is_not_stable() -> None:
    planned, found = two()
    ada, bob = stability(pooled([evidence(planned, found)]).blocks).pairs
    # -30 and 15: mean -7.5, deviations of 22.5, variance 2 * 506.25.
    assert (ada.mean, ada.same_sign, ada.is_stable) == (Fraction(-15, 2), 1, False)
    assert ada.sd_cents == pytest.approx(1012.5**0.5)
    assert (bob.values, bob.is_stable) == ((-20, 10), False)


def test_one_block_has_no_deviation_and_claims_nothing() -> None:
    ada = stability(pooled([main()]).blocks).pairs[0]
    assert (ada.values, ada.sd_cents, ada.is_stable) == ((-30,), None, None)
    assert ada.to_json()["stable"] is None


def test_a_mean_equal_to_its_deviation_is_not_stable() -> None:
    # 0 and 20: mean 10; variance (100 + 100) / 1 = 200 > 100. 10 and 30 - mean 20, variance 200.
    assert variance([0, 20]) == 200
    assert variance([10, 30]) == 200
    planned = plan(campaign(("ada", "bob"), seeds=[1, 2, 3]))
    effects = {1: 0, 2: 10, 3: 20}  # mean 10, variance (100 + 0 + 100) / 2 = 100: equal.

    found = outcomes(
        planned.runs, lambda run: (0, effects[run.seed] if run.replaced is None else 0)
    )
    ada = stability(blocks("trial", planned.runs, found)).pairs[0]
    assert ada.mean**2 == 100 == variance(ada.values)
    assert ada.is_stable is False


def test_a_block_that_lacks_a_run_is_left_out_and_named() -> None:
    whole = again()
    lacking = [each for each in whole.outcomes if each.run_id != "again-s5-r2-without-bob"]
    found = study([main(), replace(whole, outcomes=tuple(lacking))])
    assert found.stability.blocks == ("main s5", "again s5 R1")
    assert found.stability.left_out == ("again s5 R2",)
    assert found.stability.pairs[0].values == (-30, -25)
    assert "Stability leaves out again s5 R2." in found.notices()
    assert "again: 1 of 6 runs are missing: again-s5-r2-without-bob." in found.notices()
    assert not found.is_complete


def test_accounts_that_do_not_close_are_named() -> None:
    whole = main()
    wrong = [
        msgspec.structs.replace(each, revenue_cents=each.revenue_cents + 1)
        if (each.run_id, each.seat) == ("main-s5-without-ada", 2)
        else each
        for each in whole.outcomes
    ]
    found = study([replace(whole, outcomes=tuple(wrong))])
    assert found.notices() == [
        "main: the accounts of seat 2 in run main-s5-without-ada do not close."
    ]


def test_blocks_of_different_baselines_are_not_compared() -> None:
    with pytest.raises(ValueError, match="baselines"):
        stability([*pooled([main()]).blocks, *pooled([idle()]).blocks])


def test_repeats_have_means_and_ranks_of_their_own() -> None:
    rows = study([main(), again()]).block_ranks
    assert [(row.block, row.rank, row.candidate, row.mean_score) for row in rows] == [
        ("main s5", 1, "ada", 110),
        ("main s5", 2, "bob", 65),
        ("again s5 R1", 1, "ada", 95),
        ("again s5 R1", 2, "bob", Fraction(135, 2)),
        ("again s5 R2", 1, "ada", 115),
        ("again s5 R2", 2, "bob", Fraction(125, 2)),
    ]
    assert {row.lineups for row in rows} == {2}


def test_two_baselines_share_the_controls() -> None:
    (found,) = study([main(), again(), idle()]).comparisons
    assert (found.seed, found.first, found.other) == (5, "rule", "idle")
    assert found.controls == ("main s5", "again s5 R1", "again s5 R2")
    assert found.others == ("idle s5",)
    rows = {(row.entrant, row.endpoint): [row.first, row.other] for row in found.contrasts}
    # The references have means of 100 and 50; without ada Rule has 20 and bob 80, without bob ada
    # has 340/3 and Rule -5/3.
    assert rows == {
        ("ada", "private"): [100 - 20, 100 - 0],
        ("ada", "others"): [50 - 80, 50 - 60],
        ("ada", "market"): [50, 90],
        ("ada", "bob"): [-30, -10],
        ("bob", "private"): [50 + Fraction(5, 3), 50],
        ("bob", "others"): [100 - Fraction(340, 3), 100 - 130],
        ("bob", "market"): [Fraction(115, 3), 20],
        ("bob", "ada"): [-Fraction(40, 3), -30],
    }
    assert all(row.has_same_sign for row in found.contrasts)
    assert len(found.pairs) == 2
    assert [row.endpoint for row in found.of("market")] == ["market", "market"]


def test_a_missing_replacement_keeps_baselines_apart() -> None:
    whole = idle()
    lacking = tuple(each for each in whole.outcomes if each.replaced != "bob")
    (found,) = study([main(), replace(whole, outcomes=lacking)]).comparisons
    assert (found.contrasts, found.missing) == ((), ("idle s5",))


def test_a_campaign_of_replacements_alone_is_a_baseline_and_no_block_of_its_own() -> None:
    pool = pooled([idle(), main()])
    assert pool.baseline == "rule", "of the campaign whose lineups have a reference"
    assert [block.label for block in pool.others] == ["idle s5"]


def test_another_panel_is_not_pooled() -> None:
    planned = plan(campaign(("cy", "dan"), name="foreign", seeds=[5]))
    foreign = evidence(planned, outcomes(planned.runs, lambda _: (1, 2)))
    found = study([main(), foreign])
    assert found.pool.left_out == ("foreign s5",)
    assert any("foreign s5" in notice for notice in found.notices())


@given(st.lists(st.integers(-(10**12), 10**12), min_size=2, max_size=6))
def test_exact_moments_agree_with_their_definition(values: list[int]) -> None:
    middle, spread = mean(values), variance(values)
    assert middle is not None
    assert spread is not None
    assert middle * len(values) == sum(values)
    assert spread * (len(values) - 1) == sum((value - middle) ** 2 for value in values)


@given(st.lists(st.integers(-(10**9), 10**9), min_size=18, max_size=18), st.permutations([1, 2, 3]))
def test_pairs_make_up_others_and_the_order_of_seeds_changes_nothing(
    scores: list[int], order: list[int]
) -> None:
    def found(seeds: list[int]) -> dict[tuple[str, str], tuple[Fraction, bool | None]]:
        planned = plan(campaign(("ada", "bob"), seeds=seeds))
        records = outcomes(
            planned.runs,
            lambda run: tuple(
                scores[6 * (run.seed - 1) + 2 * [None, "ada", "bob"].index(run.replaced) + seat]
                for seat in (0, 1)
            ),
        )
        made = blocks("trial", planned.runs, records)
        for block in made:
            for entrant in block.panel:
                contrast = block.contrast(entrant)
                assert contrast.private + contrast.others == contrast.market
                assert contrast.others == sum(contrast.directed.values())
        return {
            (pair.entrant, pair.rival): (pair.mean, pair.is_stable)
            for pair in stability(made).pairs
        }

    assert found([1, 2, 3]) == found(order)
