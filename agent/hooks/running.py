"""Uses hooks: in bounded time, and with what they return checked.

Rules
  A hook that raises, takes too long or returns something else than it may has failed. `before_…` fails closed: what it
  would have seen is refused. `after_answer` fails open: the answer stays as it is.
  The log has the reason of a failure, a person reads that a check failed.
"""

import json
import logging
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, cast

from agent import texts
from agent.hooks.masking import problem_of
from agent.hooks.module import HookModule
from agent.hooks.thread import HookThread, TooManyBlocked
from agent.hooks.values import Answer, Call, FileText, Hide, HookEnd, HookPoint, HookUse, ModelRequest, Question, Refuse
from agent.messages import Json
from agent.ports.clock import Clock

log = logging.getLogger(__name__)

V = TypeVar("V")

TIMEOUT_S: Final = 5.0
MAX_TEXT_CHARS: Final = 100_000  # Of a text that a hook wrote: more than any vendor or platform takes in one message
MAX_SENTENCE_CHARS: Final = 500


class _Wrong(Exception):
    """What a hook returned cannot be used."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of a program. `record` gets each use; it neither waits nor raises."""

    module: HookModule
    thread: HookThread
    clock: Clock
    timeout_s: float = TIMEOUT_S
    record: Callable[[HookUse], None] = lambda _: None

    @property
    def holds_answers(self) -> bool:
        return self.module.holds_answers

    def has(self, point: HookPoint) -> bool:
        return point in self.module.functions

    async def question(self, question: Question) -> tuple[Question | Refuse, HookUse]:
        """Return the question as the model may read it, or why it is refused."""

        def check(returned: object) -> Question | Refuse:
            if not isinstance(returned, Question):
                raise _Wrong(_unexpected(returned, "a Question or Refuse"))
            _check_text(returned.text, question.text)
            files = tuple(returned.files)
            if len(files) != len(question.files) or not all(isinstance(file, FileText) for file in files):  # pyright: ignore[reportUnnecessaryIsInstance] -- of the operator's code
                raise _Wrong("a Question must have as many files as before")
            for file, before in zip(files, question.files, strict=True):
                _check_text(file.text, before.text)
            pairs = zip(files, question.files, strict=True)
            return replace(
                question, text=returned.text, files=tuple(replace(before, text=file.text) for file, before in pairs)
            )

        return await self._use(HookPoint.BEFORE_QUESTION, question, question, check)

    async def call(self, call: Call) -> tuple[Call | Refuse, HookUse]:
        """Return the call with the arguments with which it may run, or why it is refused."""

        def check(returned: object) -> Call | Refuse:
            if not isinstance(returned, Call):
                raise _Wrong(_unexpected(returned, "a Call or Refuse"))
            if returned.tool != call.tool:
                raise _Wrong("a Call must keep its tool")
            return replace(call, arguments=_arguments(returned.arguments, call.arguments))

        given = replace(call, arguments=deepcopy(dict(call.arguments)))  # a hook may write into it
        return await self._use(HookPoint.BEFORE_CALL, given, call, check)

    async def model(self, request: ModelRequest) -> tuple[Hide | Refuse, HookUse]:
        """Return what to hide of a request to a model, or why it is refused."""

        def check(returned: object) -> Hide | Refuse:
            if not isinstance(returned, Hide):
                raise _Wrong(_unexpected(returned, "a Hide or Refuse"))
            values = dict(returned.values)
            if (problem := problem_of(values)) is not None:
                raise _Wrong(problem)
            return Hide(values)

        return await self._use(HookPoint.BEFORE_MODEL, request, Hide(), check)

    async def answer(self, answer: Answer) -> tuple[str | Refuse | None, HookUse]:
        """Return what to show in place of an answer, None for the answer itself."""

        def check(returned: object) -> str | Refuse | None:
            if returned is None or returned == answer.text:
                return None
            if not isinstance(returned, str):
                raise _Wrong(_unexpected(returned, "a str, None or Refuse"))
            _check_text(returned, answer.text)
            if not returned.strip():
                raise _Wrong("an answer must contain text")
            return returned

        return await self._use(HookPoint.AFTER_ANSWER, answer, None, check, fails_open=True)

    async def _use(
        self,
        point: HookPoint,
        given: object,
        unchanged: V,
        check: Callable[[object], V | Refuse],
        *,
        fails_open: bool = False,
    ) -> tuple[V | Refuse, HookUse]:
        if (function := self.module.functions.get(point)) is None:
            return unchanged, HookUse(point, HookEnd.PASSED, 0.0)
        started = self.clock.monotonic()
        result: V | Refuse
        try:
            returned = await self.thread.call(function, given, self.timeout_s)
            result = _refusal(returned) if isinstance(returned, Refuse) else check(returned)
            end = _end_of(result, unchanged)
        except Exception as error:  # noqa: BLE001 -- whatever the operator's code raises
            _log(point, error, self.timeout_s)
            result, end = unchanged if fails_open else Refuse(texts.HOOK_FAILED), HookEnd.FAILED
        use = HookUse(point, end, self.clock.monotonic() - started)
        self.record(use)
        return result, use


def _end_of(result: object, unchanged: object) -> HookEnd:
    if isinstance(result, Refuse):
        return HookEnd.REFUSED
    return HookEnd.PASSED if result == unchanged else HookEnd.CHANGED


def _log(point: HookPoint, error: Exception, timeout_s: float) -> None:
    match error:
        case TimeoutError():
            log.error("the hook %s did not return within %g s", point, timeout_s)
        case TooManyBlocked():
            log.error("the hook %s was not called, because too many earlier calls have not returned", point)
        case _Wrong():
            log.error("the hook %s returned a result that cannot be used: %s", point, error)
        case _:
            log.error("the hook %s failed", point, exc_info=error)


def _refusal(refuse: Refuse) -> Refuse:
    _check_text(refuse.sentence, "")
    sentence = refuse.sentence.strip()
    if not sentence:
        raise _Wrong("a Refuse must have a sentence for the person")
    return Refuse(sentence if len(sentence) <= MAX_SENTENCE_CHARS else f"{sentence[:MAX_SENTENCE_CHARS]}…")


def _check_text(text: object, before: str) -> None:
    if not isinstance(text, str):
        raise _Wrong(_unexpected(text, "a str"))
    if len(text) > max(MAX_TEXT_CHARS, len(before)):
        raise _Wrong(f"a text has more than {MAX_TEXT_CHARS:,} characters")


def _arguments(arguments: object, before: Mapping[str, Json]) -> Mapping[str, Json]:
    if not isinstance(arguments, Mapping):
        raise _Wrong(_unexpected(arguments, "an object as arguments"))
    arguments = cast("Mapping[str, Any]", arguments)
    if arguments == before:
        return before
    try:
        written = json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _Wrong("the arguments of a Call must be JSON") from error
    if len(written) > max(MAX_TEXT_CHARS, len(json.dumps(dict(before)))):
        raise _Wrong(f"the arguments of a Call have more than {MAX_TEXT_CHARS:,} characters")
    return cast("Mapping[str, Json]", json.loads(written))


def _unexpected(returned: object, expected: str) -> str:
    return f"its type is {type(returned).__name__}, and it must be {expected}"
