"""All commands by name, as they are declared: the manifest, Discord's registration, `/help` and the documents need no
running bot. `bot.app.commands` binds them to their services.
"""

from typing import Final

from bot.api.commands import COMMAND as TOKENS_COMMAND
from bot.budgets.commands import COMMAND as BUDGET_COMMAND
from bot.budgets.commands import USAGE_COMMAND
from bot.channels.commands import COMMAND as CHANNEL_COMMAND
from bot.chat.commands.declaration import AnyCommand
from bot.chat.commands.talking import ASK_COMMAND, HELP_COMMAND, NEW_COMMAND, STOP_COMMAND
from bot.chat.commands.whoami import WHOAMI_COMMAND
from bot.chat.panels import PanelForm
from bot.connect.commands import COMMAND as CONNECT_COMMAND
from bot.explanations.commands import COMMAND as WHY_COMMAND
from bot.feedback.commands import COMMAND as FEEDBACK_COMMAND
from bot.forgetting.commands import FORGET_COMMAND
from bot.forums.commands import SOLVED_COMMAND, UNANSWERED_COMMAND
from bot.handoff.commands import COMMAND as HUMAN_COMMAND
from bot.knowledge.commands import KNOWLEDGE_COMMAND, LEARN_COMMAND
from bot.memory.commands import COMMAND as MEMORY_COMMAND
from bot.memory.policy_commands import POLICY_COMMAND
from bot.models.commands import MODEL_COMMAND
from bot.models.key_commands import KEYS_COMMAND
from bot.operators.commands import OPERATOR_COMMAND
from bot.python.commands import COMMAND as CODE_COMMAND
from bot.schedules.commands import COMMAND as SCHEDULES_COMMAND
from bot.schedules.commands import REMIND_COMMAND
from bot.tools.commands import COMMAND as TOOLS_COMMAND

COMMANDS: Final[tuple[AnyCommand, ...]] = (
    ASK_COMMAND,
    BUDGET_COMMAND,
    CHANNEL_COMMAND,
    CODE_COMMAND,
    CONNECT_COMMAND,
    FEEDBACK_COMMAND,
    FORGET_COMMAND,
    HELP_COMMAND,
    HUMAN_COMMAND,
    KEYS_COMMAND,
    KNOWLEDGE_COMMAND,
    LEARN_COMMAND,
    MEMORY_COMMAND,
    MODEL_COMMAND,
    NEW_COMMAND,
    OPERATOR_COMMAND,
    POLICY_COMMAND,
    REMIND_COMMAND,
    SCHEDULES_COMMAND,
    SOLVED_COMMAND,
    STOP_COMMAND,
    TOKENS_COMMAND,
    TOOLS_COMMAND,
    UNANSWERED_COMMAND,
    USAGE_COMMAND,
    WHOAMI_COMMAND,
    WHY_COMMAND,
)

# Those of platforms without forums.
WITHOUT_FORUMS: Final[tuple[AnyCommand, ...]] = tuple(command for command in COMMANDS if not command.forums)

# The commands with a section on the page that shows a person what concerns them, in the order of the page.
HOME: Final[tuple[AnyCommand, ...]] = (
    MEMORY_COMMAND,
    FORGET_COMMAND,
    SCHEDULES_COMMAND,
    USAGE_COMMAND,
    BUDGET_COMMAND,
    MODEL_COMMAND,
    POLICY_COMMAND,
    OPERATOR_COMMAND,
)


def form_named(name: str) -> tuple[AnyCommand, PanelForm] | None:
    """Return a form, with the command whose words it makes."""
    return next(((command, form) for command in COMMANDS for form in command.forms if form.name == name), None)
