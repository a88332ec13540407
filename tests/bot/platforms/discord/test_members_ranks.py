"""Roles named by the operator raise or lower an authority; strangers stay strangers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import Authority
from bot.platforms.discord.inbound import ServerStanding
from bot.platforms.discord.members import ranked
from bot.platforms.discord.options import Ranks

ROLES = st.frozensets(st.sampled_from(["1", "2", "3", "4"]))
STANDINGS = st.builds(ServerStanding, st.sampled_from(Authority), ROLES, st.just("10"))
RANKS = st.builds(Ranks, ROLES, ROLES, ROLES)


@pytest.mark.parametrize(
    ("authority", "roles", "named", "becomes"),
    [
        (Authority.EMPLOYEE, "", Ranks(), Authority.EMPLOYEE),
        (Authority.MANAGER, "", Ranks(), Authority.MANAGER),
        (Authority.EMPLOYEE, "2", Ranks(managers=frozenset("2")), Authority.MANAGER),
        (Authority.MANAGER, "", Ranks(managers=frozenset("2")), Authority.EMPLOYEE),
        (Authority.EMPLOYEE, "1", Ranks(admins=frozenset("1")), Authority.ADMIN),
        (Authority.EMPLOYEE, "", Ranks(employees=frozenset("3")), Authority.GUEST),
        (Authority.EMPLOYEE, "3", Ranks(employees=frozenset("3")), Authority.EMPLOYEE),
        (Authority.ADMIN, "", Ranks(employees=frozenset("3"), managers=frozenset("2")), Authority.ADMIN),
        (Authority.GUEST, "1", Ranks(admins=frozenset("1")), Authority.GUEST),
        (Authority.STRANGER, "1", Ranks(admins=frozenset("1")), Authority.STRANGER),
    ],
)
def test_roles_make_ranks(authority: Authority, roles: str, named: Ranks, becomes: Authority) -> None:
    assert ranked(ServerStanding(authority, frozenset(roles)), named).authority is becomes


@given(STANDINGS, RANKS)
def test_nobody_is_raised_without_a_role_that_was_named(standing: ServerStanding, ranks: Ranks) -> None:
    after = ranked(standing, ranks)
    assert after.authority <= standing.authority or standing.roles & (ranks.admins | ranks.managers)
    assert (after.roles, after.team) == (standing.roles, standing.team)
