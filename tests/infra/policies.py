"""What must hold of every plan, as pure functions: each gives one sentence a breach.

They state the security page in code and read nothing but the plan: who may do what is written
down here a second time on purpose, so that a slip in ``infra/`` is not its own proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.infra import policies_accounts, policies_messages, policies_services
from tests.infra.plans import Plan

Policy = Callable[[Plan], Iterator[str]]

POLICIES: Mapping[str, Policy] = {
    function.__name__: function
    for module in (policies_messages, policies_accounts, policies_services)
    for function in module.POLICIES
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of one policy."""

    policy: str
    problem: str


def findings(plan: Plan) -> tuple[Finding, ...]:
    """Hold a plan against every policy."""
    return tuple(
        Finding(name, problem) for name, policy in POLICIES.items() for problem in policy(plan)
    )
