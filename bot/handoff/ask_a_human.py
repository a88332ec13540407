"""`ask_a_human`: the model suggests to ask people of the place.

Rule: a call sends nothing. It only adds a line and a button below the answer, so that a person decides whether people
are interrupted, and sees before what they get. It is offered only where people are set up.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cachetools import LRUCache

from agent.errors import CogencyError, ToolError
from agent.handoffs import HandoffState
from agent.incoming import person_source
from agent.messages import JsonObject, Provenance
from agent.ports.tools import Asker, Tool, ToolContext, ToolEffect, ToolOutput
from bot.handoff import texts
from bot.handoff.content import taker_name
from bot.handoff.people import HandoffPeople
from bot.handoff.service import HandoffService

log = logging.getLogger(__name__)

TOOL_NAME: Final = "ask_a_human"
MAX_REASON: Final = 200
PLACES: Final = 1_000  # Whose choice is remembered between looking it up and offering the tool


@dataclass(frozen=True, slots=True)
class AskAHumanTool:
    """Its arguments leave nowhere: the reason makes the model say to itself why."""

    service: HandoffService
    timeout_s: float = 10.0
    name: str = TOOL_NAME
    description: str = texts.TOOL
    effect: ToolEffect = ToolEffect.READS
    on_platform: bool = True

    @property
    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "properties": {"reason": {"type": "string", "maxLength": MAX_REASON, "description": texts.TOOL_REASON}},
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:  # noqa: ARG002 -- nothing is sent
        if not context.kind.is_asked:
            raise ToolError(texts.NOBODY_WAITS, ours=True)
        source = person_source(context.person.id)
        if not await self.service.people.rules(source, context.channel):
            raise ToolError(texts.NOBODY_HERE, ours=True)
        if context.calls_before:
            return ToolOutput(texts.OFFERED_BEFORE, audience=context.place.audience, words=Provenance.OWN)
        current = await self.service.handoffs.current(context.conversation)
        text = texts.OFFERED
        if current is not None and current.state is HandoffState.TAKEN:
            text = texts.TAKEN_ALREADY.format(name=taker_name(current))
        elif current is not None:
            text = texts.ASKED_ALREADY
        return ToolOutput(text, audience=context.place.audience, words=Provenance.OWN)


@dataclass(frozen=True, slots=True)
class HandoffTools:
    """Implements `agent.ports.tools.PlaceTools`: the tool, where people are set up."""

    people: HandoffPeople
    _tools: tuple[Tool, ...] = ()
    _places: LRUCache[tuple[str, str], bool] = field(default_factory=lambda: LRUCache(PLACES))

    async def look_up(self, asker: Asker) -> None:
        place = person_source(asker.person.id), asker.channel
        try:
            self._places[place] = bool(await self.people.rules(*place))
        except CogencyError as error:
            self._places[place] = False
            log.warning("could not check whether a human can be asked: %s", error)

    def tools(self, asker: Asker) -> Sequence[Tool]:
        return self._tools if self._places.get((person_source(asker.person.id), asker.channel)) else ()


def handoff_tools(service: HandoffService) -> HandoffTools:
    return HandoffTools(service.people, (AskAHumanTool(service),))
