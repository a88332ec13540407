"""The operators' commands, while the bot runs or not: costs, budgets, the audit, the operators' page, plug-ins."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from agent.admission_terms import Whose
from agent.errors import SettingsError
from agent.machine import CLOCK, new_secret
from agent.ports.tool_audit import AuditedCall
from agent.spending import By, SpendingPeriod, Total
from bot.app.from_settings import operator_address
from bot.app.parts import budget_service, plugin_list
from bot.app.settings import Settings
from bot.budgets.service import BudgetRequest, read_budget_request
from bot.chat.audit import pages
from bot.chat.panels import Panel
from bot.chat.texts.formatting import counted
from bot.operators.service import LINK_LASTS, SESSION_IDLE, OperatorLinks
from bot.setup import texts as setup_texts
from bot.tools.plugins.plugins import load_plugin, load_plugins
from store.engine import open_audit, open_operator_sessions, open_spending, open_store


async def spent(settings: Settings, days: int, by: By) -> tuple[list[Total], SpendingPeriod]:
    """Return what was spent in the last `days` days, and the period. Works while the bot runs. Raises StoreError."""
    period = SpendingPeriod.days_until(CLOCK.now(), days)
    async with open_spending(settings.storage.url) as spending:
        return await spending.totals(period, by), period


AUDIT_DAYS: Final = 30  # As many as `cogency usage` shows


async def audited(settings: Settings, since: datetime | None) -> AsyncGenerator[Sequence[AuditedCall], None]:
    """Yield the audited tool calls since that time, in batches. Works while the bot runs. Raises StoreError."""
    start = since or CLOCK.now() - timedelta(days=AUDIT_DAYS)
    async with open_audit(settings.storage.url) as audit, aclosing(pages(audit, start)) as batches:
        async for calls in batches:
            yield calls


async def budget(settings: Settings, person: str, words: str) -> Panel:
    """Show or change a budget, as `bot.budgets.service` reads the words. Raises StoreError."""
    request = read_budget_request(words)
    if request is not None and not _names_its_place(request):
        return Panel(setup_texts.BUDGET_PLACE, refused=True)
    store = await open_store(settings.storage.url)
    try:
        return await budget_service(settings, store).answer(person, "terminal", words)
    finally:
        await store.close()


def _names_its_place(request: BudgetRequest) -> bool:
    """Whether it names a place that exists outside of a chat, where there is no current one."""
    match request.whose:
        case Whose.CHANNEL:
            return bool(request.id)
        case Whose.WORKSPACE:
            return ":" in request.id
        case Whose.PERSON | Whose.EVERYONE:
            return True


async def operator_link(settings: Settings) -> str:
    """Return a new link that signs an operator in to the operators' page. Raises SettingsError and StoreError."""
    if not (address := operator_address(settings)):
        raise SettingsError(setup_texts.OPERATOR_PAGE_OFF)
    async with open_operator_sessions(settings.storage.url) as sessions:
        link = await OperatorLinks(sessions, CLOCK, new_secret, address).new()
    message = setup_texts.OPERATOR_LINK.format(minutes=LINK_LASTS.seconds // 60, link=link)
    if settings.operators.address or settings.operators.page is None:
        return message
    return f"{message}\n{setup_texts.OPERATOR_LINK_REMOTE.format(port=settings.operators.page[1])}"


async def operator_sessions(settings: Settings) -> str:
    """Return the list of sessions on the operators' page. Raises StoreError."""
    now = CLOCK.now()
    async with open_operator_sessions(settings.storage.url) as sessions:
        rows = await sessions.listed(now, now - SESSION_IDLE)
    lines = [setup_texts.SESSION_LINE.format(opened=row.opened, seen=row.seen, expires=row.expires) for row in rows]
    return "\n".join(lines) or setup_texts.NO_SESSIONS


async def sign_operators_out(settings: Settings) -> str:
    """End all sessions on the operators' page. Raises StoreError."""
    async with open_operator_sessions(settings.storage.url) as sessions:
        ended = await sessions.end_all()
    return setup_texts.SIGNED_OUT_ALL.format(sessions=counted(ended, "session", "sessions"))


def add_plugin(settings: Settings, path: Path) -> tuple[bool, list[str]]:
    """Add a plug-in to the list; return whether it is in use now, and the messages. Raises SettingsError."""
    listing, new = plugin_list(settings), load_plugin(path.absolute())
    if not new.skills and not new.servers:
        return False, [*new.sentences, setup_texts.PLUGIN_UNUSABLE.format(root=new.root)]
    for plugin in load_plugins(listing.folders()):
        if plugin.root == new.root:
            return True, [setup_texts.PLUGIN_THERE.format(root=new.root, name=plugin.name)]
        if plugin.name == new.name:
            refusal = setup_texts.PLUGIN_NAME_TAKEN.format(root=new.root, name=new.name, first=plugin.root)
            return False, [refusal]
    listing.write([*listing.listed(), new.root])
    return True, [*new.sentences, setup_texts.PLUGIN_ADDED.format(summary=new.summary)]


def remove_plugin(settings: Settings, name: str) -> tuple[bool, str]:
    """Remove a plug-in from the list; return whether it was removed, and the message. Raises SettingsError."""
    listing = plugin_list(settings)
    folders = listing.listed()
    for plugin in load_plugins(listing.folders()):
        if plugin.name != name:
            continue
        remaining = [folder for folder in folders if load_plugin(folder).root != plugin.root]
        if len(remaining) == len(folders):
            return False, setup_texts.PLUGIN_FROM_SETTING.format(name=name, root=plugin.root)
        listing.write(remaining)
        return True, setup_texts.PLUGIN_REMOVED.format(name=name, root=plugin.root)
    return False, setup_texts.PLUGIN_UNKNOWN.format(name=name)
