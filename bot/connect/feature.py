"""Connected accounts, as a feature of the chat bot."""

from collections.abc import Callable

from agent.ports.clock import Clock
from agent.ports.tool_audit import ToolAudit
from bot.chat.access.readers import Readers
from bot.chat.audit import own_change
from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.connect import texts as connect_texts
from bot.connect.commands import COMMAND
from bot.connect.service import ConnectService, Record
from bot.connect.settings import ConnectSettings


def feature(core: Core, settings: ConnectSettings, new_secret: Callable[[], str]) -> Feature:
    readers, admission = core.readers, core.admission
    if readers is None or admission is None:
        return Feature(name="connect", commands=[COMMAND.refusing(connect_texts.NOT_HERE)])
    service = ConnectService(
        core.store.preferences,
        core.clock,
        new_secret,
        core.platforms.schedules,
        admission.refusal,
        audited(core.store.audit, core.clock),
        settings.enabled,
    )
    return Feature(name="connect", commands=bound_commands(service, readers))


def audited(audit: ToolAudit, clock: Clock) -> Record:
    """Return what writes to this audit."""

    async def record(person: str, what: str) -> None:
        await audit.add(own_change(clock.now(), what, person))

    return record


def bound_commands(service: ConnectService, readers: Readers) -> tuple[BoundCommand, ...]:
    """From then on, `readers` read connected accounts, too."""
    readers.accounts = service.usable
    return (COMMAND.bound(service),)
