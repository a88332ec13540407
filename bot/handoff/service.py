"""Asking a human: people of a place are asked to take over a conversation, one of them takes it, and hands it back.

Rules
  Nobody is asked before the person has seen who it is and what they get. From a conversation that only the person
  reads, people get only what the person has agreed to, exactly as it was shown.
  Whether somebody may take over is asked of the platform when they are written, and again when they press. Unknown is
  no. They see the question, the answer and the link only if they can read the conversation then.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, assert_never

from agent.errors import CogencyError, Refused, StoreError
from agent.handoffs import (
    MAX_A_DAY,
    MAX_NOTE,
    Handoff,
    HandoffOutcome,
    HandoffState,
    NewHandoff,
)
from agent.incoming import Incoming
from agent.memory.audience import AudienceKind, label, may_flow_from
from agent.ports.clock import Clock
from agent.ports.handoffs import Handoffs
from agent.ports.tools import Asker
from agent.schedules.long_work import asked_in
from agent.shown_replies import Answered
from bot.chat.approvers import Approver
from bot.chat.panels import TYPED_NO, TYPED_YES, FieldKind, FormField, Panel, PanelAction, PanelForm, PanelPart
from bot.chat.texts.formatting import literal, shortened
from bot.handoff import orders, texts
from bot.handoff.content import (
    LIST_CHARS,
    ago,
    asker_name,
    digest_of,
    mention,
    summary_of,
    taker_name,
)
from bot.handoff.people import HandoffPeople, is_private

log = logging.getLogger(__name__)

MAX_LISTED: Final = 10

_NOTE: Final = FormField("note", texts.NOTE, FieldKind.LINES, texts.NOTE_HINT, max_chars=MAX_NOTE)
FORM: Final = PanelForm(
    name="human",
    label=texts.NOTE_BUTTON,
    title=texts.WINDOW,
    submit=texts.SEND,
    fields=(_NOTE,),
    words=lambda filled: filled["note"],
)
PRIVATE_FORM: Final = replace(
    FORM,
    name="humanprivate",
    fields=(_NOTE, FormField("share", texts.SHARE, FieldKind.BOX, hint=texts.SHARE_HINT, optional=True)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffService:
    """`operates`: whether a person is one of the bot's operators. Methods raise StoreError."""

    handoffs: Handoffs
    people: HandoffPeople
    clock: Clock
    operates: Callable[[str], bool]

    # The command

    async def command(
        self, asker: Asker, thread: frozenset[str], words: str, *, share: bool = False, buttons: bool = True
    ) -> Panel:
        """Return the answer to `/human` with these words. `thread`: the conversations that "this thread" means.
        `buttons`: whether the platform has them. Raises Refused.
        """
        order = orders.read_order(words, share=share)
        match order:
            case orders.Prepare(turn):
                return await self._prepare(asker, await self._answer(asker, thread, turn))
            case orders.Send():
                return await self._send(asker, order)
            case orders.AskNow(note):
                reply = await self._answer(asker, thread, None)
                # What is shared from direct messages was shown before.
                if share and reply.audience.partition(":")[0] == AudienceKind.PERSON:
                    return await self._prepare(asker, reply, texts.SHARE_SHOWN_FIRST)
                return await self._ask(asker, reply, note)
            case orders.Take(number):
                return await self.take(asker.person.id, number)
            case orders.HandBack() | orders.Withdraw():
                return await self._end(asker, thread, order)
            case orders.KeepBot():
                return Panel(texts.KEPT)
            case orders.ListRequests():
                return await self._list(asker.person.id, buttons=buttons)
            case orders.Unclear(sentence):
                return Panel(sentence, refused=True)
            case _:
                assert_never(order)

    async def answer(self, person: str, words: str) -> Panel | None:
        """Return the answer to a press on a button below what people were written; None for other words."""
        if not words.startswith(f"{orders.WORD} "):
            return None
        order = orders.read_order(words)
        try:
            match order:
                case orders.Take(number):
                    return await self.take(person, number)
                case orders.HandBack(number=int(number)) | orders.Withdraw(int(number)):
                    return await self._ended(await self.handoffs.by_number(number), person, order, manages=False)
                case _:
                    return None
        except Refused as refused:
            return Panel(str(refused), refused=True)

    async def _answer(self, asker: Asker, thread: frozenset[str], turn: int | None) -> Answered:
        """Return the answer that is meant, if the asker may read it here. Raises Refused."""
        person, found = asker.person.id, None
        if turn is None:
            found = await self.handoffs.newest(person, asker.channel, thread) if thread else None
            found = found or await self.handoffs.newest(person, asker.channel, ())
        else:
            found = await self.handoffs.reply(turn)
        if found is None:
            raise Refused(texts.NO_ANSWER if turn is None else texts.NOT_THIS_ONE)
        if found.audience.partition(":")[0] == AudienceKind.PERSON:
            reads = found.person == person
        else:
            reads = found.channel == asker.channel and found.audience in may_flow_from(asker.place)
        if not reads:
            raise Refused(texts.NOT_THIS_ONE)
        return found

    async def _question(self, reply: Answered) -> Incoming:
        question = await self.handoffs.question(reply.turn)
        if question is None:
            raise Refused(texts.NOT_THIS_ONE)
        return question

    async def _prepare(self, asker: Asker, reply: Answered, notice: str = "") -> Panel:
        """Show who would be asked, and what they would get."""
        if (panel := await self._current(reply, asker)) is not None:
            return panel
        question = await self._question(reply)
        people = await self._found(question, asker.person.id)
        content = await self.handoffs.content(reply.turn)
        if content is None:
            raise Refused(texts.NOT_THIS_ONE)
        summary, private = summary_of(content), is_private(question)
        named = ", ".join(literal(each.person.name) for each in people)
        words = f"{reply.turn} {digest_of(summary, _ids(people))}"
        alone = PanelAction(texts.ALONE_BUTTON if private else texts.BUTTON, f"{orders.SEND} {words}", typed=TYPED_YES)
        share = PanelAction(texts.SHARE_BUTTON, f"{orders.SHARE} {words}")
        form = (PRIVATE_FORM if private else FORM).button(f"{orders.SEND} {words}")
        keep = PanelAction(texts.KEEP_BUTTON, orders.KEEP, typed=TYPED_NO)
        head = (texts.PREVIEW_PRIVATE if private else texts.PREVIEW).format(people=named)
        lines = [notice, head, summary, texts.PREVIEW_PRIVATE_HOW if private else ""]
        return Panel("\n\n".join(filter(None, lines)), (*((share,) if private else ()), alone, form, keep))

    async def _send(self, asker: Asker, order: orders.Send) -> Panel:
        reply = await self._answer(asker, frozenset(), order.turn)
        content = await self.handoffs.content(reply.turn)
        if content is None:
            raise Refused(texts.NOT_THIS_ONE)
        private = reply.audience.partition(":")[0] == AudienceKind.PERSON
        if not (private and order.shares):
            return await self._ask(asker, reply, order.note)
        if (panel := await self._current(reply, asker)) is not None:
            return panel
        people, summary = await self._found(await self._question(reply), asker.person.id), summary_of(content)
        if digest_of(summary, _ids(people)) != order.digest:
            return await self._prepare(asker, reply, texts.PREVIEW_CHANGED)
        return await self._ask(asker, reply, order.note, digest_of(summary), people)

    async def _ask(
        self, asker: Asker, reply: Answered, note: str, shared: str = "", people: Sequence[Approver] = ()
    ) -> Panel:
        """Ask these people, by default those of the place. `shared`: as in `NewHandoff`."""
        if (panel := await self._current(reply, asker)) is not None:
            return panel
        question, person, now = await self._question(reply), asker.person.id, self.clock.now()
        if await self.handoffs.asked_since(person, now - timedelta(days=1)) >= MAX_A_DAY:
            raise Refused(texts.TOO_MANY.format(most=MAX_A_DAY))
        people = people or await self._found(question, person)
        new = NewHandoff(reply.turn, person, asker.person.name, note, shared)
        handoff = await self.handoffs.ask(new, _ids(people), now)
        if handoff is None:
            raise Refused(texts.NOT_THIS_ONE)
        if handoff.person != person or handoff.time != now:  # someone else was faster
            return await self._current(reply, asker) or Panel(texts.TAKE_FAILED[HandoffOutcome.OVER], refused=True)
        named = ", ".join(literal(each.person.name) for each in people)
        alone = texts.ASKED_NOTE if note else texts.ASKED_ALONE
        private_note = alone if is_private(question) and not shared else ""
        text = " ".join(filter(None, [texts.ASKED.format(people=named), private_note]))
        return Panel(text, (_cancel(handoff),))

    async def _current(self, reply: Answered, asker: Asker) -> Panel | None:
        """Return how the request of this conversation stands, if it has one."""
        handoff = await self.handoffs.current(asked_in(reply.conversation))
        if handoff is None:
            return None
        if handoff.state is HandoffState.TAKEN:
            text = texts.TAKEN_ALREADY_HERE.format(name=taker_name(handoff))
            may_end = asker.person.id in {handoff.person, handoff.taker} or asker.manages
            return Panel(text, (_back(handoff),) if may_end else ())
        text = texts.OPEN_ALREADY.format(ago=ago(handoff.time, self.clock.now()))
        return Panel(text, (_cancel(handoff),) if handoff.person == asker.person.id else ())

    async def _found(self, question: Incoming, person: str) -> Sequence[Approver]:
        """Return the people who can be asked now, at least one. Raises Refused."""
        if not await self.people.rules(question.source, question.channel):
            raise Refused(texts.NOBODY_PRIVATE if is_private(question) else texts.NOBODY)
        try:
            people = await self.people.find(question, person)
        except StoreError:
            raise
        except CogencyError as error:
            raise Refused(texts.UNKNOWN) from error
        if not people:
            raise Refused(texts.NOBODY_READS)
        return people

    async def take(self, person: str, number: int) -> Panel:
        """Let this person take a conversation over, unless somebody else was faster. Raises Refused."""
        handoff = await self.handoffs.by_number(number)
        if handoff is None:
            return Panel(texts.TAKE_FAILED[HandoffOutcome.OVER], refused=True)
        if person == handoff.person:
            raise Refused(texts.NOT_YOUR_OWN)
        try:
            approver = await self.people.check(person, handoff.question)
        except StoreError:
            raise
        except CogencyError as error:
            log.warning("request %d: could not check whether a person can take over: %s", number, error)
            raise Refused(texts.NOT_CHECKED) from error
        if approver is None:
            raise Refused(texts.NOT_FOR_YOU)
        is_theirs = handoff.state is HandoffState.TAKEN and handoff.taker == person
        outcome = HandoffOutcome.STORED
        if not is_theirs:
            outcome = await self.handoffs.take(number, person, approver.person.name, self.clock.now())
        if outcome is not HandoffOutcome.STORED:
            handoff = await self.handoffs.by_number(number) or handoff
            return Panel(texts.TAKE_FAILED[outcome].format(name=taker_name(handoff)), refused=True)
        private = is_private(handoff.question)
        text = texts.TAKEN_BY_YOU
        if private:
            text = texts.TAKEN_BY_YOU_PRIVATE.format(asker=asker_name(handoff), mention=mention(handoff.person))
        return Panel(f"{text} {texts.BACK_HOW}", (_back(handoff),))

    async def _end(self, asker: Asker, thread: frozenset[str], order: orders.HandBack | orders.Withdraw) -> Panel:
        """End a request by its number, that of a notice's conversation, or that of where the person is."""
        handoff, person = None, asker.person.id
        if order.number is not None:
            handoff = await self.handoffs.by_number(order.number)
        elif isinstance(order, orders.HandBack) and order.turn is not None:
            reply = await self.handoffs.reply(order.turn)
            handoff = None if reply is None else await self.handoffs.current(asked_in(reply.conversation))
        else:
            here = [await self.handoffs.current(each) for each in sorted(thread)]
            state = HandoffState.TAKEN if isinstance(order, orders.HandBack) else HandoffState.OPEN
            own = [one for one in await self.handoffs.of_person(person, limit=MAX_LISTED) if _is_party(one, person)]
            mine = [one for one in (*here, *own) if one is not None and one.state is state]
            handoff = mine[0] if mine else None
        if handoff is None or _is_party(handoff, person):
            return await self._ended(handoff, person, order, manages=False)
        question = handoff.question
        is_there = question.channel == asker.channel and label(question.place.audience) in may_flow_from(asker.place)
        if is_private(question) or not is_there:
            handoff = None
        return await self._ended(handoff, person, order, manages=asker.manages or self.operates(person))

    async def _ended(
        self, handoff: Handoff | None, person: str, order: orders.HandBack | orders.Withdraw, *, manages: bool
    ) -> Panel:
        hands_back = isinstance(order, orders.HandBack)
        before = HandoffState.TAKEN if hands_back else HandoffState.OPEN
        if handoff is None or handoff.state is not before:
            return Panel(texts.NONE_HERE if hands_back else texts.NO_REQUEST, refused=True)
        if hands_back and not (_is_party(handoff, person) or manages):
            raise Refused(texts.NOT_YOURS.format(name=taker_name(handoff)))
        if not hands_back and handoff.person != person:
            raise Refused(texts.NOT_YOURS_TO_CANCEL)
        after = HandoffState.RETURNED if hands_back else HandoffState.WITHDRAWN
        outcome = await self.handoffs.close(handoff.number, after, self.clock.now(), before=before)
        if outcome is not HandoffOutcome.STORED:
            return Panel(texts.TAKE_FAILED[HandoffOutcome.OVER], refused=True)
        return Panel(texts.HANDED_BACK if hands_back else texts.CANCELED)

    async def _list(self, person: str, *, buttons: bool) -> Panel:
        """Return the requests that concern a person: those that they can read, or have made."""
        parts = list[PanelPart]()
        for handoff in await self.handoffs.of_person(person, limit=MAX_LISTED):
            may_read = handoff.person == person
            if not may_read:
                try:
                    found = await self.people.check(person, handoff.question)
                except StoreError:
                    raise
                except CogencyError as error:
                    log.warning("request %d: could not check who can take over: %s", handoff.number, error)
                    continue
                if found is None:
                    continue
                may_read = found.reads and not is_private(handoff.question)
            parts.append(
                PanelPart(self._line(handoff, may_read=may_read), _actions(handoff, person) if buttons else ())
            )
        head = texts.LIST_HEAD if parts else texts.LIST_EMPTY
        return Panel(head if buttons else f"{head}\n\n{texts.USAGE}", parts=tuple(parts))

    def _line(self, handoff: Handoff, *, may_read: bool) -> str:
        since, state = ago(handoff.time, self.clock.now()), texts.STATES[handoff.state]
        named = state.format(taker=taker_name(handoff))
        line = texts.LIST_ITEM.format(number=handoff.number, asker=asker_name(handoff), ago=since, state=named)
        question = literal(shortened(handoff.question.text, LIST_CHARS))
        return f"{line}\n{texts.LIST_QUESTION.format(text=question)}" if may_read else line

    # Below an answer, and for the model

    async def offers(self, question: Incoming) -> bool:
        """Return whether an answer to this question has the button that asks a human."""
        if not await self.people.rules(question.source, question.channel):
            return False
        return await self.handoffs.current(asked_in(question.conversation)) is None


def _back(handoff: Handoff) -> PanelAction:
    return PanelAction(texts.BACK_BUTTON, f"{orders.WORD} {orders.BACK} {handoff.number}")


def _cancel(handoff: Handoff) -> PanelAction:
    return PanelAction(texts.CANCEL_BUTTON, f"{orders.WORD} {orders.CANCEL} {handoff.number}")


def _ids(people: Sequence[Approver]) -> list[str]:
    return [each.person.id for each in people]


def _is_party(handoff: Handoff, person: str) -> bool:
    return person in {handoff.person, handoff.taker}


def _actions(handoff: Handoff, person: str) -> tuple[PanelAction, ...]:
    if handoff.state is HandoffState.TAKEN:
        return (_back(handoff),) if _is_party(handoff, person) else ()
    if handoff.person == person:
        return (_cancel(handoff),)
    return (PanelAction(texts.TAKE_BUTTON, orders.take_words(handoff.number)),)
