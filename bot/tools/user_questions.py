"""Questions of the model to the person who asked (`agent.asking`), as `/tools` and the button below a reply show them.

Rule: only the asker sees a question here, and only they answer it. What they press or fill in becomes a message of the
conversation, as if they had written it there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agent.asking import MAX_ANSWER_CHARS, AskedQuestion, chosen_option
from agent.consents import wait_until
from agent.messages import AnswerOutcome, Consent
from agent.ports.clock import Clock
from agent.ports.consents import AskedQuestions, Consents
from agent.progress import Progress
from agent.turn_events import ConsentDecided, QuestionAnswered, TurnInput
from agent.turn_records import Claim
from bot.chat.panels import FieldKind, FormField, Panel, PanelAction, PanelForm
from bot.chat.texts.formatting import counted, literal, shortened
from bot.tools import texts as tool_texts
from bot.tools.questions import NUMBER_DIGITS, SHOW, SHOW_QUESTION

# The words that answer a question, followed by its name and what is answered: "option 12.2.1-3f09… 2".
OPTION, REPLY, SKIP = "option", "reply", "skip"
TYPED_SKIP: Final = "skip"
ASKED_CHARS: Final = 200
SHOWN_ANSWER_CHARS: Final = 200

REPLY_FORM: Final = PanelForm(
    name="reply",
    label=tool_texts.REPLY_BUTTON,
    title=tool_texts.REPLY_TITLE,
    submit=tool_texts.SEND_BUTTON,
    fields=(
        FormField("text", tool_texts.REPLY_LABEL, FieldKind.LINES, tool_texts.REPLY_HINT, max_chars=MAX_ANSWER_CHARS),
    ),
    words=lambda filled: filled["text"],
)


@dataclass(frozen=True, slots=True)
class UserQuestions:
    """`wake`: called when a waiting turn may continue. Every method raises StoreError."""

    questions: AskedQuestions
    consents: Consents
    clock: Clock
    wake: Callable[[], None]

    async def answers(self, claim: Claim, progress: Progress) -> Sequence[TurnInput]:
        """Return what the asker has decided meanwhile about the question of a claimed turn."""
        decided = await self.consents.decided(claim.turn)
        late = self.clock.now() >= wait_until(progress, self.clock.now())
        events = list[TurnInput]()
        for key in progress.asked:
            id_ = key.partition("-")[0]
            if key in decided:
                events.append(ConsentDecided(id_, decided[key]))
            elif (message := await self.questions.answer_of(claim.turn)) is not None:
                events.append(QuestionAnswered(id_, message))
            elif late:
                events.append(ConsentDecided(id_, Consent.EXPIRED))
        return events

    async def answer(self, person: str, words: str, *, buttons: bool = True) -> Panel | None:
        """Carry out these words of `/tools`, for this person. None if they mean no question of the model. `buttons`:
        whether there are any where they are.
        """
        match words.split(maxsplit=2):
            case []:
                return await self._show(person, buttons=buttons)
            case [word, turn] if word in (SHOW, SHOW_QUESTION):
                return await self._show(person, turn, buttons=buttons)
            case [word, name, text] if word == REPLY:
                return await self._reply(person, name, text)
            case [word, name, number] if word == OPTION:
                return await self._choose(person, name, number)
            case [word, name] if word == SKIP:
                return await self._skip(person, name)
            case _:
                return None

    async def _show(self, person: str, turn: str = "", *, buttons: bool) -> Panel | None:
        waiting = [one for one in await self.questions.open_to(person) if not turn or str(one.turn) == turn]
        return _panel(waiting[0], len(waiting) - 1, buttons=buttons) if waiting else None

    async def _find(self, person: str, name: str) -> AskedQuestion | None:
        return next((one for one in await self.questions.open_to(person) if _name(one) == name), None)

    async def _choose(self, person: str, name: str, number: str) -> Panel:
        found = await self._find(person, name)
        option = None if found is None else chosen_option(found.question, number)
        return await self._store(person, name, option or "", chosen=True)

    async def _reply(self, person: str, name: str, text: str) -> Panel:
        """Store an answer in words. An option that is named by its number or its text is chosen."""
        found, text = await self._find(person, name), text.strip()[:MAX_ANSWER_CHARS]
        option = None if found is None else chosen_option(found.question, text)
        return await self._store(person, name, option or text, chosen=option is not None)

    async def _store(self, person: str, name: str, text: str, *, chosen: bool) -> Panel:
        outcome = AnswerOutcome.OVER
        if (call := _parsed(name)) is not None:
            outcome = await self.questions.answer(*call, person, text, self.clock.now(), chosen=chosen)
        return self._stored(outcome, tool_texts.REPLIED.format(answer=literal(shortened(text, SHOWN_ANSWER_CHARS))))

    async def _skip(self, person: str, name: str) -> Panel:
        call = _parsed(name)
        outcome = AnswerOutcome.OVER
        if call is not None:
            outcome = await self.questions.decline(*call, person, self.clock.now())
        return self._stored(outcome, tool_texts.SKIPPED)

    def _stored(self, outcome: AnswerOutcome, sentence: str) -> Panel:
        if outcome is not AnswerOutcome.KEPT:
            return Panel(tool_texts.NOT_REPLIED[outcome.name], refused=True)
        self.wake()
        return Panel(sentence)


def _parsed(name: str) -> tuple[int, str] | None:
    """Return the turn and the key that a question's name holds; None for another text."""
    turn, _, key = name.partition(".")
    is_number = turn.isascii() and turn.isdecimal() and len(turn) <= NUMBER_DIGITS
    return (int(turn), key) if is_number else None


def _name(asked: AskedQuestion) -> str:
    return f"{asked.turn}.{asked.key}"


def _panel(asked: AskedQuestion, more: int, *, buttons: bool) -> Panel:
    """Show the question, with its options as buttons, a form for other words, and a way to skip it."""
    name, question = _name(asked), asked.question
    head = tool_texts.MODEL_ASKS.format(question=literal(shortened(asked.asked, ASKED_CHARS)))
    lines = [f"> {literal(line)}" for line in question.text.splitlines() if line.strip()]
    options = [f"{number}. {literal(option)}" for number, option in enumerate(question.options, 1)]
    parts = [head, "\n".join(lines), "\n".join(options), tool_texts.MODEL_ASKS_HOW]
    if not buttons:
        parts.append(tool_texts.MODEL_ASKS_TYPED if options else tool_texts.MODEL_ASKS_IN_WORDS)
    if more:
        parts.append(tool_texts.MORE_QUESTIONS.format(questions=counted(more, "more question", "more questions")))
    actions = [
        PanelAction(option, f"{OPTION} {name} {number}", typed=(str(number),))
        for number, option in enumerate(question.options, 1)
    ]
    actions += [
        REPLY_FORM.button(f"{REPLY} {name}"),
        PanelAction(tool_texts.SKIP_BUTTON, f"{SKIP} {name}", typed=(TYPED_SKIP,)),
    ]
    text = "\n\n".join(filter(None, parts))
    return Panel(text, tuple(actions), takes_words=True, words_before=f"{REPLY} {name}")
