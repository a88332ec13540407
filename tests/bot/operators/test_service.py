"""`/operator`: a link for operators, and a refusal for others."""

from bot.chat.commands.declaration import CommandCall
from bot.chat.panels import Panel
from bot.operators.commands import OPERATOR_COMMAND
from bot.operators.service import OperatorLinks, OperatorService
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory

LINKS = OperatorLinks(store_in_memory().operator_sessions, FakeClock(), lambda: "s" * 43, "https://operate.example.com")


async def answer(links: OperatorLinks | None, *, operates: bool) -> Panel:
    command = OPERATOR_COMMAND.bound(OperatorService(links, lambda _: operates))
    return await command.run(CommandCall(words="", caller=FakeCaller()))


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


def test_the_word_alone_is_talk() -> None:
    assert not OPERATOR_COMMAND.bare
