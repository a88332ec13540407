"""Posts of forums as a help desk, as a feature of the chat bot."""

from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.forums.commands import SOLVED_COMMAND, UNANSWERED_COMMAND
from bot.forums.notes import SolvedNote
from bot.forums.service import REOPEN, ForumService


def feature(core: Core) -> Feature:
    service = ForumService(
        forums=core.platforms.forums,
        preferences=core.store.preferences,
        replies=core.store.replies,
        jobs=core.store.jobs,
        clock=core.clock,
        operates=core.operates,
    )
    return feature_of(service)


def feature_of(service: ForumService) -> Feature:
    return Feature(
        name="forums",
        commands=bound_commands(service),
        jobs=[{REOPEN: service.reopen}],
        notes=[SolvedNote(service)],
        messages=service,
    )


def bound_commands(service: ForumService) -> tuple[BoundCommand, ...]:
    return (SOLVED_COMMAND.bound(service), UNANSWERED_COMMAND.bound(service))
