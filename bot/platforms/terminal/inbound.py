"""Parse a typed line: a message to the bot, or a command to the terminal. Pure.

Rules. A line that begins with "/" is a command; "//" sends text that begins with one slash. Any other line is a command
if it is one as a whole, as in Slack's direct messages ("help", "forget everything"), or if it is the word that stops an
answer or one of those that usually leave a program. All else is a message; so is everything after `/ask`. Commands are
case-insensitive. No line that looks like a command is sent to the model: for an unknown command the user is shown the
nearest one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Final, TypeAlias

from agent.messages import Depth
from bot.chat.commands.declaration import ALIKE, AnyCommand, command_meant, command_named, nearly_meant
from bot.chat.commands.talking import STOP_COMMAND as STOP
from bot.chat.intake import is_stop
from bot.commands import WITHOUT_FORUMS as COMMANDS
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal.attachments import split_path


@dataclass(frozen=True, slots=True)
class Ask:
    """`path`: of a file that the question is about; "" for none."""

    text: str
    depth: Depth = Depth.ADAPT
    path: str = ""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command that is declared for all platforms, and its arguments."""

    command: AnyCommand
    words: str = ""


@dataclass(frozen=True, slots=True)
class ListThreads:
    pass


@dataclass(frozen=True, slots=True)
class OpenThread:
    """Return to the thread with this number in the list, counted from 1."""

    number: int


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


Line: TypeAlias = Ask | CommandLine | ListThreads | OpenThread | Quit | Nothing | UnclearLine

QUIT_WORDS = frozenset({"exit", "quit"})  # As a whole line. They are no question to a model.


def is_command(line: str) -> bool:
    """Return whether the line begins as a command does, known or not."""
    text = line.strip()
    return text.startswith("/") and not text.startswith("//")


def names_command(text: str) -> bool:
    """Return whether the text begins with a known command: a question may also begin with a path, for example."""
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    return word.startswith("/") and word[1:].casefold() in _NAMES


def help_text() -> Mapping[str, str]:
    """Return what can be written, with its effect."""
    declared = {f"/{command.name}{' TEXT' if command.run is None else ''}": command.summary for command in COMMANDS}
    return declared | platforms_texts.TERMINAL_COMMANDS


def completed(typed: str) -> Sequence[str]:
    """Return the commands that complete what was typed so far."""
    is_beginning = is_command(typed) and typed == typed.strip()
    return [f"/{name}" for name in _NAMES if is_beginning and f"/{name}".startswith(typed.casefold())]


def parse(line: str, now: datetime) -> Line:
    """Parse one typed line (or a pasted text of several lines); `now` is for "since Monday". Never raises."""
    text = line.strip()
    if not text:
        return Nothing()
    if text.startswith("//"):
        return Ask(text[1:])
    if not is_command(text):
        return _without_slash(text, now)
    first, *arguments = text.split(maxsplit=1)
    word, rest = first.lower(), "".join(arguments)
    command = command_named(word[1:], COMMANDS)
    match word:
        case "/ask" | "/deep" | "/fast":
            return Ask(rest, _DEPTHS[word]) if rest else UnclearLine(platforms_texts.WRITE_QUESTION.format(word=word))
        case "/file":
            path, question = split_path(rest)
            return (
                Ask(question or platforms_texts.WHAT_IS_IN_IT, path=path)
                if path
                else UnclearLine(platforms_texts.WRITE_FILE)
            )
        case "/threads":
            return _threads(rest)
        # What is left is a command of the catalogue, or /quit, which only the terminal has.
        case _ if command is None and word != "/quit":
            return _unknown(word)
        case _ if rest and (command is None or not command.arguments):
            return UnclearLine(platforms_texts.WRITE_ALONE.format(word=word))
        case _:
            return Quit() if command is None else CommandLine(command, rest)


def _without_slash(text: str, now: datetime) -> Line:
    if is_stop(text):
        return CommandLine(STOP)
    if text.lower() in QUIT_WORDS:
        return Quit()
    if (meant := command_meant(text, COMMANDS, now, str)) is not None:
        return CommandLine(meant.command, meant.words)
    near = nearly_meant(text, COMMANDS, now)
    return UnclearLine(platforms_texts.NEARLY.format(near=near)) if near else Ask(text)


def _threads(rest: str) -> Line:
    if not rest:
        return ListThreads()
    if rest.isascii() and rest.isdecimal() and len(rest) < 10 and int(rest) > 0:
        return OpenThread(int(rest))
    return UnclearLine(platforms_texts.WRITE_THREADS)


_DEPTHS: Final = {"/ask": Depth.ADAPT, "/deep": Depth.DEEP, "/fast": Depth.FAST}
_NAMES: Final = tuple(
    dict.fromkeys(written.split()[0].removeprefix("/") for written in help_text() if not written.startswith("//"))
)


def _unknown(word: str) -> UnclearLine:
    """Return the sentence that names the nearest command, or else `/help`, and how to send the word as text."""
    near = get_close_matches(word[1:], _NAMES, n=1, cutoff=ALIKE)
    shown = word if len(word) <= 30 else f"{word[:29]}…"
    remedy = platforms_texts.MEANT.format(near=near[0]) if near else platforms_texts.SEE_HELP
    return UnclearLine(platforms_texts.NO_SUCH_COMMAND.format(command=_quoted(shown), instead=remedy))


def _quoted(word: str) -> str:
    """Return the word as code, without backticks, which would end it."""
    return f"`{word.replace('`', '')}`"
