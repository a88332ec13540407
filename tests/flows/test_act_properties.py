"""What the bot's hands take, their asker could have done: over random people, places and rights, on both platforms.

The oracle reads the state of the fakes by the platforms' documentation, and knows nothing of the product.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from agent.errors import ToolError
from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.ports.acting import ActRight, Hands
from agent.ports.tools import ToolContext
from agent.providers.scripted import ScriptedProvider
from tests.fakes.discord_bot import WINDOW_S
from tests.fakes.discord_bot import serving as serving_discord
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN, BO, BOT, CONNECT, GUILD, VIEW, Payload, World
from tests.fakes.fast_clock import MovedClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving as serving_slack
from tests.fakes.slack_state import Workspace
from tests.fakes.slack_things import BOT_USER, TEAM
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host

ROUNDS = 40
RIGHTS = (ActRight.POST, ActRight.POLL, ActRight.REACT, ActRight.PIN, ActRight.THREAD, ActRight.TOPIC)
SLACK_RIGHTS = (*RIGHTS, ActRight.BOOKMARK, ActRight.CANVAS)
DISCORD_RIGHTS = (*RIGHTS, ActRight.EVENT)
CHANNELS = (ActRight.TOPIC, ActRight.BOOKMARK, ActRight.CANVAS, ActRight.EVENT)  # Of a channel, not of a message
WRITES = (ActRight.POST, ActRight.POLL, ActRight.THREAD)


async def taken(hands: Hands, link: str, right: ActRight, person: str, *, replies: bool) -> bool:
    """Whether the hands would do this for the person, to a message or beside it."""
    context = ToolContext(
        Person(person, "who"), Place(PersonAudience(person)), "c", 1, datetime(2026, 1, 1, tzinfo=UTC)
    )
    try:
        if right in CHANNELS or (right in WRITES and not replies):
            target = await hands.find(link.rpartition("/")[0], right, context)
        else:
            target = await hands.find_message(link, right, context)
    except ToolError:
        return False
    assert target.channel in link
    return True


# Slack: members, guests, admins and deactivated people, in channels with every documented restriction.

USERS: tuple[dict[str, bool], ...] = (
    {},
    {"is_admin": True},
    {"is_restricted": True},
    {"is_ultra_restricted": True},
    {"deleted": True},
    {"is_stranger": True},
)
RANKS = {"ra": 0, "regular": 1, "admin": 2}


def rank(facts: Mapping[str, Any]) -> int:
    if facts.get("is_admin"):
        return RANKS["admin"]
    return RANKS["ra"] if facts.get("is_restricted") or facts.get("is_ultra_restricted") else RANKS["regular"]


def could_in_slack(state: Workspace, channel: str, user: str, right: ActRight, *, replies: bool) -> bool:
    place, facts = state.channels[channel], state.users[user].facts
    if facts.get("deleted") or facts.get("is_stranger") or user not in place.members:
        return False
    if place.facts.get("is_archived") or BOT_USER not in place.members:
        return False
    if right in {ActRight.PIN, *CHANNELS} and rank(facts) == 0:
        return False
    if right not in {*WRITES, *CHANNELS}:
        return True
    general = state.preferences["who_can_post_general"] if place.facts.get("is_general") else "ra"
    if place.facts.get("is_read_only") or rank(facts) < RANKS.get(general, 9):
        return False
    replying = {replies, True} if right is ActRight.THREAD else {replies and right not in CHANNELS}
    return all(writes_in_slack(place.facts, user, facts, replies=one) for one in replying)


def writes_in_slack(place: Mapping[str, Any], user: str, facts: Mapping[str, Any], *, replies: bool) -> bool:
    if place.get("is_non_threadable" if replies else "is_thread_only"):
        return False
    name = "threads_restricted_to" if replies else "posting_restricted_to"
    limit = place.get("properties", {}).get(name, {"type": [], "user": []})
    is_free = not limit["type"] and not limit["user"]
    return is_free or user in limit["user"] or any(rank(facts) >= RANKS.get(kind, 9) for kind in limit["type"])


def shuffled_channel(state: Workspace, channel: str, users: list[str], random: Random) -> None:
    place = state.channels[channel]
    place.members = {user for user in [*users, BOT_USER] if random.random() < 0.8}
    flags = ("is_archived", "is_read_only", "is_thread_only", "is_non_threadable", "is_general")
    place.facts = {"name": place.facts["name"], **{flag: random.random() < 0.06 for flag in flags}}
    kinds = random.choice([[], ["ra"], ["regular"], ["admin"], ["owner"], ["odd"], []])
    listed = random.choice([[], [random.choice(users)], []])
    name = random.choice(["posting_restricted_to", "threads_restricted_to"])
    place.facts["properties"] = random.choice([{}, {name: {"type": kinds, "user": listed}}])


@pytest.mark.parametrize("seed", range(2))
async def test_in_slack_nothing_is_done_that_the_asker_could_not_do(seed: int) -> None:
    random, clock, done = Random(seed), MovedClock(), 0
    async with FakeSlack(clock) as slack:
        state = slack.state
        state.per_minute = {}
        users = [state.user(f"user{number}", **facts) for number, facts in enumerate(USERS)]
        channels = [state.channel(f"place{number}", random.choice(["public", "private"])) for number in range(4)]
        messages = {channel: state.write(users[0], channel, "Hello.") for channel in channels}
        host = turns_host(store_in_memory(), ScriptedProvider(lambda _: "Done."), clock)
        async with serving_slack(slack, host):
            hands = host.platforms.hands[f"slack:{TEAM}"]
            for _ in range(ROUNDS):
                channel, user, right = random.choice(channels), random.choice(users), random.choice(SLACK_RIGHTS)
                shuffled_channel(state, channel, users, random)
                state.preferences["who_can_post_general"] = random.choice(["ra", "regular", "admin", "odd"])
                link = f"https://fake.slack.com/archives/{channel}/p{messages[channel].ts.replace('.', '')}"
                replies = random.random() < 0.5
                could = could_in_slack(state, channel, user, right, replies=replies or right not in WRITES)
                assert await taken(hands, link, right, f"slack:{TEAM}:{user}", replies=replies) is could
                done += could
    assert 5 < done < ROUNDS


# Discord: members with random roles, time-outs and screening, in channels with random overwrites.

SEND, REACT, HISTORY, PIN, POLLS, ADMIN = 1 << 11, 1 << 6, 1 << 16, 1 << 51, 1 << 49, 1 << 3
MANAGE, START, IN_THREADS, EVENTS = 1 << 4, 1 << 35, 1 << 38, 1 << 44
NEEDED = {
    ActRight.POST: SEND,
    ActRight.POLL: SEND | POLLS,
    ActRight.REACT: REACT,
    ActRight.PIN: PIN,
    ActRight.THREAD: START | IN_THREADS,
    ActRight.TOPIC: MANAGE,
    ActRight.EVENT: 0,  # outside of voice channels it takes a right in the server, and none in the channel
}
BITS = (VIEW, SEND, REACT, HISTORY, PIN, POLLS, MANAGE, START, IN_THREADS, EVENTS, CONNECT)
VOICE = 2  # The type of a voice channel, in which people can write, too


def permissions(world: World, channel: Payload, person: str, roles: list[str], granted: Mapping[str, int]) -> int:
    """Compute permissions as Discord's documentation does (Topics, Permissions)."""
    base = granted[GUILD]
    for role in roles:
        base |= granted[role]
    if world.owners.get(GUILD, ANN) == person or base & ADMIN:
        return (1 << 60) - 1
    by_id = {one["id"]: one for one in channel["permission_overwrites"]}
    if GUILD in by_id:
        base = base & ~int(by_id[GUILD]["deny"]) | int(by_id[GUILD]["allow"])
    of_roles = [by_id[role] for role in roles if role in by_id]
    for one in of_roles:
        base &= ~int(one["deny"])
    for one in of_roles:
        base |= int(one["allow"])
    if person in by_id:
        base = base & ~int(by_id[person]["deny"]) | int(by_id[person]["allow"])
    if not base & VIEW:
        return 0
    if world.facts_of.get(person, {}).get("communication_disabled_until"):
        base &= VIEW | HISTORY
    return base


def some(random: Random, share: float) -> str:
    return str(sum(bit for bit in BITS if random.random() < share))


@pytest.mark.parametrize("seed", range(2))
async def test_on_discord_nothing_is_done_that_the_asker_could_not_do(seed: int) -> None:
    random, clock, done = Random(seed), MovedClock(speed=1.0), 0
    async with running_discord(clock, window_s=WINDOW_S, allowance=10_000) as fake:
        world, roles, people = fake.world, ["81", "82"], [ANN, BO]
        world.everyone_may = str(sum(bit for bit in BITS if random.random() < 0.8) | VIEW)
        world.bot_may = str(int(world.bot_may) | sum(BITS))
        for number in range(8):
            channel = world.open_channel(str(100 + number), f"place{number}", VOICE if number > 5 else 0)
            channel |= {"bitrate": 64_000, "user_limit": 0} if number > 5 else {}
            for who, kind in ((GUILD, 0), ("81", 0), (BO, 1), (BOT, 1)):
                if random.random() < 0.5:
                    allow, deny = some(random, 0.3), some(random, 0.15)
                    deny = str(int(deny) & ~int(allow))
                    channel["permission_overwrites"].append({"id": who, "type": kind, "allow": allow, "deny": deny})
            channel["rate_limit_per_user"] = random.choice([0, 0, 0, 30])
        world.roles_of[BO] = roles  # so that the server has both
        host = turns_host(store_in_memory(), ScriptedProvider(lambda _: "Done."), clock)
        granted = {GUILD: int(world.everyone_may), "81": 0, "82": 0, "31": int(world.bot_may)}
        messages = {number: world.message(number, ANN, "Hello.") for number in world.channels if len(number) == 3}
        async with serving_discord(fake, host):
            hands = host.platforms.hands["discord"]
            for _ in range(ROUNDS):
                number, person, right = random.choice([*messages]), random.choice(people), random.choice(DISCORD_RIGHTS)
                world.roles_of[BO] = [role for role in roles if random.random() < 0.5]
                until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()  # noqa: TID251 -- the library compares it with the real time
                world.facts_of[BO] = random.choice([{}, {}, {"pending": True}, {"communication_disabled_until": until}])
                channel, own = world.channels[number], world.roles_of.get(person, [])
                theirs = permissions(world, channel, person, own, granted)
                ours = permissions(world, channel, BOT, ["31"], granted)
                wanted = VIEW | HISTORY | NEEDED[right]
                could = theirs & ours & wanted == wanted
                if channel["type"] == VOICE:
                    could &= bool(theirs & CONNECT) and right not in {ActRight.THREAD, ActRight.TOPIC}
                    could &= right is not ActRight.EVENT or theirs & ours & (EVENTS | CONNECT) == EVENTS | CONNECT
                elif right is ActRight.EVENT:
                    timed_out = "communication_disabled_until" in world.facts_of.get(person, {})
                    could &= bool(granted[GUILD] & EVENTS or person == ANN) and not timed_out
                could &= not (person == BO and world.facts_of[BO].get("pending"))
                could &= not (right in WRITES and channel["rate_limit_per_user"] and not theirs & MANAGE)
                link = f"https://discord.com/channels/{GUILD}/{number}/{messages[number]['id']}"
                assert await taken(hands, link, right, f"discord:{person}", replies=True) is could
                done += could
    assert 5 < done < ROUNDS
