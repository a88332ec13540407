"""Turns that notify and learn as the product's do: with the line below the first reply, and with pauses."""

import asyncio
from dataclasses import dataclass, field, replace

from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.providers.scripted import ScriptedProvider
from bot.chat.feature import Feature
from bot.chat.foreground import ForegroundPriority
from bot.chat.learning_model import LearningModel
from bot.chat.turns.turn_features import TurnFeatures
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.memory.learning import Learner
from bot.memory.notices import FirstNotice
from bot.memory.pauses import LearningPauses, LearningSchedule
from store.databases.database import LocalNotifier
from store.engine import Store
from tests.fakes.runners import runner_on
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S


@dataclass
class ToldTurns:
    """One process. `shown`: the final content of each reply, by its conversation."""

    store: Store
    clock: Clock
    owner: str = "process"
    surfaces: dict[str, FakeSurface] = field(default_factory=dict[str, FakeSurface])

    def __post_init__(self) -> None:
        store = self.store
        model = self.model = ScriptedProvider(lambda _: "Yes.")
        learner = Learner(
            store.profiles,
            store.facts,
            store.jobs,
            store.spending,
            lambda: LearningModel(model),
            self.clock,
            ForegroundPriority(),
        )
        self.pauses = LearningPauses(store.preferences, store.profiles, self.clock)
        runner = replace(
            runner_on(store, model, self.clock),
            learning=LearningSchedule(learner, self.pauses),
            features=TurnFeatures([Feature(name="memory", notes=[FirstNotice(store.preferences, lambda: True)])]),
        )
        limits = TurnWorkerLimits(sweep_s=0.01)
        self.turns = TurnWorker(store.ledger, runner, self._surface, LocalNotifier(), self.clock, self.owner, limits)

    @property
    def shown(self) -> dict[str, str]:
        return {where: "\n".join(surface.wall.values()) for where, surface in self.surfaces.items()}

    async def ask(self, *questions: Incoming) -> None:
        """Ask all of them at the same time."""
        now = self.clock.now()
        async with asyncio.timeout(PATIENCE_S), self.turns.serving():
            await asyncio.gather(*(self.turns.ask(replace(one, time=now)) for one in questions))

    def _surface(self, incoming: Incoming) -> FakeSurface:
        return self.surfaces.setdefault(incoming.conversation, FakeSurface(self.clock))
