"""`/budget`: what a person may spend today; operators see and change all budgets. `/usage`: what was spent."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.budgets import texts as budgets_texts
from bot.budgets.report import account_text
from bot.budgets.service import BudgetService, read_budget_request
from bot.chat.askers import Requester
from bot.chat.commands import declaration
from bot.chat.commands.declaration import Command, CommandCall, HomeContent, HomeSection, HomeVisit
from bot.chat.panels import FieldKind, Filled, FormField, Panel, PanelForm

CHOOSE = "Choose whose budget to change."
AMOUNT = "Enter an amount, such as $20 or 5,000,000 tokens, or enter “exempt” or “reset”."


async def show(service: BudgetService, call: declaration.CommandCall) -> Panel:
    person = call.caller.person.id
    panel = await service.answer(person, call.caller.channel, call.words)
    may_change = not call.words and service.access.is_operator(person)
    text = await call.caller.with_names(panel.text)
    return replace(panel, text=text, actions=(CHANGE.button(),) if may_change else ())


async def _whose(service: BudgetService, requester: Requester, _: Mapping[str, str]) -> Sequence[str]:
    return ("channel", "everyone") if service.access.is_operator(requester.person) else ()


def _words(filled: Filled) -> str:
    match filled["whose"]:
        case "person" | "channel" as whose:
            return f"{whose}:{filled[whose]} {filled['amount']}"
        case _:
            return f"everyone {filled['amount']}"


def _mistakes(filled: Filled) -> Mapping[str, str]:
    whose = filled["whose"]
    if whose in ("person", "channel") and not filled[whose]:
        return {whose: CHOOSE}
    request = read_budget_request(f"everyone {filled['amount']}")
    return {} if request is not None and request.change is not None else {"amount": AMOUNT}


CHANGE = PanelForm(
    name="budget",
    label="Change a budget…",
    title="Change a budget",
    submit="Change",
    fields=(
        FormField(
            "whose",
            "Whose budget",
            FieldKind.CHOICE,
            choices={"person": "A person", "channel": "A channel", "everyone": "Everyone together"},
        ),
        FormField("person", "The person", FieldKind.PERSON, optional=True),
        FormField("channel", "The channel", FieldKind.CHANNEL, optional=True),
        FormField(
            "amount",
            "For each day",
            hint="$20, 5,000,000 tokens, exempt (no limit), or reset (the default).",
            max_chars=40,
        ),
    ),
    words=_words,
    mistakes=_mistakes,
)


async def _home(visit: HomeVisit) -> HomeContent:
    return HomeContent(await visit.panel())


COMMAND = declaration.Command(
    name="budget",
    home=HomeSection(title="", show=_home),
    summary="See how much you can spend today; operators see and change all budgets",
    run=show,
    suggests={"words": _whose},
    arguments=(
        declaration.Argument(
            "words",
            "channel, workspace, everyone, or @person; then $20, 5,000,000 tokens, exempt, or reset",
            mentions=True,
        ),
    ),
    forms=(CHANGE,),
    means=lambda words, _: read_budget_request(words) is not None,
    examples={
        "everyone": "see everyone's shared budget",
        "everyone $200": "set everyone's shared budget to $200 a day",
    },
)


async def usage(budgets: BudgetService, call: CommandCall) -> Panel:
    person = call.caller.person.id
    spent, ahead = await budgets.usage(person)
    return Panel(account_text(spent, await budgets.code_line(person), ahead))


async def _usage_home(visit: HomeVisit) -> HomeContent:
    panel = await visit.panel()
    return HomeContent(panel, empty=panel.text == budgets_texts.NOTHING_SPENT)


USAGE_COMMAND = Command(
    name="usage",
    home=HomeSection(title=budgets_texts.HOME_USAGE, show=_usage_home),
    summary="See what your questions used today and this month",
    run=usage,
    phrases=("show usage", "show my usage"),
)
