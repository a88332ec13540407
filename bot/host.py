"""What a platform adapter needs of the bot, as a Protocol.

Rules. `submit` returns only after the message is stored: acknowledge the platform's event behind it, not before. Every
method may raise CogencyError, whose one sentence may be shown to the person.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias, TypeVar

from agent.admission_terms import Authority
from agent.errors import CogencyError
from agent.memory.audience import Place
from agent.memory.forgetting_plans import Gone
from agent.ports import Asker, Membership, Tool
from agent.records import Answered, Attachment, Incoming, LastSeen, Person, ReplyVerdict, ShownPage
from agent.schedules import SchedulePlatform
from agent.spending import SpendingAccount
from bot.access.acl import CommandAnswer, OperatorAnswers, PlaceAsker, PlaceChoices, Requester, ScheduleAnswer
from bot.attachments.reading import Fetch, FilesNow
from bot.caches import Replicas
from bot.message_intake import Overhearing
from bot.reply_surface import Surface
from bot.tools.mcp_questions import QuestionField
from bot.tools.mcp_source import ToolSignIns

T = TypeVar("T")


class PlatformUnavailable(CogencyError):
    """A platform cannot be served now: its adapter is begun anew after a pause of at least `retry_after_s`."""

    def __init__(self, sentence: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class ModelMenu:
    """The model that answers a person in a channel, why it is this one, and the names among which they may choose.
    `sentence` says it in place of the others, if it is not "".
    """

    current: str
    why: str
    allowed: tuple[str, ...] = ()
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who looks at what is remembered about them. `place`: where only they read the answer.
    `channel`: the platform's id of where they ask; `manages`: whether they may decide there for everybody.
    """

    person: Person
    place: Place
    channel: str = ""
    manages: bool = False


@dataclass(frozen=True, slots=True)
class PolicyAsker:
    """Somebody who asks what holds for everybody at a place, or sets it. `authority`: theirs there, at this moment."""

    person: Person
    authority: Authority
    place: Place


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """Something that is known, as its person sees it: one line of Markdown each.

    `key` stands for it in words and buttons, and `number` is its own, for as long as it is known.
    """

    key: str
    number: int
    text: str
    source: str
    may_go_everywhere: bool = False
    everywhere: bool = False
    plain: str = ""
    """Its words alone, to be corrected."""


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """What `/memory` answers: Markdown, behind it a page of the list if there is one, and perhaps a file to hand over.

    Pages count from 1.
    """

    text: str
    entries: tuple[ShownEntry, ...] = ()
    page: int = 1
    pages: int = 1
    file: str | None = None
    undo: str = ""
    """What brings back what was just deleted, behind "undo"; "" if nothing was."""
    opened: bool = False
    """Whether it is one entry, to be shown whole, and `page` where it stands in the list."""
    refused: bool = False
    """Whether nothing was done; the text says why."""


@dataclass(frozen=True, slots=True)
class ToolsAnswer:
    """What `/tools` answers, as Markdown. `call`: the name of the call that is asked about, "" for none; `may_stand`:
    whether a word about it may hold for the whole thread. `refused`: nothing was done, and the text says why.
    """

    text: str
    call: str = ""
    may_stand: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class AskedWindow:
    """Some fields of a question that a tool asks, by their places, and what stands in them."""

    source: str
    fields: Mapping[int, QuestionField]
    filled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """What somebody is shown of a question that a tool asks them. `name`: the question's, "" if none is to be answered;
    `fields`: how many it has. `ready`: nothing is missing of what was filled in. `opens`: it is about a page to be
    opened. `refused`: nothing was done, and the text says why.
    """

    text: str
    name: str = ""
    fields: int = 0
    begun: bool = False
    ready: bool = False
    opens: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document as people see it in a list. `may_go`: whether whoever looks may remove it."""

    id: int
    text: str
    may_go: bool = False


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer:
    """What `/knowledge` answers: Markdown, and a page of the list (from 1). `shares`: for who may change that alone."""

    text: str
    documents: tuple[ShownDocument, ...] = ()
    page: int = 1
    pages: int = 1
    refused: bool = False
    shares: bool | None = None


@dataclass(frozen=True, slots=True)
class Forgetter:
    """Somebody who wants something forgotten. `thread`: what "this thread" means there, if they are in one."""

    person: str
    thread: frozenset[str] = frozenset()
    time_zone: str = ""


@dataclass(frozen=True, slots=True)
class ForgetAnswer:
    """What `/forget` answers, as Markdown for the person alone. `token`: what to hand back to `forget` if they agree;
    "" for nothing. `wider`: the same for what may have been made of it, too. `refused`: nothing was looked for; the
    text says why. `by_clock`: what was meant depends on the person's time zone, which nobody knows.
    """

    text: str
    token: str = ""
    wider: str = ""
    refused: bool = False
    by_clock: bool = False


@dataclass(frozen=True, slots=True)
class ForgetProgress:
    """Of a search for what is to be forgotten: messages found so far; whether they are erased now, unstoppably."""

    found: int
    erasing: bool


TellProgress: TypeAlias = Callable[[ForgetProgress], Awaitable[None]]


async def untold(_: ForgetProgress) -> None:
    """For a search of which its person sees only the end."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something that a person may want to ask next: what a button says, and the question that it sends."""

    title: str
    message: str


class PlatformRegistry(Protocol):
    """What a platform can do for the bot, from the moment at which it says so, by the source of its messages."""

    def register_surface(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        """Answers to messages of this source are shown where `surface_for` says; also after a restart."""
        ...

    def unregister(self, source: str) -> None:
        """Nothing can be shown, fetched, deleted or asked there any more, until the platform is served anew."""
        ...

    def register_schedules(self, source: str, platform: SchedulePlatform) -> None:
        """Whether, as whom and where the schedules of this source may be done is asked of `platform`."""
        ...

    def register_tools(self, source: str, tools: Sequence[Tool]) -> None:
        """The people of this source have these tools."""
        ...

    def register_silence(self, source: str, silence: Callable[[], float]) -> None:
        """For how many seconds nothing came through a connection of it, not even a heartbeat; any thread may ask."""
        ...

    def connected(self, source: str, trouble: str = "") -> None:
        """What is said there comes in; or it does not, for this reason: a sentence for operators. `source`: a platform,
        or a part that comes and goes by itself ("slack:acme").
        """
        ...

    def ask_readers(self, source: str, membership: Membership) -> None:
        """Who can read a group place of this source is asked of `membership`."""
        ...

    def register_fetcher(self, source: str, fetch: Fetch, files_now: FilesNow) -> None:
        """Attachments of this source's messages are fetched by `fetch`, by address; `files_now` says which one has."""
        ...

    def register_deletion(self, source: str, delete: Callable[[ShownPage], Awaitable[None]]) -> None:
        """Pages of replies on this source are deleted by this; it may raise SurfaceError, and is then tried again."""
        ...


class HeardConversations(Protocol):
    """What was heard of a platform. Every method raises StoreError."""

    async def participants(self, conversation: str) -> frozenset[str] | None:
        """The ids of the people who wrote in this conversation; None if the bot does not know it."""
        ...

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        """A platform's conversations in which somebody wrote since then, the latest first."""
        ...

    async def watermark(self, source: str) -> datetime | None:
        """Everything that was said on a platform up to this time has come in; None if it was never kept."""
        ...

    async def set_watermark(self, source: str, time: datetime) -> None:
        """Keep that time."""
        ...


class Choices(Protocol):
    """Every method raises StoreError."""

    async def of(self, owner: str) -> Mapping[str, str]:
        """What was chosen for a person (their id), a "channel:" or a "team:", by the choice's name."""
        ...

    async def set(self, owner: str, name: str, value: str | None) -> None:
        """Keep a choice; None takes it back."""
        ...


class ToolQuestions(Protocol):
    """What tools ask people in the middle of a call. Every method raises StoreError."""

    async def answer(self, person: str, words: str) -> QuestionAnswer | None:
        """What these words (see `bot.turns.questions`) do, as is said to this person alone; None: they mean none."""
        ...

    async def window(self, person: str, words: str) -> AskedWindow:
        """The fields that these words name. Raises Refused if this person is not to fill them in, or no more."""
        ...


class ForgetQuestions(Protocol):
    async def ask(self, who: Forgetter, words: str, tell: TellProgress = untold) -> ForgetAnswer:
        """What `/forget` with these words (see `bot.memory.forget_desk`) would erase; nothing is erased yet.

        `tell`: how far it is, a few times, where it takes long.
        """
        ...

    async def forget(
        self, who: Forgetter, token: str, *, replies: bool = False, tell: TellProgress = untold
    ) -> ForgetAnswer:
        """They agree to what an answer of `ask` said: the receipt; or another question, if that has changed.

        `replies`: the bot's replies that fall are deleted in the platform, too. `tell` as in `ask`.
        """
        ...

    def stop(self, person: str) -> bool:
        """Stop looking for what this person wants forgotten: whether this process did, and has erased nothing yet."""
        ...

    async def stop_everywhere(self, person: str) -> bool:
        """The same in every process; another one hears of it within a second. Raises StoreError."""
        ...


class ForgettingDesk(ForgetQuestions, Protocol):
    """What people want forgotten, and what follows when messages and places change or go."""

    async def gone(self, name: str, gone: Gone, *, at_once: bool) -> None:
        """A place is no more, or the bot has been taken out of it: what was said there is erased, in time.

        `name` is its own; `at_once` False leaves the time that a bot may be invited back in, and keep what it knew.
        """
        ...

    async def back(self, names: Collection[str]) -> None:
        """The bot is in these places: what was said there stays."""
        ...

    async def amend(self, channel: str, message_id: str, text: str) -> bool:
        """A message was edited: answer what it says now if its answer waits; else what came of the old words falls, and
        the new ones are learned from. False if nothing was to do.
        """
        ...

    async def deleted(self, channel: str, messages: Collection[str]) -> None:
        """Messages were deleted: they are not answered, an answer that grows is taken back, and what is known of them
        is forgotten, with what came of it.
        """
        ...


class RunningTurns(Protocol):
    async def stop_conversation(self, conversation: str, *, alone: bool = False) -> bool:
        """Stop the answer that runs there, and those that wait, and unless `alone` long work; whether there was one."""
        ...


class BudgetAnswers(Protocol):
    async def answer(self, person: str, channel: str, words: str) -> CommandAnswer:
        """What `/budget` with these words (see `bot.access.budgets`) says to this person there, for them alone."""
        ...

    async def usage(self, person: str) -> SpendingAccount:
        """What this person's questions took, today and this month."""
        ...


class ModelChoices(Protocol):
    async def menu(self, who: Requester) -> ModelMenu:
        """The model that answers this person there, and the choice."""
        ...

    async def choose(self, who: Requester, name: str) -> None:
        """Answer this person with that model from now on; "" goes back to the usual one. Raises SettingsError."""
        ...


class DirectMessages(Protocol):
    """The conversations of a channel that goes on and on. `channel`: the id of its own conversation, the first."""

    async def conversation_of(self, channel: str, message: str, time: datetime, idle: timedelta) -> str:
        """The conversation of a message that was written at this time. Another begins with `message` (its id) when
        nothing was said in the current one for `idle`.
        """
        ...

    async def current(self, channel: str) -> str:
        """The conversation that goes on there now."""
        ...

    async def begin(self, channel: str, name: str) -> str:
        """What is said next there begins a conversation; its id. `name`: unique, such as an interaction's id."""
        ...


class PlaceKnowledge(Protocol):
    """What places know, and who may have them learn. Raises StoreError."""

    async def answer(self, asker: PlaceAsker, words: str, say: Callable[[str], Awaitable[None]]) -> KnowledgeAnswer:
        """What `/knowledge` with these words (`bot.memory.knowledge_desk`) says to them. `say` tells all there."""
        ...

    def may_learn(self, asker: PlaceAsker) -> bool:
        """Whether they may have the place learn."""
        ...

    async def learn(
        self, asker: PlaceAsker, files: Sequence[Attachment], link: str = "", pages: Sequence[str] = ()
    ) -> KnowledgeAnswer:
        """Have the place know these files and pages of the web (addresses) from now on. `link`: to the message with
        which they were handed in.
        """
        ...


class ScheduleAnswers(Protocol):
    """What is done at a time. Raises StoreError."""

    async def remind(self, asker: PlaceAsker, words: str) -> ScheduleAnswer:
        """What `/remind` with these words (see `bot.schedule_reading`) does, as is said to this person there, alone."""
        ...

    async def answer(self, asker: PlaceAsker, words: str) -> ScheduleAnswer:
        """The same of `/schedules`."""
        ...

    async def change_words(self, answered: Answered, person: str) -> str:
        """For `/schedules`, what changes what came of a question: "edit 3", of several "show 3 4". Raises Refused."""
        ...

    async def take_back(self, answered: Answered, person: str) -> str:
        """Cancel it, and say so. Raises Refused for anybody but its asker."""
        ...


class Claims(Protocol):
    """What is done once, in whichever process."""

    async def claim_once(self, source: str, what: str) -> bool:
        """Whether what is named so is to be done: for the first time lately."""
        ...

    async def run_once(self, source: str, what: str, do: Callable[[], Awaitable[T]]) -> T | None:
        """Do what is named so in the first of the processes that are told of it, else None. If it fails, the next time
        counts as the first.
        """
        ...


class Admissions(Protocol):
    """Who may do what, apart from the questions that are submitted."""

    def closed_to(self, who: Requester, authority: Authority) -> str | None:
        """Why nothing that they may write there is taken in, in a sentence for them; None if it may be."""
        ...

    async def admit_order(self, who: Requester, authority: Authority, time_zone: str = "") -> None:
        """Before something is done that somebody orders there, such as "stop": raises Refused if they may not, or too
        often. It is counted.
        """
        ...

    async def admit_posting(self, incoming: Incoming) -> None:
        """Before a question that was asked by a command is posted for everybody: raises Refused as `submit` would, as
        far as that can be told before.
        """
        ...


class Feedback(Protocol):
    """What readers do about replies that have ended. `turn`: a reply's."""

    async def at(self, source: str, page: str, channel: str = "") -> Answered | None:
        """The finished reply of which this is a page, by the page's id; None if the bot does not know it (any more).

        `channel`: of the question, where page ids are unique only there (Slack's).
        """
        ...

    async def of(self, turn: int) -> Answered | None:
        """None if there is none (any more)."""
        ...

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict) -> bool:
        """Keep what this person thinks of a reply, in place of what they thought before. False if it is not known."""
        ...

    async def take_verdict_back(self, turn: int, person: str, verdict: ReplyVerdict) -> None:
        """They think this of it no longer; it counts only if they said nothing after it."""
        ...

    async def delete(self, turn: int, person: str) -> bool:
        """Delete a reply in the platform, and its words from memory, for the person whom it answers.

        False if there is no such reply. Raises Refused for anybody else.
        """
        ...

    async def delete_running(self, source: str, page: str, person: str, channel: str = "") -> bool:
        """Take back the reply that still grows and of which this is a page, for the person whom it answers: it is not
        answered any more. False if there is none, or it answers somebody else. `channel` as in `at`.
        """
        ...


class CommandHost(Protocol):
    """What commands need of the bot."""

    @property
    def budgets(self) -> BudgetAnswers: ...
    @property
    def models(self) -> ModelChoices: ...
    @property
    def turns(self) -> RunningTurns: ...
    @property
    def forgetting(self) -> ForgetQuestions: ...
    @property
    def sign_ins(self) -> ToolSignIns: ...
    @property
    def questions(self) -> ToolQuestions: ...
    @property
    def knowledge(self) -> PlaceKnowledge: ...
    @property
    def schedules(self) -> ScheduleAnswers: ...
    @property
    def operator_page(self) -> OperatorAnswers: ...
    @property
    def places(self) -> PlaceChoices: ...

    async def memory(self, viewer: Viewer, words: str = "") -> MemoryAnswer:
        """What `/memory` with these words (see `bot.memory.view`) says to this person there, for them alone."""
        ...

    async def policy(self, asker: PolicyAsker, words: str) -> CommandAnswer:
        """What `/policy` with these words (see `bot.memory.policies`) says to this person, for them alone."""
        ...

    async def tools(self, asker: Asker, words: str) -> ToolsAnswer:
        """What `/tools` with these words (see `bot.turns.approvals`) says to this person there, for them alone."""
        ...

    def operates(self, person: str) -> bool:
        """Whether this person is one of the bot's operators."""
        ...


class Host(CommandHost, Protocol):
    @property
    def platforms(self) -> PlatformRegistry: ...
    @property
    def conversations(self) -> HeardConversations: ...
    @property
    def preferences(self) -> Choices: ...
    @property
    def forgetting(self) -> ForgettingDesk: ...
    @property
    def direct_messages(self) -> DirectMessages: ...
    @property
    def claims(self) -> Claims: ...
    @property
    def admission(self) -> Admissions: ...
    @property
    def feedback(self) -> Feedback: ...
    @property
    def ambient(self) -> Overhearing: ...
    @property
    def replicas(self) -> Replicas | None:
        """None where this process has the database to itself."""
        ...

    async def submit(self, incoming: Incoming) -> bool:
        """Store the message durably; it will be answered. False if it had been taken in before.

        Raises Refused if this person may not ask that, or not now: its sentence is for them alone.
        """
        ...

    async def record_context_message(self, incoming: Incoming) -> None:
        """Store the message as context of its conversation; it is not answered. Nothing is kept of who may not ask."""
        ...

    async def restrict_place(self, channel: str, place: Place) -> None:
        """A channel has become this place, which fewer can read: what was said there while it was open stays there."""
        ...

    async def take_back(self, turn: int, person: str) -> str:
        """Forget what this turn has kept of its asker as facts, and say so. Raises Refused for anybody else."""
        ...

    async def learn_nothing(self, people: Collection[str], channel: str) -> frozenset[str]:
        """Those of these people (ids) who want nothing learned from them, there or anywhere. Raises StoreError."""
        ...

    async def suggestions(self, viewer: Viewer, limit: int) -> tuple[Suggestion, ...]:
        """What this person may want to ask next, of what may be shown at their place; the likeliest first."""
        ...

    async def report(self, person: str) -> str | None:
        """How the bot does, for an operator, as Markdown: health, spending, verdicts; None for anybody else."""
        ...
