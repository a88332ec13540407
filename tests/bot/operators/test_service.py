"""`/operator`: a link for operators, and a refusal for others."""

from bot.chat.commands.declaration import CommandCall
from bot.chat.panels import Panel
from bot.operators import texts as operator_texts
from bot.operators.commands import OPERATOR_COMMAND
from bot.operators.report import Health
from bot.operators.service import OperatorLinks, OperatorService
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory

LINKS = OperatorLinks(store_in_memory().operator_sessions, FakeClock(), lambda: "s" * 43, "https://operate.example.com")


async def answer(
    links: OperatorLinks | None, *, operates: bool, words: str = "", health: Health | None = None
) -> Panel:
    command = OPERATOR_COMMAND.bound(OperatorService(links, lambda _: operates, health))
    return await command.run(CommandCall(words=words, caller=FakeCaller()))


async def test_an_operator_gets_a_link() -> None:
    panel = await answer(LINKS, operates=True)
    assert f"(https://operate.example.com/enter/{'s' * 43})" in panel.text
    assert not panel.refused


async def test_others_get_no_link() -> None:
    panel = await answer(LINKS, operates=False)
    assert panel.refused
    assert "enter" not in panel.text


async def test_an_operator_learns_how_to_enable_a_page_that_is_off() -> None:
    panel = await answer(None, operates=True)
    assert panel.refused
    assert "COGENCY_OPERATOR_PAGE" in panel.text


async def test_the_report_is_for_operators_alone() -> None:
    store, clock = store_in_memory(), FakeClock()
    health = Health(store.ledger, store.replies, store.spending, clock, clock.now(), lambda: (), store.audit)
    shown = await answer(LINKS, operates=True, words="report", health=health)
    assert (shown.text, shown.refused) == (await health.text(), False)
    others = await answer(LINKS, operates=False, words="report", health=health)
    assert (others.text, others.refused) == (operator_texts.NO_OPERATOR, True)


async def test_a_bot_that_measures_nothing_has_no_report() -> None:
    panel = await answer(LINKS, operates=True, words="report")
    assert (panel.text, panel.refused) == (operator_texts.NO_OPERATOR_REPORT, True)


def test_the_word_alone_is_talk() -> None:
    assert not OPERATOR_COMMAND.bare
