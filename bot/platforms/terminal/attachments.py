"""Files that are named at a terminal: `/file PATH QUESTION`, for a path that its person may read, and what is saved.

Rules. The terminal belongs to one person, so a file is read as them, by the path that they typed. Its path stands in
the question as its name, which is where it is found again: only the program writes that line of a question, so that
nothing that is pasted can name a file. Only plain files are opened: a pipe or a device could hold the bot for ever.
"""

import asyncio
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Final

from agent.errors import Refused
from agent.memory.own_words import FILES_NOTE
from agent.records import AttachedMessage, Attachment
from bot.attachments.kinds import MAX_NAME_CHARS
from bot.commands.channel import is_order, links_in
from bot.texts import command_texts, formatting, reply_texts

_NOT_OURS: Final = FILES_NOTE.replace("\n", "\n ")


def split_path(words: str) -> tuple[str, str]:
    """A path, and what follows it: quoted, or with its blanks behind backslashes, as terminals paste what is dropped on
    them. Pure.
    """
    if words[:1] in {'"', "'"} and (end := words.find(words[0], 1)) > 0:
        return words[1:end], words[end + 1 :].strip()
    end = next((at for at, sign in enumerate(words) if sign.isspace() and words[at - 1 : at] != "\\"), len(words))
    return words[:end].replace("\\ ", " "), words[end:].strip()


def typed(text: str) -> str:
    """What somebody typed, without anything that could stand for the line in which a file is named. Pure."""
    return text.replace(FILES_NOTE, _NOT_OURS)


def attachment_at(path: str, author: str) -> Attachment:
    """Raises Refused for what is no file that can be read."""
    try:
        whole = Path(path).expanduser().resolve(strict=True)
        about = whole.stat()
    except (OSError, RuntimeError, ValueError):
        raise Refused(command_texts.NO_SUCH_FILE.format(path=path)) from None
    if not stat.S_ISREG(about.st_mode) or not os.access(whole, os.R_OK):
        raise Refused(command_texts.NO_SUCH_FILE.format(path=path))
    if len(name := _shown(whole)) > MAX_NAME_CHARS:
        name = whole.name  # it is read now, and not found again
    return Attachment(name, "", about.st_size, str(whole), author)


async def fetch(address: str, limit: int) -> bytes | None:
    """The first `limit` bytes of the file at a path; None if it cannot be read."""
    return await asyncio.to_thread(_bytes_at, address, limit)


async def files_now(message: AttachedMessage, person: str) -> tuple[Attachment, ...] | None:
    """The port `FilesNow`: the file that a question names, as it is now."""
    if message.person != person:
        return None
    try:
        return (attachment_at(message.text.rpartition(FILES_NOTE)[2].removesuffix(")"), message.name),)
    except Refused:
        return ()


def _shown(path: Path) -> str:
    try:
        return str(Path("~") / path.relative_to(Path.home().resolve()))
    except (RuntimeError, ValueError):
        return str(path)


def _bytes_at(path: str, limit: int) -> bytes | None:
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            return file.read(limit) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def saved(name: str, content: str) -> str:
    """Write a new file for its person alone; the sentence that says so. Raises Refused if that cannot be."""
    try:
        # What was made is what is written: in a folder of others the name may lead elsewhere a moment later.
        with open(Path(name).expanduser(), "x", encoding="utf-8", opener=_for_its_owner) as file:
            file.write(content)
    except FileExistsError:
        raise Refused(reply_texts.FILE_EXISTS.format(name=name)) from None
    except (OSError, RuntimeError, ValueError):
        raise Refused(reply_texts.FILE_UNWRITABLE.format(name=name)) from None
    return reply_texts.FILE_WRITTEN.format(name=formatting.literal(name))


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def learned_files(words: str, author: str) -> tuple[Attachment, ...]:
    """The file whose path stands behind `/learn`; "learn this" names none. Raises Refused."""
    path = split_path(words)[0]
    if not path or links_in(words) or (is_order(words) and not Path(path).is_file()):
        return ()
    file = attachment_at(path, author)
    return (replace(file, name=Path(file.name).name),)
