"""The users of `benchmarks.chaos`: their questions on both platforms, and the replies that are shown in the end.

All users ask at their own pace, without waiting for answers; on Slack they wait until their question was acknowledged.
A mention on Slack is two events. On both platforms, one event in ten is also delivered twice.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Final

from agent.machine import CLOCK
from benchmarks.chaos_model import Kind, Model, asking, whole
from bot.platforms import texts
from bot.platforms.slack.event_retry_queue import ACK_S
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, GENERAL, GUILD
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_redelivery import Redelivery, redelivering
from tests.fakes.slack_state import HOME, PER_MINUTE, Workspace
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, other_app

NAMED: Final = re.compile(r"\bFor (c\d+-\d+) ")
# The line below an answer that stored or learned something. It comes from code, and not from the model.
_KEPT: Final = re.compile(r"\s*[*_](?:Remembered|Learned from your earlier messages): [^\n]*[*_]\s*\Z")
# What a person reads who waits long: on a busy machine, the database or the platform does not respond for seconds. The
# reply follows.
_NOTICES: Final = frozenset(
    {texts.KEPT_WAITING, texts.SLACK_KEPT_WAITING, texts.DISCORD_KEPT_WAITING, texts.ANSWER_WAITS}
)
REDELIVER_S: Final = 2.0  # Slack waits longer, but a run takes about a minute
TWICE: Final = 0.1
DIRECT: Final = 3  # Direct conversations in each of Slack's workspaces
DIRECT_ON_DISCORD: Final = 2  # One for each of the two people
SERVERS_EACH: Final = 2
# Slack's limits on reading allow some restarts a minute; here a minute has more restarts than a bad month.
LIMITS_STRETCHED: Final = 20
# Discord conversations that begin with a mention in the channel, for which the bot starts the thread.
STARTED_BY_BOT: Final = 3
# Slack takes fifty edits a minute of all answers together, so most of its answers have to come at once.
KINDS: Final = {
    "Slack": [Kind.AT_ONCE] * 36 + [Kind.SLOWLY, Kind.IN_PAGES, Kind.ONE_CALL, Kind.TWO_CALLS],
    "Discord": [Kind.AT_ONCE] * 8
    + [Kind.SLOWLY] * 3
    + [Kind.IN_PAGES] * 2
    + [Kind.ONE_CALL] * 3
    + [Kind.TWO_CALLS] * 2,
}


@dataclass(slots=True)
class Conversation:
    """One place where questions follow one another. `channel`: the platform's id, once it is known."""

    name: str
    platform: str
    questions: list[str]
    channel: str = ""
    begins_in: str = GENERAL
    """The channel in which the bot starts its thread, on Discord."""
    app: str = HOME.id
    """The app whose workspace it is in, on Slack."""
    direct: bool = False
    asked: int = 0
    thread: str = ""
    """On Slack, the thread that starts with the first question."""
    envelopes: set[str] = field(default_factory=set[str])
    """The Slack events of its questions."""
    waited: bool = False
    """A question was acknowledged so late that only its pointer may have been stored (`event_retry_queue`)."""


@dataclass(slots=True)
class Town:
    slack: FakeSlack
    discord: FakeDiscord
    model: Model
    redelivery: Redelivery
    chance: Random
    conversations: list[Conversation]
    shards: int = 1
    """Connections to Discord, which the processes divide; a single one is held by one process."""
    twice: int = 0

    def apps(self) -> str:
        """The content of the file of Slack's apps (`COGENCY_SLACK_APPS`)."""
        each = (state.who for state in self.slack.states.values())
        tokens = 'bot_token = "{0.bot_token}"\napp_token = "{0.app_token}"\n'
        return "\n".join(f"[{app.workspace}]\n" + tokens.format(app) for app in each)

    def environment(self) -> dict[str, str]:
        """The settings of a process for these users: without rate limits and without notices of what is remembered. The
        model does not answer requests to learn.
        """
        unlimited = ("PERSON_PER_MINUTE", "PERSON_PER_HOUR", "CHANNEL_PER_MINUTE", "PERSON_RUNNING", "BACKLOG",
                     "PERSON_TOKENS_PER_DAY", "PERSON_DOLLARS_PER_DAY", "EVERYONE_DOLLARS_PER_DAY")  # fmt: skip
        return {
            **{f"COGENCY_{name}": "0" for name in unlimited},
            "COGENCY_FIRST_NOTICE": "off",
            "COGENCY_LEARNING": "off",
            "COGENCY_MODEL": "openai:m-1",
            "OPENAI_BASE_URL": self.model.url,
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_APP_TOKEN": APP_TOKEN,
            "SLACK_API_BASE_URL": self.slack.url,
            "DISCORD_TOKEN": TOKEN,
            "DISCORD_API_BASE_URL": self.discord.api_base_url,
            "DISCORD_GATEWAY_URL": self.discord.gateway_url,
            "COGENCY_DISCORD_SHARDS": str(self.shards),
        }

    def connected(self, processes: int) -> bool:
        sockets = 2 * processes * len(self.slack.states)
        return len(self.slack.sockets) >= sockets and len(self.discord.connected) >= self.shards

    def cut(self) -> None:
        """Close a random socket."""
        slack, discord = len(self.slack.sockets), self.discord.connected
        number = self.chance.randrange(max(1, slack + len(discord)))
        if number < slack:
            self.slack.drop(number)
        elif discord:
            self.discord.drop(discord[number - slack])

    def divided_badly(self) -> tuple[str, ...]:
        """Return the requests that Discord refused, except of a suspended process whose lease another one took over."""
        held = ("held by two", "has two sessions")
        return tuple(violation for violation in self.discord.shard_violations if not violation.endswith(held))

    async def become_known(self) -> None:
        """Wait until every direct conversation on Discord has had an answer: Discord reports none that started while no
        process was connected (`bot.platforms.discord.missed`).
        """
        direct = [
            conversation
            for conversation in self.conversations
            if conversation.platform == "Discord" and conversation.channel in DM_OF.values()
        ]
        for one in direct:
            await self._ask_on_discord(one, one.questions[0], Random(one.name))
            one.asked += 1
        while not all(self.shown(one) for one in direct):  # noqa: ASYNC110 -- it happens in other processes
            await asyncio.sleep(0.05)

    async def ask_everything(self, span_s: float, until: int | None = None) -> None:
        """Ask every question of every conversation, or the first `until` of each, within about `span_s` seconds."""
        await asyncio.gather(*(self._ask_all(conversation, span_s, until) for conversation in self.conversations))

    async def _ask_all(self, conversation: Conversation, span_s: float, until: int | None) -> None:
        chance = Random(conversation.name)
        for question in conversation.questions[conversation.asked : until]:
            await asyncio.sleep(chance.uniform(0.0, 2 * span_s / len(conversation.questions)))
            if conversation.platform == "Slack":
                await self._ask_on_slack(conversation, question, chance)
            else:
                await self._ask_on_discord(conversation, question, chance)
            conversation.asked += 1

    async def _ask_on_slack(self, conversation: Conversation, question: str, chance: Random) -> None:
        state = self.slack.states[conversation.app]
        person = chance.choice([user.id for user in state.users.values() if user.id != state.who.user])
        text = asking(question)
        mention = text if conversation.direct else f"<@{state.who.user}> {text}"
        message = state.write(person, conversation.channel, mention, conversation.thread)
        conversation.thread = conversation.thread or message.ts
        events = self.slack.events_of(message, state)
        envelopes = [self.slack.envelope(event, who=state.who) for event in events]
        if chance.random() < TWICE:
            envelopes.append(envelopes[0])
            self.twice += 1
        ids, started = {envelope["envelope_id"] for envelope in envelopes}, CLOCK.monotonic()
        conversation.envelopes |= ids
        for envelope in envelopes:
            sockets = self.slack.sockets_for(envelope)
            await self.slack.deliver(envelope, chance.randrange(max(1, len(sockets))))
        while not self.slack.acks.keys() & ids:  # noqa: ASYNC110 -- it happens in other processes
            await asyncio.sleep(0.05)
        conversation.waited |= CLOCK.monotonic() - started >= ACK_S

    async def _ask_on_discord(self, conversation: Conversation, question: str, chance: Random) -> None:
        person = next((name for name, channel in DM_OF.items() if channel == conversation.channel), "")
        text = asking(question)
        channel = conversation.channel or conversation.begins_in
        mention = text if person else f"<@{BOT}> {text}"
        message = await self.discord.say(person or chance.choice([ANN, BO]), mention, channel)
        if chance.random() < TWICE:
            await self.discord.again(message)
            self.twice += 1
        if not conversation.channel:
            while message["id"] not in self.discord.world.channels:  # noqa: ASYNC110 -- another process makes it so
                await asyncio.sleep(0.05)
            conversation.channel = message["id"]

    def came_late(self, conversation: Conversation) -> bool:
        """Whether a question may have been stored after a later one: Slack resends an event without acknowledgement
        after later ones, and an event that takes long is stored after its acknowledgement.
        """
        return conversation.waited or not conversation.envelopes.isdisjoint(self.redelivery.attempts)

    def shown(self, conversation: Conversation) -> list[str]:
        """Return the bot's messages in a conversation, in order."""
        if conversation.platform == "Slack":
            answers = self.slack.states[conversation.app].answers(conversation.channel)
            return [message.text for message in answers]
        return self.discord.world.shown(conversation.channel) if conversation.channel else []


@dataclass(frozen=True, slots=True)
class Verdict:
    """The replies to the questions. A missing, partial or different reply is `lost`."""

    replies: int
    duplicates: int
    lost: int
    out_of_order: int
    strange: tuple[str, ...]
    """The faults, as sentences."""
    notices: int = 0
    """Messages which say that the reply will take longer."""


def judge(town: Town, stored: Sequence[str]) -> Verdict:
    """Compare the shown replies with the model's answers. Blanks at cuts between pages do not count.

    `stored`: the questions in the ledger's order, which replies follow where a question came late. Elsewhere, replies
    follow the order in which the questions were asked.
    """
    whole_ones = duplicates = lost = out_of_order = notices = 0
    strange: list[str] = []
    for conversation in town.conversations:
        everything = town.shown(conversation)
        replies = [page for page in everything if page not in _NOTICES]
        notices += len(everything) - len(replies)
        pages = [(_named(page), " ".join(_KEPT.sub("", page).split())) for page in replies]
        strange += [f"{conversation.name}: {text}" for name, text in pages if name not in conversation.questions]
        order = [name for name, _ in pages if name in conversation.questions]
        firsts = sorted(dict.fromkeys(order), key=order.index)
        due = (
            [earlier for earlier in stored if earlier in firsts]
            if stored and town.came_late(conversation)
            else sorted(firsts)
        )
        places = {name: place for place, name in enumerate(due)}  # What the ledger has lost has none
        early = [
            f"{earlier} stands before {other}"
            for earlier, other in pairwise(firsts)
            if places.get(earlier, -1) > places.get(other, len(due))
        ]
        out_of_order += len(early)
        strange += early
        for question in conversation.questions:
            expected = " ".join(whole(question, town.model.kinds[question]).split())
            shown = " ".join(text for name, text in pages if name == question)
            whole_ones += shown == expected
            twice = len(shown) > len(expected) and expected in shown
            duplicates += twice
            lost += shown != expected and not twice
            if shown != expected:
                strange.append(
                    f"{question}: shows {len(shown)} of {len(expected)} characters: {shown[:100]} … {shown[-100:]}"
                )
    return Verdict(whole_ones, duplicates, lost, out_of_order, tuple(strange), notices)


def _named(page: str) -> str:
    found = NAMED.search(page)
    return found[1] if found else ""


def planned(conversations: int, events: int, chance: Random) -> tuple[list[Conversation], dict[str, Kind]]:
    """Divide `events` questions among conversations on both platforms, and choose how each is answered."""
    planned = [Conversation(f"c{n:02}", "Discord" if n % 2 else "Slack", []) for n in range(conversations)]
    for number in range(events):
        one = planned[number % conversations]
        one.questions.append(f"{one.name}-{number // conversations:02}")
    kinds = {question: chance.choice(KINDS[one.platform]) for one in planned for question in one.questions}
    return planned, kinds


def settle_on_slack(slack: FakeSlack, conversations: Sequence[Conversation], apps: int) -> None:
    """Give each conversation its place, in each workspace in turn. People have an account in each workspace."""
    states = [slack.state, *(slack.add(other_app(f"w{number}")) for number in range(2, apps + 1))]
    for state in states:
        _populate(state, "" if state is slack.state else state.who.workspace)
    for number, one in enumerate(conversations):
        state = states[number % apps]
        one.direct, one.app = number < DIRECT * apps, state.who.id
        one.channel = state.channel(one.name, "im" if one.direct else "public")


def _populate(state: Workspace, suffix: str) -> None:
    state.per_minute = {
        method: count * (1 if method == "chat.update" else LIMITS_STRETCHED) for method, count in PER_MINUTE.items()
    }
    for name in ("ann", "bo", "cy", "di", "ed", "flo"):
        state.user(f"{name}{suffix}")


def settle_on_discord(discord: FakeDiscord, conversations: Sequence[Conversation], shards: int) -> None:
    """Give each conversation its place, in each server in turn. With several connections, each has `SERVERS_EACH`
    servers.
    """
    channels = [GENERAL]
    for number in range(1, shards * SERVERS_EACH if shards > 1 else 1):
        server = str((number << 22) + int(GUILD))
        discord.world.guilds[server] = f"quay {number}"
        channels.append(discord.world.open_channel(f"{1000 + number}", f"pier-{number}", guild=server)["id"])
    for number, one in enumerate(conversations):
        one.begins_in = channels[number % len(channels)]
        if number < DIRECT_ON_DISCORD:
            one.channel = DM_OF[(ANN, BO)[number]]
        elif number >= DIRECT_ON_DISCORD + STARTED_BY_BOT * min(shards, 4):
            root = discord.world.message(one.begins_in, ANN, "Let us talk about boats.")
            one.channel = discord.world.start_thread(one.begins_in, root["id"], one.name)["id"]


@asynccontextmanager
async def town(
    conversations: int, events: int, chance: Random, *, apps: int = 1, shards: int = 1
) -> AsyncGenerator[Town]:
    """Run both platforms and the model on loopback, for a number of Slack apps and of connections to Discord."""
    talks, kinds = planned(conversations, events, chance)
    async with (
        FakeSlack(CLOCK) as slack,
        running_discord(CLOCK, window_s=1.0) as discord,
        Model(kinds) as model,
        redelivering(slack, REDELIVER_S, chance) as redelivery,
    ):
        settle_on_slack(slack, [talk for talk in talks if talk.platform == "Slack"], apps)
        settle_on_discord(discord, [talk for talk in talks if talk.platform == "Discord"], shards)
        yield Town(slack, discord, model, redelivery, chance, talks, shards)
