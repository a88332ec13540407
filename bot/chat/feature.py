"""What a feature adds to the chat bot, as one value. The chat bot knows no feature by name.

Rule: a hook is a field here once two features use it. It is a type with a name, and no loose function.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from agent.ports.tools import Tool
from agent.turn_kinds import TurnKind
from bot.chat.commands.declaration import BoundCommand
from bot.chat.http_routes import HttpRoutes
from bot.chat.jobs import Handler
from bot.chat.kinds import TurnRule
from bot.chat.message_events import MessageEvents
from bot.chat.notes import NotePress, ReplyNote
from bot.chat.reply.surface import ReplyAction


class Serving(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[None]:
        """Return the context in which the feature serves: it begins before the feature's jobs run, and ends after."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    name: str
    commands: Sequence[BoundCommand] = ()
    """Its commands, bound to its services. `bot.commands` lists their declarations."""
    tools: Sequence[Tool] = ()
    """Tools that everyone has everywhere. The model is shown them in the order of the features."""
    jobs: Sequence[Mapping[str, Handler]] = ()
    """How its jobs are run, by their kind. Each mapping has a worker of its own, which runs one job at a time."""
    kinds: Mapping[TurnKind, TurnRule] = field(default_factory=dict[TurnKind, TurnRule])
    """The kinds of turns that it begins, and how they are answered."""
    notes: Sequence[ReplyNote] = ()
    """Lines that it adds to replies. They stand in the order of the features."""
    presses: Mapping[ReplyAction, NotePress] = field(default_factory=dict[ReplyAction, NotePress])
    """What the buttons of its notes take back."""
    messages: MessageEvents | None = None
    """What follows edits, deletions, talk and lost places."""
    routes: Sequence[HttpRoutes] = ()
    """What it serves to other programs over HTTP."""
    serving: Serving | None = None
    """What runs, or is scheduled, while the bot serves."""
