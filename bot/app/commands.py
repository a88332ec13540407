"""The commands of a running bot: those that features bring, and the others, bound to their services."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.channels import commands as channel
from bot.channels import texts as channels_texts
from bot.channels.service import PlaceService
from bot.chat.commands import talking
from bot.chat.commands.declaration import BoundCommands, by_name
from bot.chat.feature import Feature
from bot.chat.ports import ModelChoices, RunningTurns
from bot.forgetting.answers import ForgetQuestions
from bot.forgetting.commands import FORGET_COMMAND
from bot.knowledge.commands import KNOWLEDGE_COMMAND, LEARN_COMMAND
from bot.knowledge.service import KnowledgeService
from bot.memory import commands as memory
from bot.memory.policies import PolicyService
from bot.memory.policy_commands import POLICY_COMMAND
from bot.memory.service import MemoryService
from bot.models.commands import MODEL_COMMAND
from bot.operators.commands import OPERATOR_COMMAND
from bot.operators.service import OperatorService
from bot.tools import commands as tools
from bot.tools.commands import ToolsService


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandServices:
    """What the other commands need. `places`: None where there are no channels."""

    memories: MemoryService
    policies: PolicyService
    forgetting: ForgetQuestions
    places: PlaceService | None
    knowledge: KnowledgeService
    models: ModelChoices
    operators: OperatorService
    tools: ToolsService
    turns: RunningTurns

    def commands(self, features: Iterable[Feature]) -> BoundCommands:
        places = self.places
        return by_name(
            (
                *(command for feature in features for command in feature.commands),
                talking.ASK_COMMAND.bound(self.models),
                talking.HELP_COMMAND.bound(None),
                MODEL_COMMAND.bound(self.models),
                talking.NEW_COMMAND.bound(None),
                talking.STOP_COMMAND.bound(self.turns),
                OPERATOR_COMMAND.bound(self.operators),
                channel.COMMAND.refusing(channels_texts.NO_CHANNEL_HERE)
                if places is None
                else channel.COMMAND.bound(places),
                POLICY_COMMAND.bound(self.policies),
                KNOWLEDGE_COMMAND.bound(self.knowledge),
                LEARN_COMMAND.bound(self.knowledge),
                memory.COMMAND.bound(self.memories),
                FORGET_COMMAND.bound(self.forgetting),
                tools.COMMAND.bound(self.tools),
            )
        )
