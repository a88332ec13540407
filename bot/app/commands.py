"""The commands of a running bot: each one that `bot.commands` declares, bound to its service."""

from dataclasses import dataclass

from bot.access.budgets import BudgetDesk
from bot.commands import budget, channel, memory, remind, talking, tools
from bot.commands.declaration import BoundCommands, by_name
from bot.commands.tools import ToolsService
from bot.health import OperatorDesk
from bot.host import ForgetQuestions, ModelChoices, RunningTurns
from bot.memory.desk import MemoryDesk
from bot.memory.knowledge_desk import KnowledgeDesk
from bot.memory.place_desk import PlaceDesk
from bot.memory.policies import PolicyDesk
from bot.schedule_desk import ScheduleDesk
from bot.texts import memory_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandServices:
    """What the commands need. `places`: None where there are no channels."""

    memories: MemoryDesk
    policies: PolicyDesk
    forgetting: ForgetQuestions
    schedules: ScheduleDesk
    places: PlaceDesk | None
    knowledge: KnowledgeDesk
    models: ModelChoices
    budgets: BudgetDesk
    operators: OperatorDesk
    tools: ToolsService
    turns: RunningTurns

    def commands(self) -> BoundCommands:
        places = self.places
        return by_name(
            (
                talking.ASK_COMMAND.bound(self.models),
                talking.HELP_COMMAND.bound(None),
                talking.MODEL_COMMAND.bound(self.models),
                talking.NEW_COMMAND.bound(None),
                talking.STOP_COMMAND.bound(self.turns),
                talking.USAGE_COMMAND.bound(self.budgets),
                budget.COMMAND.bound(self.budgets),
                budget.OPERATOR_COMMAND.bound(self.operators),
                channel.COMMAND.refusing(memory_texts.NO_CHANNEL_HERE)
                if places is None
                else channel.COMMAND.bound(places),
                channel.POLICY_COMMAND.bound(self.policies),
                channel.KNOWLEDGE_COMMAND.bound(self.knowledge),
                channel.LEARN_COMMAND.bound(self.knowledge),
                memory.COMMAND.bound(self.memories),
                memory.FORGET_COMMAND.bound(self.forgetting),
                remind.COMMAND.bound(self.schedules),
                remind.REMIND_COMMAND.bound(self.schedules),
                tools.COMMAND.bound(self.tools),
            )
        )
