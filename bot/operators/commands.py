"""`/operator`."""

from collections.abc import Mapping, Sequence

from bot.chat.askers import Requester
from bot.chat.commands import declaration
from bot.chat.panels import Panel
from bot.operators.service import OperatorService

REPORT = "report"  # Shows the report itself instead of a link


async def show(service: OperatorService, call: declaration.CommandCall) -> Panel:
    person = call.caller.person.id
    return await (service.report(person) if call.words.casefold() == REPORT else service.link(person))


async def _offered(service: OperatorService, requester: Requester, _: Mapping[str, str]) -> Sequence[str]:
    return (REPORT,) if service.operates(requester.person) else ()


OPERATOR_COMMAND = declaration.Command(
    name="operator",
    summary="For operators: a link to the page that shows how the bot does",
    run=show,
    suggests={"words": _offered},
    arguments=(declaration.Argument("words", "report: the bot's health and spending, right here", hint="[report]"),),
    bare=False,
    examples={REPORT: "operators: the bot's health, spending and ratings, without the page"},
)
