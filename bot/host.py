"""What a platform adapter can ask of the bot, as a Protocol.

Rules. `submit` returns only after the message is stored: acknowledge the platform's event after it returns, not before.
Every method may raise CogencyError, whose one sentence may be shown to the person.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias, TypeVar

from agent.admission_terms import Authority
from agent.errors import CogencyError
from agent.incoming import Attachment, Incoming
from agent.memory.audience import Place
from agent.memory.forgetting_plans import Gone
from agent.ports.membership import Membership
from agent.ports.tools import Asker, Tool
from agent.schedules.port import SchedulePlatform
from agent.shown_replies import Answered, ReplyVerdict, ShownPage
from agent.stored_messages import LastSeen
from bot.access.acl import Requester
from bot.attachments.reading import Fetch, FilesNow
from bot.caches import Replicas
from bot.commands.declaration import BoundCommands, Panel
from bot.message_intake import AmbientIntake
from bot.reply_surface import Surface
from bot.tools.mcp_questions import QuestionField

T = TypeVar("T")


class PlatformUnavailable(CogencyError):
    """A platform cannot be served now. Its adapter is started again after at least `retry_after_s` seconds."""

    def __init__(self, sentence: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class ModelMenu:
    """The model that answers a person in a channel, why it was selected, and the names of the models they may choose.
    If `sentence` is not "", it is shown in place of the other fields.
    """

    current: str
    why: str
    allowed: tuple[str, ...] = ()
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """One remembered entry as its person sees it. Each text is one line of Markdown.

    `key` names the entry in commands and buttons. `number` never changes while the entry exists.
    """

    key: str
    number: int
    text: str
    source: str
    may_go_everywhere: bool = False
    everywhere: bool = False
    plain: str = ""
    """The entry's text without formatting, to be edited in a form."""
    may_undo: bool = False
    """Whether it replaced another one, which holds again if this one is undone."""


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """The answer of `/memory`: Markdown, then one page of the list (counted from 1) if there is one, and a file to
    upload if there is one.
    """

    text: str
    entries: tuple[ShownEntry, ...] = ()
    page: int = 1
    pages: int = 1
    file: str | None = None
    undo: str = ""
    """The argument of "undo" that restores what was just deleted; "" if nothing was deleted."""
    opened: bool = False
    """Whether the answer is one whole entry; `page` is then the page of the list that holds it."""
    refused: bool = False
    """Whether nothing was done; `text` gives the reason."""


@dataclass(frozen=True, slots=True)
class ToolsAnswer:
    """The answer of `/tools`, as Markdown. `call`: the name of the call to decide on, "" for none. `may_stand`: whether
    a decision may apply to the whole thread. `refused`: nothing was done, and `text` gives the reason.
    """

    text: str
    call: str = ""
    may_stand: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class AskedWindow:
    """Some fields of a tool's question, by their positions, and the values filled in so far."""

    source: str
    fields: Mapping[int, QuestionField]
    filled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """What a person is shown of a tool's question to them. `name`: the question's name, "" if there is none to answer.
    `fields`: the number of its fields. `ready`: no required value is missing. `opens`: the question is about a page to
    open. `refused`: nothing was done, and `text` gives the reason.
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
    """A document in a list. `may_go`: whether the person who looks at the list may remove it."""

    id: int
    text: str
    may_go: bool = False


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer:
    """The answer of `/knowledge`: Markdown, and a page of the list (from 1). `shares`: None if they may not set it."""

    text: str
    documents: tuple[ShownDocument, ...] = ()
    page: int = 1
    pages: int = 1
    refused: bool = False
    shares: bool | None = None


@dataclass(frozen=True, slots=True)
class ForgetAnswer:
    """The answer of `/forget`, as Markdown for the person alone. `token`: the argument for `forget` once they agree; ""
    for nothing. `wider`: the same, including what may have been derived from it. `refused`: no search was made; `text`
    gives the reason. `by_clock`: the words depend on the person's time zone, which is unknown.
    """

    text: str
    token: str = ""
    wider: str = ""
    refused: bool = False
    by_clock: bool = False


@dataclass(frozen=True, slots=True)
class ForgetProgress:
    """The progress of a search: messages found so far, and whether erasing has begun, which cannot be stopped."""

    found: int
    erasing: bool


TellProgress: TypeAlias = Callable[[ForgetProgress], Awaitable[None]]


async def untold(_: ForgetProgress) -> None:
    """For a search whose progress is not shown."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question that a person may want to ask next: the button's label, and the question that it sends."""

    title: str
    message: str


class PlatformRegistry(Protocol):
    """What a platform's adapter registers, by the source of its messages, as soon as it is able to do it."""

    @property
    def replicas(self) -> Replicas | None:
        """The processes that share its connections; None if this one is the only one on its database."""
        ...

    def register_surface(self, source: str, surface_for: Callable[[Incoming], Surface]) -> None:
        """Show answers to messages of this source on the surface that `surface_for` returns; also after a restart."""
        ...

    def unregister(self, source: str) -> None:
        """Remove what was registered: nothing can be shown, fetched, deleted or asked until the platform is back."""
        ...

    def register_schedules(self, source: str, platform: SchedulePlatform) -> None:
        """Ask `platform` whether, as whom and where the schedules of this source may run."""
        ...

    def register_tools(self, source: str, tools: Sequence[Tool]) -> None:
        """Give these tools to the people of this source."""
        ...

    def register_silence(self, source: str, silence: Callable[[], float]) -> None:
        """`silence` returns the seconds since anything came in, even a heartbeat. It is callable from any thread."""
        ...

    def connected(self, source: str, trouble: str = "") -> None:
        """Report that a source is connected, or with `trouble` why it is not, in a sentence for operators. `source`: a
        platform, or a part of one that connects by itself ("slack:acme").
        """
        ...

    def ask_readers(self, source: str, membership: Membership) -> None:
        """Ask `membership` who can read a group place of this source."""
        ...

    def register_fetcher(self, source: str, fetch: Fetch, files_now: FilesNow) -> None:
        """Fetch attachments of this source's messages with `fetch`; `files_now` lists a message's current files."""
        ...

    def register_deletion(self, source: str, delete: Callable[[ShownPage], Awaitable[None]]) -> None:
        """Delete pages of replies on this source with `delete`, which is retried if it raises SurfaceError."""
        ...


class ReceivedConversations(Protocol):
    """What was received from a platform. Every method raises StoreError."""

    async def participants(self, conversation: str) -> frozenset[str] | None:
        """Return the ids of the people who wrote in this conversation; None if the bot does not know it."""
        ...

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        """Return a platform's conversations in which a message was written since then, the latest first."""
        ...

    async def watermark(self, source: str) -> datetime | None:
        """Return the time up to which every message of a platform was received; None if none was stored."""
        ...

    async def set_watermark(self, source: str, time: datetime) -> None:
        """Store that time."""
        ...


class Choices(Protocol):
    """Every method raises StoreError."""

    async def all_of(self, owner: str) -> Mapping[str, str]:
        """Return what was chosen for a person (their id), a "channel:" or a "team:", by the choice's name."""
        ...

    async def set(self, owner: str, name: str, value: str | None) -> None:
        """Store a choice; None removes it."""
        ...


class ForgetQuestions(Protocol):
    async def ask(self, asker: Asker, words: str, tell: TellProgress = untold) -> ForgetAnswer:
        """Return what `/forget` with these words (see `bot.memory.forget_desk`) would erase; nothing is erased yet.

        `tell` receives the progress now and then while a search is slow.
        """
        ...

    async def forget(
        self, asker: Asker, token: str, *, replies: bool | None = None, tell: TellProgress = untold
    ) -> ForgetAnswer:
        """Erase what an answer of `ask` described, and return the receipt; or ask again if that has changed.

        `replies`: also delete the affected replies of the bot in the platform. `tell`: as in `ask`.
        """
        ...

    def stop(self, person: str) -> bool:
        """Stop this person's searches in this process that have erased nothing yet; return whether there were any."""
        ...

    async def stop_everywhere(self, person: str) -> bool:
        """Stop them in every process; the others notice within a second. Raises StoreError."""
        ...


class ForgettingDesk(ForgetQuestions, Protocol):
    """Forgetting on request, and what follows when messages and places are edited or deleted."""

    async def schedule_erasure(self, name: str, gone: Gone, *, at_once: bool) -> None:
        """A place was deleted, or the bot was removed from it: schedule the erasure of what was said there.

        `name`: the place's. `at_once` False waits for a grace period, in which the bot may be invited back.
        """
        ...

    async def cancel_erasure(self, names: Collection[str]) -> None:
        """The bot is in these places: cancel their erasure."""
        ...

    async def amend(self, channel: str, message_id: str, text: str, alone: str | None = None) -> bool:
        """A message was edited. `text`: all that it shows; `alone`: the same without what it forwards, which is how a
        question is stored. A question that waits is answered in its new words; otherwise what was derived from the
        old words is erased, and the new words are learned from. False if there was nothing to do.
        """
        ...

    async def deleted(self, channel: str, messages: Collection[str]) -> None:
        """Messages were deleted: they are not answered, a reply that is being written is withdrawn, and what is known
        from them is forgotten, with everything derived from it.
        """
        ...


class RunningTurns(Protocol):
    async def stop_conversation(self, conversation: str, *, alone: bool = False) -> bool:
        """Stop running and waiting answers there, and long work unless `alone`; return whether there were any."""
        ...


class ModelChoices(Protocol):
    async def menu(self, who: Requester) -> ModelMenu:
        """Return the model that answers this person there, and the choice."""
        ...

    async def choose(self, who: Requester, name: str) -> None:
        """Answer this person with that model from now on; "" restores the default. Raises SettingsError."""
        ...


class DirectMessages(Protocol):
    """Conversations in a channel without threads. `channel`: the id of its first conversation, which is its own."""

    async def conversation_of(self, channel: str, message: str, time: datetime, idle: timedelta) -> str:
        """Return the conversation of a message written at this time. After a silence of `idle` it is a new one, named
        after `message` (its id).
        """
        ...

    async def current(self, channel: str) -> str:
        """Return the current conversation there."""
        ...

    async def begin(self, channel: str, name: str) -> str:
        """Start a new conversation there, and return its id. `name`: unique, such as an interaction's id."""
        ...


class ScheduleNotes(Protocol):
    """What people do about the schedules that a reply created. Each raises StoreError, and Refused for anyone but its
    asker.
    """

    async def change_words(self, answered: Answered, person: str) -> str:
        """Return the words for `/schedules` that show or edit what a question created ("edit 3")."""
        ...

    async def take_back(self, answered: Answered, person: str) -> str:
        """Cancel what a question created, and return a confirmation."""
        ...


class PlaceKnowledge(Protocol):
    async def learn(
        self, asker: Asker, files: Sequence[Attachment], link: str = "", pages: Sequence[str] = ()
    ) -> KnowledgeAnswer:
        """Add these files and web pages (addresses) to the place's documents. `link`: to the message that brought them.
        Raises StoreError.
        """
        ...


class ToolsWaiting(Protocol):
    async def waiting(self, asker: Asker, fields: int, turn: int) -> Panel | None:
        """Return what this turn waits for, to show it to its asker unasked; None if for nothing. Raises CogencyError.

        `fields`: how many a form can have there.
        """
        ...


class Claims(Protocol):
    """Actions that run once among all processes."""

    async def claim_once(self, source: str, what: str) -> bool:
        """Return whether this name is claimed for the first time of late."""
        ...

    async def run_once(self, source: str, what: str, do: Callable[[], Awaitable[T]]) -> T | None:
        """Run `do` in the first process that claims this name; the others return None. If it fails, the name is
        released.
        """
        ...


class Admissions(Protocol):
    """Access checks for actions other than submitted questions."""

    def operates(self, person: str) -> bool:
        """Return whether this person is one of the bot's operators."""
        ...

    def closed_to(self, who: Requester, authority: Authority) -> str | None:
        """Return why none of their messages there are accepted, in a sentence for them; None if they are."""
        ...

    async def admit_order(self, who: Requester, authority: Authority, time_zone: str = "") -> None:
        """Check and count an order such as "stop" before it is carried out. Raises Refused if they may not give orders
        there, or gave too many.
        """
        ...

    async def admit_posting(self, incoming: Incoming) -> None:
        """Check a question that was asked by a command before it is posted for everyone. Raises Refused as `submit`
        would, as far as that is known beforehand.
        """
        ...


class Feedback(Protocol):
    """What readers do about finished replies. `turn`: the reply's turn."""

    async def at(self, source: str, page: str, channel: str = "") -> Answered | None:
        """Return the finished reply with this page (its id); None if the bot does not know it, or no longer does.

        `channel`: the question's, for platforms whose page ids are unique only within a channel (Slack's).
        """
        ...

    async def of(self, turn: int) -> Answered | None:
        """Return None if there is none, or no longer."""
        ...

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict) -> bool:
        """Store this person's verdict in place of their last one. False if the reply is not known."""
        ...

    async def take_verdict_back(self, turn: int, person: str, verdict: ReplyVerdict) -> None:
        """Withdraw this verdict, unless the person has given another one since."""
        ...

    async def delete(self, turn: int, person: str) -> bool:
        """Delete a reply in the platform, and its words from memory, for the person whom it answers.

        False if there is no such reply. Raises Refused for anyone else.
        """
        ...

    async def delete_running(self, source: str, page: str, person: str, channel: str = "") -> bool:
        """Withdraw the unfinished reply with this page, for the person whom it answers: its question is no longer
        answered. False if there is none, or it answers another person. `channel`: as in `at`.
        """
        ...


class Messages(Protocol):
    """What a platform hands in. Each raises StoreError."""

    async def submit(self, incoming: Incoming) -> bool:
        """Store the message durably; it will be answered. False if it was already stored.

        Raises Refused if this person may not ask that, or not now: its sentence is for them alone.
        """
        ...

    async def record_context_message(self, incoming: Incoming) -> None:
        """Store the message as context of its conversation, without an answer; nothing of people who may not ask."""
        ...

    async def restrict_place(self, channel: str, place: Place) -> None:
        """A channel now has fewer readers: what was said while it was open keeps its audience."""
        ...


class PersonalMemory(Protocol):
    """What platforms ask about a person's memory besides `/memory`. Each raises StoreError."""

    async def take_back(self, turn: int, person: str) -> str:
        """Forget the facts that this turn stored of its asker, and return a confirmation. Raises Refused for others."""
        ...

    async def learn_nothing(self, people: Collection[str], channel: str) -> frozenset[str]:
        """Return those of these people (ids) who paused learning, there or everywhere."""
        ...

    async def suggestions(self, viewer: Asker, limit: int) -> tuple[Suggestion, ...]:
        """Return what this person may want to ask next, of what may be shown at their place; the likeliest first."""
        ...


class OperatorReports(Protocol):
    async def report(self, person: str) -> str | None:
        """Return the operators' report as Markdown: health, spending, verdicts; None for anyone else."""
        ...


class Host(Protocol):
    @property
    def commands(self) -> BoundCommands: ...
    @property
    def tools(self) -> ToolsWaiting: ...
    @property
    def models(self) -> ModelChoices: ...
    @property
    def knowledge(self) -> PlaceKnowledge: ...
    @property
    def schedules(self) -> ScheduleNotes: ...
    @property
    def turns(self) -> RunningTurns: ...
    @property
    def platforms(self) -> PlatformRegistry: ...
    @property
    def conversations(self) -> ReceivedConversations: ...
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
    def ambient(self) -> AmbientIntake: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def memories(self) -> PersonalMemory: ...
    @property
    def reports(self) -> OperatorReports: ...
