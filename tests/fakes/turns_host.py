"""A host that answers: the real one, with real turns, on a store and a model in memory.

Above: flows of the platform adapters. Below: `bot.hosting`, `tests.fakes.store`, `agent.providers.scripted`.
"""

from itertools import count

from agent.authority import Authority
from agent.context import ContextBudget, Persona
from agent.ports import Clock
from agent.providers.scripted import ScriptedProvider
from agent.tools.recall import RecallTool
from agent.tools.registry import Registry
from agent.tools.remember import RememberTool
from agent.turn import TurnLimits
from bot.access.allowances import Allowances
from bot.access.budgets import Budgets
from bot.access.gate import Gate, GateRules
from bot.access.lists import AccessRules
from bot.hosting import BotHost
from bot.memory.withheld import Withheld
from bot.turns.thinking import Mind, Thinking
from bot.turns.worker import Turns, TurnsLimits
from store.databases.bell import LocalBell
from tests.fakes.forget_desk import forget_desk
from tests.fakes.minds import always
from tests.fakes.store import FakeStore

_owners = count(1)


def turns_host(store: FakeStore, model: ScriptedProvider, clock: Clock) -> BotHost:
    """A process of its own, on a store that may be shared or taken over. Answer with `host.turns.serving()`."""
    open_to_all = AccessRules(open_to=frozenset(Authority))
    gate = Gate(GateRules(open_to_all), Allowances(Budgets(), store.spending, store.preferences, clock), clock)
    host = BotHost(store, store, store.facts, store, store.spending, clock, gate)
    host.profiles = store.profiles
    mind = Mind(
        provider=always(model),
        persona=lambda _: Persona("You are a bot.", "Answer in English.", ""),
        tools=Registry([RecallTool(store), RememberTool(store.facts)]),
        turn_limits=TurnLimits(),
        budget=ContextBudget(),
        groups_of=host.readers.groups_of,
        aside=Withheld(store, host.readers, clock).aside,
    )
    thinking = Thinking(mind, store, store, clock)
    limits = TurnsLimits(sweep_s=0.01)
    host.turns = Turns(store, thinking, host.surface_for, LocalBell(), clock, f"process {next(_owners)}", limits)
    host.forget_desk = forget_desk(host, store.jobs)
    return host
