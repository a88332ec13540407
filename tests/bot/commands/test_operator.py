"""`/operator`: a link for operators, and a refusal for others."""

from bot.commands.budget import OPERATOR_COMMAND, open_page
from bot.commands.declaration import CommandCall
from bot.health import OperatorLinks
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.host import FakeHost
from tests.fakes.store import store_in_memory

LINKS = OperatorLinks(store_in_memory().operator_sessions, FakeClock(), lambda: "s" * 43, "https://operate.example.com")


async def test_an_operator_gets_a_link() -> None:
    caller, host = FakeCaller(), FakeHost(operator_links=LINKS)
    host.operators.add(caller.person.id)
    panel = await open_page(CommandCall(words="", caller=caller, host=host))
    assert f"(https://operate.example.com/enter/{'s' * 43})" in panel.text
    assert not panel.refused


async def test_others_get_no_link() -> None:
    panel = await open_page(CommandCall(words="", caller=FakeCaller(), host=FakeHost(operator_links=LINKS)))
    assert panel.refused
    assert "enter" not in panel.text


async def test_an_operator_learns_how_to_enable_a_page_that_is_off() -> None:
    caller, host = FakeCaller(), FakeHost()
    host.operators.add(caller.person.id)
    panel = await open_page(CommandCall(words="", caller=caller, host=host))
    assert panel.refused
    assert "COGENCY_OPERATOR_PAGE" in panel.text


def test_the_word_alone_is_talk() -> None:
    assert not OPERATOR_COMMAND.bare
