"""Schedules and long work, as a feature of the chat bot."""

from agent.tools.schedule import BackgroundTool, SchedulesTool, ScheduleTool
from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.reply.surface import ReplyAction
from bot.schedules.commands import COMMAND, REMIND_COMMAND
from bot.schedules.reports import ScheduleReporter, choices
from bot.schedules.scheduler import schedule_kinds
from bot.schedules.service import LapseNote, ScheduleNote, ScheduleService
from bot.schedules.work import LongWork


def feature(core: Core, *, offers_work: bool) -> Feature:
    """`offers_work`: whether a model may begin long work, which goes on beside the conversation."""
    schedules, timeout_s = core.store.schedules, core.tool_timeout_s
    service = ScheduleService(schedules, core.store.preferences, core.clock, core.operates)
    work = LongWork(schedules, core.platforms.schedules, core.clock)
    return Feature(
        name="schedules",
        commands=bound_commands(service),
        tools=[
            ScheduleTool(schedules, service.forbidden_in, timeout_s, choices()),
            SchedulesTool(schedules, timeout_s),
            *([BackgroundTool(schedules, timeout_s)] if offers_work else []),
        ],
        kinds=schedule_kinds(ScheduleReporter(schedules), work),
        notes=[ScheduleNote(service), LapseNote(service)],
        presses={
            ReplyAction.CANCEL: service.take_back,
            ReplyAction.KEEP: service.keep,
            ReplyAction.END: service.end,
        },
    )


def bound_commands(service: ScheduleService) -> tuple[BoundCommand, ...]:
    return (COMMAND.bound(service), REMIND_COMMAND.bound(service))
