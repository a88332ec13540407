"""Files of a terminal: read with `/file PATH QUESTION`, or written.

Rules. The terminal belongs to one user, so a file is read with their permissions, by the path that they typed. The path
is the attachment's name in the question, by which the file is found again: only the program writes that line of a
question, so that pasted text cannot name a file. Only regular files are opened: a pipe or a device could block it
permanently.
"""

import asyncio
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from agent.errors import Refused
from agent.incoming import Attachment
from agent.memory.attribution import FILES_NOTE
from agent.path_errors import unwritable_reason
from agent.stored_messages import AttachedMessage
from bot.chat.attachments.kinds import MAX_NAME_CHARS
from bot.chat.commands.declaration import AnyCommand, ArgumentKind
from bot.chat.reply.surface import OutFile
from bot.chat.texts import formatting
from bot.platforms import texts as platforms_texts

_NOT_OURS: Final = FILES_NOTE.replace("\n", "\n ")


def split_path(words: str) -> tuple[str, str]:
    """Return a path and the text after it. Pure.

    The path may be quoted, or have its blanks escaped with backslashes, as terminals paste a dropped file.
    """
    if words[:1] in {'"', "'"} and (end := words.find(words[0], 1)) > 0:
        return words[1:end], words[end + 1 :].strip()
    end = next(
        (index for index, char in enumerate(words) if char.isspace() and words[index - 1 : index] != "\\"), len(words)
    )
    return words[:end].replace("\\ ", " "), words[end:].strip()


def typed(text: str) -> str:
    """Return typed text without anything that could be read as the line that names a file. Pure."""
    return text.replace(FILES_NOTE, _NOT_OURS)


def attachment_at(path: str, author: str) -> Attachment:
    """Raises Refused if there is no readable regular file at the path."""
    try:
        resolved = Path(path).expanduser().resolve(strict=True)
        status = resolved.stat()
    except (OSError, RuntimeError, ValueError):
        raise Refused(platforms_texts.NO_SUCH_FILE.format(path=path)) from None
    if not stat.S_ISREG(status.st_mode) or not os.access(resolved, os.R_OK):
        raise Refused(platforms_texts.NO_SUCH_FILE.format(path=path))
    if len(name := _display_name(resolved)) > MAX_NAME_CHARS:
        name = resolved.name  # the file is read now, but cannot be found again
    return Attachment(name, "", status.st_size, str(resolved), author)


async def fetch(address: str, limit: int) -> bytes | None:
    """Return the first `limit` bytes of the file at a path; None if it cannot be read."""
    return await asyncio.to_thread(_bytes_at, address, limit)


async def files_now(message: AttachedMessage, person: str) -> tuple[Attachment, ...] | None:
    """The port `FilesNow`: the current state of the file that a question names."""
    if message.person != person:
        return None
    try:
        return (attachment_at(message.text.rpartition(FILES_NOTE)[2].removesuffix(")"), message.name),)
    except Refused:
        return ()


def _display_name(path: Path) -> str:
    try:
        return str(Path("~") / path.relative_to(Path.home().resolve()))
    except (RuntimeError, ValueError):
        return str(path)


def _bytes_at(path: str, limit: int) -> bytes | None:
    try:
        with open(path, "rb", opener=_non_blocking) as file:
            return file.read(limit) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


def _non_blocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write_file(name: str, content: str) -> str:
    """Write a new file that only the user can read; return the sentence that says so. Raises Refused on failure."""
    path = Path(name)
    try:
        path = path.expanduser()
        # The new file is written through its handle: in a shared folder, the name may point elsewhere a moment later.
        with open(path, "x", encoding="utf-8", opener=_owner_only) as file, _removed_if_incomplete(path, file.fileno()):
            file.write(content)
            file.flush()
    except FileExistsError:
        raise Refused(platforms_texts.FILE_EXISTS.format(name=name)) from None
    except (OSError, RuntimeError, ValueError) as error:
        reason = unwritable_reason(error, path) if isinstance(error, OSError) else str(error).rstrip(".")
        raise Refused(platforms_texts.FILE_UNWRITABLE.format(name=name, reason=reason)) from None
    return platforms_texts.FILE_WRITTEN.format(name=formatting.literal(name))


def write_files(files: Sequence[OutFile]) -> list[Path]:
    """Write the files of a reply into a new folder that only the user can read, for the system to clear up; return
    their paths. A folder of the user's own could hold a file that their programs run by its name. Raises OSError.
    """
    folder = Path(mkdtemp(prefix="cogency-files-"))
    paths = [folder / file.name for file in files]
    for path, file in zip(paths, files, strict=True):
        path.write_bytes(file.content)
    return paths


@contextmanager
def _removed_if_incomplete(path: Path, descriptor: int) -> Generator[None]:
    """Remove the file at an error, unless another one has its name by now."""
    try:
        yield
    except OSError:
        with suppress(OSError):
            if os.path.samestat(path.lstat(), os.fstat(descriptor)):
                path.unlink()
        raise


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def files_named(command: AnyCommand, words: str, author: str, now: datetime) -> tuple[Attachment, ...]:
    """Return the file whose path begins the words of a command that takes files. Words that mean something to the
    command, and web addresses, name none. Raises Refused if there is no such file.
    """
    path = split_path(words)[0]
    if not (path and any(argument.kind is ArgumentKind.FILE for argument in command.arguments)):
        return ()
    if not _is_file(path) and ("://" in words or command.means(words, now)):
        return ()
    file = attachment_at(path, author)
    return (replace(file, name=Path(file.name).name),)


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):
        return False
