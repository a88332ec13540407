"""What answers turns with a model, and without all that a test does not set with `dataclasses.replace`."""

from agent.ports.clock import Clock
from agent.ports.model import Provider
from agent.ports.tools import Tool
from agent.toolbox.registry import Toolbox
from bot.chat.turns.runner import TurnRunner
from bot.chat.turns.tool_use import ToolUse
from store.engine import Store
from tests.fakes.fixed_config import WORDED, always, with_persona


def runner_on(store: Store, model: Provider, clock: Clock, *tools: Tool) -> TurnRunner:
    return TurnRunner(
        ledger=store.ledger,
        knowledge=store.knowledge,
        clock=clock,
        provider=always(model),
        persona=with_persona(),
        tools=ToolUse(Toolbox(tools)),
        context=WORDED,
    )
