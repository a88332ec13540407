"""What tools ask their askers in the middle of a call: it waits here, and people answer it in whichever process.

Rules
  Only the asker is shown a question, and what is filled in; what is said goes to the call that waits, and nowhere else.
  A question waits nine minutes, and so many at once: of a person so few that their other turns still run, of a process
  so few that servers with accounts of people's own stay reachable. While it waits, its turn takes nobody's slot.
  It ends with its call. A process that was killed asks again, as far as its call may run again.
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
from agent.ports import Clock, OpenQuestions
from agent.records import Claim
from bot.host import AskedWindow, QuestionAnswer
from bot.texts import command_texts
from bot.texts.formatting import counted, literal
from bot.tools.mcp_questions import QuestionField, fields_of, question_text, shown_value, values_of

log = logging.getLogger(__name__)

# Whoever has just asked something sits before it; and official servers give up after ten.
ANSWER_TIME: Final = timedelta(minutes=9)
MOST_OF_PERSON: Final = 3  # One less than turns of one person run at once: they can always ask something else
MOST_WAITING: Final = 50  # In one process: half of the connections with accounts of people's own that may be open
LISTEN_S: Final = 1.0  # How often a question is looked at that another process may have been given the answer to

# What is said of a question, whose name follows: "decline 12.3-1". Behind `ANSWER` and the name stand the place of a
# first field, how many there are, and JSON of what was filled in, by place.
ANSWER, SEND, DECLINE, LATER = "answer", "send", "decline", "later"
SHOW: Final = "waiting"  # Behind it the number of a turn: what waits there is shown
_ACTIONS: Final = {SEND: ElicitAction.ACCEPT, DECLINE: ElicitAction.DECLINE, LATER: ElicitAction.CANCEL}
NUMBER_DIGITS: Final = 9  # Of a number that every database takes
MOST_FAULTS: Final = 5  # Of a form are told at once; whoever has mended these is told of the others
MAX_FILLED_CHARS: Final = 50_000  # Of what is filled in, as JSON: each field as long as it may be


@dataclass(slots=True, eq=False)
class QuestionDesk:
    """Implements `bot.host.ToolQuestions`; `ask` is what turns wait for."""

    kept: OpenQuestions
    clock: Clock
    answer_time: timedelta = ANSWER_TIME
    most_waiting: int = MOST_WAITING
    waiting: Counter[int] = field(default_factory=Counter[int])
    """The turns of this process that wait for an answer, and how many of their calls do."""
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _waiting: dict[tuple[int, str], asyncio.Event] = field(default_factory=dict[tuple[int, str], asyncio.Event])

    # The call that waits.

    async def ask(
        self, claim: Claim, call: str, question: Elicitation, shown: Callable[[], Awaitable[None]]
    ) -> Elicited:
        """What the claim's asker says. `shown`: called once they can say it. Raises StoreError."""
        key, now = f"{claim.epoch}-{next(self._numbers)}", self.clock.now()
        if len(self._waiting) >= self.most_waiting:
            log.warning("turn %d: nobody is asked what call %s asks: too many questions wait", claim.turn, call)
            return Elicited(ElicitAction.CANCEL)
        name, until = (claim.turn, key), now + self.answer_time
        self._waiting[name] = asyncio.Event()
        self.waiting[claim.turn] += 1
        try:
            if not await self.kept.open(claim, key, _encoded(question), now, until, MOST_OF_PERSON):
                return Elicited(ElicitAction.CANCEL)
            log.info("turn %d: call %s asks its asker", claim.turn, call)
            await shown()
            while (said := await self._said(*name)) is None and self.clock.now() < until:
                await self._listen(self._waiting[name])
            return _elicited(question, *(said or (ElicitAction.CANCEL, "")))
        finally:
            del self._waiting[name]
            self.waiting[claim.turn] -= 1
            if not self.waiting[claim.turn]:
                del self.waiting[claim.turn]
            await self._closed(*name)

    async def _said(self, turn: int, key: str) -> tuple[ElicitAction, str] | None:
        try:
            return await self.kept.answered(turn, key)
        except StoreError:
            return None  # the next time

    async def _listen(self, answered: asyncio.Event) -> None:
        """Until it is answered here, or it is time to look whether it was elsewhere."""
        waiting = {asyncio.ensure_future(answered.wait()), asyncio.ensure_future(self.clock.sleep(LISTEN_S))}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    async def _closed(self, turn: int, key: str) -> None:
        with suppress(StoreError):  # it goes with the turn, or with its time
            await self.kept.close(turn, key)

    # What people do about it.

    async def answer(self, person: str, words: str) -> QuestionAnswer | None:
        match words.split(maxsplit=2):
            case []:
                return await self._shown(person)
            case [word, turn] if word == SHOW:
                return await self._shown(person, turn=turn)
            case [word, name] if word in _ACTIONS:
                return await self._act(person, name, _ACTIONS[word])
            case [word, name, rest] if word == ANSWER:
                return await self._fill(person, name, rest)
            case _:
                return None

    async def window(self, person: str, words: str) -> AskedWindow:
        match words.split():
            case [word, name, first, size] if word == ANSWER:
                found = await self._found(person, name)
                if isinstance(found, QuestionAnswer):
                    raise Refused(found.text)
                asked, filled = _decoded(found.asked), _filled(found.filled)
                fields = _some(fields_of(asked.schema), first, size)
                before = {str(at): filled.get(str(at), one.default) for at, one in fields.items()}
                return AskedWindow(asked.source, fields, before)
            case _:
                raise Refused(command_texts.QUESTION_OVER)

    async def _shown(self, person: str, turn: str = "") -> QuestionAnswer | None:
        """The oldest that waits for them; None if none does."""
        waiting = await self.kept.waiting(person, self.clock.now())
        waiting = [one for one in waiting if not turn or str(one.turn) == turn]
        return _shown(waiting[0], len(waiting) - 1) if waiting else None

    async def _found(self, person: str, name: str) -> OpenQuestion | QuestionAnswer:
        waiting = await self.kept.waiting(person, self.clock.now())
        found = next((one for one in waiting if _name(one) == name), None)
        return found or await self._refusal(person, name)

    async def _refusal(self, person: str, name: str) -> QuestionAnswer:
        """Why it cannot be answered: what an answer that changes nothing says."""
        outcome = await self._keep(person, name, "", None)
        return QuestionAnswer(command_texts.NOT_ANSWERED[outcome.name], refused=True)

    async def _keep(self, person: str, name: str, filled: str, action: ElicitAction | None) -> AnswerOutcome:
        number, _, key = name.partition(".")
        if not (number.isascii() and number.isdecimal() and len(number) <= NUMBER_DIGITS):
            return AnswerOutcome.OVER
        outcome = await self.kept.answer(int(number), key, person, filled, action, self.clock.now())
        if outcome is AnswerOutcome.KEPT and (waits := self._waiting.get((int(number), key))) is not None:
            waits.set()
        return outcome

    async def _act(self, person: str, name: str, action: ElicitAction) -> QuestionAnswer:
        found = await self._found(person, name)
        if isinstance(found, QuestionAnswer):
            return found
        if action is not ElicitAction.ACCEPT:
            return await self._sent(person, found, "", action)
        asked, filled = _decoded(found.asked), _filled(found.filled)
        _, wrong = values_of(fields_of(asked.schema) if not asked.address else (), filled)
        return _shown(found, wrong=wrong) if wrong else await self._sent(person, found, found.filled, action)

    async def _fill(self, person: str, name: str, rest: str) -> QuestionAnswer:
        """Keep what one window holds; with the only one it is sent."""
        found = await self._found(person, name)
        if isinstance(found, QuestionAnswer):
            return found
        first, size, given = (*rest.split(maxsplit=2), "", "", "")[:3]
        fields = fields_of(_decoded(found.asked).schema)
        here = _some(fields, first, size)
        if (read := _read(given)) is None:
            return _shown(found)  # no window writes so: nobody has said that nothing is to be sent
        new = {place: value for place, value in read.items() if place in {*map(str, here)}}
        filled = {place: value for place, value in (_filled(found.filled) | new).items() if value}
        text = json.dumps(filled, ensure_ascii=False)
        if len(text) > MAX_FILLED_CHARS:
            return _shown(found)
        _, wrong = values_of(fields, filled)
        if not wrong and len(here) == len(fields):
            return await self._sent(person, found, text, ElicitAction.ACCEPT)
        outcome = await self._keep(person, name, text, None)
        if outcome is not AnswerOutcome.KEPT:
            return QuestionAnswer(command_texts.NOT_ANSWERED[outcome.name], refused=True)
        kept = OpenQuestion(found.turn, found.key, found.asked, text, found.question)
        return _shown(kept, wrong={at: why for at, why in wrong.items() if at in here})

    async def _sent(self, person: str, found: OpenQuestion, filled: str, action: ElicitAction) -> QuestionAnswer:
        outcome = await self._keep(person, _name(found), filled, action)
        if outcome is not AnswerOutcome.KEPT:
            return QuestionAnswer(command_texts.NOT_ANSWERED[outcome.name], refused=True)
        asked, given = _decoded(found.asked), _filled(filled)
        said = command_texts.ANSWERED[action.name].format(source=asked.source)
        fields = fields_of(asked.schema) if given else ()
        return QuestionAnswer("\n".join([said, *command_texts.sent_lines(_values(fields, given))]))


def _values(fields: tuple[QuestionField, ...], filled: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(one.label, shown_value(one, filled[str(at)])) for at, one in enumerate(fields) if filled.get(str(at))]


def _shown(waiting: OpenQuestion, more: int = 0, wrong: Mapping[int, str] | None = None) -> QuestionAnswer:
    asked, filled = _decoded(waiting.asked), _filled(waiting.filled)
    fields = () if asked.address else fields_of(asked.schema)
    told = [*(wrong or {}).items()][:MOST_FAULTS]
    faults = [command_texts.WRONG_FIELD.format(field=literal(fields[at].label), why=why) for at, why in told]
    text = [*faults, question_text(asked, waiting.question, filled), command_texts.QUESTION_TIME]
    text += (
        [command_texts.MORE_QUESTIONS.format(questions=counted(more, "more question", "more questions"))]
        if more
        else []
    )
    ready = not values_of(fields, filled)[1]
    return QuestionAnswer(
        "\n\n".join(text), _name(waiting), len(fields), bool(filled), ready=ready, opens=bool(asked.address)
    )


def _name(waiting: OpenQuestion) -> str:
    return f"{waiting.turn}.{waiting.key}"


def _some(fields: tuple[QuestionField, ...], first: str, size: str) -> dict[int, QuestionField]:
    at, most = (int(one) if one.isascii() and one.isdecimal() and len(one) <= 2 else 0 for one in (first, size))
    return dict([*enumerate(fields)][at : at + most])


def _encoded(asked: Elicitation) -> str:
    kept: dict[str, Json] = {"source": asked.source, "text": asked.text, "schema": dict(asked.schema)}
    return json.dumps(kept | {"address": asked.address}, ensure_ascii=False)


def _decoded(kept: str) -> Elicitation:
    return Elicitation(**json.loads(kept))


def _filled(kept: str) -> dict[str, str]:
    """What was filled in, by place; nothing for what is none."""
    return _read(kept) or {}


def _read(kept: str) -> dict[str, str] | None:
    try:
        read: Json = json.loads(kept)
    except (RecursionError, ValueError):
        return None
    return {place: value for place, value in read.items() if isinstance(value, str)} if isinstance(read, dict) else None


def _elicited(asked: Elicitation, action: ElicitAction, filled: str) -> Elicited:
    if action is not ElicitAction.ACCEPT or asked.address:
        return Elicited(action)
    return Elicited(action, values_of(fields_of(asked.schema), _filled(filled))[0])
