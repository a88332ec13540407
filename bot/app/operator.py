"""What an operator asks of the bot while it runs or stands: costs, budgets, migrations, a check of the model."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from agent.errors import SettingsError, StoreLocked
from agent.messages import ModelCall
from agent.ports import AuditedCall, Provider
from agent.spending import By, SpendingPeriod, Total
from agent.tools.registry import Registry
from bot.access.acl import CommandAnswer
from bot.app.parts import CLOCK, budget_desk, core_tools, open_models, plugin_list
from bot.audit import pages
from bot.settings import Settings
from bot.texts import setup_texts
from bot.tools.plugins import load_plugin, load_plugins
from store.engine import open_audit, open_spending, open_store


async def spent(settings: Settings, days: int, by: By) -> tuple[list[Total], SpendingPeriod]:
    """What was spent in the last `days` days, also while the bot runs. Raises StoreError."""
    period = SpendingPeriod.days_until(CLOCK.now(), days)
    async with open_spending(settings.database_url) as spending:
        return await spending.totals(period, by), period


AUDIT_DAYS: Final = 30
"""As many as `cogency usage` shows."""


async def audited(settings: Settings, since: datetime | None) -> AsyncGenerator[Sequence[AuditedCall], None]:
    """The tools' calls from that time on, some at a time, also while the bot runs. Raises StoreError."""
    begin = since or CLOCK.now() - timedelta(days=AUDIT_DAYS)
    async with open_audit(settings.database_url) as audit, aclosing(pages(audit, begin)) as found:
        async for calls in found:
            yield calls


async def budget(settings: Settings, person: str, words: str) -> CommandAnswer:
    """See or change a budget, as `bot.access.budgets` reads the words. Raises StoreError."""
    store = await open_store(settings.database_url)
    try:
        return await budget_desk(settings, store).answer(person, "terminal", words)
    finally:
        await store.close()


def add_plugin(settings: Settings, path: Path) -> tuple[bool, list[str]]:
    """List a plug-in: whether it is used from now on, and what is said. Raises SettingsError."""
    listing, new = plugin_list(settings), load_plugin(path.absolute())
    if not new.skills and not new.servers:
        return False, [*new.sentences, setup_texts.PLUGIN_UNUSABLE.format(root=new.root)]
    for plugin in load_plugins(listing.folders()):
        if plugin.root == new.root:
            return True, [setup_texts.PLUGIN_THERE.format(root=new.root, name=plugin.name)]
        if plugin.name == new.name:
            taken = setup_texts.PLUGIN_NAME_TAKEN.format(root=new.root, name=new.name, first=plugin.root)
            return False, [taken]
    listing.write([*listing.listed(), new.root])
    return True, [*new.sentences, setup_texts.PLUGIN_ADDED.format(summary=new.summary)]


def remove_plugin(settings: Settings, name: str) -> tuple[bool, str]:
    """Take a plug-in off the list: whether it is, and what is said. Raises SettingsError."""
    listing = plugin_list(settings)
    folders = listing.listed()
    for plugin in load_plugins(listing.folders()):
        if plugin.name != name:
            continue
        left = [folder for folder in folders if load_plugin(folder).root != plugin.root]
        if len(left) == len(folders):
            return False, setup_texts.PLUGIN_FROM_SETTING.format(name=name, root=plugin.root)
        listing.write(left)
        return True, setup_texts.PLUGIN_REMOVED.format(name=name, root=plugin.root)
    return False, setup_texts.PLUGIN_UNKNOWN.format(name=name)


async def migrate(settings: Settings) -> str:
    """Bring the database to the newest version; the sentence that says so. Raises StoreError."""
    store = await open_store(settings.database_url)
    await store.close()
    match store.version_before:
        case None:
            return setup_texts.DATABASE_CREATED.format(where=store.database.where, version=store.version)
        case store.version:
            return setup_texts.DATABASE_NEWEST.format(where=store.database.where, version=store.version)
        case before:
            return setup_texts.DATABASE_MIGRATED.format(
                where=store.database.where, before=before, version=store.version
            )


async def charge(settings: Settings, person: str, kind: str, calls: Sequence[ModelCall]) -> None:
    """Keep what an operator's own calls took, also while the bot runs. Raises StoreError."""
    if not calls:
        return
    try:
        store = await open_store(settings.database_url)  # a new one is made
    except StoreLocked:
        pass
    else:
        await store.close()
    async with open_spending(settings.database_url) as spending:
        await spending.charge(person, kind, calls, CLOCK.now())


@asynccontextmanager
async def open_checking(settings: Settings) -> AsyncGenerator[tuple[Provider, Registry, str], None]:
    """A model, the tools that it is asked about, and the line that says why it is this one. Nothing is stored.

    Raises SettingsError where none is configured: rehearsal follows rules, so there is nothing to find out.
    """
    store = await open_store("sqlite://")
    try:
        async with open_models(settings) as models:
            if models.is_rehearsal:
                raise SettingsError(setup_texts.NO_MODEL_TO_CHECK)
            yield models.provider, Registry(core_tools(settings, store)), models.sentence
    finally:
        await store.close()
