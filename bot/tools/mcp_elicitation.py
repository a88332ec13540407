"""What one call's server may ask the person for whom it runs, in both eras of the protocol.

Rules
  One question after the other, so many for each call; once somebody has put one off, or let its time pass, the call
  asks no more. With the call ends what it asks. What a call brings that was told something by its person is kept for
  the turn only, and theirs alone: it may say it again.
  Before 2026-07-28 a server asks by a request of its own, which over standard input and output names no call. It is
  asked of nobody unless all that is under way there, or was given up just now, is of one person in one conversation.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import mcp_types as types
from mcp import MCPError, UrlElicitationRequiredError

from agent.errors import StoreError, ToolError
from agent.messages import ElicitAction, Elicitation, Elicited
from agent.ports import Ask, ToolContext
from bot.tools.mcp_questions import QuestionRefused, checked_question

log = logging.getLogger(__name__)

MOST_ROUNDS: Final = 8
"""Of a call that is asked for again: each of its questions, and some in which it asks for nothing."""
GIVEN_UP_S: Final = 300.0
"""How long a call that was given up may still ask: as long as a server works on it without knowing."""
MOST_GIVEN_UP: Final = 100
"""People and conversations that are told apart; of more nobody is asked."""
ROUND_PAUSE_S: Final = 0.2
NEEDS_INPUT: Final = "the server asks the person for something again and again: tell them, and go on without it"
ASKS_OTHERWISE: Final = "the server asks for something that cannot be given here (sampling, or a list of folders)"
NOT_OPENED: Final = (
    "the server needs a page to be opened first, and the person did not: tell them, and go on without it"
)

Asker: TypeAlias = tuple[str, str]
"""A person's id, and the conversation."""

Required: TypeAlias = types.InputRequiredResult | UrlElicitationRequiredError
"""What has to be answered before a call can be made again: in the protocol of 2026, and in the one before."""


@dataclass(eq=False)
class CallQuestions:
    """`source`: the operator's name of the server. `most`: questions."""

    source: str
    asker: Asker
    ask: Ask
    most: int
    waiting: int = 0
    """Questions that wait for the person now."""
    asked: int = 0
    told: bool = False
    """Whether the server was told something by the person, which it may tell again."""
    _over: bool = False
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _asking: set["asyncio.Task[Elicited]"] = field(default_factory=set["asyncio.Task[Elicited]"])
    _rounds: int = 0

    async def elicited(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """What the person says to it. Never raises, but if it is cancelled: then the question ends, too."""
        self.asked += 1
        if self._over or self.asked > self.most:
            return types.ElicitResult(action="cancel")
        try:
            match params:
                case types.ElicitRequestURLParams(message=message, url=address):
                    question = checked_question(self.source, message, None, address)
                case types.ElicitRequestFormParams(message=message, requested_schema=schema):
                    question = checked_question(self.source, message, schema)
        except QuestionRefused as why:
            log.info("MCP server %s: what it asks is shown to nobody: %s", self.source, why)
            return types.ElicitResult(action="decline")
        asking = asyncio.ensure_future(self._answered(question))
        self._asking.add(asking)
        try:
            await asyncio.wait({asking})
        finally:
            asking.cancel()
            self._asking.discard(asking)
        said = Elicited(ElicitAction.CANCEL) if asking.cancelled() else asking.result()
        is_form = said.action is ElicitAction.ACCEPT and not question.address
        self.told = self.told or bool(said.values)
        content = dict(said.values) if is_form else None
        return types.ElicitResult.model_validate({"action": said.action.value, "content": content})

    async def _answered(self, question: Elicitation) -> Elicited:
        async with self._turn:
            if self._over:
                return Elicited(ElicitAction.CANCEL)
            self.waiting += 1
            try:
                said = await self.ask(question)
            except StoreError as error:
                log.warning("MCP server %s: its question could not be kept: %s", self.source, error)
                said = Elicited(ElicitAction.CANCEL)
            finally:
                self.waiting -= 1
            self._over = self._over or said.action is ElicitAction.CANCEL
            return said

    async def again(self, params: types.CallToolRequestParams, required: Required) -> types.CallToolRequestParams:
        """The call as it is made again, with the answers. Raises ToolError."""
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise ToolError(NEEDS_INPUT)
        if isinstance(required, UrlElicitationRequiredError):
            for page in required.elicitations[: self.most]:
                if (await self.elicited(page)).action != "accept":
                    raise ToolError(NOT_OPENED)
            return params
        requests = required.input_requests or {}
        if len(requests) > self.most:
            raise ToolError(NEEDS_INPUT)
        responses: types.InputResponses = {}
        for name, request in requests.items():
            if not isinstance(request, types.ElicitRequest):
                raise ToolError(ASKS_OTHERWISE)
            responses[name] = await self.elicited(request.params)
        if not requests:
            await asyncio.sleep(ROUND_PAUSE_S * self._rounds)
        return params.model_copy(update={"input_responses": responses or None, "request_state": required.request_state})

    def end(self) -> None:
        self._over = True
        for asking in self._asking:
            asking.cancel()


def questions_of(context: ToolContext, source: str, most: int) -> CallQuestions:
    return CallQuestions(source, (context.person.id, context.conversation), context.ask, most)


def pages_first(error: MCPError) -> UrlElicitationRequiredError | None:
    """What has to be opened before the call is made again, if that is what the error says."""
    if error.code != types.URL_ELICITATION_REQUIRED:
        return None
    try:
        return UrlElicitationRequiredError.from_error(error.error)
    except (AttributeError, TypeError, ValueError):
        return None


class GivenUp:
    """Whose calls were given up of late at one connection, which does not know yet that nobody waits for them."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._askers = dict[Asker | None, float]()

    def add(self, questions: CallQuestions | None) -> None:
        """`questions`: None where its person is not asked, whose words it may ask about all the same."""
        now = self._monotonic()
        self._askers = {one: when for one, when in self._askers.items() if when >= now - GIVEN_UP_S}
        full = len(self._askers) >= MOST_GIVEN_UP
        self._askers[None if questions is None or full else questions.asker] = now

    def sole(self, under_way: Iterable[CallQuestions | None]) -> CallQuestions | None:
        """Whom a question without the name of its call is for; None if that is not sure, or nobody may be asked."""
        calls, since = [*under_way], self._monotonic() - GIVEN_UP_S
        askers = {asker for asker, when in self._askers.items() if when >= since}
        askers |= {one.asker for one in calls if one is not None}
        theirs = [one for one in calls if one is not None]
        if len(askers) != 1 or len(theirs) < len(calls):
            return None
        return min(theirs, key=lambda one: one.asked, default=None)  # each of several has its own question
