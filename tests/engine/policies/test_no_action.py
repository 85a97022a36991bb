from engine.decision import CompanyDecision
from engine.policies.base import Parameters
from engine.policies.no_action import NoAction
from tests.engine.policies.boundaries import observed


def test_it_holds_everything_always() -> None:
    policy = NoAction(Parameters())
    for day in (0, 7, 497):
        decision = policy.decide(observed(day=day))
        empty = CompanyDecision(company_id="company-1", world_version=day // 7)
        assert decision == empty
