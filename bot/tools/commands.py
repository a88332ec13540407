"""`/tools`: which tools the bot can use for a person here, which calls wait for their decision, their sign-ins, and the
operators' table.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.ports.tools import Asker
from bot.chat.askers import Requester
from bot.chat.commands import declaration
from bot.chat.panels import TYPED_NO, TYPED_YES, FieldKind, Filled, FormField, Panel, PanelAction, PanelForm
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import shortened
from bot.tools import texts as tool_texts
from bot.tools.answers import QuestionAnswer
from bot.tools.approvals import ApprovalService
from bot.tools.approvers import DENIAL_FORM
from bot.tools.mcp.questions import MAX_TEXT_CHARS, QuestionField, ValueKind, limits_of, values_of
from bot.tools.mcp.source import ToolSignIns
from bot.tools.questions import ANSWER, DECLINE, LATER, SEND, SHOW, SHOW_QUESTION, QuestionService
from bot.tools.user_questions import REPLY_FORM, UserQuestions

WORDS = ("sign in SERVER", "sign out SERVER")
# Suggested while a person types; the capitals are to be replaced.
OF_OPERATORS = ("policy", "policy set TOOLS WHO WHERE ANSWER", "policy remove NUMBER")
TITLE_CHARS, LABEL_CHARS, HINT_CHARS = 24, 45, 100  # Of a form: the smaller of the platforms' limits
LINE_CHARS = 200  # A longer text gets a field of several lines


@dataclass(frozen=True, slots=True)
class ToolsService:
    """What `/tools` needs: the tools and the calls that wait, the questions that tools ask, and people's accounts."""

    service: ApprovalService
    questions: QuestionService
    asked: UserQuestions
    sign_ins: ToolSignIns
    operates: Callable[[str], bool]

    async def answer(self, asker: Asker, words: str) -> Panel:
        return await self.service.answer(asker, words, operates=self.operates(asker.person.id))


async def show(service: ToolsService, call: declaration.CommandCall) -> Panel:
    """A waiting call or question comes first, and alone, so that nothing else is decided beside it."""
    words = call.words.split(maxsplit=1)
    if words[:1] and words[0].casefold() == "sign":
        return await _sign_ins(service, call)
    buttons = call.caller.entry_chars is not None
    if (asked := await service.asked.answer(call.caller.person.id, call.words, buttons=buttons)) is not None:
        return asked
    if (question := await service.questions.answer(call.caller.person.id, call.words)) is not None:
        return question_panel(question, call.caller.window_fields)
    panel = await service.answer(await call.caller.asker(), call.words)
    panel = replace(panel, text=await call.caller.with_names(panel.text))
    if words or panel.actions:
        return panel
    accounts = await _sign_ins(service, call)
    return Panel(f"{panel.text}\n\n{accounts.text}", accounts.actions) if accounts.actions else panel


def question_panel(question: QuestionAnswer, fields: int) -> Panel:
    """A tool's question, with its answers: in one form, or in several whose values are sent together at the end."""
    if not question.name:
        return Panel(question.text, refused=question.refused)
    actions = list[PanelAction]()
    if question.opens or not question.fields:
        yes = tool_texts.OPENED_BUTTON if question.opens else tool_texts.YES_BUTTON
        no = tool_texts.DECLINE_BUTTON if question.opens else tool_texts.NO_BUTTON
        buttons = {yes: SEND, no: DECLINE}
    else:
        for first in range(0, question.fields, fields):
            last = min(first + fields, question.fields)
            part = tool_texts.ANSWER_PART.format(first=first + 1, last=last, all=question.fields)
            label = part if question.fields > fields else reply_texts.ANSWER_BUTTON
            words = f"{ANSWER} {question.name} {first} {fields}"
            typed = TYPED_YES if question.fields <= fields else ()
            actions.append(PanelAction(label, words, form=ANSWER_FORM, typed=typed))
        buttons = (
            {tool_texts.SEND_BUTTON: SEND} if question.ready and (question.begun or question.fields > fields) else {}
        )
        buttons |= {tool_texts.DECLINE_BUTTON: DECLINE}
    buttons |= {tool_texts.LATER_BUTTON: LATER}
    typed_for = {DECLINE: TYPED_NO, LATER: ("",)}
    if not (actions and actions[0].typed):
        typed_for[SEND] = TYPED_YES
    actions += [
        PanelAction(label, f"{word} {question.name}", typed=typed_for.get(word, ())) for label, word in buttons.items()
    ]
    return Panel(question.text, tuple(actions))


async def _values_now(service: ToolsService, call: declaration.CommandCall) -> Filled:
    window = await service.questions.window(call.caller.person.id, call.words)
    return {place: value for place, value in window.filled.items() if value}


async def _window(service: ToolsService, call: declaration.CommandCall) -> PanelForm:
    """The form with the fields that its button names."""
    window = await service.questions.window(call.caller.person.id, call.words)

    def mistakes(filled: Filled) -> Mapping[str, str]:
        _, wrong = values_of(
            [*window.fields.values()], {str(at): filled[str(of)] for at, of in enumerate(window.fields)}
        )
        places = [*window.fields]
        return {str(places[at]): why for at, why in wrong.items()}

    return replace(
        ANSWER_FORM,
        title=shortened(tool_texts.WINDOW_TITLE.format(source=window.source), TITLE_CHARS),
        fields=tuple(_form_field(at, spec) for at, spec in window.fields.items()),
        mistakes=mistakes,
    )


def _form_field(place: int, spec: QuestionField) -> FormField:
    """With many choices, their names are written as text; the panel lists them."""
    kind, choices = FieldKind.LINE, dict[str, str]()
    if spec.is_menu:
        kind = FieldKind.PICKS if spec.kind is ValueKind.SOME_OF else FieldKind.PICK
        choices = {str(at): title for at, (_, title) in enumerate(spec.choices)}
    elif spec.choices or (
        spec.kind is ValueKind.TEXT and not spec.form and (spec.most is None or spec.most > LINE_CHARS)
    ):
        kind = FieldKind.LINES
    hint = " ".join(filter(None, [spec.about, f"({limits})" if (limits := limits_of(spec)) else ""]))
    return FormField(
        str(place),
        shortened(spec.label, LABEL_CHARS),
        kind,
        shortened(hint, HINT_CHARS),
        optional=not spec.required,
        max_chars=MAX_TEXT_CHARS,
        choices=choices,
    )


async def _sign_ins(service: ToolsService, call: declaration.CommandCall) -> Panel:
    person = (await call.caller.private_asker()).person
    return await service.sign_ins.answer(person, call.words)


async def press_waiting(_: object, pressed: declaration.PressedReply) -> PanelAction:
    """What the turn of this reply waits for."""
    return PanelAction("", f"{SHOW} {pressed.turn}")


async def press_question(_: object, pressed: declaration.PressedReply) -> PanelAction:
    """What a tool asks in the turn of this reply."""
    return PanelAction("", f"{SHOW_QUESTION} {pressed.turn}")


async def _words_offered(service: ToolsService, requester: Requester, _: Mapping[str, str]) -> Sequence[str]:
    return (*WORDS, *OF_OPERATORS) if service.operates(requester.person) else WORDS


def _is_order(words: str) -> bool:
    """Whether the words are an order: talk about signing in does not consist of one server's name, and talk about
    policies does not give a whole row.
    """
    match words.casefold().split():
        case ["sign", "in" | "out", _] | ["sign", "in" | "out", _, _]:
            return True
        case (
            ["policy"] | ["policy", "set", _, _, _, "yes" | "ask" | "no"] | ["policy", "set", _, _, _, "ask", "by", *_]
        ):
            return True
        case ["policy", "remove", number]:
            return number.isdecimal()
        case _:
            return False


ANSWER_FORM = PanelForm(
    name="question",
    label=reply_texts.ANSWER_BUTTON,
    title=reply_texts.ANSWER_BUTTON,
    submit=tool_texts.SEND_BUTTON,
    fields=(),
    words=lambda filled: json.dumps(dict(filled), ensure_ascii=False),
)


COMMAND = declaration.Command(
    name="tools",
    summary="See the tools I can use for you here, approve or deny calls, and sign in to servers",
    run=show,
    suggests={"words": _words_offered},
    prefills={ANSWER_FORM.name: _values_now},
    builds={ANSWER_FORM.name: _window},
    presses={ReplyAction.DECIDE: press_waiting, ReplyAction.ANSWER: press_question},
    arguments=(
        declaration.Argument(
            "words",
            "“sign in” or “sign out” and a server's name; for operators: “policy”",
            hint="[sign in|out SERVER]",
        ),
    ),
    forms=(ANSWER_FORM, REPLY_FORM, DENIAL_FORM),
    phrases=("my tools", "show tools"),
    means=lambda words, _: _is_order(words),
    examples={
        "sign in wiki": "get a link to sign in with your own account",
        "sign out wiki": "sign out, here and at the server",
        "policy": "for operators: see who can use which tools where",
        "policy set github.* manager team ask": "for operators: add a row before the other numbered rows",
        "policy set deploy.* * * ask by two managers": "for operators: have two managers approve each call",
        "policy remove 3": "for operators: remove row 3",
    },
)
