"""`cogency feedback` in a terminal."""

import sys
from collections.abc import Mapping
from contextlib import aclosing
from datetime import datetime

from bot.app.settings import Settings
from bot.chat.exit_codes import Exit
from bot.chat.output import write_out
from bot.setup.arguments import Do, Subcommand


async def _export(settings: Settings, *, since: datetime | None, as_json: bool) -> Exit:
    from bot.feedback.export import csv_head, csv_text, json_lines  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.feedback import shared  # noqa: PLC0415 -- a settings error is reported before it loads

    if not as_json:
        write_out(sys.stdout, csv_head())
    async with aclosing(shared(settings, since)) as pages:
        async for items in pages:
            write_out(sys.stdout, json_lines(items) if as_json else csv_text(items))
    return Exit.OK


async def _counts(settings: Settings, *, since: datetime | None, as_json: bool) -> Exit:
    from bot.feedback.export import counts_json, counts_text  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.feedback import counted  # noqa: PLC0415 -- a settings error is reported before it loads

    counts = await counted(settings, since)
    write_out(sys.stdout, counts_json(counts) if as_json else counts_text(counts))
    return Exit.OK


COMMANDS: Mapping[Subcommand, Do] = {
    Subcommand.FEEDBACK_EXPORT: _export,
    Subcommand.FEEDBACK_COUNTS: _counts,
}
