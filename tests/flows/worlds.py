"""What people do with the bot, and what they see of it: the same on each platform, for scenarios that are the same.

A scenario takes a `World` of each platform. Two people are in it: the asker, and somebody else. They write in a public
channel, and the asker in their direct messages. What only one platform has is tested beside it, with its own double.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import pytest

from agent.memory.audience import GroupAudience, Place, TeamAudience
from bot.chat.host import Host
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.members import ZONE
from bot.platforms.discord.settings import DiscordSettings
from bot.platforms.slack.settings import SlackSettings
from tests.fakes import discord_bot, discord_world, slack_bot
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import (
    ANN,
    BO,
    BOT,
    CY,
    DM_OF,
    EPHEMERAL,
    EVERYBODY,
    GENERAL,
    GUILD,
    STAFF,
    VIEW,
    Payload,
    seen,
    text_file,
)
from tests.fakes.fast_clock import MovedClock
from tests.fakes.hosts import ServedHost
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_agent import FakeSession
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_things import BOT_USER, TEAM, FakeEphemeral, FakeMessage


class Who(Enum):
    ASKER = "asker"
    OTHER = "other"
    THIRD = "third"
    """Who is there only once they were `added`."""


Upload: TypeAlias = dict[str, Any]  # A file as the platform's events describe it


class Page(Protocol):
    """A message, as it is shown now: it follows edits. Two of the same message are equal."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def whole(self) -> str:
        """All that it shows: its text, and the notes below it."""
        ...

    @property
    def stands_alone(self) -> bool:
        """Whether it is in a channel itself: in no thread, and a reply to nothing."""
        ...

    @property
    def buttons(self) -> Sequence[str]:
        """The labels of those that the asker can press."""
        ...

    def copy(self) -> "Page":
        """The message as it is shown now, as in an app that has not heard of a change."""
        ...


class World(Protocol):
    """`clock`: of the platform, and of the bot there. `source`: what the bot calls the workspace, or Discord.
    `channel`, `secret`, `dm`: the ids of the public channel, of one that the asker and few others read, and of the
    asker's direct messages. `name`: the asker's. `marks`: whether the bot marks questions that it answers, which is set
    before it connects.
    """

    clock: MovedClock
    source: str
    channel: str
    secret: str
    dm: str
    name: str
    marks: bool

    def person(self, who: Who) -> str:
        """Return the person's id, as the bot writes it."""
        ...

    def add_third(self) -> None:
        """A third person is in the place."""
        ...

    def conversation(self, question: Page) -> str:
        """Return the id of the conversation that this question began."""
        ...

    def place(self, channel: str) -> Place:
        """Return where a reply is read that is posted in the public or the secret channel."""
        ...

    def serving(self, host: Host) -> AbstractAsyncContextManager[None]:
        """The bot, connected. Several are several processes."""
        ...

    async def until(self, happened: Callable[[], object]) -> None: ...

    def upload(self, name: str, content: bytes, media_type: str = "text/plain", *, voice: bool = False) -> Upload:
        """A file that the asker sends with a message. `voice`: they have spoken it there."""
        ...

    async def ask(
        self, text: str, below: Page | None = None, who: Who = Who.ASKER, *, files: Sequence[Upload] = ()
    ) -> Page:
        """Mention the bot in the channel, or in the thread of a question."""
        ...

    async def write(self, text: str, who: Who = Who.ASKER, *, files: Sequence[Upload] = ()) -> Page:
        """Write a direct message to the bot."""
        ...

    async def ask_in_secret(self, text: str, who: Who = Who.ASKER) -> Page:
        """Mention the bot in the channel that the two people and few others read."""
        ...

    async def reply(self, page: Page, text: str) -> None:
        """Somebody else mentions the bot below its message in the channel: in a thread, or in a reply to it."""
        ...

    async def command(self, name: str, words: str = "", below: Page | None = None, who: Who = Who.ASKER) -> None:
        """Use a command in the channel, or about the thread of a question. Slack has no commands in threads: there it
        is used in the channel.
        """
        ...

    async def ask_privately(self, text: str) -> None:
        """The asker uses `/ask` in the channel, for an answer that only they see."""
        ...

    async def forget(self, what: str, *, keep_replies: bool = False) -> None:
        """The asker uses `/forget` in the channel. Whether the bot's replies stay is said here on Discord, and in Slack
        with the button that agrees.
        """
        ...

    async def agree(self, page: Page, label: str, *, keep_replies: bool = False) -> None:
        """The asker presses this button of the question that `forget` led to."""
        ...

    async def press(self, page: Page, label: str, who: Who = Who.ASKER) -> None: ...
    def label(self, action: ReplyAction) -> str:
        """Return the label of this button below a reply."""
        ...

    async def react(self, page: Page, emoji: str, who: Who = Who.ASKER, *, take_back: bool = False) -> None:
        """`emoji`: 👍, 👎 or 🗑."""
        ...

    async def delete_reply(self, page: Page, *, unheard: bool = False) -> None:
        """Somebody who manages the place deletes it."""
        ...

    async def edit(self, question: Page, text: str) -> None:
        """`text`: what stands after the mention of the bot."""
        ...

    async def edit_unheard(self, question: Page, text: str) -> None:
        """The same while the bot is not connected. Somebody writes after it."""
        ...

    async def delete(self, question: Page) -> None: ...
    async def delete_channel(self, *, unheard: bool = False) -> None: ...
    async def open_secret(self) -> None:
        """From now on everybody reads that channel, and the bot has not heard of it."""
        ...

    async def leave(self) -> None:
        """The asker leaves the place where the channel is."""
        ...

    async def leave_secret(self) -> None:
        """From now on the asker does not read that channel."""
        ...

    async def lives_in(self, zone: str, host: ServedHost) -> None:
        """The asker's clock stands there: Slack says so, and on Discord they have told the bot."""
        ...

    def give_role(self) -> str:
        """Give the asker a role, before the bot connects, and return its entry in a list of who may use the bot."""
        ...

    def take_role(self) -> None: ...

    def answers(self, below: Page | None = None) -> Sequence[Page]:
        """The bot's messages that everybody in the channel can read, or those in the thread of a question."""
        ...

    def direct(self, who: Who = Who.ASKER) -> Sequence[Page]:
        """The bot's messages in the person's direct messages."""
        ...

    def in_secret(self) -> Sequence[Page]: ...
    def handed_over(self, below: Page | None = None) -> Sequence[tuple[str, bytes]]:
        """The files of the bot in the thread of a question, or in the asker's direct messages."""
        ...

    def described(self) -> Mapping[str, str]:
        """The words for people who cannot see them of all files that the bot has handed over, by name."""
        ...

    def private(self) -> Sequence[Page]:
        """The bot's messages that only one person sees, oldest first."""
        ...

    def calls(self, page: Page) -> bool:
        """Whether the message notifies the asker."""
        ...

    def marked(self, question: Page) -> Sequence[str]:
        """The emojis of the bot on a question."""
        ...

    def times_marked(self, question: Page) -> int:
        """How often it has added or removed one there."""
        ...

    def titled(self, question: Page) -> Callable[[], str]:
        """The question's conversation, once it is answered, has its words as title. Return what reads it."""
        ...

    @property
    def zone(self) -> str:
        """The time zone of the asker, as far as the platform says it."""
        ...

    @property
    def left(self) -> str:
        """Why somebody who has left is shown nothing more."""
        ...


W = TypeVar("W", bound=World)


# --------------------------------------------------------------------------------------------------
# Slack


@dataclass(frozen=True)
class SlackPage:
    message: FakeMessage | FakeEphemeral

    @property
    def id(self) -> str:
        return self.message.ts if isinstance(self.message, FakeMessage) else f"ephemeral {id(self.message)}"

    @property
    def text(self) -> str:
        return self.whole if self._is_panel else self.message.text

    @property
    def whole(self) -> str:
        return f"{self.message.text}\n{self.message.blocks}"

    @property
    def stands_alone(self) -> bool:
        return not self.message.thread_ts

    @property
    def _is_panel(self) -> bool:
        """A panel's text is the short form of its blocks, which show all of it."""
        return isinstance(self.message, FakeEphemeral)

    @property
    def buttons(self) -> Sequence[str]:
        return labels(self.message.blocks, SLACK_ASKER)

    def copy(self) -> "SlackPage":
        return SlackPage(replace(self.message, blocks=[*self.message.blocks]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlackPage) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


SLACK_ASKER, SLACK_OTHER, SLACK_CREW = "U0ANN", "U0BOB", "S0CREW"
SLACK_GENERAL, SLACK_SECRET, SLACK_DM = "C0GENERAL", "C0SECRET", "D0ANN"
SLACK_EMOJIS: Final = {
    "👀": "eyes",
    "✅": "white_check_mark",
    "⚠️": "warning",
    "👍": "+1",
    "👎": "-1",
    "🗑": "wastebasket",
}
SLACK_LABELS: Final[Mapping[ReplyAction, str]] = {
    ReplyAction.GOOD: platforms_texts.GOOD_BUTTON,
    ReplyAction.BAD: platforms_texts.BAD_BUTTON,
    ReplyAction.DELETE: platforms_texts.DELETE_BUTTON,
    ReplyAction.KEEP: reply_texts.KEEP_BUTTON,
    ReplyAction.END: reply_texts.END_BUTTON,
}
SLACK_THIRD: Final = "U0CAT"
SLACK_PEOPLE: Final = {Who.ASKER: SLACK_ASKER, Who.OTHER: SLACK_OTHER, Who.THIRD: SLACK_THIRD}
SLACK_DMS: Final = {Who.ASKER: SLACK_DM, Who.OTHER: "D0BOB", Who.THIRD: "D0CAT"}


@dataclass
class SlackWorld:
    slack: FakeSlack
    clock: MovedClock
    left: str = platforms_texts.SCHEDULE_LEFT
    zone: str = "Europe/Paris"
    source: str = f"slack:{TEAM}"
    channel: str = SLACK_GENERAL
    secret: str = SLACK_SECRET
    dm: str = SLACK_DM
    name: str = "ann"
    groups: frozenset[str] = frozenset()
    marks: bool = False
    _copies: list[FakeEphemeral] = field(default_factory=list[FakeEphemeral])

    def open_dm(self, who: Who) -> None:
        dm = SLACK_DMS[who]
        self.slack.state.channel(dm.removeprefix("D0"), "im")
        self.slack.state.channels[dm].members = {SLACK_PEOPLE[who], BOT_USER}

    def add_third(self) -> None:
        self.slack.state.channels[SLACK_GENERAL].members.add(self.slack.state.user("cat"))
        self.open_dm(Who.THIRD)

    def person(self, who: Who) -> str:
        return f"slack:{TEAM}:{SLACK_PEOPLE[who]}"

    def conversation(self, question: Page) -> str:
        return f"slack:{TEAM}:{SLACK_GENERAL}:{question.id}"

    def place(self, channel: str) -> Place:
        if channel == SLACK_SECRET:
            return Place(GroupAudience(f"{self.source}:{channel}"), whole_channel=True)
        return Place(TeamAudience(self.source), within_team=self.source)

    def serving(self, host: Host) -> AbstractAsyncContextManager[None]:
        chosen = SlackSettings(marks=self.marks)
        return slack_bot.serving(self.slack, host, self.clock, groups=self.groups, chosen=chosen)

    async def until(self, happened: Callable[[], object]) -> None:
        await self.slack.until(happened)

    async def ask(
        self, text: str, below: Page | None = None, who: Who = Who.ASKER, *, files: Sequence[Upload] = ()
    ) -> Page:
        thread = "" if below is None else below.id
        words = f"<@{BOT_USER}> {text}"
        return SlackPage(await self.slack.say(SLACK_PEOPLE[who], SLACK_GENERAL, words, thread, files=[*files]))

    async def write(self, text: str, who: Who = Who.ASKER, *, files: Sequence[Upload] = ()) -> Page:
        return SlackPage(await self.slack.say(SLACK_PEOPLE[who], SLACK_DMS[who], text, files=[*files]))

    async def ask_in_secret(self, text: str, who: Who = Who.ASKER) -> Page:
        return SlackPage(await self.slack.say(SLACK_PEOPLE[who], SLACK_SECRET, f"<@{BOT_USER}> {text}"))

    async def reply(self, page: Page, text: str) -> None:
        await self.ask(text, page, Who.OTHER)

    async def command(self, name: str, words: str = "", below: Page | None = None, who: Who = Who.ASKER) -> None:  # noqa: ARG002 -- see `World`
        await self.slack.command(SLACK_PEOPLE[who], SLACK_GENERAL, f"/{name}", words)

    async def ask_privately(self, text: str) -> None:
        await self.command("ask", f"privately {text}")

    async def forget(self, what: str, *, keep_replies: bool = False) -> None:  # noqa: ARG002 -- see `World`
        await self.command("forget", what)

    async def agree(self, page: Page, label: str, *, keep_replies: bool = False) -> None:
        await self._click(page, label, SLACK_ASKER, ticked=keep_replies)

    async def press(self, page: Page, label: str, who: Who = Who.ASKER) -> None:
        await self._click(page, label, SLACK_PEOPLE[who])

    def label(self, action: ReplyAction) -> str:
        return SLACK_LABELS.get(action, action.capitalize())

    async def react(self, page: Page, emoji: str, who: Who = Who.ASKER, *, take_back: bool = False) -> None:
        name = SLACK_EMOJIS[emoji]
        await self.slack.react(SLACK_PEOPLE[who], self._message(page), name, added=not take_back)

    async def delete_reply(self, page: Page, *, unheard: bool = False) -> None:
        self.slack.state.messages.remove(self._message(page))
        if not unheard:
            await self.delete(page)

    async def _click(self, page: Page, label: str, user: str, *, ticked: bool = False) -> None:
        assert isinstance(page, SlackPage)
        shown = page.message
        if isinstance(shown, FakeEphemeral):
            if shown.user != user:  # a client that shows it to somebody else
                shown = replace(shown, user=user)
            if not any(shown is one for one in self.slack.state.ephemerals):
                self._copies.append(shown)
        await self.slack.click(user, shown, label, ticked=ticked)

    async def edit(self, question: Page, text: str) -> None:
        message = self._message(question)
        edited = {**message.wire(), "text": f"<@{BOT_USER}> {text}", "edited": {"user": message.user, "ts": "1.2"}}
        change = {"type": "message", "subtype": "message_changed", "channel": message.channel, "message": edited}
        await self.slack.deliver(self.slack.envelope({**change, "previous_message": message.wire(), "ts": "2.1"}))

    async def edit_unheard(self, question: Page, text: str) -> None:
        self.slack.state.edit(self._message(question), f"<@{BOT_USER}> {text}")
        self.slack.state.write(SLACK_OTHER, SLACK_GENERAL, "good morning")

    async def delete(self, question: Page) -> None:
        message = self._message(question)
        gone = {"type": "message", "subtype": "message_deleted", "channel": message.channel}
        deletion = {**gone, "deleted_ts": message.ts, "previous_message": message.wire()}
        await self.slack.deliver(self.slack.envelope(deletion))

    async def delete_channel(self, *, unheard: bool = False) -> None:
        del self.slack.state.channels[SLACK_GENERAL]
        if not unheard:
            await self.slack.deliver(self.slack.envelope({"type": "channel_deleted", "channel": SLACK_GENERAL}))

    async def open_secret(self) -> None:
        self.slack.state.channels[SLACK_SECRET].kind = "public"

    async def leave(self) -> None:
        self.slack.state.channels[SLACK_GENERAL].members.discard(SLACK_ASKER)

    async def leave_secret(self) -> None:
        self.slack.state.channels[SLACK_SECRET].members.discard(SLACK_ASKER)

    async def lives_in(self, zone: str, host: ServedHost) -> None:  # noqa: ARG002 -- see `World`
        self.slack.state.users[SLACK_ASKER].facts["tz"] = zone

    def give_role(self) -> str:
        self.groups = frozenset({SLACK_CREW})
        self.slack.state.groups = {SLACK_CREW: {SLACK_ASKER}}
        return f"role:{SLACK_CREW}"

    def take_role(self) -> None:
        self.slack.state.groups[SLACK_CREW] = set()

    def answers(self, below: Page | None = None) -> Sequence[Page]:
        said = self.slack.state.answers(SLACK_GENERAL, None if below is None else below.id)
        return [SlackPage(message) for message in said]

    def direct(self, who: Who = Who.ASKER) -> Sequence[Page]:
        return [SlackPage(message) for message in self.slack.state.answers(SLACK_DMS[who])]

    def in_secret(self) -> Sequence[Page]:
        return [SlackPage(message) for message in self.slack.state.answers(SLACK_SECRET)]

    def upload(self, name: str, content: bytes, media_type: str = "text/plain", *, voice: bool = False) -> Upload:
        return {**self.slack.upload(name, content, media_type), **({"subtype": "slack_audio"} if voice else {})}

    def handed_over(self, below: Page | None = None) -> Sequence[tuple[str, bytes]]:
        channel = SLACK_DM if below is None else SLACK_GENERAL
        shared = [one for one in self.slack.state.handed_over(channel) if below is None or one.thread_ts == below.id]
        contents = {name: content for _, name, content in self.slack.state.files}
        return [(file["name"], contents[file["name"]]) for message in shared for file in message.files]

    def described(self) -> Mapping[str, str]:
        calls = self.slack.state.called("files.getUploadURLExternal")
        return {call.args["filename"]: call.args.get("alt_txt", "") for call in calls}

    def private(self) -> Sequence[Page]:
        return [SlackPage(message) for message in (*self._copies, *self.slack.state.ephemerals)]

    def calls(self, page: Page) -> bool:
        return f"<@{SLACK_ASKER}>" in str(self._message(page).blocks)

    def marked(self, question: Page) -> Sequence[str]:
        names = self.slack.state.reactions[self._message(question).channel, question.id]
        return [emoji for name in names for emoji, known in SLACK_EMOJIS.items() if known == name]

    def times_marked(self, question: Page) -> int:
        calls = [call for call in self.slack.state.calls if call.method.startswith("reactions.")]
        return len([call for call in calls if call.args["timestamp"] == question.id])

    def titled(self, question: Page) -> Callable[[], str]:
        """Slack keeps it in a session, which an answer has that takes a moment."""
        session = FakeSession(self.clock, self._message(question).text.partition("> ")[2])
        self.slack.state.agents.sessions[SLACK_GENERAL, question.id] = session
        return lambda: session.title

    def _message(self, page: Page) -> FakeMessage:
        assert isinstance(page, SlackPage)
        assert isinstance(page.message, FakeMessage)
        return page.message


@asynccontextmanager
async def in_slack() -> AsyncGenerator[SlackWorld]:
    clock = MovedClock(speed=20.0)
    async with FakeSlack(clock) as slack:
        slack.state.user("ann")
        slack.state.user("bob")
        slack.state.channel("general")
        slack.state.channel("secret", "private")
        world = SlackWorld(slack, clock)
        for who in (Who.ASKER, Who.OTHER):
            world.open_dm(who)
        yield world


# --------------------------------------------------------------------------------------------------
# Discord


@dataclass(frozen=True)
class DiscordPage:
    message: Payload

    @property
    def id(self) -> str:
        return self.message["id"]

    @property
    def text(self) -> str:
        return seen(self.message)

    @property
    def whole(self) -> str:
        return self.text

    @property
    def stands_alone(self) -> bool:
        return self.message["channel_id"] == GENERAL and "message_reference" not in self.message

    @property
    def buttons(self) -> Sequence[str]:
        return discord_world.labels(self.message)

    def copy(self) -> "DiscordPage":
        return DiscordPage({**self.message})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DiscordPage) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


DISCORD_ROLE = "35"
VOICE_MESSAGE = 1 << 13
DISCORD_LABELS: Final[Mapping[ReplyAction, str]] = {
    ReplyAction.GOOD: "👍",
    ReplyAction.BAD: "👎",
    ReplyAction.KEEP: reply_texts.KEEP_BUTTON,
    ReplyAction.END: reply_texts.END_BUTTON,
}
DISCORD_PEOPLE: Final = {Who.ASKER: BO, Who.OTHER: ANN, Who.THIRD: CY}


@dataclass
class DiscordWorld:
    """The other person owns the server, and the asker manages nothing."""

    fake: FakeDiscord
    clock: MovedClock
    left: str = platforms_texts.SCHEDULE_LEFT_SERVER
    zone: str = "UTC"
    source: str = "discord"
    channel: str = GENERAL
    secret: str = STAFF
    dm: str = DM_OF[BO]
    name: str = "Bo"
    marks: bool = False

    def add_third(self) -> None:
        """They are a member of the server already."""

    def person(self, who: Who) -> str:
        return f"discord:{DISCORD_PEOPLE[who]}"

    def conversation(self, question: Page) -> str:
        return f"discord:{question.id}"

    def place(self, channel: str) -> Place:
        team = f"discord:{GUILD}"
        if channel == STAFF:
            return Place(GroupAudience(f"discord:{channel}"), within_team=team, whole_channel=True)
        return Place(TeamAudience(team), within_team=team)

    def serving(self, host: Host) -> AbstractAsyncContextManager[None]:
        return discord_bot.serving(self.fake, host, chosen=DiscordSettings(marks=self.marks))

    async def until(self, happened: Callable[[], object]) -> None:
        await self.fake.until(happened)

    async def ask(
        self, text: str, below: Page | None = None, who: Who = Who.ASKER, *, files: Sequence[Upload] = ()
    ) -> Page:
        channel = GENERAL if below is None else below.id
        return await self._say(who, f"<@{BOT}> {text}", channel, files)

    async def write(self, text: str, who: Who = Who.ASKER, *, files: Sequence[Upload] = ()) -> Page:
        return await self._say(who, text, DM_OF[DISCORD_PEOPLE[who]], files)

    async def _say(self, who: Who, text: str, channel: str, files: Sequence[Upload]) -> Page:
        flags = VOICE_MESSAGE if any("waveform" in file for file in files) else 0
        return DiscordPage(await self.fake.say(DISCORD_PEOPLE[who], text, channel, attachments=[*files], flags=flags))

    def upload(self, name: str, content: bytes, media_type: str = "text/plain", *, voice: bool = False) -> Upload:
        self.fake.rest.files[name] = content
        file = text_file(name, f"http://{self.fake.address}/cdn/{name}", len(content), media_type)
        return {**file, "id": str(len(name)), **({"waveform": "AA==", "duration_secs": 2.0} if voice else {})}

    async def ask_in_secret(self, text: str, who: Who = Who.ASKER) -> Page:
        return DiscordPage(await self.fake.say(DISCORD_PEOPLE[who], f"<@{BOT}> {text}", STAFF))

    async def reply(self, page: Page, text: str) -> None:
        await self.fake.reply(ANN, f"<@{BOT}> {text}", self._message(page))

    async def command(self, name: str, words: str = "", below: Page | None = None, who: Who = Who.ASKER) -> None:
        known = next(command for command in self.fake.rest.commands if command["name"] == name)
        first = {known["options"][0]["name"]: words} if words else {}
        await self.fake.command(DISCORD_PEOPLE[who], name, GENERAL if below is None else below.id, **first)

    async def ask_privately(self, text: str) -> None:
        await self.fake.command(BO, "ask", GENERAL, question=text, private=True)

    async def forget(self, what: str, *, keep_replies: bool = False) -> None:
        await self.fake.command(BO, "forget", GENERAL, what=what, keep_replies=keep_replies)

    async def agree(self, page: Page, label: str, *, keep_replies: bool = False) -> None:  # noqa: ARG002 -- see `World`
        await self.press(page, label)

    async def press(self, page: Page, label: str, who: Who = Who.ASKER) -> None:
        await self.fake.press(DISCORD_PEOPLE[who], self._message(page), label)

    def label(self, action: ReplyAction) -> str:
        return DISCORD_LABELS.get(action, action.capitalize())

    async def react(self, page: Page, emoji: str, who: Who = Who.ASKER, *, take_back: bool = False) -> None:
        await self.fake.react(DISCORD_PEOPLE[who], emoji, self._message(page), take_back=take_back)

    async def delete_reply(self, page: Page, *, unheard: bool = False) -> None:
        if unheard:
            del self.fake.world.messages[page.id]
        else:
            await self.delete(page)

    async def edit(self, question: Page, text: str) -> None:
        await self.fake.change(self._message(question), f"<@{BOT}> {text}")

    async def edit_unheard(self, question: Page, text: str) -> None:
        self.fake.world.edit(self._message(question), f"<@{BOT}> {text}")
        self.fake.world.message(GENERAL, ANN, "good morning")

    async def delete(self, question: Page) -> None:
        await self.fake.take_back(self._message(question))

    async def delete_channel(self, *, unheard: bool = False) -> None:
        channel = self.fake.world.channels.pop(GENERAL)
        if not unheard:
            await self.fake.dispatch("CHANNEL_DELETE", channel)

    async def open_secret(self) -> None:
        self.fake.world.channels[STAFF]["permission_overwrites"] = []

    async def leave(self) -> None:
        self.fake.world.absent.add(BO)

    async def leave_secret(self) -> None:
        channel = self.fake.world.channels[STAFF]
        channel["permission_overwrites"] = [one for one in channel["permission_overwrites"] if one["id"] != BO]
        await self.fake.dispatch("CHANNEL_UPDATE", channel)

    async def lives_in(self, zone: str, host: ServedHost) -> None:
        await host.preferences.set(self.person(Who.ASKER), ZONE, zone)

    def give_role(self) -> str:
        self.fake.world.roles_of[BO] = [DISCORD_ROLE]
        return f"role:{DISCORD_ROLE}"

    def take_role(self) -> None:
        self.fake.world.roles_of[BO] = []

    def answers(self, below: Page | None = None) -> Sequence[Page]:
        elsewhere = (*DM_OF.values(), STAFF)
        return self._said(lambda said: said["channel_id"] == below.id if below else said["channel_id"] not in elsewhere)

    def direct(self, who: Who = Who.ASKER) -> Sequence[Page]:
        return self._said(lambda said: said["channel_id"] == DM_OF[DISCORD_PEOPLE[who]])

    def in_secret(self) -> Sequence[Page]:
        return self._said(lambda said: said["channel_id"] == STAFF)

    def handed_over(self, below: Page | None = None) -> Sequence[tuple[str, bytes]]:
        channel = DM_OF[BO] if below is None else below.id
        shared = [said for said in discord_bot.by_the_bot(self.fake) if said["channel_id"] == channel]
        return [
            (name, text.encode(errors="surrogateescape"))
            for said in shared
            for name, text in said.get("files", {}).items()
        ]

    def described(self) -> Mapping[str, str]:
        files = [file for said in discord_bot.by_the_bot(self.fake) for file in said["attachments"]]
        return {file["filename"]: file.get("description", "") for file in files}

    def _said(self, chosen: Callable[[Payload], bool]) -> Sequence[Page]:
        said = discord_bot.by_the_bot(self.fake)
        pages = [DiscordPage(message) for message in said if not message["flags"] & EPHEMERAL and chosen(message)]
        return [page for page in pages if page.text or not page.message.get("files")]

    def private(self) -> Sequence[Page]:
        said = discord_bot.by_the_bot(self.fake)
        return [DiscordPage(message) for message in said if message["flags"] & EPHEMERAL]

    def calls(self, page: Page) -> bool:
        return f"<@{BO}>" in page.text

    def marked(self, question: Page) -> Sequence[str]:
        if question.id not in self.fake.world.messages:
            return []
        return self.fake.rest.reactions[self._message(question)["channel_id"], question.id]

    def times_marked(self, question: Page) -> int:
        return len([call for call in self.fake.calls if f"/{question.id}/reactions/" in call.path])

    def titled(self, question: Page) -> Callable[[], str]:
        """It is the name of the thread."""
        thread = self.fake.world.channels[question.id]
        assert thread["name"] in question.text
        return lambda: thread["name"]

    def _message(self, page: Page) -> Payload:
        assert isinstance(page, DiscordPage)
        return page.message


@asynccontextmanager
async def on_discord() -> AsyncGenerator[DiscordWorld]:
    clock = MovedClock(speed=2.0)
    async with running_discord(clock, window_s=discord_bot.WINDOW_S) as fake:
        fake.world.everyone_may = EVERYBODY
        readers: list[Payload] = fake.world.channels[STAFF]["permission_overwrites"]
        readers.append({"id": BO, "type": 1, "allow": str(VIEW), "deny": "0"})
        yield DiscordWorld(fake, clock)


OpenWorld: TypeAlias = Callable[[], AbstractAsyncContextManager[W]]
AnyWorld: TypeAlias = OpenWorld[World]
WORLDS: Final[Sequence[AnyWorld]] = (in_slack, on_discord)

# For flows that execute nothing on the other platform which no other flow of both platforms executes there, too: `make
# test` runs them on this one, and `make test-thorough` on both. Those of approvals, of forgetting and of who may read
# something always run on both.
mainly_in_slack: Final = pytest.mark.mainly(world=in_slack)
mainly_on_discord: Final = pytest.mark.mainly(world=on_discord)
