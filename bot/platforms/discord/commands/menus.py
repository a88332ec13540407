"""The entries in the menu of every message: "Ask about this" and "Forget this".

Above: `desk` puts them into the tree and hands over what is sent. Below: `commands`, `files`, `forgetting`,
`interactions`, `markup`, `panels`, `place`, `reading`, `bot.host.Host`.

The message comes with the choice of the entry, but not with the window that is sent after it, and where its person
alone has installed the bot it cannot be read again. So it is remembered for a while; later, or after a restart, it is
fetched if the bot can read there, and else the asker is told to choose the entry once more.
"""

import logging
import re
from dataclasses import dataclass
from typing import Final

import discord

from agent.errors import CogencyError
from agent.records import Attachment, Quoted
from bot import wording
from bot.host import ForgetAnswer, Host
from bot.platforms.discord.commands import forgetting, panels
from bot.platforms.discord.commands.asking import Commands, Wish
from bot.platforms.discord.commands.forgetting import MESSAGE, REPLY
from bot.platforms.discord.commands.interactions import Interaction, Tree, everywhere, typed_text
from bot.platforms.discord.members.membership import UNREADABLE
from bot.platforms.discord.members.place import SOURCE, known_as
from bot.platforms.discord.reading import reading
from bot.platforms.discord.reading.files import attachments
from bot.platforms.discord.reading.markup import readable
from bot.platforms.discord.replies.address import pages_at

log = logging.getLogger(__name__)

ASK: Final = "Ask about this"
FORGET: Final = "Forget this"
MAX_QUESTION_CHARS: Final = 4_000
"""Discord's own limit of a window's field."""
MAX_REMEMBERED: Final = 500
"""As many windows as are open at once in front of the people of one bot."""

SOURCE_WORDS: Final = "the message that the question is about"
CHOOSE_AGAIN: Final = f"I no longer know which message you meant: please choose “{ASK}” once more."
NOT_YOUR_MESSAGE: Final = "You can have your own messages forgotten, and my replies to you."
WILL_FORGET: Final = (
    "I will forget this message: what you said, the answer to it, and what I know from it. It stays on Discord until "
    "you delete it there. This cannot be undone."
)
WILL_FORGET_REPLY: Final = "I will delete this reply, and forget what it said. This cannot be undone."

_ID: Final = re.compile(r"about:(\d{1,20}):(\d{1,20})", re.ASCII)


@dataclass(frozen=True, slots=True)
class About:
    """The window for a question about a message: who opened it, and the message's id."""

    person: int
    message: int

    @property
    def id(self) -> str:
        return f"about:{self.person}:{self.message}"


@dataclass(frozen=True, slots=True)
class Meant:
    """What the question will bring along."""

    quoted: tuple[Quoted, ...]
    files: tuple[Attachment, ...]


def sent(custom_id: str) -> About | None:
    """The inverse of `About.id`; None for another window."""
    found = _ID.fullmatch(custom_id)
    return About(int(found[1]), int(found[2])) if found is not None else None


class Menus:
    """`add_to` makes the entries known to a command tree; `ask` takes the question in."""

    def __init__(self, host: Host, commands: Commands) -> None:
        self._host = host
        self._commands = commands
        self._meant: dict[About, Meant] = {}

    def add_to(self, tree: Tree) -> None:
        @tree.context_menu(name=ASK)
        @everywhere
        async def ask_about(interaction: Interaction, message: discord.Message) -> None:  # pyright: ignore[reportUnusedFunction] -- the tree keeps it
            await self._open(interaction, message)

        @tree.context_menu(name=FORGET)
        @everywhere
        async def forget_this(interaction: Interaction, message: discord.Message) -> None:  # pyright: ignore[reportUnusedFunction] -- as above
            await self._forget(interaction, message)

    async def ask(self, interaction: Interaction, about: About) -> None:
        """The window was sent."""
        if interaction.user.id != about.person:
            await panels.refuse(interaction, wording.NOT_YOURS)
            return
        meant = self._meant.pop(about, None) or await _fetched(interaction, about.message)
        if meant is None:
            await panels.refuse(interaction, CHOOSE_AGAIN)
            return
        await self._commands.ask(interaction, Wish(typed_text(interaction), files=meant.files, quoted=meant.quoted))

    async def _open(self, interaction: Interaction, message: discord.Message) -> None:
        about = About(interaction.user.id, message.id)
        self._meant.pop(about, None)
        self._meant[about] = _meant(message)
        if len(self._meant) > MAX_REMEMBERED:
            del self._meant[next(iter(self._meant))]
        await interaction.response.send_modal(_window(about))

    async def _forget(self, interaction: Interaction, message: discord.Message) -> None:
        await interaction.response.defer(ephemeral=True)
        try:
            token, question = await self._forgettable(interaction, message)
        except CogencyError as error:
            token, question = "", wording.failure(error)
        await forgetting.show(interaction, ForgetAnswer(question, token))

    async def _forgettable(self, interaction: Interaction, message: discord.Message) -> tuple[str, str]:
        """What stands for it in the button, and what is asked; "" if it is not the caller's. Raises CogencyError."""
        if message.author.id == interaction.user.id:
            return f"{MESSAGE}|{reading.channel_of(interaction)}|{message.id}", WILL_FORGET
        for page in pages_at(message.channel.id, message.id):
            reply = await self._host.reply_at(SOURCE, page)
            if reply is not None and reply.person == known_as(interaction.user.id):
                return f"{REPLY}|{reply.turn}", WILL_FORGET_REPLY
        return "", NOT_YOUR_MESSAGE


def _meant(message: discord.Message) -> Meant:
    author = message.author.display_name
    said = readable(message.content, reading.names_of(message)).strip()
    forwarded = [one.content for one in message.message_snapshots]
    text = "\n".join(filter(None, [said, *forwarded]))
    quoted = (Quoted(SOURCE_WORDS, author, text),) if text else ()
    return Meant(quoted, tuple(attachments(message.attachments, author, "file of that message")))


async def _fetched(interaction: Interaction, message: int) -> Meant | None:
    channel = interaction.channel
    if not isinstance(channel, discord.abc.Messageable):
        return None
    try:
        return _meant(await channel.fetch_message(message))
    except UNREADABLE:
        return None


def _window(about: About) -> discord.ui.Modal:
    window = discord.ui.Modal(title=ASK, custom_id=about.id, timeout=panels.LIVES_S)
    window.add_item(
        discord.ui.TextInput[discord.ui.Modal](
            label="Your question", style=discord.TextStyle.paragraph, max_length=MAX_QUESTION_CHARS
        )
    )
    return window
