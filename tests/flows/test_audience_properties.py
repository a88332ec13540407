"""Whatever people say, wherever, and whoever comes and goes: nothing reaches a model that its readers may not know.

Everything that is said carries a secret of its own. The model looks for more, notes what it sees or repeats it, so that
whatever leaks anywhere is in one of its requests. In a short history what was done last stands in, too.
"""

import json
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.admission_terms import Authority
from agent.context import ContextBudget
from agent.errors import ProviderUnavailable
from agent.incoming import Incoming, Person, Quoted
from agent.jobs import INDEXING
from agent.memory.audience import (
    NOWHERE,
    WIDE,
    Audience,
    GroupAudience,
    PersonAudience,
    Place,
    TeamAudience,
    drawn_from,
    label,
    may_flow_from,
)
from agent.memory.documents import ON, SHARING, NewDocument, Passage
from agent.memory.forgetting_plans import PAUSED
from agent.memory.profile import LEARNING
from agent.messages import JsonObject, Keep, Message, Role
from agent.ports.api_tokens import ApiToken, NewApiToken, TokenScope
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.providers.scripted import ScriptedProvider
from agent.toolbox.registry import Toolbox
from agent.tools.recall import RecallTool, recollect
from agent.tools.remember import RememberTool
from agent.turn_kinds import TurnKind
from agent.turn_records import Claiming
from bot.api.asking import message_of_person, message_of_service, question_message
from bot.api.wire import ApiQuestion, Endpoint
from bot.chat.access.readers import Readers
from bot.chat.caches import MAX_AGE_S
from bot.chat.feature import Feature
from bot.chat.foreground import ForegroundPriority
from bot.chat.kinds import TurnRule
from bot.chat.learning_model import LearningModel
from bot.chat.notes import EndedTurn
from bot.chat.reply.live import LiveReply
from bot.chat.turns.turn_features import TurnFeatures
from bot.memory.learning import Learner
from bot.memory.pauses import LearningSchedule
from store.engine import Store, open_store
from tests.examples import examples
from tests.fakes.clock import FakeClock
from tests.fakes.fixed_config import WORDED
from tests.fakes.incoming import LEASE
from tests.fakes.mcp_users import FakeMcpUser, personal_tools
from tests.fakes.membership import FakeMembership
from tests.fakes.new_database import new_database, open_new
from tests.fakes.runners import runner_on
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.surface import FakeSurface

SECRET = re.compile(r"secret\d+")
NUMBERED = re.compile(r'"number": (\d+),[^{}]*"text": "([^"]*)"')  # A message as the learner's prompt holds it
TEAM = "t"
GUEST = "t:gil"
PEOPLE = ("t:ann", "t:bob", GUEST)
CHANNELS = ("t:club", "t:hall")  # The club is private at first, the hall public
RECALL: JsonObject = {"name": "recall", "args": {"query": "secret boat canoe"}}
LOOK: JsonObject = {"name": "look", "args": {}}
LOOK_AND_NOTE = (LOOK, {"name": "remember", "args": {"text": "The boat is called SEEN."}})


def secrets(messages: Sequence[Message]) -> set[str]:
    return {secret for message in messages for secret in SECRET.findall(message.text)}


@dataclass(frozen=True)
class Said:
    """For whom (a label) something was said, in which conversation of which channel, and what of a tool it was drawn
    from. `shared`: by whom it was said in public while that was switched on there; "" if it was not.
    """

    audience: str
    where: str
    channel: str = ""
    drawn: str = WIDE
    shared: str = ""
    untold: bool = False
    """No reply says it; only a record of what was done there does."""
    document: bool = False
    """A document of that place says it, which is for members alone."""

    def may_be_used(self, allowed: frozenset[str], here: str, person: str) -> bool:
        if self.document:
            return self.audience in allowed and person != GUEST
        flows, is_here = self.drawn in {WIDE, *allowed}, self.where == here
        return self.audience in allowed and ((flows and is_here) if self.untold else (flows or is_here))

    def is_with(self, other: "Said") -> bool:
        return (self.audience, self.where) == (other.audience, other.where)


@dataclass(frozen=True)
class Look:
    """A tool of somebody else's: it brings one secret, for those and for as long as it says."""

    brings: Callable[[], ToolOutput]
    name: str = "look"
    description: str = "Look something up."
    schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 5

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:  # noqa: ARG002 -- as the port says
        return self.brings()


@dataclass
class Town:
    """People who talk to the bot. `stands`: for whom and where each secret was said so far; `wrote`: also by whom.

    `part`: who wrote in which conversation. `on`: the channels that share; `out`: who has taken theirs out.
    """

    store: Store
    history: int
    clock: FakeClock = field(default_factory=FakeClock)
    public: set[str] = field(default_factory=lambda: {"t:hall"})
    members: FakeMembership = field(default_factory=lambda: FakeMembership({place: set(PEOPLE) for place in CHANNELS}))
    stands: dict[str, set[Said]] = field(default_factory=lambda: defaultdict[str, set[Said]](set))
    wrote: set[tuple[str, str, Said]] = field(default_factory=set[tuple[str, str, Said]])
    part: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    on: set[str] = field(default_factory=set[str])
    out: set[str] = field(default_factory=set[str])
    numbers: "count[int]" = field(default_factory=count)
    notes: bool = False
    repeats: bool = False
    looks: bool = False
    brought: ToolOutput = field(default_factory=ToolOutput)
    replies: list[tuple[Said, Quoted]] = field(default_factory=list[tuple[Said, Quoted]])
    """Whatever was answered, for whoever reads there to point at."""

    def __post_init__(self) -> None:
        store = self.store
        self.readers = Readers(store.conversations.groups, self.clock, {TEAM: self.members})
        self.model, self.learning = ScriptedProvider(self.answer), ScriptedProvider(insights)
        self.learner = Learner(
            store.profiles,
            store.facts,
            store.jobs,
            store.spending,
            lambda: LearningModel(self.learning),
            self.clock,
            ForegroundPriority(),
        )
        recall = RecallTool(store.memories, documents=store.documents)
        tools = (recall, RememberTool(store.facts), Look(lambda: self.brought))
        self.runner = replace(
            runner_on(store, self.model, self.clock, *tools),
            context=replace(
                WORDED,
                budget=ContextBudget(history=self.history),
                recollect=partial(recollect, store.memories, store.conversations),
            ),
            learning=LearningSchedule(self.learner),
            features=TurnFeatures([Feature(name="api", kinds={TurnKind.API: TurnRule()})]),
            readers=self.readers,
        )

    def answer(self, messages: Sequence[Message]) -> str:
        seen = " ".join(sorted(secrets(messages)))
        rounds = sum("<results>" in message.text for message in messages if message.role is Role.USER)
        if self.looks and self.notes and rounds < len(LOOK_AND_NOTE):
            return f"<execute>[{json.dumps(LOOK_AND_NOTE[rounds]).replace('SEEN', seen)}]\n</execute>"
        if rounds and not self.repeats:
            return "Done."
        if rounds:
            return f'The boat: {seen}.\n<summary>{{"goal": "boat {seen}"}}</summary>'
        noting: JsonObject = {"name": "remember", "args": {"text": f"The boat is called {seen}."}}
        calls = [noting if self.notes else RECALL, *([LOOK] if self.looks else [])]
        return f"<execute>{json.dumps(calls)}\n</execute>"

    def place(self, person: str, where: str) -> Place:
        if where == "dm":
            return Place(PersonAudience(person), within_team=None if person == GUEST else TEAM)
        if where in self.public:
            return Place(TeamAudience(TEAM), within_team=TEAM)
        return Place(GroupAudience(where), whole_channel=True)

    def reads(self, person: str, where: str) -> bool:
        if where in self.public:
            return person != GUEST
        return where == "dm" or person in self.members.readers[where]

    async def look(
        self, person: str, where: str, audience: Audience | None, keep: Keep, *, notes: bool, repeats: bool
    ) -> None:
        """Ask something here, for which a tool brings a secret of its own. `notes`: the model has it kept."""
        if not self.reads(person, where):
            return
        secret, place = f"secret{next(self.numbers)}", self.place(person, where)
        self.brought = ToolOutput(f"The canoe is called {secret}.", audience=audience, keep=keep)
        here = f"{person} {where}" if where == "dm" else where
        shared = self.shared_by(person, where, place)
        drawn = NOWHERE if keep is Keep.TURN else drawn_from([label(audience or PersonAudience(person))], place)
        self.stands[secret].add(Said(label(place.audience), here, where, drawn, shared))  # as this turn sees it
        self.looks = True
        await self.say(person, where, alone=False, notes=notes, repeats=repeats)
        self.looks = False
        if not repeats:
            self.stands[secret] = {replace(one, untold=True, shared="") for one in self.stands[secret]}

    async def point(self, person: str, where: str, number: int) -> None:
        """Ask here about a reply that they read elsewhere, and have it told again."""
        place = self.place(person, where)
        groups = {f"group:{one}" for one in CHANNELS if person in self.members.readers[one]}
        allowed = may_flow_from(place, groups)
        readable = [one for one in self.replies if one[0].audience in allowed]
        if readable and self.reads(person, where):
            pointed = readable[number % len(readable)]
            await self.say(person, where, alone=False, notes=False, repeats=True, pointed=pointed)

    async def say(
        self,
        person: str,
        where: str,
        *,
        alone: bool,
        notes: bool,
        repeats: bool,
        pointed: tuple[Said, Quoted] | None = None,
        thread: str = "",
    ) -> None:
        """Ask something here, and look at everything that the model is given for the answer."""
        if not self.reads(person, where):
            return
        place = self.place(person, "dm" if alone else where)
        here = f"{person} {where}" if alone or where == "dm" else f"{where}{thread}"
        number = next(self.numbers)
        alone = isinstance(place.audience, PersonAudience)
        asked = replace(self.asked(number, person, here, place), channel=here if alone else where)
        shared, brought = self.shared_by(person, where, place), set[str]()
        said = Said(label(place.audience), here, where, shared=shared)
        self.part.add((person, here))
        if pointed is not None:
            asked, brought = replace(asked, quoted=(pointed[1],)), {*SECRET.findall(pointed[1].text)}
        self.stands[f"secret{number}"].add(said)
        self.wrote.add((f"secret{number}", person, said))
        self.notes, self.repeats = notes, repeats
        before = len(self.model.requests)
        await self.turn(asked, said)
        groups = {f"group:{one}" for one in CHANNELS if person in self.members.readers[one]}
        allowed = may_flow_from(place, groups)
        seen = {secret for request in self.model.requests[before:] for secret in secrets(request)}
        for secret in seen:
            usable = {one for one in self.stands[secret] if one.may_be_used(allowed, here, person)}
            usable = {one for one in usable if self.finds(person, one)}
            if pointed is not None and secret in brought:  # they read it there, and carry it here themselves
                usable |= {one for one in self.stands[secret] if one.is_with(pointed[0])}
            assert usable, f"{secret} of {self.stands[secret]} was used for {place} in {here}"
            if notes or repeats:
                again = {replace(said, drawn=drawn_from([one.drawn], place), shared="") for one in usable}
                self.stands[secret] |= again

    async def program(self, person: str, where: str, *, notes: bool, repeats: bool) -> None:
        """Let a program ask: in "dm" with the person's token, else with the token of a service in that place."""
        if not self.reads(person, where):
            return
        place, number, service = self.place(person, where), next(self.numbers), where != "dm"
        scopes = frozenset({TokenScope.ASK, TokenScope.REMEMBER})
        owner, channel = ("", where.removeprefix("t:")) if service else (person, "")
        new = NewApiToken("", "program", owner, place.audience, "t", channel, scopes, self.clock.now(), None)
        token = ApiToken(1 + CHANNELS.index(where) if service else 9, new)
        written = replace(self.asked(number, person, "", place), conversation="", text="")
        if service:
            base = message_of_service(token, "api:p", self.clock.now())
        else:
            base = message_of_person(token, "api:p", written, self.clock.now())
        text = f"My boat is called secret{number}. What was my boat called before?"
        asked = question_message(base, token, ApiQuestion(Endpoint.CHAT, text), "boats", f"event {number}")
        said = Said(label(place.audience), asked.conversation, where)
        self.part.add((token.owner, asked.conversation))
        self.stands[f"secret{number}"].add(said)
        self.wrote.add((f"secret{number}", token.owner, said))
        self.notes, self.repeats = notes, repeats
        before = len(self.model.requests)
        await self.turn(asked, said)
        groups = {f"group:{one}" for one in CHANNELS if person in self.members.readers[one] and not service}
        allowed = may_flow_from(asked.place, groups)
        for secret in {found for request in self.model.requests[before:] for found in secrets(request)}:
            usable = {one for one in self.stands[secret] if one.may_be_used(allowed, asked.conversation, person)}
            usable = {one for one in usable if self.finds(token.owner, one)}
            assert usable, f"{secret} of {self.stands[secret]} was used for the token of {token.owner}"
            if notes or repeats:
                again = {replace(said, drawn=drawn_from([one.drawn], asked.place), shared="") for one in usable}
                self.stands[secret] |= again

    async def edit(self, person: str) -> set[str]:
        """Let the person's MCP client search, and read all threads that it is shown; return the secrets in them."""
        place = self.place(person, "dm")
        rank = self.asked(0, person, "", place).authority
        user = FakeMcpUser(self.clock, Person(person, person), within_team=place.within_team, authority=rank)
        recall = RecallTool(self.store.memories, documents=self.store.documents)
        own = personal_tools(self.store, user)
        tools = replace(own, toolbox=Toolbox([recall]), also_readable=self.readers.also_readable)
        read = [await tools.recall({"query": "secret boat canoe"})]
        read += [await tools.read_thread(thread.conversation) for thread in await tools.threads()]
        allowed = may_flow_from(place, {f"group:{one}" for one in CHANNELS if person in self.members.readers[one]})
        seen = {found for text in read for found in SECRET.findall(text)}
        for secret in seen:
            usable = {one for one in self.stands[secret] if one.may_be_used(allowed, "", person)}
            usable = {one for one in usable if self.finds(person, one)}
            assert usable, f"{secret} of {self.stands[secret]} was shown to the editor of {person}"
        return seen

    async def turn(self, asked: Incoming, said: Said) -> None:
        await self.store.ledger.accept(asked)
        claim = await self.store.ledger.claim(Claiming("worker", self.clock.now(), LEASE))
        assert claim is not None
        async with LiveReply(FakeSurface(self.clock), self.clock, claim.turn) as live:
            ended = await self.runner.run(claim, live, lambda: False)
            assert isinstance(ended, EndedTurn)
            closing = ended.closing
            pages = [f"{claim.turn} {page}" for page in await live.finish(closing.reply)]
        await self.store.ledger.finish(claim, replace(closing, pages=tuple(pages)), self.clock.now())
        self.replies.append((said, Quoted("a reply", "bot", closing.reply, (*pages,))))

    def asked(self, number: int, person: str, conversation: str, place: Place) -> Incoming:
        named = Person(person, person.removeprefix("t:").title())
        event, time = f"event {number}", self.clock.now() + timedelta(microseconds=number)
        text = f"My boat is called secret{number}. What was my boat called before?"
        rank = Authority.GUEST if person == GUEST else Authority.EMPLOYEE
        return Incoming("t", event, conversation, event, conversation, named, place, text, time, authority=rank)

    async def hand_in(self, person: str, where: str, number: int) -> None:
        """Have the bot know a document here, perhaps in the place of another."""
        if not self.reads(person, where) or person == GUEST:
            return
        secret, audience = f"secret{next(self.numbers)}", label(self.place(person, where).audience)
        here, name = f"{person} {where}" if where == "dm" else where, f"boats {number}"
        passages = (Passage(f"The canoe of the club is called {secret}.", page=2),)
        await self.store.documents.keep(NewDocument(name, audience, "t", here, person, self.clock.now(), passages))
        self.stands[secret].add(Said(audience, here, where, document=True))

    async def index(self) -> None:
        """Let what was narrowed be found where it belongs now."""
        while (job := await self.store.jobs.claim(frozenset({INDEXING}), "x", self.clock.now(), LEASE)) is not None:
            while await self.store.memories.index_more(job):
                pass
            await self.store.jobs.finish(job)

    async def learn(self) -> None:
        """Learn whatever waits, and look at what the model is given of it."""
        await self.clock.advance(timedelta(hours=1).total_seconds())
        while (
            job := await self.store.jobs.claim(frozenset({LEARNING}), "learner", self.clock.now(), LEASE)
        ) is not None:
            before = len(self.learning.requests)
            with suppress(ProviderUnavailable):  # what a synthesis should say is none of this model's business
                await self.learner.learn(job)
            audience = job.key.removeprefix(f"{job.person} ")
            for request in self.learning.requests[before:]:
                written = {(secret, person, said.audience) for secret, person, said in self.wrote}
                assert {(secret, job.person, audience) for secret in secrets(request)} <= written
            await self.store.jobs.finish(job)

    async def move(self, person: str, where: str) -> None:
        """Let them join or leave; what was known of it is too old by then."""
        self.members.readers[where] ^= {person}
        await self.clock.advance(MAX_AGE_S + 1)

    def shared_by(self, person: str, where: str, place: Place) -> str:
        """Who shares what they say here, as it is now; "" if nobody does."""
        shares = isinstance(place.audience, TeamAudience) and where in self.on and person not in {GUEST, *self.out}
        return person if shares else ""

    def finds(self, person: str, one: Said) -> bool:
        """Whether it stands in a thread of theirs, or is shared with them at this moment."""
        shared = bool(one.shared) and one.channel in self.on and one.shared not in self.out and person != GUEST
        return one.document or (person, one.where) in self.part or (shared and one.audience == f"team:{TEAM}")

    async def switch(self, where: str) -> None:
        """Let what is told in this channel serve others from now on, or no longer."""
        self.on ^= {where}
        await self.store.preferences.set(f"channel:{where}", SHARING, ON if where in self.on else None)

    async def take_out(self, person: str) -> None:
        """Take theirs out, or leave it there again."""
        self.out ^= {person}
        await self.store.preferences.set(person, SHARING, PAUSED if person in self.out else None)

    async def turn_over(self, where: str) -> None:
        """Make a private channel public, or a public one private: what was said there is then its own."""
        self.public ^= {where}
        if where in self.public:
            return
        self.on.discard(where)
        closed = self.place("", where)
        await self.store.ledger.restrict_place("t", where, closed, self.clock.now())

        def moved(said: Said) -> Said:
            there = said.channel == where and said.audience == f"team:{TEAM}"
            return replace(said, audience=label(closed.audience), shared="") if there else said

        for secret, stands in self.stands.items():
            self.stands[secret] = set(map(moved, stands))
        self.wrote = {(secret, who, moved(said)) for secret, who, said in self.wrote}
        self.replies = [(moved(said), quoted) for said, quoted in self.replies]


def insights(messages: Sequence[Message]) -> str:
    """Whatever is said is a goal of the person, and a fact, each from the message that says so."""
    numbered = [found for message in messages for found in NUMBERED.findall(message.text)]
    told = [(int(number), secret) for number, text in numbered for secret in SECRET.findall(text)]
    goals = [{"field": "goals", "text": f"boat {secret}", "from": [number]} for number, secret in told]
    stated = [
        {"key": f"boat {secret}", "value": secret, "from": [number], "scope": "global"} for number, secret in told
    ]
    return json.dumps({"insights": goals, "facts": stated})


Deed = Callable[[Town], Awaitable[None]]


def saying(person: str, where: str, alone: bool, notes: bool, repeats: bool, thread: str = "") -> Deed:
    return lambda town: town.say(person, where, alone=alone, notes=notes, repeats=repeats, thread=thread)


def switching(where: str) -> Deed:
    return lambda town: town.switch(where)


def taking_out(person: str) -> Deed:
    return lambda town: town.take_out(person)


def moving(person: str, where: str) -> Deed:
    return lambda town: town.move(person, where)


def turning(where: str) -> Deed:
    return lambda town: town.turn_over(where)


def looking(person: str, where: str, audience: Audience | None, keep: Keep, notes: bool, repeats: bool) -> Deed:
    return lambda town: town.look(person, where, audience, keep, notes=notes, repeats=repeats)


def programming(person: str, where: str, notes: bool, repeats: bool) -> Deed:
    return lambda town: town.program(person, where, notes=notes, repeats=repeats)


def editing(person: str) -> Deed:
    async def edit(town: Town) -> None:
        await town.edit(person)

    return edit


def handing(person: str, where: str, number: int) -> Deed:
    return lambda town: town.hand_in(person, where, number)


def pointing(person: str, where: str, number: int) -> Deed:
    return lambda town: town.point(person, where, number)


people, channels = st.sampled_from((*PEOPLE, "t:ann", "t:ann")), st.sampled_from(CHANNELS)
seldom = st.sampled_from((False, False, False, True))
threads = st.sampled_from(("", " first", " second"))
anything = st.builds(saying, people, st.sampled_from(("dm", *CHANNELS)), seldom, st.booleans(), st.booleans(), threads)
readers = st.sampled_from(
    (None, None, None, TeamAudience(TEAM), *map(GroupAudience, CHANNELS), *map(PersonAudience, PEOPLE))
)
keeps = st.sampled_from((Keep.STORED, Keep.STORED, Keep.TURN))
looked_up = st.builds(looking, people, st.sampled_from(("dm", *CHANNELS)), readers, keeps, st.booleans(), st.booleans())
pointed_at = st.builds(pointing, people, st.sampled_from(("dm", *CHANNELS)), st.integers(0, 9))
handed_in = st.builds(handing, people, st.sampled_from(("dm", *CHANNELS)), st.integers(0, 1))
programs = st.builds(programming, people, st.sampled_from(("dm", *CHANNELS)), st.booleans(), st.booleans())
editors = st.builds(editing, people)
budgets = st.sampled_from((8, 4_000))
deeds = st.lists(
    st.one_of(
        anything,
        anything,
        st.builds(saying, people, channels, st.just(False), st.booleans(), st.booleans()),
        looked_up,
        pointed_at,
        handed_in,
        st.builds(moving, people, channels),
        st.builds(turning, channels),
        st.builds(switching, channels),
        st.builds(taking_out, people),
        st.just(Town.learn),
    ),
    min_size=5,
    max_size=15,
)

some = st.lists(anything, max_size=1)


@st.composite
def leaving(draw: st.DrawFn) -> list[Deed]:
    """Somebody finds in direct messages what was said in a private channel, leaves it, and goes on there."""
    told = [saying("t:ann", "t:club", False, False, draw(st.booleans()))]
    found = [saying("t:ann", "dm", False, False, False)]
    left = [moving("t:ann", "t:club"), saying("t:ann", "dm", False, False, draw(st.booleans()))]
    return [*told, *draw(some), *found, *draw(some), *left, *draw(some)]


@st.composite
def closing(draw: st.DrawFn) -> list[Deed]:
    """What was said in a public channel is noted or learned there, and looked for elsewhere once it is private."""
    who = draw(people.filter(lambda one: one != GUEST))
    told = [saying(who, "t:hall", False, draw(st.booleans()), draw(st.booleans()))]
    learned: list[Deed] = [Town.learn] if draw(st.booleans()) else []
    opened = [turning("t:club")] if draw(st.booleans()) else []
    asked = saying(who, draw(st.sampled_from(("dm", "t:club"))), False, False, False)
    return [*told, *learned, *opened, *draw(some), turning("t:hall"), Town.learn, asked, *draw(some)]


@st.composite
def bringing(draw: st.DrawFn) -> list[Deed]:
    """What a tool brought is told, told again there, looked for elsewhere, and where its readers have changed."""
    where = draw(st.sampled_from(("dm", *CHANNELS, "t:hall")))
    brought = looking(draw(people), where, draw(readers), draw(keeps), draw(st.booleans()), True)
    pointed: list[Deed] = draw(st.lists(pointed_at, max_size=2))
    again = saying(draw(people), where, False, draw(st.booleans()), True)
    changed: list[Deed] = draw(st.lists(st.one_of(st.builds(turning, channels), st.just(Town.learn)), max_size=2))
    return [brought, again, *pointed, *changed, *draw(st.lists(anything, min_size=1, max_size=4)), *draw(some)]


@st.composite
def knowing(draw: st.DrawFn) -> list[Deed]:
    """A document is handed in, looked for by others elsewhere, told again there, and looked for where its readers have
    changed.
    """
    where = draw(st.sampled_from(("dm", *CHANNELS)))
    known: list[Deed] = [handing("t:ann", where, 0), *draw(st.lists(handed_in, max_size=2))]
    asked = st.builds(saying, people, st.sampled_from(("dm", *CHANNELS)), seldom, st.just(False), st.booleans())
    changed = st.one_of(st.builds(turning, channels), st.builds(moving, people, channels), st.just(Town.index), asked)
    looked = [saying(draw(st.sampled_from(PEOPLE)), where, False, False, draw(st.booleans()))]
    return [
        *known,
        *draw(st.lists(asked, min_size=1, max_size=3)),
        *looked,
        *draw(st.lists(changed, max_size=4)),
        draw(asked),
    ]


@st.composite
def sharing(draw: st.DrawFn) -> list[Deed]:
    """What was said in public is looked for by others, in other threads, while channels are switched on and off, people
    take theirs out, and channels change their readers.
    """
    told = st.builds(saying, people, st.just("t:hall"), st.just(False), st.booleans(), st.booleans(), threads)
    changed = st.one_of(
        st.builds(switching, channels),
        st.builds(taking_out, people),
        st.builds(turning, channels),
        st.builds(moving, people, channels),
        st.just(Town.learn),
    )
    asked = st.one_of(told, anything, pointed_at, looked_up)
    done = [*draw(st.lists(told, max_size=1)), switching("t:hall"), *draw(st.lists(told, min_size=1, max_size=3))]
    for _ in range(draw(st.integers(1, 3))):
        done += [*draw(st.lists(changed, max_size=2)), *draw(st.lists(asked, min_size=1, max_size=2))]
    return done


async def live(store: Store | StoreInMemory, done: list[Deed], history: int) -> None:
    """Do it all in a town, which checks whatever a model reads there."""
    town = Town(store, history)
    for deed in done:
        await deed(town)


async def live_on_a_database(done: list[Deed], history: int) -> None:
    store = await open_new()
    try:
        await live(store, done, history)
    finally:
        await store.close()


@settings(max_examples=examples(60, always=True))
@given(knowing(), budgets)
async def test_what_a_place_knows_reaches_only_its_members(done: list[Deed], history: int) -> None:
    await live(store_in_memory(), done, history)


@settings(max_examples=examples(6, always=True))
@given(knowing(), budgets)
async def test_what_a_place_knows_reaches_only_its_members_on_a_database(done: list[Deed], history: int) -> None:
    await live_on_a_database(done, history)


async def test_a_document_is_told_to_the_members_of_its_place() -> None:
    """So that the rules above say something: it is found where it may be."""
    store = store_in_memory()
    town = Town(store, 8)
    await town.hand_in("t:ann", "t:hall", 0)
    seen = dict[tuple[str, str], bool]()
    for person, where in (("t:bob", "t:hall"), ("t:bob", "dm"), ("t:bob", "t:club"), (GUEST, "dm"), (GUEST, "t:club")):
        before = len(town.model.requests)
        await town.say(person, where, alone=False, notes=False, repeats=False)
        seen[person, where] = any("secret0" in secrets(request) for request in town.model.requests[before:])
    assert [place for place, found in seen.items() if found] == [("t:bob", "t:hall"), ("t:bob", "dm")]


async def test_what_a_document_said_is_not_among_the_last_actions_once_its_place_is_closed() -> None:
    asking = saying("t:ann", "dm", alone=False, notes=False, repeats=False)
    done = [handing("t:ann", "t:hall", 0), asking, turning("t:hall"), moving("t:ann", "t:hall"), asking]
    await live(store_in_memory(), done, 8)


@settings(max_examples=examples(60, always=True))
@given(sharing(), budgets)
async def test_what_is_shared_reaches_others_only_while_it_is(done: list[Deed], history: int) -> None:
    await live(store_in_memory(), done, history)


@settings(max_examples=examples(6, always=True))
@given(sharing(), budgets)
async def test_what_is_shared_reaches_others_only_while_it_is_on_a_database(done: list[Deed], history: int) -> None:
    await live_on_a_database(done, history)


async def test_what_is_shared_is_told_to_others_of_the_team_and_no_longer_once_it_is_off() -> None:
    """So that the rules above say something: it is found where it may be, and nothing else of other people."""
    store = store_in_memory()
    town = Town(store, 8)
    await town.say("t:ann", "t:hall", alone=False, notes=False, repeats=False)
    await town.switch("t:hall")
    await town.say("t:ann", "t:hall", alone=False, notes=False, repeats=False)
    seen = dict[tuple[str, str, str], set[str]]()
    for change in (Town.index, partial(Town.take_out, person="t:ann")):
        await change(town)
        asked = ("t:bob", "t:hall"), ("t:bob", "dm"), ("t:bob", "t:club"), (GUEST, "dm"), (GUEST, "t:club")
        for person, where in asked:
            before = len(town.model.requests)
            await town.say(
                person, where, alone=False, notes=False, repeats=False, thread=" later" if town.out else " now"
            )
            found = {secret for request in town.model.requests[before:] for secret in secrets(request)}
            seen[person, where, "out" if town.out else "on"] = found & {"secret0", "secret1"}
    assert {place: found for place, found in seen.items() if found} == {
        ("t:bob", "t:hall", "on"): {"secret1"},
        ("t:bob", "dm", "on"): {"secret1"},
    }


@pytest.mark.parametrize("thread", [" first", ""])
@pytest.mark.parametrize("learned", [(), (Town.learn,)])
async def test_what_was_told_before_it_was_shared_is_not_shared_by_being_told_again(
    thread: str, learned: tuple[Deed, ...]
) -> None:
    """Whether it was found in another thread, stands above in the same one, or was learned."""
    again = saying("t:ann", "t:hall", alone=False, notes=False, repeats=True)
    asked = [
        saying(who, where, alone=False, notes=False, repeats=False)
        for who, where in (("t:ann", "t:hall"), ("t:bob", "dm"))
    ]
    told = saying("t:ann", "t:hall", alone=False, notes=not learned, repeats=False, thread=thread)
    await live(store_in_memory(), [told, *learned, switching("t:hall"), again, *asked], 8)


async def test_what_was_told_before_it_was_shared_is_not_shared_by_being_noted_afterwards() -> None:
    told = saying("t:ann", "t:hall", alone=False, notes=False, repeats=False, thread=" first")
    noted = saying("t:ann", "t:hall", alone=False, notes=True, repeats=False, thread=" first")
    again = saying("t:ann", "t:hall", alone=False, notes=True, repeats=True)
    asked = saying("t:ann", "t:hall", alone=False, notes=False, repeats=False)
    done = [told, switching("t:hall"), noted, again, asked, pointing("t:bob", "dm", 0)]
    await live(store_in_memory(), done, 4_000)


@st.composite
def asking_by_program(draw: st.DrawFn) -> list[Deed]:
    """People and programs ask, and what was told, noted or known is looked for with the tokens of others."""
    done = list[Deed]()
    for _ in range(draw(st.integers(1, 3))):
        done += draw(st.lists(st.one_of(anything, handed_in, looked_up), min_size=1, max_size=2))
        done += draw(st.lists(st.one_of(programs, editors), min_size=1, max_size=2))
        done += draw(st.lists(st.one_of(st.builds(moving, people, channels), st.just(Town.learn)), max_size=1))
    return done


async def test_an_editor_shows_its_person_what_they_may_read_now() -> None:
    """So that the rules above say something: it is shown while it may be, and not to others."""
    town = Town(store_in_memory(), 8)
    for where in CHANNELS:
        await town.say("t:ann", where, alone=False, notes=False, repeats=False)
    seen = [await town.edit("t:ann"), await town.edit("t:bob")]
    await town.move("t:ann", "t:club")
    assert [*seen, await town.edit("t:ann")] == [{"secret0", "secret1"}, set(), {"secret1"}]


@settings(max_examples=examples(25, always=True))
@given(asking_by_program(), budgets)
async def test_a_token_finds_only_what_its_person_or_place_may_know(done: list[Deed], history: int) -> None:
    await live(store_in_memory(), done, history)


async def test_a_token_of_one_person_finds_their_words_and_nobody_elses() -> None:
    """So that the rule above says something: what Ann told is found with her token alone."""
    town = Town(store_in_memory(), 4_000)
    await town.say("t:ann", "dm", alone=False, notes=False, repeats=False)
    seen = dict[tuple[str, str], bool]()
    for person, where in (("t:ann", "dm"), ("t:bob", "dm"), ("t:ann", "t:hall"), ("t:ann", "t:club")):
        before = len(town.model.requests)
        await town.program(person, where, notes=False, repeats=False)
        seen[person, where] = any("secret0" in secrets(request) for request in town.model.requests[before:])
    assert [token for token, found in seen.items() if found] == [("t:ann", "dm")]


@settings(max_examples=examples(60, always=True))
@given(bringing(), budgets)
async def test_what_a_tool_brings_reaches_only_who_may_read_it(done: list[Deed], history: int) -> None:
    await live(store_in_memory(), done, history)


@settings(max_examples=examples(6, always=True))
@given(bringing(), budgets)
async def test_what_a_tool_brings_reaches_only_who_may_read_it_on_a_database(done: list[Deed], history: int) -> None:
    await live_on_a_database(done, history)


@settings(max_examples=examples(40, always=True))
@given(st.one_of(leaving(), closing()), st.just(8))
async def test_nothing_outlives_who_may_read_it(done: list[Deed], history: int) -> None:
    await live(store_in_memory(), done, history)


@settings(max_examples=examples(8, always=True))
@given(st.one_of(leaving(), closing()), st.just(8))
async def test_nothing_outlives_who_may_read_it_on_a_database(done: list[Deed], history: int) -> None:
    await live_on_a_database(done, history)


@settings(max_examples=examples(80, always=True))
@given(deeds, budgets)
async def test_nothing_reaches_a_model_that_its_readers_may_not_know(done: list[Deed], history: int) -> None:
    await live(store_in_memory(), done, history)


@settings(max_examples=examples(6, always=True))
@given(deeds, budgets)
async def test_the_same_holds_on_a_database(done: list[Deed], history: int) -> None:
    await live_on_a_database(done, history)


def holds(folder: Path, name: str, words: bytes) -> bool:
    return any(words in one.read_bytes() for one in folder.glob(f"{name}*"))


async def files_hold(folder: Path, keep: Keep) -> bool:
    """Whether a tool's secret that was told to nobody stands anywhere in the files of a database."""
    store = await open_store(await new_database(folder / f"{keep}.db"))
    try:
        town = Town(store, 8)
        await town.look("t:ann", "dm", None, keep, notes=False, repeats=False)
        assert any("canoe is called secret0" in one.text for one in town.model.requests[-1])
        return holds(folder, f"{keep}.db", b"canoe is called secret0")
    finally:
        await store.close()


async def test_what_may_be_kept_for_a_turn_alone_is_in_no_file(tmp_path: Path) -> None:
    assert await files_hold(tmp_path, Keep.STORED)
    assert not await files_hold(tmp_path, Keep.TURN)
