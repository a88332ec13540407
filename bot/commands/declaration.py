"""A command: declared once, for every platform.

A file of this folder holds one as `COMMAND`, or some whose names end so: name, help and arguments, who may use it,
where it is offered, and what it does. It answers with a Panel. Platforms register what is declared, read what people
write, press and fill in, and render panels; what a command needs to know of where it is used, it asks its Caller.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from enum import Enum, auto
from typing import Final, Protocol, TypeAlias

from agent.ports import Asker
from agent.records import Attachment, Person
from bot.access.acl import Requester
from bot.host import CommandHost, Forgetter, PolicyAsker, Viewer

# --------------------------------------------------------------------------------------------------
# What a command answers with.


class FieldKind(Enum):
    LINE = auto()
    LINES = auto()
    CHOICE = auto()
    """One of the field's choices; the first stands there at the beginning."""
    PICK = auto()
    """One of the choices, or none; none stands there at the beginning, unless one is filled in."""
    PICKS = auto()
    """Some of the choices. Its value are theirs, with blanks between them."""
    PERSON = auto()
    """Its value is the person's id, such as "slack:T0123:U0123"."""
    CHANNEL = auto()
    """Its value is the platform's id of a channel."""
    ELSEWHERE = auto()
    """The private channel for which the command is used, in place of where it was asked for. It is only shown where
    nothing is said about a channel otherwise."""
    BOX = auto()
    """A flag of the command; its hint stands beside the box. Its value is "" if it is not ticked."""


@dataclass(frozen=True, slots=True)
class FormField:
    name: str
    label: str
    kind: FieldKind = FieldKind.LINE
    hint: str = ""
    optional: bool = False
    max_chars: int | None = None
    choices: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels, by their values."""


Filled: TypeAlias = Mapping[str, str]  # What was filled in, by the names of the fields; "" for nothing


@dataclass(frozen=True, slots=True)
class PanelForm:
    """A window for what is easier to fill in than to write. It only spells the words that the command would be told.

    `label` is what the button says that opens it; `name` is unique among all forms.
    """

    name: str
    label: str
    title: str
    submit: str
    fields: tuple[FormField, ...]
    words: Callable[[Filled], str]
    mistakes: Callable[[Filled], Mapping[str, str]] = lambda _: {}
    """What is wrong with what was filled in, by the fields' names: a sentence each. The form then stays open."""
    prefill: "Callable[[CommandCall], Awaitable[Filled]] | None" = None
    """What stands in it at first, for the words of its button."""
    made: "Callable[[CommandCall], Awaitable[PanelForm]] | None" = None
    """The form itself, of the same name, for the words of its button, where its fields are not known before. May raise
    CogencyError, in time for a window to be opened."""

    def button(self, words: str = "") -> "PanelAction":
        return PanelAction(self.label, words, form=self)

    def spelled(self, before: str, filled: Filled) -> str:
        """The words that it makes of what was filled in, behind those of its button."""
        return f"{before} {self.words(filled)}".strip()

    def ticked(self, filled: Filled) -> Mapping[str, str]:
        """The flags of the command that were ticked in it."""
        return {one.name: filled[one.name] for one in self.fields if one.kind is FieldKind.BOX and filled[one.name]}


@dataclass(frozen=True, slots=True)
class PanelAction:
    """A button: pressed, it tells its command these words (see `CommandCall.pressed`).

    `form`: the window that is filled in first; what it spells follows the words. `danger`: what it does cannot be
    undone, at least not for long. `confirm`: what is said before it is done, where a platform can ask once more.
    """

    label: str
    words: str = ""
    danger: bool = False
    confirm: str = ""
    form: PanelForm | None = None


@dataclass(frozen=True, slots=True)
class PanelSelect:
    """A menu: what is chosen in it follows its words. `options`: labels, by their values."""

    placeholder: str
    options: Mapping[str, str]
    chosen: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class PanelPart:
    """Markdown, and what may be pressed or chosen about it."""

    text: str = ""
    actions: tuple[PanelAction, ...] = ()
    select: PanelSelect | None = None


@dataclass(frozen=True, slots=True)
class PanelFile:
    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Panel:
    """What is shown to whoever used the command, and to nobody else: Markdown, its buttons, and its parts below.

    `boxes`: flags of the command that may be ticked before a button is pressed, and whether they are at first; where a
    platform has no boxes, they stay as they are. `refused`: nothing was done, and the text says why.
    """

    text: str
    actions: tuple[PanelAction, ...] = ()
    parts: tuple[PanelPart, ...] = ()
    boxes: Mapping[str, bool] = field(default_factory=dict[str, bool])
    file: PanelFile | None = None
    refused: bool = False


# --------------------------------------------------------------------------------------------------
# Who uses it, and where.


@dataclass(frozen=True, slots=True)
class Stoppable:
    """The conversations that "stop" means where it is written; `otherwise`: how to stop what it cannot mean."""

    conversations: Collection[str]
    otherwise: str = ""


class Caller(Protocol):
    """Who uses a command, and where: what only the platform knows. Every async method may raise CogencyError."""

    @property
    def person(self) -> Person:
        """Where the platform has not been asked for the name, that is ""."""
        ...

    @property
    def channel(self) -> str:
        """The platform's id; "" outside of channels."""
        ...

    async def requester(self) -> Requester:
        """With their roles, and the team's id."""
        ...

    async def policy_asker(self) -> PolicyAsker:
        """With their authority at this moment, and the place whose policies are meant."""
        ...

    async def tool_asker(self) -> Asker:
        """As whom a question would be asked here."""
        ...

    async def viewer(self) -> Viewer:
        """With the place where only they read what they are shown."""
        ...

    async def forgetter(self) -> Forgetter:
        """With what "this thread" means where they are."""
        ...

    async def ask_zone(self, words: str) -> PanelPart | None:
        """Where nobody knows their time zone: what says so, and asks for it where it can be told here. What they choose
        follows `words`, and is to be kept. None if it is known.
        """
        ...

    async def keep_zone(self, zone: str) -> str:
        """They said or chose their time zone; "", or why it is not kept, in a sentence that says what to do."""
        ...

    @property
    def entry_chars(self) -> int | None:
        """How much of an entry is shown in a list; None where there are no buttons, and a list shows all of it."""
        ...

    @property
    def deaf(self) -> str:
        """Why the bot does not hear what is not said to it there, in a sentence; "" if it does."""
        ...

    @property
    def window_fields(self) -> int:
        """How many fields a window holds here."""
        ...

    async def stoppable(self) -> Stoppable: ...

    async def begin_conversation(self) -> str:
        """What they write next begins a conversation; a sentence that says so."""
        ...

    async def announce(self, markdown: str) -> None:
        """Say this in the channel where they are, for everybody there. Raises Refused where that cannot be done."""
        ...

    async def with_names(self, markdown: str) -> str:
        """What `/budget` says, with a name in place of an id at its beginning where the platform knows one."""
        ...

    def help(self) -> str:
        """What may be written where they are, in Markdown."""
        ...


# --------------------------------------------------------------------------------------------------
# The declaration.


class CommandScope(Enum):
    """Where a platform offers it that offers each kind of channel its own commands."""

    EVERYWHERE = auto()
    DIRECT = auto()
    SERVERS = auto()


class ArgumentKind(Enum):
    TEXT = auto()
    FLAG = auto()
    FILE = auto()


# What is offered to somebody who types; the mapping: which other arguments are given already.
Suggest: TypeAlias = Callable[[CommandHost, Requester, Mapping[str, str]], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Argument:
    """Where a command is one line, its words are all of them the first argument's; the others are Discord's options.

    `hint`: how it is written there, if `summary` does not say it. `mentions`: whom it mentions, it names by id, as
    "person:ID" and "channel:ID". `suggests`: what is offered while somebody types.
    """

    name: str
    summary: str
    kind: ArgumentKind = ArgumentKind.TEXT
    hint: str = ""
    required: bool = False
    mentions: bool = False
    max_chars: int | None = None
    choices: Mapping[str, str] = field(default_factory=dict[str, str])
    suggests: Suggest | None = None


ShowPanel: TypeAlias = Callable[[Panel], Awaitable[None]]


async def _unshown(_: Panel) -> None:
    """Where only an answer is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """`words`: the first argument; `options`: the others that were given, by their names, and flags that are set.

    `files`: what was handed over with it, and `link` to the message that did so, if it was one.
    `pressed`: the words are those of a button or a menu in one of the command's own panels, which nobody has typed.
    `show`: show this until the answer comes. It never raises, and may be shown once only where nothing can be replaced.
    """

    words: str
    caller: Caller
    host: CommandHost
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Sequence[Attachment] = ()
    link: str = ""
    pressed: bool = False
    show: ShowPanel = _unshown


Run: TypeAlias = Callable[[CommandCall], Awaitable[Panel]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    name: str
    summary: str
    """One line of at most 100 characters."""
    run: Run | None = None
    """May raise CogencyError. None: it is a question, which platforms take in."""
    arguments: tuple[Argument, ...] = ()
    open_to_all: bool = False
    """Whether people may use it whom the bot does not answer, and however often."""
    rolling: bool = False
    """Whether it is about a conversation that goes on and on: platforms on which each message begins one lack it."""
    scope: CommandScope = CommandScope.EVERYWHERE
    forms: tuple[PanelForm, ...] = ()
    """All that its panels may offer."""
    bare: bool = True
    """Whether a message that is nothing but its name means it, without a slash."""
    phrases: tuple[str, ...] = ()
    """Other messages that mean it without words, in small letters."""
    means: Callable[[str, datetime], bool] = lambda _words, _now: False
    """Whether its name with these words behind it is a message that means it, without a slash; else that is talk."""
    also_called: tuple[str, ...] = ()
    """Other words for its name. Whoever writes one, or mistypes the name, before words that it understands is asked
    what they meant: a model that is given it may seem to have done it."""
    examples: Mapping[str, str] = field(default_factory=dict[str, str])
    """For the table in the documentation: words, and what they do."""

    @property
    def hint(self) -> str:
        """What may be written behind its name, on one line; "" for nothing."""
        words = self.arguments[:1]
        return words[0].hint or f"[{words[0].summary}]" if words else ""

    @property
    def mentions(self) -> bool:
        return any(argument.mentions for argument in self.arguments)


@dataclass(frozen=True, slots=True)
class EntryForm:
    """What an entry is called, and the question that it asks, with `{link}` in place of the message's."""

    label: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry:
    """An entry in the menu of a message that asks something about it; only whoever chose it sees the answer.

    `thread`: where every message begins a thread; `onwards`: where a conversation just goes on.
    """

    id: str
    summary: str
    thread: EntryForm
    onwards: EntryForm


# --------------------------------------------------------------------------------------------------
# Messages that are commands.
#
# Rules. Only a message that is a command as a whole is one; everything else is a question, or talk. Behind a slash a
# name is meant, also a mistyped one; what follows is the command's to understand.


@dataclass(frozen=True, slots=True)
class CommandMeant:
    command: Command
    words: str = ""


ALIKE: Final = 0.7  # How near a mistyped name is to the one that was meant: a letter or two of six


def command_named(name: str, commands: Sequence[Command]) -> Command | None:
    return next((command for command in commands if command.name == name.casefold()), None)


def nearest(name: str, words: str, commands: Sequence[Command]) -> str:
    """The command that was meant by a name that is none's; "" for a path or the like, and for talk of stopping."""
    near = get_close_matches(name.casefold(), [command.name for command in commands], 1, ALIKE)
    return near[0] if near and name.isalpha() and not (near[0] == "stop" and words) else ""


def nearly_meant(said: str, commands: Sequence[Command], now: datetime) -> str:
    """What a message without a slash nearly orders: "forget everything" for "forgt everything"; "" for every other."""
    word, _, rest = said.strip().partition(" ")
    name, words = word.casefold(), rest.strip(" .!?").replace("`", "")
    for command in commands:
        if not (command.also_called and words) or name == command.name:
            continue
        near = name in command.also_called or get_close_matches(name, [command.name], 1, ALIKE)
        if near and command.means(words, now):
            return f"{command.name} {words}"
    return ""


def command_meant(
    said: str, commands: Sequence[Command], now: datetime, ids: Callable[[str], str]
) -> CommandMeant | None:
    """What a message without a slash means. `ids` puts "person:ID" and "channel:ID" in the place of mentions."""
    whole = " ".join(said.split()).strip(" .!?").casefold()
    for command in commands:
        if (command.bare and whole == command.name) or whole in command.phrases:
            return CommandMeant(command)
    name, _, rest = said.strip().partition(" ")
    command, rest = command_named(name, commands), rest.strip()
    if command is None:
        return None
    words = ids(rest) if command.mentions else rest
    return CommandMeant(command, words) if rest and command.means(words, now) else None
