"""`/budget`: what somebody may spend today; operators see and change all budgets."""

from collections.abc import Mapping, Sequence

from bot.access.acl import Requester
from bot.access.budgets import read_budget_request
from bot.commands.declaration import (
    Argument,
    Command,
    CommandCall,
    CommandHost,
    FieldKind,
    Filled,
    FormField,
    Panel,
    PanelForm,
)

CHOOSE = "Please choose whose budget it is."
AMOUNT = "Please write $20, 5,000,000 tokens, exempt or reset."


async def show(call: CommandCall) -> Panel:
    person = call.caller.person.id
    answer = await call.host.budget(person, call.caller.channel, call.words)
    changes = not call.words and call.host.operates(person)
    return Panel(await call.caller.with_names(answer), (CHANGE.button(),) if changes else ())


async def _whose(host: CommandHost, who: Requester, _: Mapping[str, str]) -> Sequence[str]:
    return ("channel", "everyone") if host.operates(who.person) else ()


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
            choices={"person": "A person", "channel": "A channel", "everyone": "Everybody together"},
        ),
        FormField("person", "The person", FieldKind.PERSON, optional=True),
        FormField("channel", "The channel", FieldKind.CHANNEL, optional=True),
        FormField(
            "amount",
            "For each day",
            hint="$20, 5,000,000 tokens, exempt, or reset to the usual one.",
            max_chars=40,
        ),
    ),
    words=_words,
    mistakes=_mistakes,
)

COMMAND = Command(
    name="budget",
    summary="Show what you may spend today; operators see and change all budgets",
    run=show,
    arguments=(
        Argument(
            "words",
            "channel, everyone or @person; then $20, 5,000,000 tokens, exempt or reset",
            mentions=True,
            suggests=_whose,
        ),
    ),
    forms=(CHANGE,),
    means=lambda words, _: read_budget_request(words) is not None,
    examples={"everyone": "see the budget of everybody together", "everyone $200": "raise it"},
)
