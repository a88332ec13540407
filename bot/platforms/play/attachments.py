"""The files that people attach on the page of `cogency play`: they stand in its messages, and go with them."""

from dataclasses import dataclass

from agent.incoming import Attachment
from agent.stored_messages import AttachedMessage
from bot.platforms.play.surface import MessageLog, PlayMessage
from bot.platforms.play.workspace import PEOPLE, known_as


def attached(message: PlayMessage) -> tuple[Attachment, ...]:
    """Return the files of a person's message. An address is the message's id and the file's number."""
    author = PEOPLE[message.author].name
    sizes = [len(message.file(number) or b"") for number in range(len(message.files))]
    return tuple(
        Attachment(name, "", size, f"{message.id} {number}", author)
        for number, ((name, *_), size) in enumerate(zip(message.files, sizes, strict=True))
    )


@dataclass(frozen=True, slots=True)
class PlayFiles:
    log: MessageLog

    async def fetch(self, address: str, limit: int) -> bytes | None:
        """The port `Fetch`."""
        message, _, number = address.partition(" ")
        found = self.log.of(message)
        content = None if found is None else found.file(int(number))
        return None if content is None else content[:limit]

    async def files_now(self, message: AttachedMessage, person: str) -> tuple[Attachment, ...] | None:
        """The port `FilesNow`."""
        found = self.log.of(message.message_id)
        if found is None or found.author not in PEOPLE:
            return ()
        return attached(found) if found.is_seen_by(person.removeprefix(known_as(""))) else None
