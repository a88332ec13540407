"""`/tools`: what the bot can use for somebody here, what waits for their word, where they are signed in, and the
operators' table.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from agent.ports import Asker
from bot.access.acl import Requester
from bot.commands import declaration
from bot.host import CommandHost, QuestionAnswer, ToolsAnswer
from bot.texts import command_texts, tool_texts
from bot.texts.formatting import shortened
from bot.tools.mcp_questions import MAX_TEXT_CHARS, QuestionField, ValueKind, limits_of, values_of

ALLOW, ALWAYS, REFUSE = "allow", "always", "refuse"  # What is said of a call that waits; its name follows
WORDS = ("sign in SERVER", "sign out SERVER")
# Offered while somebody types; what is in capitals they replace.
OF_OPERATORS = ("policy", "policy set TOOLS WHO WHERE ANSWER", "policy remove NUMBER")
# What is said of a question that a tool asks; its name follows.
ANSWER, SEND, DECLINE, LATER = "answer", "send", "decline", "later"
TITLE_CHARS, LABEL_CHARS, HINT_CHARS = 24, 45, 100  # Of a window: the smaller of the platforms' limits
LINE_CHARS = 200  # A longer text is written in a field of several lines
MAX_BUTTONS = 10  # Of one panel; whoever has more accounts writes the words


# What the turn of this number waits for, for its asker; None if it waits for nothing.
WaitingPanel: TypeAlias = Callable[[int], Awaitable[declaration.Panel | None]]


def show_words(turn: int) -> str:
    """What shows the calls of this turn that wait."""
    return f"waiting {turn}"


async def show(call: declaration.CommandCall) -> declaration.Panel:
    """What waits comes first, and alone: nothing else is decided beside it."""
    words = call.words.split(maxsplit=1)
    if words[:1] and words[0].casefold() == "sign":
        return await _sign_ins(call)
    if (asked := await call.host.questions.answer(call.caller.person.id, call.words)) is not None:
        return _question(asked, call.caller.window_fields)
    answer = await call.host.tools(await call.caller.tool_asker(), call.words)
    if words or answer.call:
        return _panel(answer)
    accounts = await _sign_ins(call)
    return declaration.Panel(f"{answer.text}\n\n{accounts.text}" if accounts.actions else answer.text, accounts.actions)


async def waiting(host: CommandHost, asker: Asker, fields: int, turn: int) -> declaration.Panel | None:
    """What this turn waits for, to be shown to its asker unasked; None if it waits no more. Raises CogencyError.

    `fields`: how many a window holds there.
    """
    if (asked := await host.questions.answer(asker.person.id, show_words(turn))) is not None:
        return _question(asked, fields)
    answer = await host.tools(asker, show_words(turn))
    return _panel(answer) if answer.call else None


def _panel(answer: ToolsAnswer) -> declaration.Panel:
    labels = {ALLOW: tool_texts.ALLOW_ONCE, ALWAYS: tool_texts.ALLOW_HERE, REFUSE: tool_texts.REFUSE}
    actions = tuple(
        declaration.PanelAction(label, f"{word} {answer.call}", danger=word == REFUSE)
        for word, label in labels.items()
        if answer.call and (word != ALWAYS or answer.may_stand)
    )
    return declaration.Panel(answer.text, actions, refused=answer.refused)


def _question(asked: QuestionAnswer, fields: int) -> declaration.Panel:
    """What a tool asks, and what may be said to it: in one window, or in several whose content is sent at the end."""
    if not asked.name:
        return declaration.Panel(asked.text, refused=asked.refused)
    actions = list[declaration.PanelAction]()
    if asked.opens or not asked.fields:
        yes = command_texts.OPENED_BUTTON if asked.opens else command_texts.YES_BUTTON
        no = command_texts.DECLINE_BUTTON if asked.opens else command_texts.NO_BUTTON
        said = {yes: SEND, no: DECLINE}
    else:
        for first in range(0, asked.fields, fields):
            last = min(first + fields, asked.fields)
            part = command_texts.ANSWER_PART.format(first=first + 1, last=last, all=asked.fields)
            label = part if asked.fields > fields else command_texts.ANSWER_BUTTON
            words = f"{ANSWER} {asked.name} {first} {fields}"
            actions.append(declaration.PanelAction(label, words, form=ANSWER_FORM))
        said = {command_texts.SEND_BUTTON: SEND} if asked.ready and (asked.begun or asked.fields > fields) else {}
        said |= {command_texts.DECLINE_BUTTON: DECLINE}
    said |= {command_texts.LATER_BUTTON: LATER}
    actions += [declaration.PanelAction(label, f"{word} {asked.name}") for label, word in said.items()]
    return declaration.Panel(asked.text, tuple(actions))


async def _window(call: declaration.CommandCall) -> declaration.PanelForm:
    """The window for the fields that its button names."""
    window = await call.host.questions.window(call.caller.person.id, call.words)

    def mistakes(filled: declaration.Filled) -> Mapping[str, str]:
        _, wrong = values_of(
            [*window.fields.values()], {str(at): filled[str(of)] for at, of in enumerate(window.fields)}
        )
        places = [*window.fields]
        return {str(places[at]): why for at, why in wrong.items()}

    async def filled(_: declaration.CommandCall) -> declaration.Filled:
        return {place: value for place, value in window.filled.items() if value}

    return replace(
        ANSWER_FORM,
        title=shortened(command_texts.WINDOW_TITLE.format(source=window.source), TITLE_CHARS),
        fields=tuple(_form_field(at, one) for at, one in window.fields.items()),
        mistakes=mistakes,
        prefill=filled,
    )


def _form_field(place: int, one: QuestionField) -> declaration.FormField:
    """Of many choices the names are written, which the panel lists."""
    kind, choices = declaration.FieldKind.LINE, dict[str, str]()
    if one.is_menu:
        kind = declaration.FieldKind.PICKS if one.kind is ValueKind.SOME_OF else declaration.FieldKind.PICK
        choices = {str(at): title for at, (_, title) in enumerate(one.choices)}
    elif one.choices or (one.kind is ValueKind.TEXT and not one.form and (one.most is None or one.most > LINE_CHARS)):
        kind = declaration.FieldKind.LINES
    hint = " ".join(filter(None, [one.about, f"({limits})" if (limits := limits_of(one)) else ""]))
    return declaration.FormField(
        str(place),
        shortened(one.label, LABEL_CHARS),
        kind,
        shortened(hint, HINT_CHARS),
        optional=not one.required,
        max_chars=MAX_TEXT_CHARS,
        choices=choices,
    )


async def _sign_ins(call: declaration.CommandCall) -> declaration.Panel:
    person = (await call.caller.viewer()).person
    answer = await call.host.sign_ins.answer(person, call.words)
    actions = (
        *(declaration.PanelAction(f"Sign in at {name}", f"sign in {name}") for name in answer.others),
        *(declaration.PanelAction(f"Sign out of {name}", f"sign out {name}", danger=True) for name in answer.signed_in),
    )
    return declaration.Panel(answer.text, actions[:MAX_BUTTONS])


async def _words_offered(host: CommandHost, who: Requester, _: Mapping[str, str]) -> Sequence[str]:
    return (*WORDS, *OF_OPERATORS) if host.operates(who.person) else WORDS


def _is_order(words: str) -> bool:
    """Whether they order something: talk about signing in names no server alone, nor does talk about policies give a
    whole row.
    """
    match words.casefold().split():
        case ["sign", "in" | "out", _] | ["sign", "in" | "out", _, _]:
            return True
        case ["policy"] | ["policy", "set", _, _, _, "yes" | "ask" | "no"]:
            return True
        case ["policy", "remove", number]:
            return number.isdecimal()
        case _:
            return False


ANSWER_FORM = declaration.PanelForm(
    name="question",
    label=command_texts.ANSWER_BUTTON,
    title=command_texts.ANSWER_BUTTON,
    submit=command_texts.SEND_BUTTON,
    fields=(),
    words=lambda filled: json.dumps(dict(filled), ensure_ascii=False),
    made=_window,
)


COMMAND = declaration.Command(
    name="tools",
    summary="Show what I can use for you here, allow or refuse what waits; sign in and out",
    run=show,
    arguments=(
        declaration.Argument(
            "words",
            "sign in or sign out, and the server; operators also: policy",
            hint="[sign in|out SERVER]",
            suggests=_words_offered,
        ),
    ),
    forms=(ANSWER_FORM,),
    phrases=("my tools", "show tools"),
    means=lambda words, _: _is_order(words),
    examples={
        "sign in wiki": "get a link, and use a server with your own account",
        "sign out wiki": "end that, here and at the server",
        "policy": "operators: see the table of who may use what, and where",
        "policy set github.* manager team ask": "operators: set a row, before the others",
        "policy remove 3": "operators: take one away",
    },
)
