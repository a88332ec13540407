"""Questions that a tool asks the asker during a call. The call waits in one process; any process takes the answer.

Rules
  Only the asker sees a question and what is filled in. The answer goes to the waiting call, and nowhere else.
  A question waits up to nine minutes. The number of waiting questions is limited: per person, so that their other turns
  still run; per process, so that servers with people's own accounts stay reachable. While a question waits, its turn
  takes no slot.
  A question ends with its call. After a crash it is asked again, if its call may run again.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Final

from agent.errors import Refused, StoreError
from agent.messages import AnswerOutcome, ElicitAction, Elicitation, Elicited, Json, OpenQuestion
from agent.ports.clock import Clock
from agent.ports.consents import OpenQuestions
from agent.turn_records import Claim
from bot.chat.texts.formatting import counted, literal
from bot.tools import texts as tool_texts
from bot.tools.answers import AskedWindow, QuestionAnswer
from bot.tools.mcp.questions import QuestionField, fields_of, question_text, shown_value, values_of

log = logging.getLogger(__name__)

# The asker has just asked and is present; official servers give up after ten minutes.
ANSWER_TIME: Final = timedelta(minutes=9)
MAX_OF_PERSON: Final = 3  # One less than the turns of one person that run at once: they can always ask something else
MAX_WAITING: Final = 50  # In one process: half of the connections with people's own accounts that may be open
LISTEN_S: Final = 1.0  # How often the store is read for an answer that another process received

# The words that answer a question, followed by its name: "decline 12.3-1". After `ANSWER` and the name come the index
# of the first field, the number of fields, and JSON of the values, by index.
ANSWER, SEND, DECLINE, LATER = "answer", "send", "decline", "later"
# Followed by the number of a turn: shows the question that waits there. Without one, the first shows what else waits.
SHOW, SHOW_QUESTION = "waiting", "question"
_ACTIONS: Final = {SEND: ElicitAction.ACCEPT, DECLINE: ElicitAction.DECLINE, LATER: ElicitAction.CANCEL}
NUMBER_DIGITS: Final = 9  # Of a number that every database accepts
MAX_FAULTS: Final = 5  # Of a form, shown at once; the others are shown when these are corrected
MAX_FILLED_CHARS: Final = 50_000  # Of the values as JSON: enough for each field at its maximum length


@dataclass(slots=True, eq=False)
class QuestionService:
    """A tool's call waits in `ask`; the others are the asker's answers. Every method raises StoreError."""

    questions: OpenQuestions
    clock: Clock
    answer_time: timedelta = ANSWER_TIME
    max_waiting: int = MAX_WAITING
    waiting: Counter[int] = field(default_factory=Counter[int])
    """The turns of this process that wait for an answer, each with the number of its waiting calls."""
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _answered: dict[tuple[int, str], asyncio.Event] = field(default_factory=dict[tuple[int, str], asyncio.Event])

    # The waiting call.

    async def ask(
        self, claim: Claim, call: str, question: Elicitation, shown: Callable[[], Awaitable[None]]
    ) -> Elicited:
        """Wait for the answer of the claim's asker, and return it. `shown` is called once they can answer. Without an
        answer in time the action is CANCEL. Raises StoreError.
        """
        key, now = f"{claim.epoch}-{next(self._numbers)}", self.clock.now()
        if len(self._answered) >= self.max_waiting:
            log.warning(
                "turn %d: the question of call %s was canceled because too many questions are waiting", claim.turn, call
            )
            return Elicited(ElicitAction.CANCEL)
        name, until = (claim.turn, key), now + self.answer_time
        self._answered[name] = asyncio.Event()
        self.waiting[claim.turn] += 1
        try:
            if not await self.questions.open(claim, key, _encode(question), now, until, MAX_OF_PERSON):
                return Elicited(ElicitAction.CANCEL)
            log.info("turn %d: call %s asks the person a question", claim.turn, call)
            await shown()
            while (answer := await self._read_answer(*name)) is None and self.clock.now() < until:
                await self._listen(self._answered[name])
            return _elicited(question, *(answer or (ElicitAction.CANCEL, "")))
        finally:
            del self._answered[name]
            self.waiting[claim.turn] -= 1
            if not self.waiting[claim.turn]:
                del self.waiting[claim.turn]
            await self._close(*name)

    async def _read_answer(self, turn: int, key: str) -> tuple[ElicitAction, str] | None:
        try:
            return await self.questions.answered(turn, key)
        except StoreError:
            return None  # `ask` reads again

    async def _listen(self, answered: asyncio.Event) -> None:
        """Return when the question is answered in this process, or when it is time to read the store again."""
        tasks = {asyncio.ensure_future(answered.wait()), asyncio.ensure_future(self.clock.sleep(LISTEN_S))}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    async def _close(self, turn: int, key: str) -> None:
        with suppress(StoreError):  # it is deleted with the turn, or when its time is over
            await self.questions.close(turn, key)

    # The asker's answers.

    async def answer(self, person: str, words: str) -> QuestionAnswer | None:
        """Carry out these words; the answer is for this person. None if none is meant."""
        match words.split(maxsplit=2):
            case []:
                return await self._show_oldest(person)
            case [word, turn] if word == SHOW:
                return await self._show_oldest(person, turn=turn)
            case [word, turn] if word == SHOW_QUESTION:
                return await self._show_oldest(person, turn=turn) or QuestionAnswer(tool_texts.NOTHING_ASKED)
            case [word, name] if word in _ACTIONS:
                return await self._act(person, name, _ACTIONS[word])
            case [word, name, rest] if word == ANSWER:
                return await self._fill(person, name, rest)
            case _:
                return None

    async def window(self, person: str, words: str) -> AskedWindow:
        """Return the fields that these words name. Raises Refused if this person may not fill them in, or not now."""
        match words.split():
            case [word, name, first, size] if word == ANSWER:
                found = await self._find(person, name)
                if isinstance(found, QuestionAnswer):
                    raise Refused(found.text)
                elicitation, filled = _decode(found.asked), _decode_filled(found.filled)
                fields = _select_fields(fields_of(elicitation.schema), first, size)
                values = {
                    str(index): filled.get(str(index), form_field.default) for index, form_field in fields.items()
                }
                return AskedWindow(elicitation.source, fields, values)
            case _:
                raise Refused(tool_texts.QUESTION_OVER)

    async def _show_oldest(self, person: str, turn: str = "") -> QuestionAnswer | None:
        """Show the oldest question that waits for this person; None if there is none."""
        waiting = await self.questions.waiting(person, self.clock.now())
        waiting = [question for question in waiting if not turn or str(question.turn) == turn]
        return _show(waiting[0], len(waiting) - 1) if waiting else None

    async def _find(self, person: str, name: str) -> OpenQuestion | QuestionAnswer:
        """Return the waiting question, or an answer that says why it cannot be answered."""
        waiting = await self.questions.waiting(person, self.clock.now())
        found = next((question for question in waiting if _name(question) == name), None)
        return found or _refusal(await self._store(person, name, "", None))  # an answer that changes nothing

    async def _store(self, person: str, name: str, filled: str, action: ElicitAction | None) -> AnswerOutcome:
        number, _, key = name.partition(".")
        if not (number.isascii() and number.isdecimal() and len(number) <= NUMBER_DIGITS):
            return AnswerOutcome.OVER
        outcome = await self.questions.answer(int(number), key, person, filled, action, self.clock.now())
        if outcome is AnswerOutcome.KEPT and (answered := self._answered.get((int(number), key))) is not None:
            answered.set()
        return outcome

    async def _act(self, person: str, name: str, action: ElicitAction) -> QuestionAnswer:
        found = await self._find(person, name)
        if isinstance(found, QuestionAnswer):
            return found
        if action is not ElicitAction.ACCEPT:
            return await self._send(person, found, "", action)
        elicitation, filled = _decode(found.asked), _decode_filled(found.filled)
        _, wrong = values_of(fields_of(elicitation.schema) if not elicitation.address else (), filled)
        return _show(found, wrong=wrong) if wrong else await self._send(person, found, found.filled, action)

    async def _fill(self, person: str, name: str, rest: str) -> QuestionAnswer:
        """Store the values of one window. If it is the only window of the form, send the answer."""
        found = await self._find(person, name)
        if isinstance(found, QuestionAnswer):
            return found
        first, size, encoded = (*rest.split(maxsplit=2), "", "", "")[:3]
        fields = fields_of(_decode(found.asked).schema)
        selected = _select_fields(fields, first, size)
        if (values := _read_values(encoded)) is None:
            return _show(found)  # not written by a window, so it must not count as an empty form
        new = {index: value for index, value in values.items() if index in {*map(str, selected)}}
        filled = {index: value for index, value in (_decode_filled(found.filled) | new).items() if value}
        text = json.dumps(filled, ensure_ascii=False)
        if len(text) > MAX_FILLED_CHARS:
            return _show(found)
        _, wrong = values_of(fields, filled)
        if not wrong and len(selected) == len(fields):
            return await self._send(person, found, text, ElicitAction.ACCEPT)
        outcome = await self._store(person, name, text, None)
        if outcome is not AnswerOutcome.KEPT:
            return _refusal(outcome)
        updated = OpenQuestion(found.turn, found.key, found.asked, text, found.question)
        return _show(updated, wrong={index: why for index, why in wrong.items() if index in selected})

    async def _send(self, person: str, found: OpenQuestion, filled: str, action: ElicitAction) -> QuestionAnswer:
        outcome = await self._store(person, _name(found), filled, action)
        if outcome is not AnswerOutcome.KEPT:
            return _refusal(outcome)
        elicitation, values = _decode(found.asked), _decode_filled(filled)
        sentence = tool_texts.ANSWERED[action.name].format(source=elicitation.source)
        fields = fields_of(elicitation.schema) if values else ()
        return QuestionAnswer("\n".join([sentence, *tool_texts.sent_lines(_labelled_values(fields, values))]))


def _refusal(outcome: AnswerOutcome) -> QuestionAnswer:
    return QuestionAnswer(tool_texts.NOT_ANSWERED[outcome.name], refused=True)


def _labelled_values(fields: tuple[QuestionField, ...], filled: Mapping[str, str]) -> list[tuple[str, str]]:
    return [
        (form_field.label, shown_value(form_field, filled[str(index)]))
        for index, form_field in enumerate(fields)
        if filled.get(str(index))
    ]


def _show(waiting: OpenQuestion, more: int = 0, wrong: Mapping[int, str] | None = None) -> QuestionAnswer:
    elicitation, filled = _decode(waiting.asked), _decode_filled(waiting.filled)
    fields = () if elicitation.address else fields_of(elicitation.schema)
    shown = [*(wrong or {}).items()][:MAX_FAULTS]
    faults = [tool_texts.WRONG_FIELD.format(field=literal(fields[index].label), why=why) for index, why in shown]
    text = [*faults, question_text(elicitation, waiting.question, filled), tool_texts.QUESTION_TIME]
    if more:
        text.append(tool_texts.MORE_QUESTIONS.format(questions=counted(more, "more question", "more questions")))
    ready = not values_of(fields, filled)[1]
    return QuestionAnswer(
        "\n\n".join(text), _name(waiting), len(fields), bool(filled), ready=ready, opens=bool(elicitation.address)
    )


def _name(waiting: OpenQuestion) -> str:
    return f"{waiting.turn}.{waiting.key}"


def _select_fields(fields: tuple[QuestionField, ...], first: str, size: str) -> dict[int, QuestionField]:
    texts = (first, size)
    start, limit = (int(text) if text.isascii() and text.isdecimal() and len(text) <= 2 else 0 for text in texts)
    return dict([*enumerate(fields)][start : start + limit])


def _encode(elicitation: Elicitation) -> str:
    content: dict[str, Json] = {
        "source": elicitation.source,
        "text": elicitation.text,
        "schema": dict(elicitation.schema),
        "address": elicitation.address,
    }
    return json.dumps(content, ensure_ascii=False)


def _decode(encoded: str) -> Elicitation:
    return Elicitation(**json.loads(encoded))


def _decode_filled(encoded: str) -> dict[str, str]:
    """Return the values that were filled in, by field index; none for an invalid text."""
    return _read_values(encoded) or {}


def _read_values(encoded: str) -> dict[str, str] | None:
    try:
        values: Json = json.loads(encoded)
    except (RecursionError, ValueError):
        return None
    if not isinstance(values, dict):
        return None
    return {index: value for index, value in values.items() if isinstance(value, str)}


def _elicited(elicitation: Elicitation, action: ElicitAction, filled: str) -> Elicited:
    if action is not ElicitAction.ACCEPT or elicitation.address:
        return Elicited(action)
    return Elicited(action, values_of(fields_of(elicitation.schema), _decode_filled(filled))[0])
