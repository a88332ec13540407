"""The questions that one call of an MCP server asks the person for whom it runs.

Rules
  A call asks one question after the other, up to a limit. After a question was cancelled or expired, the call asks no
  more. A question ends with its call. If the person gave the server an answer, the call's result may repeat it: such a
  result is kept for the turn only, and for this person alone.
  Before protocol 2026-07-28 a server asks with a request of its own, which over standard input and output names no
  call. It is cancelled unless all calls that run there, or were given up recently, are of one person in one
  conversation.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import mcp_types as types
from mcp import MCPError, UrlElicitationRequiredError

from agent.errors import StoreError, ToolError
from agent.messages import (
    ElicitAction,
    Elicitation,
    Elicited,
)
from agent.ports.tools import Ask, ToolContext
from bot.tools.mcp.questions import QuestionRefused, checked_question

log = logging.getLogger(__name__)

# Repetitions of a call: one for each of its questions, and some without a question.
MAX_ROUNDS: Final = 8
# How long a call that was given up may still ask: the server works on it until it notices.
GIVEN_UP_S: Final = 300.0
MAX_GIVEN_UP: Final = 100  # Pairs of person and conversation that are told apart; with more, questions are cancelled
ROUND_PAUSE_S: Final = 0.2
NEEDS_INPUT: Final = "the server asks the person for something again and again: tell them, and go on without it"
ASKS_OTHERWISE: Final = "the server asks for something that is not supported here (sampling or a list of folders)"
NOT_OPENED: Final = (
    "the server needs a page to be opened first, and the person did not: tell them, and go on without it"
)

Asker: TypeAlias = tuple[str, str]  # A person's id, and the conversation

# What the server requires before the call is repeated: in the protocol of 2026, and in the one before.
Required: TypeAlias = types.InputRequiredResult | UrlElicitationRequiredError


@dataclass(eq=False)
class CallQuestions:
    """Asks the questions of one call. `source`: the operator's name of the server. `limit`: the number of questions."""

    source: str
    asker: Asker
    ask: Ask
    limit: int
    waiting: int = 0
    """Questions that wait for the person now."""
    asked: int = 0
    has_answers: bool = False
    """Whether the server was given values by the person, which its result may repeat."""
    _over: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _tasks: set["asyncio.Task[Elicited]"] = field(default_factory=set["asyncio.Task[Elicited]"])
    _rounds: int = 0

    async def elicit(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Return the person's answer. Raises nothing but CancelledError, which also ends the question."""
        self.asked += 1
        if self._over or self.asked > self.limit:
            return types.ElicitResult(action="cancel")
        try:
            match params:
                case types.ElicitRequestURLParams(message=message, url=address):
                    question = checked_question(self.source, message, None, address)
                case types.ElicitRequestFormParams(message=message, requested_schema=schema):
                    question = checked_question(self.source, message, schema)
        except QuestionRefused as why:
            log.info("MCP server %s: its question was declined without being shown: %s", self.source, why)
            return types.ElicitResult(action="decline")
        task = asyncio.ensure_future(self._ask_in_order(question))
        self._tasks.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._tasks.discard(task)
        answer = Elicited(ElicitAction.CANCEL) if task.cancelled() else task.result()
        is_form = answer.action is ElicitAction.ACCEPT and not question.address
        self.has_answers = self.has_answers or bool(answer.values)
        content = dict(answer.values) if is_form else None
        return types.ElicitResult.model_validate({"action": answer.action.value, "content": content})

    async def _ask_in_order(self, question: Elicitation) -> Elicited:
        async with self._lock:
            if self._over:
                return Elicited(ElicitAction.CANCEL)
            self.waiting += 1
            try:
                answer = await self.ask(question)
            except StoreError as error:
                log.warning("MCP server %s: its question could not be stored: %s", self.source, error)
                answer = Elicited(ElicitAction.CANCEL)
            finally:
                self.waiting -= 1
            self._over = self._over or answer.action is ElicitAction.CANCEL
            return answer

    async def again(self, params: types.CallToolRequestParams, required: Required) -> types.CallToolRequestParams:
        """Return the parameters with which the call is repeated, with the answers. Raises ToolError."""
        self._rounds += 1
        if self._rounds > MAX_ROUNDS:
            raise ToolError(NEEDS_INPUT)
        if isinstance(required, UrlElicitationRequiredError):
            for page in required.elicitations[: self.limit]:
                if (await self.elicit(page)).action != "accept":
                    raise ToolError(NOT_OPENED)
            return params
        requests = required.input_requests or {}
        if len(requests) > self.limit:
            raise ToolError(NEEDS_INPUT)
        responses: types.InputResponses = {}
        for name, request in requests.items():
            if not isinstance(request, types.ElicitRequest):
                raise ToolError(ASKS_OTHERWISE)
            responses[name] = await self.elicit(request.params)
        if not requests:
            await asyncio.sleep(ROUND_PAUSE_S * self._rounds)
        return params.model_copy(update={"input_responses": responses or None, "request_state": required.request_state})

    def end(self) -> None:
        self._over = True
        for task in self._tasks:
            task.cancel()


def questions_of(context: ToolContext, source: str, limit: int) -> CallQuestions:
    return CallQuestions(source, (context.person.id, context.conversation), context.ask, limit)


def pages_first(error: MCPError) -> UrlElicitationRequiredError | None:
    """Return the pages to be opened before the call is repeated, if the error requires any."""
    if error.code != types.URL_ELICITATION_REQUIRED:
        return None
    try:
        return UrlElicitationRequiredError.from_error(error.error)
    except (AttributeError, TypeError, ValueError):
        return None


class GivenUp:
    """The askers of calls that were given up recently at one connection. The server may still work on such calls."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._askers = dict[Asker | None, float]()

    def add(self, questions: CallQuestions | None) -> None:
        """Record a call that was given up. `questions`: None if it cannot ask; it counts all the same, as a question of
        the server may be about its words.
        """
        now = self._monotonic()
        self._askers = {asker: when for asker, when in self._askers.items() if when >= now - GIVEN_UP_S}
        full = len(self._askers) >= MAX_GIVEN_UP
        self._askers[None if questions is None or full else questions.asker] = now

    def sole(self, running: Iterable[CallQuestions | None]) -> CallQuestions | None:
        """Return the call to which a question without a call's name belongs; None if that is not certain, or the call
        cannot ask.
        """
        calls, since = [*running], self._monotonic() - GIVEN_UP_S
        asking = [call for call in calls if call is not None]
        askers = {asker for asker, when in self._askers.items() if when >= since} | {call.asker for call in asking}
        if len(askers) != 1 or len(asking) < len(calls):
            return None
        return min(asking, key=lambda call: call.asked, default=None)  # spreads several questions over the calls
