"""One reply on Discord: `bot.chat.reply.surface.Surface` for every kind of address that a question comes with."""

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2s
from typing import Final, TypeAlias

from agent.incoming import Incoming
from agent.presentations import Presentation
from agent.schedules.definitions import ScheduleKind
from agent.turn_kinds import TurnKind
from bot.chat.reply import surface as reply_surface
from bot.chat.reply.question_marks import Mark, QuestionMark
from bot.chat.reply.split import pages
from bot.chat.reply.tables import show_tables
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import buttons
from bot.platforms.discord.buttons import Components
from bot.platforms.discord.connection import TYPING_EVERY_S, Connection, WriteTurns
from bot.platforms.discord.presentations import presented_components, question_ids
from bot.platforms.discord.reply_to import Address, decode_address, page_of_answer, place_of_page
from bot.platforms.discord.rest import NoThread, Rest, Token, TokenGone
from bot.platforms.discord.settings import DiscordSettings

log = logging.getLogger(__name__)

PAGE_CHARS = 2_000  # Discord's limit of a message's content

TYPING_AT_MOST_S = 300.0  # A turn that ends without a message does not stop the typing: no user waits longer

TABLE_WIDTH = 76  # Of a code block in a narrow window of the desktop client; a phone breaks its lines

NESTED_FENCE = re.compile("```")  # Three backticks within a block of code end it on Discord, wherever they are

NONCE_BYTES = 12  # In hexadecimal 24 of the 25 characters that Discord takes

_INTERACTION = "interaction"  # In place of the channel of a page that is reached by its interaction's token

MAX_THREAD_FAILURES = 2

FOLLOW_UPS = 5  # Discord's limit of follow-ups to an interaction where only its user has installed the bot


# Return the panels that show the asker what turn number `turn` waits for; none if it waits for nothing.
WaitingPanels: TypeAlias = Callable[[int], Awaitable[Sequence[Components]]]


class DiscordSurface:
    """Where the pages of a reply go.

    - An interaction is answered in its own response; further pages follow it. When its token has expired, a private
      reply continues in the DM and a public one in the channel. A page of a private reply is then locked.
    - Where only the user has installed the bot, an interaction takes five follow-ups to its response, and the bot
      cannot write there otherwise: further pages go to the DM. If the DM is closed, the last of the five says so.
    - A mention in a channel is answered in the thread of its message, which is started when the bot begins to type;
      where no thread can be started, in the channel, as a reply to the message.
    - Everything else is answered where it was asked.

    `inbound` describes the forms of page ids.
    """

    def __init__(
        self,
        connection: Connection,
        incoming: Incoming,
        waiting: WaitingPanels | None = None,
        offers: frozenset[reply_surface.ReplyAction] = buttons.OFFERS,
        chosen: DiscordSettings | None = None,
    ) -> None:
        """`offers`: the buttons that its pages may have. `chosen`: the operator's settings; None for the usual ones."""
        self._mark = _question_mark(connection, chosen or DiscordSettings(), incoming)
        self._waiting = waiting
        self._connection = connection
        self._asked = incoming
        self._address = decode_address(incoming.reply_to)
        if incoming.kind in {TurnKind.NOTICE, TurnKind.HANDOFF}:
            self._address = replace(self._address, scheduled=ScheduleKind.REMINDER)
        self._token = Token(self._address.application, self._address.token)
        self._token_ended = False  # Discord has rejected the token, whatever our clock says
        self._invalid_components: Components | None = None  # The buttons that Discord refused last
        self._presents_text = False  # Discord refused the components of what the answer presents
        self._refused = False  # Nothing may be shown where the question was asked
        self._place: tuple[str, str] | None = None
        self._thread_failures = 0
        self._typing: object | None = None
        self._responded = False  # The response to the interaction has a text
        # A mention that precedes the text of each page.
        self._mention = "".join(f"<@{id_}> " for id_ in self._address.mentions.split(",") if id_)
        reminds = self._address.scheduled == ScheduleKind.REMINDER
        works = self._address.scheduled == ScheduleKind.WORK
        self._limits = reply_surface.Limits(
            PAGE_CHARS - len(self._mention),
            # The first edit comes soon; then the rate of the channel limits edits. No user watches long work.
            edit_interval_s=reply_surface.WORK_EDIT_S if works else 0.25,
            announce_final=False,
            offers=reply_surface.OF_REMINDERS if reminds else offers,
            notes=True,
            step_lines=reply_surface.WORK_STEPS if works else 0,
            reader=reply_surface.MarkdownReader.LOOSE,
            table_width=TABLE_WIDTH,
            inexact_code=NESTED_FENCE,
            # Where only the asker installed the bot, it may send few messages. A mention stands in a text.
            presents=not (self._address.by_person or reminds or self._mention),
        )
        self._gates: dict[str, WriteTurns] = {}
        # The actions shown below each page, as far as known.
        self._offers_shown: dict[str, frozenset[reply_surface.ReplyAction]] = {}

    @property
    def limits(self) -> reply_surface.Limits:
        return self._limits

    async def find(self, key: reply_surface.PageKey) -> reply_surface.PageRef | None:
        """Return a page posted before a crash, among the follow-ups to an interaction's response.

        Follow-ups take no nonce. Any other page is found by posting it again with its nonce, and the response itself
        always exists. Ephemeral messages cannot be listed.
        """
        if self._address.scheduled:
            return await self._find_scheduled(key)
        address, index = self._address, key.number - (0 if self._address.follows else 1)
        if not address.interaction or address.private or address.by_person or index < 0:
            return None
        rest = await self._connection.rest()
        try:
            message_ids = await rest.following(address.channel, address.interaction)
        except (reply_surface.PageGone, reply_surface.PageLocked, reply_surface.PageRefused):  # we may not look
            return None
        return reply_surface.PageRef(page_of_answer(address, message_ids[index])) if index < len(message_ids) else None

    async def _find_scheduled(self, key: reply_surface.PageKey) -> reply_surface.PageRef | None:
        """Find the first page by its buttons, however long ago it was posted; later pages are found by their nonces."""
        if key.number:
            return None
        button_ids = buttons.ids(self._limits.offers, self._asked.conversation, key.turn)
        rest = await self._connection.rest()
        try:
            channel, _ = await self._channel(rest)
            found = await rest.with_buttons(channel, self._address.after, button_ids)
        except (reply_surface.PageGone, reply_surface.PageLocked):  # we may not look
            return None
        return reply_surface.PageRef(f"{channel}/{found}") if found else None

    async def post(self, key: reply_surface.PageKey, look: reply_surface.PageContent) -> reply_surface.PageRef:
        rest = await self._connection.rest()
        text, components = self._text(look), self._accepted(self._row(look, key.turn))
        with self._refusals():
            try:
                page = await self._post(rest, key, text, components)
            except reply_surface.PageInvalid:
                if not components:
                    raise
                self._invalid_components = components
                page = await self._post(rest, key, text, buttons.NONE)
        self._typing = None
        self._connection.mark_signed(self._asked.message_id)
        self._offers_shown[page] = look.offers
        return reply_surface.PageRef(page)

    async def edit(self, page: reply_surface.PageRef, look: reply_surface.PageContent) -> None:
        rest = await self._connection.rest()
        components = None if self._offers_shown.get(page.id) == look.offers else self._accepted(self._row(look))
        with self._refusals():
            try:
                await self._edit(rest, page, self._text(look), components)
            except TokenGone:
                if self._token_ended or self._address.private:
                    raise
                self._token_ended = True
                await self._edit(rest, page, self._text(look), components)
            except reply_surface.PageInvalid:
                if not components:
                    raise
                self._invalid_components = components
                await self._edit(rest, page, self._text(look), buttons.NONE)
        self._offers_shown[page.id] = look.offers

    def _accepted(self, components: Components) -> Components:
        """Return the components, or none if Discord refused these. Where it did, the request without them often has to
        wait its turn, and the same page comes again: with the components it would be refused again and again.
        """
        return buttons.NONE if components == self._invalid_components else components

    @contextmanager
    def _refusals(self) -> Generator[None]:
        """Say where a reply can go that is refused here for good."""
        try:
            yield
        except reply_surface.PageRefused as refused:
            self._refused = True
            refused.elsewhere = None if self._address.direct else self._open_dm
            raise

    async def _open_dm(self) -> reply_surface.Surface:
        """Return the surface of this reply in its asker's direct messages."""
        rest = await self._connection.rest()
        channel = await rest.open_dm(self._address.person)
        direct = Address(channel, self._address.person, direct=True)
        asked, offers = replace(self._asked, reply_to=direct.encode()), buttons.OFFERS & reply_surface.ELSEWHERE_OFFERS
        return DiscordSurface(self._connection, asked, self._waiting, offers)

    async def _edit(self, rest: Rest, page: reply_surface.PageRef, text: str, components: Components | None) -> None:
        channel, message = self._reach(page)
        async with self._turn(self._address.interaction if channel == _INTERACTION else channel):
            if channel == _INTERACTION:
                await rest.edit_answer(self._token, message, text, components)
            else:
                await rest.edit(channel, message, text, components)

    async def delete(self, page: reply_surface.PageRef) -> None:
        rest = await self._connection.rest()
        channel, message = self._reach(page)
        if channel == _INTERACTION:
            await rest.delete_answer(self._token, message)
        else:
            await rest.delete(channel, message)

    async def attach(
        self, key: reply_surface.PageKey, files: Sequence[reply_surface.OutFile], *, again: bool
    ) -> tuple[reply_surface.PageRef, ...]:
        rest = await self._connection.rest()
        if self._token_lives():
            with suppress(TokenGone):
                private = self._address.private
                existing = "" if private or not again else await self._handed_over(rest, self._address.channel, files)
                message = existing or await rest.follow_up_with(self._token, files, private=private)
                return (reply_surface.PageRef(page_of_answer(self._address, message)),)
        channel, _ = await self._channel(rest)
        existing = await self._handed_over(rest, channel, files) if again else ""
        message = existing or await rest.hand_over(channel, files, self._nonce(key))
        return (reply_surface.PageRef(f"{channel}/{message}"),)

    async def present(
        self, key: reply_surface.PageKey, presentation: Presentation, text: str, *, again: bool
    ) -> tuple[reply_surface.PageRef, ...]:
        rest = await self._connection.rest()
        components = presented_components(presentation, key.turn, TABLE_WIDTH)
        if components is not None and not self._presents_text:
            try:
                found = question_ids(presentation, key.turn) if again else frozenset[str]()
                return (reply_surface.PageRef(await self._post_components(rest, key, components, found)),)
            except reply_surface.PageInvalid as refused:
                log.info("turn %d: what the answer presents is shown as text: %s", key.turn, refused)
                self._presents_text = True  # the text may have to wait its turn, and is then asked for again
        shown = show_tables(text, TABLE_WIDTH, complete=True)
        posted = list[reply_surface.PageRef]()
        for number, page in enumerate(pages(shown, PAGE_CHARS)):
            page_key = replace(key, number=key.number - number)
            try:
                posted.append(reply_surface.PageRef(await self._post(rest, page_key, page.text, buttons.NONE)))
            except reply_surface.PageFound as found_page:
                posted.append(found_page.page)
        return tuple(posted)

    async def _post_components(
        self, rest: Rest, key: reply_surface.PageKey, components: Components, ids: frozenset[str]
    ) -> str:
        """Post a message of components, and return its page. `ids`: of its buttons, if it may have been posted."""
        address = self._address
        if address.interaction:
            await self._connection.until_acknowledged(address.interaction)
        if self._token_lives():
            with suppress(TokenGone):
                before = ""
                if ids and not address.private:
                    before = await rest.with_buttons(address.channel, address.interaction, ids)
                async with self._turn(f"post {address.interaction}"):
                    message = before or await rest.follow_up_panel(self._token, components, private=address.private)
                return page_of_answer(address, message)
        channel, _ = await self._channel(rest)
        async with self._turn(f"post {channel}"):
            return f"{channel}/{await rest.send_panel(channel, components, self._nonce(key))}"

    async def _handed_over(self, rest: Rest, channel: str, files: Sequence[reply_surface.OutFile]) -> str:
        """Return the message after the question that holds these files; "" if none, or if it cannot be read."""
        asked = self._asked.message_id
        with suppress(reply_surface.SurfaceError):
            found = await rest.with_files(channel, files)
            return next((message for message in found if not asked.isdecimal() or int(message) > int(asked)), "")
        return ""

    async def send_ephemeral(self, text: str) -> None:
        """Show a text to the asker only: as a follow-up to an interaction while its token lives; else, if no answer may
        be shown where the question was asked, in a DM.
        """
        rest = await self._connection.rest()
        if self._token_lives():
            await rest.follow_up(self._token, text, private=True)
        elif self._refused and not self._address.direct:
            nonce = blake2s(f"{self._asked.message_id} aside".encode(), digest_size=NONCE_BYTES).hexdigest()
            await rest.send(await rest.open_dm(self._address.person), text, nonce)

    async def show_waiting(self, turn: int) -> None:
        """Show the asker what the turn waits for.

        Only possible after a command or a press, while its token lives: a reply to a message is visible to all. Where
        few follow-ups are allowed, they are left to the answer.
        """
        if self._waiting is None or not self._token_lives() or self._address.by_person:
            return
        rest = await self._connection.rest()
        for panel in await self._waiting(turn):
            await rest.follow_up_panel(self._token, panel)

    async def status(self, text: str) -> None:
        """Show that the bot is typing. Discord itself shows that a deferred interaction is being answered."""
        if not text:
            self._typing = None
        elif self._typing is None and not (self._address.token or self._address.scheduled):
            rest = await self._connection.rest()
            channel, _ = await self._channel(rest)
            self._connection.mark_signed(self._asked.message_id)
            self._typing = typing = object()
            self._connection.lasting.start(self._type(rest, channel, typing))

    def begin(self, *, resumed: bool) -> None:  # noqa: ARG002 -- a mark of an earlier process is taken over
        """It types once there is a status."""
        if self._mark is not None:
            self._mark.begin()

    def finish(self, end: reply_surface.ReplyEnd) -> None:
        self._typing = None  # A process that continues types by itself
        is_unshown = end in {reply_surface.ReplyEnd.TAKEN_BACK, reply_surface.ReplyEnd.SILENT} and not self._responded
        if is_unshown and self._address.interaction and not self._address.follows and self._token_lives():
            self._connection.lasting.start(self._delete_response())
        if self._mark is not None:
            self._mark.finish(end)

    async def _delete_response(self) -> None:
        """Delete a response without text, at which Discord would say for fifteen minutes that the bot is thinking."""
        with suppress(reply_surface.SurfaceError):
            rest = await self._connection.rest()
            await self._connection.until_acknowledged(self._address.interaction)
            await rest.delete_response(self._token)

    def _text(self, look: reply_surface.PageContent) -> str:
        """Return the page's text, followed by its note in small letters if there is room."""
        text = f"{self._mention}{look.text}"
        note = "\n".join(f"-# {line}" for line in look.note.splitlines())
        with_note = f"{text}\n{note}".lstrip() if note else text
        return with_note if len(with_note) <= PAGE_CHARS else text

    def _row(self, look: reply_surface.PageContent, turn: int = 0) -> Components:
        """Return the page's buttons. A page of a schedule always has one, by which `_find_scheduled` finds it."""
        always = reply_surface.REMINDER_OFFERS if self._address.scheduled else frozenset[reply_surface.ReplyAction]()
        return buttons.row(look.offers | always, self._asked.conversation, look.turn or turn)

    async def _post(self, rest: Rest, key: reply_surface.PageKey, text: str, components: Components) -> str:
        if self._address.interaction:
            await self._connection.until_acknowledged(self._address.interaction)
        if self._token_lives() and not self._is_spent(key):
            with suppress(TokenGone):
                return page_of_answer(self._address, await self._answer(rest, key, text, components))
        try:
            channel, reply_to = await self._channel(rest)
            reply_to = "" if key.number else reply_to
            async with self._turn(f"post {channel}"):
                nonce, mentions = self._nonce(key), self._address.mentions
                message, is_current = await rest.send(channel, text, nonce, reply_to, components, mentions)
        except reply_surface.PageGone:
            if self._is_spent(key):
                with suppress(reply_surface.SurfaceError):
                    await rest.follow_up(self._token, platforms_texts.TOO_LONG_HERE, private=self._address.private)
            raise
        page = f"{channel}/{message}"
        if not is_current:
            raise reply_surface.PageFound(reply_surface.PageRef(page))
        return page

    def _is_spent(self, key: reply_surface.PageKey) -> bool:
        """Return whether only the last of the allowed follow-ups is left, which is kept for TOO_LONG_HERE."""
        following = key.number + (1 if self._address.follows else 0)
        return self._address.by_person and following >= FOLLOW_UPS

    async def _answer(self, rest: Rest, key: reply_surface.PageKey, text: str, components: Components) -> str:
        place = self._address.interaction
        if key.number == 0 and not self._address.follows:
            self._responded = True
            async with self._turn(place):
                return await rest.answer(self._token, text, components)
        async with self._turn(f"post {place}"):
            return await rest.follow_up(self._token, text, components, private=self._address.private)

    async def _channel(self, rest: Rest) -> tuple[str, str]:
        """Return the channel for messages, and the id of the message that the first one replies to, or ""."""
        if self._place is None:
            self._place = await self._find_channel(rest)
        return self._place

    async def _find_channel(self, rest: Rest) -> tuple[str, str]:
        address = self._address
        if address.private or address.by_person:
            return await rest.open_dm(address.person), ""
        if address.thread:
            with suppress(NoThread):
                return await self._start_thread(rest), ""
        return address.channel, address.message

    async def _start_thread(self, rest: Rest) -> str:
        """Return the thread's id.

        Raises NoThread also where Discord has failed twice. A thread that it started nevertheless stays empty.
        """
        address = self._address
        try:
            return await rest.start_thread(address.channel, address.message, address.thread)
        except reply_surface.PageUnsent as unsent:
            self._thread_failures += 1
            if self._thread_failures == MAX_THREAD_FAILURES:
                raise NoThread("no thread can be started here now") from unsent
            raise

    def _reach(self, page: reply_surface.PageRef) -> tuple[str, str]:
        """Return the channel and the message of a page; `_INTERACTION` as the channel while the token reaches it."""
        channel, message, by_token = place_of_page(page.id)
        if not by_token:
            return channel, message
        if self._token_lives():
            return _INTERACTION, message
        if self._address.private or self._address.by_person:
            raise TokenGone("this can be edited for fifteen minutes only")
        return self._address.channel, message

    def _nonce(self, key: reply_surface.PageKey) -> str:
        return blake2s(f"{self._asked.message_id} {key}".encode(), digest_size=NONCE_BYTES).hexdigest()

    def _token_lives(self) -> bool:
        return not self._token_ended and self._address.token_lives(self._connection.clock.now())

    @asynccontextmanager
    async def _turn(self, place: str) -> AsyncGenerator[None, None]:
        """Write at the rate of a place. Discord counts edits in a channel, edits of an interaction, and posts apart.

        Raises PageQueued, so that the caller comes back with newer text.
        """
        gate = self._gates.setdefault(place, self._connection.gate(place))
        clock, who = self._connection.clock, self._asked.event_id
        if (wait := gate.wait(who, clock.monotonic())) > 0:
            raise reply_surface.PageQueued(wait)
        try:
            yield
        finally:
            gate.returned(clock.monotonic())

    async def _type(self, rest: Rest, channel: str, typing: object) -> None:
        """Type until `self._typing` changes. Never cancelled: discord.py would miscount the request."""
        for _ in range(int(TYPING_AT_MOST_S / TYPING_EVERY_S)):
            if self._typing is not typing:
                return
            try:
                if self._connection.claim_typing(channel, TYPING_EVERY_S):
                    await rest.type(channel)
            except reply_surface.SurfaceError:
                return  # typing is optional: posting the first page reports a real problem
            await self._connection.clock.sleep(TYPING_EVERY_S)


# The reactions that mark a question.
_REACTIONS: Final[Mapping[Mark, str]] = {Mark.WORKING: "👀", Mark.DONE: "✅", Mark.FAILED: "⚠️"}


def _question_mark(connection: Connection, settings: DiscordSettings, question: Incoming) -> QuestionMark | None:
    """Return the mark of a question; None without marks, and where it is no message, as after a command, or nobody
    asked.
    """
    address = decode_address(question.reply_to)
    if not settings.marks or not question.kind.is_asked or address.token or not question.message_id.isdecimal():
        return None
    return QuestionMark(
        partial(_apply_mark, connection, address.channel, question.message_id), connection.underway.start
    )


async def _apply_mark(connection: Connection, channel: str, message: str, mark: Mark, is_shown: bool) -> None:  # noqa: FBT001 -- as `QuestionMark.apply` has it
    with suppress(reply_surface.SurfaceError):  # best effort
        rest = await connection.rest()
        await (rest.react if is_shown else rest.unreact)(channel, message, _REACTIONS[mark])
