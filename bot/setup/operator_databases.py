"""`cogency migrate`, `backup`, `restore`, `copy` and `forget-again`, for a bot that runs or is stopped."""

from pathlib import Path

from agent.machine import CLOCK
from bot.app.settings import Settings
from bot.chat.texts.formatting import counted
from bot.setup import texts as setup_texts
from store.backup import ReportProgress, backup, copy, go_back, look_into, restore
from store.database_state import look_at
from store.engine import open_store
from store.forget_again import forget_logged
from store.migrations import HEAD


async def back_up(settings: Settings, file: Path, tell: ReportProgress, *, replace: bool) -> str:
    """Write a backup; return the message about it. Raises StoreError."""
    holding = await backup(settings.storage.url, file, CLOCK.now(), replace=replace, tell=tell)
    return setup_texts.BACKED_UP.format(file=file, held=holding, version=holding.version)


async def restore_backup(settings: Settings, file: Path, tell: ReportProgress, *, replace: bool) -> list[str]:
    """Restore a backup; return the messages about it. Raises StoreError."""
    holding = look_into(file)
    restored = await restore(file, settings.storage.url, CLOCK.now(), replace=replace, tell=tell)
    written = "an unknown time" if holding.made is None else f"{holding.made:%Y-%m-%d %H:%M} UTC"
    messages = [setup_texts.HOLDS.format(file=file, held=holding, made=written)]
    if restored.again:
        messages.append(setup_texts.FORGOTTEN_AGAIN.format(messages=counted(restored.again, "message", "messages")))
    elif not restored.knows:
        is_logged = (path := settings.storage.log_path) is not None and path.exists()
        messages.append(setup_texts.FORGOTTEN_IN_LOG if is_logged else setup_texts.FORGOTTEN_UNKNOWN)
    where = (await look_at(settings.storage.url)).where
    return [*messages, setup_texts.RESTORED.format(where=where)]


async def forget_logged_again(settings: Settings, log: Path) -> str:
    """Erase again what this forgetting log lists; return the message about it. Raises StoreError."""
    store = await open_store(settings.storage.url)
    try:
        again = await forget_logged(store, log, CLOCK.now())
    finally:
        await store.close()
    return setup_texts.FORGOTTEN_AGAIN_BY_LOG.format(
        messages=counted(again, "message", "messages"), where=store.database.where
    )


async def copy_database(
    settings: Settings, source: str | None, target: str, tell: ReportProgress, *, replace: bool
) -> str:
    """Copy one database into another; return the message about it. Raises StoreError."""
    holding = await copy(source or settings.storage.url, target, CLOCK.now(), replace=replace, tell=tell)
    return setup_texts.COPIED.format(where=(await look_at(target)).where, held=holding)


async def migrate(settings: Settings) -> str:
    """Migrate the database to the newest version; return the message about it. Raises StoreError."""
    store = await open_store(settings.storage.url)
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


async def migrate_back(
    settings: Settings, version: str, file: Path | None, tell: ReportProgress, *, lose: bool
) -> tuple[bool, list[str]]:
    """Migrate the database to an earlier version; return whether it has that version now, and the messages. Raises
    StoreError.
    """
    now = CLOCK.now()
    saved_to = file or Path(f"cogency-{HEAD}-{now:%Y%m%d-%H%M%S}.backup")
    back = await go_back(settings.storage.url, version, saved_to, now, lose=lose, tell=tell)
    lost = "\n".join(f"{count:>9,}  {what}" for what, count in back.lost.items())
    if back.to == HEAD:
        return True, [setup_texts.BACK_IS_THERE.format(where=back.where, version=HEAD)]
    if back.saved is None:
        return False, [setup_texts.BACK_LOSES.format(where=back.where, to=back.to, lost=lost), setup_texts.BACK_REFUSED]
    messages = [setup_texts.BACKED_UP.format(file=saved_to, held=back.saved, version=back.saved.version)]
    messages += [setup_texts.BACK_LOST.format(lost=lost)] if lost else []
    return True, [*messages, setup_texts.BACK_DONE.format(where=back.where, before=HEAD, to=back.to)]
