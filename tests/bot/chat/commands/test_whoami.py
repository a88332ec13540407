"""`/whoami`: the ids that settings want, and whether its user can ask and why."""

from dataclasses import dataclass, replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import Authority
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience
from bot.chat.access import acl
from bot.chat.access.acl import AccessRules, parse_entries
from bot.chat.askers import Requester
from bot.chat.commands.declaration import CommandCall
from bot.chat.commands.whoami import MAX_ROLES, WhoIs, show
from bot.chat.ports import NO_CHANNEL_RULES, AnswerRules, ChannelRules
from bot.chat.texts import commands as command_texts
from bot.chat.texts import replies as reply_texts
from tests.fakes.caller import ANN, FakeCaller
from tests.fakes.clock import FakeClock

OPEN: Final = AccessRules()
TEAM: Final = Place(TeamAudience("slack:T1"))
GROUP: Final = Place(GroupAudience("slack:T1:C1"))


@dataclass(frozen=True)
class AnnAnywhere(FakeCaller):
    """`roles` and `team`: as the platform reports them."""

    roles: frozenset[str] = frozenset()
    team: str = "T1"

    async def requester(self) -> Requester:
        return Requester(self.person.id, self.channel, self.roles, self.team)


class ClosedChannel:
    async def refusal(self, incoming: Incoming) -> str | None:
        return reply_texts.CLOSED_HERE if incoming.channel == "C1" else None

    async def answer(self, question: Incoming) -> AnswerRules:  # noqa: ARG002 -- a port's
        return AnswerRules()


IN_CHANNEL: Final = AnnAnywhere(channel="C1", place=TEAM)


async def told(caller: FakeCaller, rules: AccessRules = OPEN, channel_rules: ChannelRules = NO_CHANNEL_RULES) -> str:
    return (await show(WhoIs(rules, channel_rules, FakeClock()), CommandCall(words="", caller=caller))).text


async def test_each_id_is_shown_as_settings_take_it() -> None:
    text = await told(replace(IN_CHANNEL, roles=frozenset({"S1", "S2"})))
    for entry in ("person:U1", "team:T1", "channel:C1", "role:S1", "role:S2"):
        assert f"`{entry}`" in text
        assert parse_entries(entry)


async def test_a_direct_message_is_no_channel_and_no_role_is_said_to_be_none_that_counts() -> None:
    text = await told(AnnAnywhere(channel="D1"))
    assert "channel:" not in text
    assert command_texts.WHOAMI_NO_ROLES in text
    assert command_texts.WHOAMI_DIRECT in text
    assert command_texts.WHOAMI_GROUP in await told(replace(IN_CHANNEL, place=GROUP))


async def test_of_many_roles_the_first_are_shown_and_the_others_counted() -> None:
    text = await told(replace(IN_CHANNEL, roles=frozenset(f"{number:03}" for number in range(250))))
    assert text.count("`role:") == MAX_ROLES
    assert command_texts.WHOAMI_MORE.format(count=250 - MAX_ROLES) in text


@pytest.mark.parametrize(
    ("authority", "rules", "says"),
    [
        (Authority.EMPLOYEE, AccessRules(), command_texts.OPEN_TO_MEMBERS),
        (Authority.EMPLOYEE, AccessRules(allow=parse_entries("person:U1")), command_texts.OPEN_BY_NAME),
        (Authority.GUEST, AccessRules(allow=parse_entries("person:U1,channel:C9")), command_texts.OPEN_BY_NAME),
        (Authority.EMPLOYEE, AccessRules(allow=parse_entries("team:T1,channel:C1")), "workspace or server and channel"),
        (Authority.GUEST, AccessRules(open_to=frozenset({Authority.GUEST})), command_texts.OPEN_TO[Authority.GUEST]),
        (Authority.STRANGER, AccessRules(operators=frozenset({"U1"})), command_texts.OPEN_TO_OPERATORS),
        (Authority.GUEST, AccessRules(), reply_texts.CLOSED_TO[Authority.GUEST]),
        (Authority.EMPLOYEE, AccessRules(deny=parse_entries("person:U1")), reply_texts.NOT_ALLOWED["person"]),
        (Authority.EMPLOYEE, AccessRules(allow=parse_entries("role:S1")), reply_texts.NOT_ALLOWED["role"]),
    ],
)
async def test_it_says_whether_its_user_can_ask_and_why(authority: Authority, rules: AccessRules, says: str) -> None:
    assert says in await told(replace(IN_CHANNEL, authority=authority), rules)


async def test_what_a_channels_managers_chose_counts_there_except_for_managers_and_operators() -> None:
    closed, operator = ClosedChannel(), AccessRules(operators=frozenset({"U1"}))
    assert reply_texts.CLOSED_HERE in await told(IN_CHANNEL, channel_rules=closed)
    assert reply_texts.CLOSED_HERE not in await told(replace(IN_CHANNEL, channel="C2"), channel_rules=closed)
    manager = await told(replace(IN_CHANNEL, authority=Authority.MANAGER), channel_rules=closed)
    assert reply_texts.CLOSED_HERE not in manager
    assert command_texts.WHOAMI_MANAGES in manager
    assert command_texts.WHOAMI_OPERATOR in await told(IN_CHANNEL, operator, closed)


entries = st.sets(
    st.sampled_from(["team:T1", "team:T2", "channel:C1", "channel:C2", "role:S1", "role:S2", "person:U1", "person:U2"])
).map(lambda pieces: parse_entries(",".join(pieces)))


@given(
    st.builds(
        AccessRules,
        allow=entries,
        deny=entries,
        open_to=st.frozensets(st.sampled_from([Authority.GUEST, Authority.STRANGER])),
        operators=st.frozensets(st.sampled_from(["U1", "U2"])),
    ),
    st.sampled_from(Authority),
    st.frozensets(st.sampled_from(["S1", "S2"])),
)
async def test_it_agrees_with_what_lets_questions_in(
    rules: AccessRules, authority: Authority, roles: frozenset[str]
) -> None:
    text = await told(replace(IN_CHANNEL, authority=authority, roles=roles), rules)
    why = acl.closed_to(rules, Requester(ANN.id, "C1", roles, "T1"), authority)
    assert ("You can ask me here" in text) is (why is None)
    assert (command_texts.WHOAMI_SEND_IDS in text) is (why is not None)
    assert why is None or why in text
