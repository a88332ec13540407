"""`/operator`."""

from collections.abc import Mapping, Sequence

from bot.chat.askers import Requester
from bot.chat.commands import declaration
from bot.chat.commands.declaration import HomeContent, HomeSection, HomeVisit
from bot.chat.panels import Panel, PanelAction
from bot.operators import texts as operators_texts
from bot.operators.service import OperatorService

REPORT = "report"  # Shows the report itself instead of a link


async def show(service: OperatorService, call: declaration.CommandCall) -> Panel:
    person = call.caller.person.id
    return await (service.report(person) if call.words.casefold() == REPORT else service.link(person))


async def _offered(service: OperatorService, requester: Requester, _: Mapping[str, str]) -> Sequence[str]:
    return (REPORT,) if service.operates(requester.person) else ()


async def _home(visit: HomeVisit) -> HomeContent | None:
    report = await visit.panel(REPORT)
    if report.refused:
        return None
    return HomeContent(Panel(report.text, (PanelAction(operators_texts.OPEN_OPERATOR_PAGE),)))


OPERATOR_COMMAND = declaration.Command(
    name="operator",
    summary="For operators: get a link to the operators' page",
    run=show,
    home=HomeSection(title=operators_texts.HOME_OPERATORS, show=_home),
    suggests={"words": _offered},
    arguments=(declaration.Argument("words", "“report” shows the bot's health and spending here", hint="[report]"),),
    bare=False,
    examples={REPORT: "for operators: see the bot's health, spending, and ratings here"},
)
