"""Who may not ask on Discord is told so alone; who they are is what Discord says at that moment."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.memory.audience import GroupAudience, Place
from bot.chat.access.acl import AccessRules, parse_entries
from bot.chat.askers import Requester
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.inbound import budget_ids
from bot.platforms.discord.settings import DiscordSettings
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, EPHEMERAL, GENERAL, GUILD, Payload, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import RecordingHost, recording_host

ME = f"<@{BOT}>"
CLOSED = "You do not have access to me. Ask my operator for access."
DENIED = AccessRules(deny=parse_entries(f"person:{BO}"))
MANAGERS_ONLY = "Only managers, admins, and operators can set or remove rules for others."
ADMINISTRATOR, MANAGE_GUILD = 1 << 3, 1 << 5


@asynccontextmanager
async def recording(
    host: RecordingHost | None = None,
    *,
    everyone_may: int = 0,
    roles: dict[str, list[str]] | None = None,
    **settings: Any,
) -> AsyncGenerator[tuple[FakeDiscord, RecordingHost]]:
    clock, host = FastClock(speed=1.0), host or recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        fake.world.roles_of |= roles or {}
        if everyone_may:
            fake.world.everyone_may = str(int(fake.world.everyone_may) & ~(ADMINISTRATOR | MANAGE_GUILD) | everyone_may)
        async with serving(fake, host, **settings):
            yield fake, host


async def said_in_private(fake: FakeDiscord, person: str) -> Payload:
    await fake.until(lambda: any(message["channel_id"] == DM_OF[person] for message in by_the_bot(fake)))
    return next(message for message in by_the_bot(fake) if message["channel_id"] == DM_OF[person])


async def noticed(happened: Callable[[], object]) -> None:
    """Until the bot has taken in what Discord told it."""
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 -- a host notifies nobody
            await asyncio.sleep(0.01)


async def test_a_refused_mention_is_told_in_a_dm_and_shows_nothing_in_the_channel() -> None:
    async with recording() as (fake, host):
        host.restrict(DENIED)
        await fake.say(BO, f"{ME} hello")
        assert (await said_in_private(fake, BO))["content"] == CLOSED
        assert fake.world.shown(GENERAL) == []


async def test_who_may_not_ask_stops_and_orders_nothing_and_is_told_so_once() -> None:
    async with recording() as (fake, host):
        host.restrict(DENIED)
        why = host.admission.closed_to(Requester(f"discord:{BO}"), Authority.EMPLOYEE)
        asked = await fake.say(ANN, f"{ME} hello")
        await noticed(lambda: host.taken)
        thread = fake.world.start_thread(GENERAL, asked["id"], "hello")["id"]
        for words in ("stop", "forget everything", "help"):
            await fake.say(BO, f"{ME} {words}", thread)
        await fake.say(ANN, f"{ME} and now?")
        await noticed(lambda: len(host.taken) == 2 and by_the_bot(fake))
        assert host.stopped == []
        assert [message["content"] for message in by_the_bot(fake)] == [why]


async def test_the_same_order_again_is_not_answered_within_the_minute() -> None:
    async with recording() as (fake, host):
        for words in ("stop", "forget everything", "stop", "forget everything"):
            await fake.say(BO, f"{ME} {words}")
        await fake.say(ANN, f"{ME} hello")
        await noticed(lambda: host.taken)
        assert fake.world.shown(GENERAL) == [
            reply_texts.NOTHING_RUNNING,
            platforms_texts.use_command("forget", direct=False),
        ]


async def test_who_was_told_just_now_is_not_told_again() -> None:
    async with recording() as (fake, host):
        host.restrict(DENIED)
        await fake.say(BO, f"{ME} hello")
        await fake.say(BO, f"{ME} and now?")
        await fake.say(ANN, f"{ME} hello")
        await noticed(lambda: host.taken and by_the_bot(fake))
        assert [message["content"] for message in by_the_bot(fake)] == [CLOSED]


async def test_a_refused_command_is_answered_to_its_caller_alone() -> None:
    async with recording() as (fake, host):
        host.restrict(DENIED)
        await fake.say(BO, f"{ME} hello")
        told = await said_in_private(fake, BO)
        await fake.command(BO, "ask", question="hello")
        await fake.until(lambda: any(seen(message) == CLOSED and message is not told for message in by_the_bot(fake)))
        answer = by_the_bot(fake)[-1]
        assert answer["flags"] & EPHEMERAL


async def test_a_message_says_what_its_author_is_in_the_server() -> None:
    async with recording(everyone_may=MANAGE_GUILD) as (fake, host):
        await fake.say(ANN, f"{ME} hello")
        await fake.say(BO, f"{ME} hello")
        await noticed(lambda: len(host.taken) == 2)
        owner, member = host.taken
        assert (owner.authority, owner.team) == (Authority.ADMIN, GUILD)
        assert (member.authority, member.team) == (Authority.MANAGER, GUILD)


async def test_who_writes_a_dm_is_looked_up_in_the_bots_servers_once_a_minute() -> None:
    async with recording() as (fake, host):
        await fake.write(BO, "hello")
        await noticed(lambda: host.taken)
        await fake.command(BO, "ask", DM_OF[BO], question="hello?")
        await noticed(lambda: len(host.taken) == 2)
        assert {asked.authority for asked in host.taken} == {Authority.MANAGER}
        assert {asked.team for asked in host.taken} == {GUILD}
        assert sum(call.path == f"/guilds/{GUILD}/members/{BO}" for call in fake.calls) == 1


async def test_roles_that_the_operator_named_count_in_a_server_and_in_a_dm_from_the_next_message_on() -> None:
    named = DiscordSettings(managers=frozenset({"35"}), employees=frozenset({"35", "36"}))
    async with recording(everyone_may=MANAGE_GUILD, chosen=named, roles={BO: ["35"]}) as (fake, host):
        await fake.say(BO, f"{ME} hello")
        await fake.write(BO, "hello")
        await noticed(lambda: len(host.taken) == 2)
        fake.world.roles_of[BO] = []
        await fake.say(BO, f"{ME} hello")
        await noticed(lambda: len(host.taken) == 3)
        assert [asked.authority for asked in host.taken] == [Authority.MANAGER, Authority.MANAGER, Authority.GUEST]


async def test_who_is_in_none_of_the_servers_that_count_is_a_stranger_in_a_dm() -> None:
    async with recording(home=frozenset({"999"})) as (fake, host):
        await fake.write(BO, "hello")
        await noticed(lambda: host.taken)
        assert (host.taken[0].authority, host.taken[0].team) == (Authority.STRANGER, "")
        assert not any("/members/" in call.path for call in fake.calls)


async def test_a_member_is_one_where_the_bot_is_not_and_what_they_ask_there_belongs_to_that_place_alone() -> None:
    async with recording() as (fake, host):
        fake.elsewhere = True
        await fake.command(BO, "ask", question="hello")
        await noticed(lambda: host.taken)
        (asked,) = host.taken
        assert (asked.authority, asked.team) == (Authority.MANAGER, GUILD)
        assert asked.place == Place(GroupAudience(f"discord:{GENERAL}"))


async def test_an_outsider_stays_one_where_the_bot_is_not() -> None:
    async with recording() as (fake, host):
        fake.elsewhere = True
        fake.world.absent.add(BO)
        await fake.command(BO, "ask", question="hello")
        await noticed(lambda: host.taken)
        assert host.taken[0].authority is Authority.STRANGER


async def test_nobody_decides_for_others_where_the_bot_is_not_by_what_they_are_in_its_servers() -> None:
    async with recording(everyone_may=MANAGE_GUILD) as (fake, host):
        fake.elsewhere = True
        await fake.command(BO, "policy", words="set budget: 5 EUR")
        await fake.until(lambda: any(seen(message) == MANAGERS_ONLY for message in by_the_bot(fake)))
        assert host.store.facts_kept == []


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("channel", "instructions: Speak of herons."),
        ("schedules", "forbid"),
        ("memory", "pause here for everybody"),
        ("knowledge", "share on"),
    ],
)
async def test_who_manages_a_server_where_the_bot_is_not_chooses_nothing_for_its_channels(
    command: str, words: str
) -> None:
    async with recording(everyone_may=MANAGE_GUILD) as (fake, host):
        fake.elsewhere = True
        await fake.command(BO, command, words=words)
        await fake.until(lambda: any(map(seen, by_the_bot(fake))))
        assert await host.store.preferences.all_of(f"channel:{GENERAL}") == {}


async def test_budget_is_answered_in_private() -> None:
    async with recording(recording_host(operators={f"discord:{ANN}"})) as (fake, host):
        await fake.command(ANN, "budget", words=f"<@{BO}> exempt")
        await fake.until(lambda: any(seen(message) for message in by_the_bot(fake)))
        (answer,) = by_the_bot(fake)
        assert seen(answer) == f"<@{BO}>, today (UTC): 0 tokens (no limit), $0 (no limit)."
        assert answer["flags"] & EPHEMERAL
        assert host.store.chosen[f"discord:{BO}"] == {"budget.exempt": "yes"}


async def test_policy_is_answered_in_private_about_the_channel_where_it_is_asked() -> None:
    async with recording() as (fake, host):
        await fake.command(ANN, "policy", words="set budget: 5 EUR")
        await fake.until(lambda: any(seen(message) for message in by_the_bot(fake)))
        (answer,) = by_the_bot(fake)
        assert seen(answer).startswith("Policy set.")
        assert answer["flags"] & EPHEMERAL
        (policy,) = host.store.facts_kept
        assert (policy.text, policy.audience) == ("budget: 5 EUR", f"team:discord:{GUILD}")


def test_mentions_become_ids() -> None:
    assert budget_ids("<@!41> <@42> <#20> $5") == "person:discord:41 person:discord:42 channel:20 $5"
