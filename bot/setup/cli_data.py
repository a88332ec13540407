"""`cogency user`, `place`, `confirm` and `learn`: finding, exporting, erasing and learning data."""

import signal
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.machine import CLOCK
from agent.messages import Json
from bot.app.settings import Settings
from bot.chat.exit_codes import Exit
from bot.chat.output import complain, printable_json, printable_line, write_out
from bot.operators.settings import OperatorAct
from bot.setup import texts as setup_texts
from bot.setup.arguments import Do, Subcommand
from bot.setup.local_user import account_name
from bot.setup.progress import progress

if TYPE_CHECKING:
    from bot.app.subject_requests import Order


async def _find(settings: Settings, *, kind: str, words: str, as_json: bool) -> Exit:
    from bot.app.subject_requests import NO_NAMES, Kind, find_similar, found_line, place_names  # noqa: PLC0415 -- a settings error is reported before it loads

    names, unread = await place_names(settings) if Kind(kind) is Kind.PLACE else (NO_NAMES, None)
    for sentence in unread or ():
        complain(f"cogency {kind}: {sentence}")
    people = await find_similar(settings, Kind(kind), words, names)
    if as_json:
        rows: list[Json] = [
            {"id": who.id, "name": who.name, "messages": who.messages, "last": who.last and who.last.isoformat()}
            for who in people
        ]
        write_out(sys.stdout, f"{printable_json(rows, indent=2)}\n")
    elif not people:
        complain(f"cogency {kind}: {setup_texts.NOBODY_FOUND if words else setup_texts.NOBODY_KNOWN[kind]}")
    else:
        write_out(sys.stdout, "".join(f"{found_line(who)}\n" for who in people))
    return Exit.OK if people else Exit.FAILED


async def _learn(
    settings: Settings, *, paths: list[str], place: str, remove_missing: bool, operator: str | None
) -> Exit:
    from bot.app.folder_learning import open_learning  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.app.subject_requests import Operator, place_named, place_names  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.knowledge.folder_learning import FileEnd  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.knowledge.folders import find_files  # noqa: PLC0415 -- a settings error is reported before it loads

    lines = {
        FileEnd.LEARNED: setup_texts.FILE_LEARNED,
        FileEnd.UPDATED: setup_texts.FILE_UPDATED,
        FileEnd.REFUSED: setup_texts.FILE_REFUSED,
        FileEnd.REMOVED: setup_texts.FILE_REMOVED,
    }
    found = find_files(paths)
    if ":" not in place:
        names, unread = await place_names(settings)
        for sentence in unread:
            complain(f"cogency learn: {sentence}")
        place = await place_named(settings, place, names)
    left_out = ", ".join(f"{count:,} {why}" for why, count in found.left_out.items())
    if left_out:
        complain(setup_texts.FILES_LEFT_OUT.format(counts=left_out))
    if not (found.files or found.unread):
        complain(f"cogency learn: {setup_texts.NO_FILES}")
        return Exit.ARGUMENTS
    ends = Counter[FileEnd]()
    async with open_learning(
        settings,
        place,
        found,
        Operator(operator or account_name(), account_name()),
        CLOCK,
        remove_missing=remove_missing,
    ) as run:
        with progress() as tell:
            tell(setup_texts.LEARNING_FILES, 0, len(found.files))
            async for outcome in run.outcomes:
                ends[outcome.end] += 1
                if outcome.end in lines:
                    complain(printable_line(lines[outcome.end].format(name=outcome.name, detail=outcome.detail)))
                tell(setup_texts.LEARNING_FILES, min(ends.total(), len(found.files)), len(found.files))
    counts = ", ".join(f"{ends[end]:,} {end.name.lower()}" for end in FileEnd if ends[end])
    write_out(sys.stdout, f"{setup_texts.FILES_DONE.format(of=place, counts=counts, readers=run.readers)}\n")
    if remove_missing and found.unread:
        complain(f"cogency learn: {setup_texts.NOTHING_REMOVED}")
    return Exit.FAILED if ends[FileEnd.REFUSED] else Exit.OK


async def _export(
    settings: Settings, *, kind: str, of: str, file: str | None, force: bool, operator: str | None
) -> Exit:
    from bot.app.subject_requests import Kind, Order  # noqa: PLC0415 -- a settings error is reported before it loads

    return await _export_data(settings, Order(OperatorAct.EXPORT, Kind(kind), of), operator, file, force=force)


async def _export_data(
    settings: Settings, order: "Order", operator: str | None, file: str | None, *, force: bool
) -> Exit:
    from bot.app.subject_requests import Operator, ask, file_name, needs_another, open_export, private_file  # noqa: PLC0415 -- a settings error is reported before it loads

    requester = Operator(operator or account_name(), account_name())
    if needs_another(settings, order):
        return _report_request(await ask(settings, order, requester, CLOCK))
    path = file_name(order, CLOCK) if file is None else Path(file)
    with nullcontext(partial(write_out, sys.stdout)) if file == "-" else private_file(path, force=force) as write:
        async with open_export(settings, order, requester, CLOCK) as (agreed, pieces):
            async for piece in pieces:
                write(piece)
    if file != "-":
        write_out(sys.stdout, f"{setup_texts.EXPORTED_TO.format(file=path, of=order.of, number=agreed.number)}\n")
    return Exit.OK


async def _erase(
    settings: Settings,
    *,
    kind: str,
    of: str,
    yes: bool,
    replies: bool,
    related: bool,
    operator: str | None,
) -> Exit:
    from bot.app.subject_requests import Kind, Order  # noqa: PLC0415 -- a settings error is reported before it loads

    order = Order(OperatorAct.ERASE, Kind(kind), of, replies, related)
    return await _erase_data(settings, order, operator, yes=yes)


async def _erase_data(settings: Settings, order: "Order", operator: str | None, *, yes: bool) -> Exit:
    from bot.app.subject_requests import Operator, ask, erase, erased_text, look, needs_another, preview_text  # noqa: PLC0415 -- a settings error is reported before it loads

    requester = Operator(operator or account_name(), account_name())
    write_out(sys.stdout, f"{preview_text(await look(settings, order.kind, order.of))}\n")
    if not (yes or _is_confirmed(order.of)):
        return Exit.ARGUMENTS
    if needs_another(settings, order):
        return _report_request(await ask(settings, order, requester, CLOCK))
    erased = await erase(settings, order, requester, CLOCK)
    write_out(sys.stdout, f"{erased_text(erased)}\n")
    return Exit.OK if not erased.receipt.found_again else Exit.FAILED


def _is_confirmed(of: str) -> bool:
    """Whether the user types the id of what is to be erased."""
    if not sys.stdin.isatty():
        complain(f"cogency: {setup_texts.SAY_YES}")
        return False
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio would wait for the answer
    try:
        is_confirmed = input(setup_texts.TYPE_ID.format(of=of)).strip() == of
    except EOFError:
        is_confirmed = False
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if not is_confirmed:
        complain(f"cogency: {setup_texts.NOT_TYPED.format(of=of)}")
    return is_confirmed


def _report_request(order: "Order") -> Exit:
    write_out(sys.stdout, f"{setup_texts.ASKED_NOW.format(kind=order.kind, number=order.number)}\n")
    return Exit.OK


async def _confirm(
    settings: Settings, *, kind: str, number: int, file: str | None, force: bool, yes: bool, operator: str | None
) -> Exit:
    from bot.app.subject_requests import Kind, Operator, open_request  # noqa: PLC0415 -- a settings error is reported before it loads

    confirming = Operator(operator or account_name(), account_name())
    order = await open_request(settings, Kind(kind), number, confirming, CLOCK)
    if order.act is OperatorAct.EXPORT:
        return await _export_data(settings, order, operator, file, force=force)
    return await _erase_data(settings, order, operator, yes=yes)


COMMANDS: Mapping[Subcommand, Do] = {
    Subcommand.LEARN: _learn,
    Subcommand.FIND: _find,
    Subcommand.EXPORT: _export,
    Subcommand.ERASE: _erase,
    Subcommand.CONFIRM: _confirm,
}
