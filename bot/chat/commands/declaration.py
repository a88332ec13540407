"""A command: declared once, for every platform.

The `commands.py` of a feature declares one as `COMMAND`, or several whose names end in COMMAND: name, help, arguments,
who may use it, where it is offered, and what it does. Its answer is a Panel. Platforms register the declared commands,
read what people write, press and fill in, and render panels. What depends on the platform, a command asks its Caller.

The declaration needs no running bot: manifests, help and the documentation are made from it. Its functions take the
command's service as their first argument; the composition root binds it (`Command.bound`), and platforms run what is
bound.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from enum import Enum, auto
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from agent.incoming import Attachment, Person
from agent.ports.tools import Asker
from agent.shown_replies import Answered
from bot.chat.askers import Requester
from bot.chat.panels import Filled, Panel, PanelAction, PanelForm, PanelPart
from bot.chat.reply.surface import ReplyAction

ServiceT = TypeVar("ServiceT")


@dataclass(frozen=True, slots=True)
class Stoppable:
    """The conversations that a "stop" written here stops; `otherwise`: how to stop those that it cannot."""

    conversations: Collection[str]
    otherwise: str = ""


class Caller(Protocol):
    """The user of a command, and the place, as only the platform knows them. Async methods may raise CogencyError."""

    @property
    def person(self) -> Person:
        """The name is "" if the platform has not been asked for it."""
        ...

    @property
    def channel(self) -> str:
        """The platform's id; "" outside of channels."""
        ...

    async def requester(self) -> Requester:
        """Return them with their roles and the team's id."""
        ...

    async def asker(self) -> Asker:
        """Return the asker that a question of theirs would have here."""
        ...

    async def private_asker(self) -> Asker:
        """Return them at the place where only they read the answer, with what "this thread" means where they are."""
        ...

    async def policy_asker(self) -> Asker:
        """Return them at the place whose policies are meant."""
        ...

    async def ask_zone(self, words: str) -> PanelPart | None:
        """If their time zone is unknown, return a part that says so, and asks for it if it can be chosen here: the
        choice follows `words`, and is to be stored. None if it is known.
        """
        ...

    async def keep_zone(self, zone: str) -> str:
        """Store the time zone that they wrote or chose; return "", or a sentence why not and what to do."""
        ...

    @property
    def entry_chars(self) -> int | None:
        """How much of an entry a list shows; None on platforms without buttons, where a list shows all of it."""
        ...

    @property
    def not_receiving(self) -> str:
        """Why the bot does not receive messages here that do not address it, in a sentence; "" if it does."""
        ...

    @property
    def window_fields(self) -> int:
        """How many fields a form can have here."""
        ...

    async def stoppable(self) -> Stoppable: ...

    async def begin_conversation(self) -> str:
        """Start a new conversation with their next message; return a sentence that says so."""
        ...

    async def announce(self, markdown: str) -> None:
        """Post this in their channel, for everyone there. Raises Refused if that is not possible."""
        ...

    async def with_names(self, markdown: str) -> str:
        """Return an answer with names in place of the ids of people and channels, as far as the platform knows them."""
        ...

    def help(self) -> str:
        """Return what can be written here, in Markdown."""
        ...


# --------------------------------------------------------------------------------------------------
# The declaration.


class CommandScope(Enum):
    """Where a command is offered, on platforms whose kinds of channels have commands of their own."""

    EVERYWHERE = auto()
    DIRECT = auto()
    SERVERS = auto()


class ArgumentKind(Enum):
    TEXT = auto()
    FLAG = auto()
    FILE = auto()


@dataclass(frozen=True, slots=True)
class Argument:
    """The first argument takes all words of a command that is one line; the others are Discord's options.

    `hint`: how the argument is written in that line, if `summary` does not say it. `mentions`: people and channels that
    it mentions are passed as "person:ID" and "channel:ID".
    """

    name: str
    summary: str
    kind: ArgumentKind = ArgumentKind.TEXT
    hint: str = ""
    required: bool = False
    mentions: bool = False
    max_chars: int | None = None
    choices: Mapping[str, str] = field(default_factory=dict[str, str])


ShowPanel: TypeAlias = Callable[[Panel], Awaitable[None]]


async def _ignore_panel(_: Panel) -> None:
    """For platforms that show only the final answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """`words`: the first argument; `options`: the others that were given, by their names, and flags that are set.

    `files`: those attached to it, and `link` to the message that they are attached to, if there is one.
    `pressed`: the words come from a button or a menu in one of the command's own panels; they were not typed.
    `show`: shows a panel until the answer comes. It never raises; where messages cannot be replaced it shows only one.
    """

    words: str
    caller: Caller
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Sequence[Attachment] = ()
    link: str = ""
    pressed: bool = False
    show: ShowPanel = _ignore_panel


@dataclass(frozen=True, slots=True)
class PressedReply:
    """A button below a reply was pressed. `turn`: the number of the reply's turn; `person`: who pressed it.

    `answered`: the reply, as far as the platform has read it; None if the turn may still wait.
    """

    turn: int
    person: str
    answered: Answered | None = None


# What a command does with its service, in the order of `Command`'s fields. Each may raise CogencyError.
Run: TypeAlias = Callable[[ServiceT, CommandCall], Awaitable[Panel]]
Suggest: TypeAlias = Callable[[ServiceT, Requester, Mapping[str, str]], Awaitable[Sequence[str]]]
Prefill: TypeAlias = Callable[[ServiceT, CommandCall], Awaitable[Filled]]
BuildForm: TypeAlias = Callable[[ServiceT, CommandCall], Awaitable[PanelForm]]
Press: TypeAlias = Callable[[ServiceT, PressedReply], Awaitable[PanelAction]]


# --------------------------------------------------------------------------------------------------
# The page that shows a person what concerns them, where a platform has one (Slack's Home tab).


@dataclass(frozen=True, slots=True)
class HomeVisit:
    """A person opens the page. `page`: the one that the section's list shows, from 1. `guest`: they are no full member
    of the team. `choices`: what they chose, by the choices' names. `run`: runs the section's command.
    """

    caller: Caller
    page: int
    guest: bool
    choices: Mapping[str, str]
    run: Callable[[CommandCall], Awaitable[Panel]]

    async def panel(self, words: str = "", *, pressed: bool = False) -> Panel:
        """Return what the command answers. Raises CogencyError."""
        return await self.run(CommandCall(words=words, caller=self.caller, pressed=pressed))


@dataclass(frozen=True, slots=True)
class HomeContent:
    """`note`: a small line below the panel, and `actions` the buttons below it. `empty`: it shows nothing yet that the
    bot knows of the person.
    """

    panel: Panel
    note: str = ""
    actions: tuple[PanelAction, ...] = ()
    empty: bool = True


def whole_answer(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeSection:
    """What the page shows of a command, whose answers to its buttons stand there, too.

    `title`: "" to go on in the section before. `show`: its content; None for those who do not see it; it may raise
    CogencyError. `news`: what is shown of an answer, without the content that ends it; "" if the content says it all.
    `long`: whether its text may be long, and is shown in pages.
    """

    title: str
    show: Callable[[HomeVisit], Awaitable[HomeContent | None]]
    news: Callable[[str], str] = whole_answer
    long: bool = False


# --------------------------------------------------------------------------------------------------
# The command.


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Generic[ServiceT]):
    """`ServiceT`: what its functions need of the running bot; `object` for nothing."""

    name: str
    summary: str
    """One line of at most 100 characters."""
    run: Run[ServiceT] | None = None
    """None: the command is a question, which platforms submit."""
    suggests: Mapping[str, Suggest[ServiceT]] = field(default_factory=dict[str, Suggest[ServiceT]])
    """Returns suggestions while a person types, by the names of arguments; it gets the other arguments so far."""
    prefills: Mapping[str, Prefill[ServiceT]] = field(default_factory=dict[str, Prefill[ServiceT]])
    """Returns the values that a form starts with, for the words of its button; by the names of forms."""
    builds: Mapping[str, BuildForm[ServiceT]] = field(default_factory=dict[str, BuildForm[ServiceT]])
    """Returns the form itself, under the same name, for the words of its button, if its fields are not known before; by
    the names of forms. It is quick enough for a form to be opened."""
    presses: Mapping[ReplyAction, Press[ServiceT]] = field(default_factory=dict[ReplyAction, Press[ServiceT]])
    """Buttons below replies that lead to it: each returns the button of one of its own panels that is pressed instead,
    by its words, and with the form that it opens, if any."""
    home: HomeSection | None = None
    setting: Callable[[HomeVisit], Awaitable[PanelPart]] | None = None
    """What a person's settings show of it, where a platform has a panel for them. It may raise CogencyError."""
    arguments: tuple[Argument, ...] = ()
    stop: PanelAction | None = None
    """The button of its panels that stops a run which takes long; where there are no buttons, Ctrl-C presses it."""
    open_to_all: bool = False
    """Whether people whom the bot does not answer may use it, too, without a limit."""
    means_thread: bool = False
    """Whether its words may mean the conversation in which it is used ("this thread")."""
    entry: "CommandEntry | None" = None
    """Its entry in a message's menu, where platforms let entries run commands."""
    rolling: bool = False
    """Whether it needs a rolling conversation: platforms whose messages each begin a conversation do not offer it."""
    forums: bool = False
    """Whether it is about posts of forums: platforms without forums do not offer it."""
    scope: CommandScope = CommandScope.EVERYWHERE
    forms: tuple[PanelForm, ...] = ()
    """All forms that its panels may offer."""
    bare: bool = True
    """Whether a message that consists of its name means the command, without a slash."""
    phrases: tuple[str, ...] = ()
    """Other messages, in lowercase letters, that mean the command without words."""
    means: Callable[[str, datetime], bool] = lambda _words, _now: False
    """Whether its name, followed by these words, means the command without a slash; otherwise it is ordinary text."""
    also_called: tuple[str, ...] = ()
    """Synonyms of its name. A person who writes one, or mistypes the name, followed by words that `means` accepts, is
    asked what they meant: a model that received the message could seem to have carried it out."""
    examples: Mapping[str, str] = field(default_factory=dict[str, str])
    """For the table in the documentation: words, and what they do."""

    @property
    def hint(self) -> str:
        """The syntax behind its name, on one line; "" for none."""
        words = self.arguments[:1]
        return words[0].hint or f"[{words[0].summary}]" if words else ""

    @property
    def mentions(self) -> bool:
        return any(argument.mentions for argument in self.arguments)

    @property
    def takes_files(self) -> bool:
        """Whether it does something with files, and is no question."""
        return self.run is not None and any(argument.kind is ArgumentKind.FILE for argument in self.arguments)

    def bound(self, service: ServiceT) -> "BoundCommand":
        """Return the command as a running bot carries it out."""
        return BoundCommand(
            self,
            None if self.run is None else partial(self.run, service),
            {name: partial(suggest, service) for name, suggest in self.suggests.items()},
            {name: partial(prefill, service) for name, prefill in self.prefills.items()},
            {name: partial(build, service) for name, build in self.builds.items()},
            {action: partial(press, service) for action, press in self.presses.items()},
        )

    def refusing(self, why: str) -> "BoundCommand":
        """Return the command for a bot that cannot carry it out; its answer is this sentence."""

        async def refuse(_: CommandCall) -> Panel:
            return Panel(why, refused=True)

        return BoundCommand(self, refuse)


AnyCommand: TypeAlias = Command[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEntry:
    """An entry in a message's menu that runs a command with these words; "this thread" is the message's. `id` is stored
    by the platform, so it stays.
    """

    id: str
    label: str
    summary: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class BoundCommand:
    """A command of a running bot. Every method may raise CogencyError."""

    declared: AnyCommand
    run_bound: Callable[[CommandCall], Awaitable[Panel]] | None
    suggests: Mapping[str, Callable[[Requester, Mapping[str, str]], Awaitable[Sequence[str]]]] = field(
        default_factory=dict[str, Callable[[Requester, Mapping[str, str]], Awaitable[Sequence[str]]]]
    )
    prefills: Mapping[str, Callable[[CommandCall], Awaitable[Filled]]] = field(
        default_factory=dict[str, Callable[[CommandCall], Awaitable[Filled]]]
    )
    builds: Mapping[str, Callable[[CommandCall], Awaitable[PanelForm]]] = field(
        default_factory=dict[str, Callable[[CommandCall], Awaitable[PanelForm]]]
    )
    presses: Mapping[ReplyAction, Callable[[PressedReply], Awaitable[PanelAction]]] = field(
        default_factory=dict[ReplyAction, Callable[[PressedReply], Awaitable[PanelAction]]]
    )

    async def run(self, call: CommandCall) -> Panel:
        """Raises TypeError for a question, which is submitted instead."""
        if self.run_bound is None:
            raise TypeError(f"/{self.declared.name} is a question")
        return await self.run_bound(call)

    async def suggest(self, argument: str, requester: Requester, given: Mapping[str, str]) -> Sequence[str]:
        """Return suggestions for an argument. `given`: the other arguments so far."""
        suggest = self.suggests.get(argument)
        return () if suggest is None else await suggest(requester, given)

    async def build_form(self, form: PanelForm, call: CommandCall) -> PanelForm:
        """Return the form as it is for the words of its button, which `call` holds."""
        build = self.builds.get(form.name)
        return form if build is None else await build(call)

    async def prefill(self, form: PanelForm, call: CommandCall) -> Filled:
        """Return the values that the form starts with."""
        prefill = self.prefills.get(form.name)
        return {} if prefill is None else await prefill(call)


# A running bot's commands, by name.
BoundCommands: TypeAlias = Mapping[str, BoundCommand]


def by_name(commands: Iterable[BoundCommand]) -> BoundCommands:
    return {command.declared.name: command for command in commands}


def command_below(commands: BoundCommands, action: ReplyAction) -> BoundCommand:
    """Return the command to which this button below a reply leads. Raises LookupError for a button without one."""
    found = next((command for command in commands.values() if action in command.presses), None)
    if found is None:
        raise LookupError(f"no command has the button {action}")
    return found


@dataclass(frozen=True, slots=True)
class EntryForm:
    """The label of a menu entry, and its question, with `{link}` in place of the message's link."""

    label: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry:
    """An entry in a message's menu that asks a question about the message; only its user sees the answer.

    `thread`: for platforms where each message begins a thread; `onwards`: for rolling conversations.
    """

    id: str
    summary: str
    thread: EntryForm
    onwards: EntryForm


# --------------------------------------------------------------------------------------------------
# Messages that are commands.
#
# Rules. A message is a command only as a whole; any other one is a question, or talk. After a slash a command's name is
# expected, even if it is mistyped; the command itself parses the rest.


@dataclass(frozen=True, slots=True)
class CommandMeant:
    command: AnyCommand
    words: str = ""


ALIKE: Final = 0.7  # The similarity of a mistyped name to the real one: a letter or two of six differ


def command_named(name: str, commands: Sequence[AnyCommand]) -> AnyCommand | None:
    return next((command for command in commands if command.name == name.casefold()), None)


def nearest(name: str, words: str, commands: Sequence[AnyCommand]) -> str:
    """Return the command that a mistyped name means; "" for paths and the like, and for sentences about stopping."""
    matches = get_close_matches(name.casefold(), [command.name for command in commands], 1, ALIKE)
    return matches[0] if matches and name.isalpha() and not (matches[0] == "stop" and words) else ""


def nearly_meant(text: str, commands: Sequence[AnyCommand], now: datetime) -> str:
    """Return the command that a message without a slash nearly is, such as "forget everything" for "forgt everything";
    "" for none.
    """
    word, _, rest = text.strip().partition(" ")
    name, words = word.casefold(), rest.strip(" .!?").replace("`", "")
    for command in commands:
        if not (command.also_called and words) or name == command.name:
            continue
        is_near = name in command.also_called or get_close_matches(name, [command.name], 1, ALIKE)
        if is_near and command.means(words, now):
            return f"{command.name} {words}"
    return ""


def command_meant(
    text: str, commands: Sequence[AnyCommand], now: datetime, ids: Callable[[str], str]
) -> CommandMeant | None:
    """Return the command that a message without a slash is. `ids` replaces mentions by "person:ID" and "channel:ID"."""
    normalised = " ".join(text.split()).strip(" .!?").casefold()
    for command in commands:
        if (command.bare and normalised == command.name) or normalised in command.phrases:
            return CommandMeant(command)
    name, _, rest = text.strip().partition(" ")
    command, rest = command_named(name, commands), rest.strip()
    if command is None:
        return None
    words = ids(rest) if command.mentions else rest
    return CommandMeant(command, words) if rest and command.means(words, now) else None
