"""What a typed line means: a message to the bot, or a command to the terminal. Pure.

The rules. A line that begins with "/" is a command; "//" sends text that begins with one slash; everything else is
a message, but for the one word that stops an answer, or that leaves every other program. Commands count in any case.
Nothing that looks like a command is ever sent to the model: a word that is not one gets a sentence with the nearest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from agent.messages import Depth
from bot.intake import is_stop
from bot.memory.forget_desk import HELP

COMMANDS: Mapping[str, str] = {
    "/ask TEXT": "ask something; plain text does the same",
    "/deep TEXT": "ask, and let the model take its time",
    "/fast TEXT": "ask, and want an answer soon",
    "/new": "begin a new thread",
    "/threads": "list your threads",
    "/threads N": "go back to thread N of that list",
    "/memory": "show what is remembered about you; /memory help says what you may decide about it",
    **HELP,
    "/usage": "show what your questions took: tokens and money",
    "/budget": "show budgets, or raise one, as in /budget everyone $200",
    "/policy": "show what holds for everybody here, or set it, as in /policy set budget: at most 50 EUR",
    "/model": "show which model answers",
    "/model NAME": "answer with another model",
    "/stop": "stop the answer; while it grows, press Ctrl-C",
    "/help": "show this list",
    "/quit": "leave; so do exit, quit and Ctrl-D",
    "//TEXT": "send text that begins with a slash",
}
"""How each command is written, and what it does."""


@dataclass(frozen=True, slots=True)
class Ask:
    text: str
    depth: Depth = Depth.ADAPT


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop what runs; nothing does while a line is read."""


@dataclass(frozen=True, slots=True)
class NewThread:
    pass


@dataclass(frozen=True, slots=True)
class ListThreads:
    pass


@dataclass(frozen=True, slots=True)
class OpenThread:
    """Go back to the thread with this number in the list, counted from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """See what is remembered, or decide about it; `bot.memory.view` reads the words."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class ForgetLine:
    """`bot.memory.forget_desk` reads the words; "": the person has not said yet what to forget."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class ShowUsage:
    pass


@dataclass(frozen=True, slots=True)
class ShowModel:
    pass


@dataclass(frozen=True, slots=True)
class UseModel:
    name: str


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """Show or change a budget; `bot.access.budgets` reads the words."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class PolicyLine:
    """Show or set what holds for everybody here; `bot.memory.policy` reads the words."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class ShowHelp:
    pass


@dataclass(frozen=True, slots=True)
class Quit:
    pass


@dataclass(frozen=True, slots=True)
class Nothing:
    """A blank line."""


@dataclass(frozen=True, slots=True)
class UnclearLine:
    """Looks like a command and is none; `sentence` says what to write instead."""

    sentence: str


Command: TypeAlias = (
    Ask
    | Stop
    | NewThread
    | ListThreads
    | OpenThread
    | MemoryLine
    | ForgetLine
    | ShowUsage
    | BudgetLine
    | PolicyLine
    | ShowModel
    | UseModel
    | ShowHelp
    | Quit
    | Nothing
    | UnclearLine
)


LEAVES = frozenset({"exit", "quit"})
"""Alone on their line. No model has anything to say to them."""


def is_command(line: str) -> bool:
    """Whether it begins as a command does, known or not."""
    text = line.strip()
    return text.startswith("/") and not text.startswith("//")


def parse(line: str) -> Command:
    """Read one typed line (or a pasted text of several lines). Never raises."""
    text = line.strip()
    if not text:
        return Nothing()
    if text.startswith("//"):
        return Ask(text[1:])
    if not is_command(text):
        return Stop() if is_stop(text) else Quit() if text.lower() in LEAVES else Ask(text)
    first, *others = text.split(maxsplit=1)
    word, rest = first.lower(), "".join(others)
    if word in _ALONE:
        return UnclearLine(f"Write `{word}` alone: it takes nothing after it.") if rest else _ALONE[word]
    if word in _WITH_WORDS:
        return _WITH_WORDS[word](rest)
    return _unknown(word)


def _ask(rest: str) -> Command:
    return Ask(rest) if rest else UnclearLine("Write your question after `/ask`.")


def _deep(rest: str) -> Command:
    return Ask(rest, Depth.DEEP) if rest else UnclearLine("Write your question after `/deep`.")


def _fast(rest: str) -> Command:
    return Ask(rest, Depth.FAST) if rest else UnclearLine("Write your question after `/fast`.")


def _threads(rest: str) -> Command:
    if not rest:
        return ListThreads()
    if rest.isascii() and rest.isdecimal() and len(rest) < 10 and int(rest) > 0:
        return OpenThread(int(rest))
    return UnclearLine("Write `/threads` for the list, or `/threads 2` to go back to its second thread.")


def _model(rest: str) -> Command:
    return UseModel(rest) if rest else ShowModel()


_ALONE: Mapping[str, Command] = {
    "/new": NewThread(),
    "/usage": ShowUsage(),
    "/stop": Stop(),
    "/help": ShowHelp(),
    "/quit": Quit(),
}
_WITH_WORDS: Mapping[str, Callable[[str], Command]] = {
    "/ask": _ask,
    "/deep": _deep,
    "/fast": _fast,
    "/threads": _threads,
    "/memory": MemoryLine,
    "/forget": ForgetLine,
    "/budget": BudgetLine,
    "/policy": PolicyLine,
    "/model": _model,
}


def _unknown(word: str) -> UnclearLine:
    """One sentence: the nearest command, or else where the list is, and how to send the word as text."""
    near = get_close_matches(word, [*_ALONE, *_WITH_WORDS], n=1)
    shown = word if len(word) <= 30 else f"{word[:29]}…"
    instead = (
        f"did you mean `{near[0]}`?" if near else "`/help` lists them, and `//` sends text that begins with a slash."
    )
    return UnclearLine(f"There is no command {_quoted(shown)}: {instead}")


def _quoted(word: str) -> str:
    """The word as code; a backtick inside would end it."""
    return f"`{word.replace('`', '')}`"
