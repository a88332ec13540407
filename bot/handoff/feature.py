"""Asking a human, as a feature of the chat bot."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.handoffs import HANDOFF
from agent.ports.tools import ToolSource
from agent.turn_kinds import TurnKind
from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.kinds import TurnRule
from bot.handoff import texts
from bot.handoff.ask_a_human import handoff_tools
from bot.handoff.commands import COMMAND
from bot.handoff.messages import HandoffMessages
from bot.handoff.notes import HandoffNote
from bot.handoff.people import HandoffPeople, KnownPeople
from bot.handoff.service import HandoffService
from bot.handoff.settings import HandoffSettings

RULE = TurnRule(posts_text=True, is_learned_from=False, offers_actions=False)


@dataclass(frozen=True, slots=True)
class OpenedHandoff:
    """`service`: None at a terminal, where there is nobody else. `sources`: the tool with which the model suggests to
    ask a human.
    """

    feature: Feature
    service: HandoffService | None = None
    sources: Sequence[ToolSource] = ()


def open_handoff(core: Core, settings: HandoffSettings, known: KnownPeople, *, alone: bool) -> OpenedHandoff:
    """Open the feature. `known`: people who have written to the bot. `alone`: nobody else uses the bot."""
    if alone:
        return OpenedHandoff(Feature(name="handoff", commands=[COMMAND.refusing(texts.NOT_HERE)]))
    store = core.store
    people = HandoffPeople(store.preferences, known, core.platforms.approvers, settings.people)
    service = HandoffService(handoffs=store.handoffs, people=people, clock=core.clock, operates=core.operates)
    messages = HandoffMessages(
        handoffs=store.handoffs,
        people=people,
        jobs=store.jobs,
        written=store.written_turns,
        schedules=core.platforms.schedules,
        clock=core.clock,
        wake=core.turns.wake,
    )
    return OpenedHandoff(feature_of(service, messages), service, [handoff_tools(service)])


def feature_of(service: HandoffService, messages: HandoffMessages) -> Feature:
    return Feature(
        name="handoff",
        commands=bound_commands(service),
        jobs=[{HANDOFF: messages.run}],
        kinds={TurnKind.HANDOFF: RULE},
        notes=[HandoffNote(service)],
    )


def bound_commands(service: HandoffService) -> tuple[BoundCommand, ...]:
    return (COMMAND.bound(service),)
