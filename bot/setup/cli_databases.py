"""`cogency migrate`, `backup`, `restore`, `copy` and `forget-again`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from bot.app.settings import Settings
from bot.chat.exit_codes import Exit
from bot.chat.logs import LogLevel, log_to
from bot.chat.output import complain, write_out
from bot.setup import texts as setup_texts
from bot.setup.arguments import Do, Subcommand
from bot.setup.progress import progress


async def _migrate(settings: Settings, *, back: str | None, file: Path | None, yes: bool) -> Exit:
    from bot.setup.operator_databases import migrate, migrate_back  # noqa: PLC0415 -- a settings error is reported before it loads

    log_to(sys.stderr, settings.chat.log_level or LogLevel.INFO, settings.secrets(), settings.chat.log_form)
    if back is None and (file or yes):
        complain(f"cogency migrate: {setup_texts.BACK_ALONE}")
        return Exit.ARGUMENTS
    if back is None:
        write_out(sys.stdout, f"{await migrate(settings)}\n")
        return Exit.OK
    with progress() as tell:
        is_done, sentences = await migrate_back(settings, back, file, tell, lose=yes)
    write_out(sys.stdout, "".join(f"{sentence}\n" for sentence in sentences))
    return Exit.OK if is_done else Exit.FAILED


async def _backup(settings: Settings, *, file: Path, replace: bool) -> Exit:
    from bot.setup.operator_databases import back_up  # noqa: PLC0415 -- a settings error is reported before it loads

    with progress() as tell:
        text = await back_up(settings, file, tell, replace=replace)
    write_out(sys.stdout, f"{text}\n")
    return Exit.OK


async def _restore(settings: Settings, *, file: Path, replace: bool) -> Exit:
    from bot.setup.operator_databases import restore_backup  # noqa: PLC0415 -- a settings error is reported before it loads

    with progress() as tell:
        sentences = await restore_backup(settings, file, tell, replace=replace)
    write_out(sys.stdout, "".join(f"{sentence}\n" for sentence in sentences))
    return Exit.OK


async def _copy(settings: Settings, *, source: str | None, target: str, replace: bool) -> Exit:
    from bot.setup.operator_databases import copy_database  # noqa: PLC0415 -- a settings error is reported before it loads

    with progress() as tell:
        text = await copy_database(settings, source, target, tell, replace=replace)
    write_out(sys.stdout, f"{text}\n")
    return Exit.OK


async def _forget_again(settings: Settings, *, file: Path | None) -> Exit:
    from bot.setup.operator_databases import forget_logged_again  # noqa: PLC0415 -- a settings error is reported before it loads

    if (path := file or settings.storage.log_path) is None:
        complain(f"cogency forget-again: {setup_texts.NO_FORGETTING_LOG}")
        return Exit.ARGUMENTS
    write_out(sys.stdout, f"{await forget_logged_again(settings, path)}\n")
    return Exit.OK


COMMANDS: Mapping[Subcommand, Do] = {
    Subcommand.MIGRATE: _migrate,
    Subcommand.BACKUP: _backup,
    Subcommand.RESTORE: _restore,
    Subcommand.COPY: _copy,
    Subcommand.FORGET_AGAIN: _forget_again,
}
