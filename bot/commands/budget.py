"""`/budget`: what a person may spend today; operators see and change all budgets. `/operator`: the operators' page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.access.acl import Requester
from bot.access.budgets import BudgetDesk, read_budget_request
from bot.commands import declaration
from bot.health import OperatorDesk

CHOOSE = "Please choose whose budget it is."
AMOUNT = "Please write $20, 5,000,000 tokens, exempt or reset."


async def show(desk: BudgetDesk, call: declaration.CommandCall) -> declaration.Panel:
    person = call.caller.person.id
    panel = await desk.answer(person, call.caller.channel, call.words)
    may_change = not call.words and desk.access.is_operator(person)
    text = await call.caller.with_names(panel.text)
    return replace(panel, text=text, actions=(CHANGE.button(),) if may_change else ())


async def _whose(desk: BudgetDesk, requester: Requester, _: Mapping[str, str]) -> Sequence[str]:
    return ("channel", "everyone") if desk.access.is_operator(requester.person) else ()


def _words(filled: declaration.Filled) -> str:
    match filled["whose"]:
        case "person" | "channel" as whose:
            return f"{whose}:{filled[whose]} {filled['amount']}"
        case _:
            return f"everyone {filled['amount']}"


def _mistakes(filled: declaration.Filled) -> Mapping[str, str]:
    whose = filled["whose"]
    if whose in ("person", "channel") and not filled[whose]:
        return {whose: CHOOSE}
    request = read_budget_request(f"everyone {filled['amount']}")
    return {} if request is not None and request.change is not None else {"amount": AMOUNT}


CHANGE = declaration.PanelForm(
    name="budget",
    label="Change a budget…",
    title="Change a budget",
    submit="Change",
    fields=(
        declaration.FormField(
            "whose",
            "Whose budget",
            declaration.FieldKind.CHOICE,
            choices={"person": "A person", "channel": "A channel", "everyone": "Everybody together"},
        ),
        declaration.FormField("person", "The person", declaration.FieldKind.PERSON, optional=True),
        declaration.FormField("channel", "The channel", declaration.FieldKind.CHANNEL, optional=True),
        declaration.FormField(
            "amount",
            "For each day",
            hint="$20, 5,000,000 tokens, exempt, or reset to the usual one.",
            max_chars=40,
        ),
    ),
    words=_words,
    mistakes=_mistakes,
)

COMMAND = declaration.Command(
    name="budget",
    summary="Show what you may spend today; operators see and change all budgets",
    run=show,
    suggests={"words": _whose},
    arguments=(
        declaration.Argument(
            "words",
            "channel, everyone or @person; then $20, 5,000,000 tokens, exempt or reset",
            mentions=True,
        ),
    ),
    forms=(CHANGE,),
    means=lambda words, _: read_budget_request(words) is not None,
    examples={"everyone": "see the budget of everybody together", "everyone $200": "raise it"},
)


async def open_page(desk: OperatorDesk, call: declaration.CommandCall) -> declaration.Panel:
    return await desk.link(call.caller.person.id)


OPERATOR_COMMAND = declaration.Command(
    name="operator",
    summary="For operators: a link to the page that shows how the bot does",
    run=open_page,
    bare=False,
)
