"""Which files of a run go to people, and which of them the model sees. Pure.

Rules
  `bot.chat.attachments.handed_over` says which files go to people. The reason for each file that stays is a line for
  the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.messages import MAX_FILES, Image, SharedFile
from bot.chat.attachments.handed_over import MAX_BYTES, SEEN_TYPES, TOO_LARGE, checked_file
from bot.chat.attachments.kinds import shown_note
from bot.chat.attachments.picture_headers import picture_size
from bot.python.conversation_files import file_names
from bot.python.engine import RunFile

SEEN_PIXELS: Final = 6_000_000  # Of one for the model: vendors scale larger ones down
SEEN_BYTES: Final = 2_000_000
MAX_SEEN: Final = 2  # Each takes about 1,500 tokens in each later round

TOO_MANY: Final = f"only {MAX_FILES} files go with an answer"


@dataclass(frozen=True, slots=True)
class ResultFiles:
    """`files`: for people; `seen`: pictures among them, for the model; `left_out`: a line for each other file."""

    files: tuple[SharedFile, ...] = ()
    seen: tuple[Image, ...] = ()
    left_out: tuple[str, ...] = ()


def result_files(written: Sequence[RunFile]) -> ResultFiles:
    files, seen, left_out, bytes_left = list[SharedFile](), list[Image](), list[str](), MAX_BYTES
    for file, name in zip(written, file_names([file.name for file in written]), strict=True):
        found = checked_file(name, file.data)
        if isinstance(found, SharedFile) and len(files) == MAX_FILES:
            found = TOO_MANY
        if isinstance(found, SharedFile) and len(found.data) > bytes_left:
            found = TOO_LARGE
        if isinstance(found, str):
            left_out.append(f"{shown_note(file.name)}: {found}")
            continue
        files.append(found)
        bytes_left -= len(found.data)
        if found.media_type in SEEN_TYPES and len(seen) < MAX_SEEN and len(found.data) <= SEEN_BYTES:
            size = picture_size(found.data)
            if size is not None and 0 < size[0] * size[1] <= SEEN_PIXELS:
                seen.append(Image(found.media_type, found.data))
    return ResultFiles(tuple(files), tuple(seen), tuple(left_out))
