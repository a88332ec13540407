"""One reply in a channel, a thread or a DM of Slack: `bot.chat.reply.surface.Surface`."""

import logging
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias, assert_never

from agent.errors import CogencyError
from agent.incoming import Incoming
from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from agent.presentations import Presentation
from agent.schedules.definitions import ScheduleKind
from agent.shown_replies import EPHEMERAL_PAGE, ShownPage
from agent.turn_kinds import TurnKind
from bot.chat.host import Host
from bot.chat.reply.question_marks import Mark, QuestionMark
from bot.chat.reply.split import pages
from bot.chat.reply.surface import (
    ELSEWHERE_OFFERS,
    OF_REMINDERS,
    WAITING_OFFERS,
    WORK_EDIT_S,
    WORK_STEPS,
    Limits,
    MarkdownReader,
    OutFile,
    PageContent,
    PageKey,
    PageQueued,
    PageRef,
    PageRefused,
    ReplyAction,
    ReplyEnd,
    Surface,
    SurfaceError,
)
from bot.chat.waiting import WaitingPanel, waiting_panel
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import api, attachments, inbound, message_pages
from bot.platforms.slack.agent_view import AgentSession, AgentSessions, BestEffortCalls, SessionStatus
from bot.platforms.slack.api import MethodRates, SlackApi, SlackError, SlackRefused
from bot.platforms.slack.charts import MAX_CHARTS, chart_block
from bot.platforms.slack.ephemeral import Ephemeral
from bot.platforms.slack.feature_support import FeatureSupport
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.markup import CHANGED_IN_CODE, SlackMessageLink, notice
from bot.platforms.slack.options import Method
from bot.platforms.slack.panels import WINDOW_FIELDS, ShownTo, panel_blocks
from bot.platforms.slack.presentations import presented_blocks
from bot.platforms.slack.reply_buttons import button_rows
from bot.platforms.slack.reply_to import ReplyTo, decode_reply_to
from bot.platforms.slack.retraction import RETRACTIONS, without
from bot.platforms.slack.settings import SlackSettings, Streaming
from bot.platforms.slack.slash_commands import named
from bot.platforms.slack.streams import Stream, StreamEnded, StreamPlace, StreamRefused, Streams
from bot.platforms.slack.surroundings import message_at

log = logging.getLogger(__name__)

# Returns what a turn (its number) waits for, for its asker; None if it waits for nothing.
WaitingFor: TypeAlias = Callable[[int], Awaitable[WaitingPanel | None]]

OFFERS: Final = frozenset(ReplyAction) - {ReplyAction.STOP}  # Slack shows its own Stop button while an agent works

LIMITS: Final = Limits(
    page_chars=3_900,  # chat.update takes less than 4,000
    edit_interval_s=0.8,  # readable; the workspace's call budget for edits is the real limit
    announce_final=False,
    announces_tables=True,
    offers=OFFERS,
    reader=MarkdownReader.WITH_REFERENCES,
    presents=True,
    inexact_code=CHANGED_IN_CODE,
)
STREAM_LIMITS: Final = Limits(
    page_chars=8_400,  # leaves room for a few cards within a stream's limit
    page_bytes=8_400,
    edit_interval_s=0.25,  # looks continuous; the workspace's call budget for appends is the real limit
    grows_only=True,
    steps=True,
    offers=OFFERS,
    reader=MarkdownReader.WITH_REFERENCES,
    presents=True,
    inexact_code=CHANGED_IN_CODE,
)

# For long work, during which the thread goes on: Slack does not show its own Stop button there.
WORK_LIMITS: Final = replace(
    LIMITS,
    page_chars=3_400,  # leaves room for some lines of steps
    edit_interval_s=WORK_EDIT_S,
    offers=frozenset(ReplyAction),
    notes=True,
    step_lines=WORK_STEPS,
)

# When a page that has only steps is tried again where no stream can show it: it may have words by then.
STEPS_RETRY_S: Final = 1.0

LOOK_BACK: Final = 100  # Messages per page of history when a reply's page is searched: it was posted moments ago

MAX_FIND_PAGES: Final = 10  # Of history, for a scheduled reply

HOLD_RETRY_S: Final = 0.5
# When half of a minute's edits are used up, an answer is held back for this long before its first post: an answer that
# is complete by then takes one post and no edit, and leaves the edits to long answers.
MAX_HOLD_S: Final = 6.0


@dataclass(frozen=True, slots=True)
class SurfaceParts:
    """The parts that all replies of a workspace share."""

    api: SlackApi
    me: SlackBot
    clock: Clock
    settings: SlackSettings = field(default_factory=SlackSettings)
    budgets: MethodRates = field(default_factory=MethodRates)
    features: FeatureSupport = field(default_factory=FeatureSupport)


@dataclass(frozen=True, slots=True)
class _PostedCharts:
    ts: str
    files: tuple[OutFile, ...]


class SlackSurface:
    """`stop` stops the turn: it is called when a reader has stopped the reply's stream.

    Theory of operation. Where streams are allowed, a page grows as a native stream, and ends as a message with its key
    and its buttons. Where no stream can be started, or one has failed, the page is a message that is posted and edited;
    the text is the same. A page is identified by its key in the message's metadata. So a post whose answer was lost, or
    whose process died before storing it, is found in the history instead of posted again. A stream gets its key only at
    its end: an unfinished one is found as the bot's message in the thread that belongs to nothing else.

    Every write asks its method's call budget first. A write that is not allowed now raises PageQueued, and is repeated
    later with newer text.
    """

    def __init__(
        self,
        workspace: SurfaceParts,
        to: ReplyTo,
        conversation: str,
        session: AgentSession,
        stop: Callable[[], Awaitable[object]],
        waiting: WaitingFor | None = None,
        mark: QuestionMark | None = None,
        *,
        moved: bool = False,
    ) -> None:
        """`moved`: it is not where the question was asked, so that its pages' ids name its channel."""
        self._workspace = workspace
        self._api = workspace.api
        self._to = to
        self._moved = moved
        self._conversation = conversation
        self._session = session
        self._stop = stop
        self._waiting = waiting
        self._mark = mark
        name = f"{to.channel}:{to.thread_ts}:{to.after}"
        self._name = name
        self._messages = message_pages.MessagePages(
            workspace.api,
            workspace.budgets,
            workspace.features,
            workspace.clock,
            to,
            conversation,
            name,
            workspace.settings.tables,
        )
        self._streams = Streams(workspace.api, workspace.budgets, workspace.clock, _place(workspace, to), name)
        self._streaming = self._may_stream()
        self._limits = STREAM_LIMITS if self._streaming else LIMITS
        if to.scheduled == ScheduleKind.REMINDER:
            self._limits = replace(LIMITS, offers=OF_REMINDERS)
        if to.scheduled == ScheduleKind.WORK:
            self._limits = WORK_LIMITS
        if moved:
            self._limits = replace(self._limits, offers=self._limits.offers & ELSEWHERE_OFFERS)
        # Long work has its messages in the thread of its question, but no status; others have no such thread.
        self._has_session = not to.scheduled or (to.scheduled == ScheduleKind.WORK and bool(to.thread_ts))
        self._resumed = False
        self._presents_text = False  # Slack refused the blocks of what the answer presents
        self._presented: dict[PageKey, str] = {}  # Its pages as text, by time stamp
        self._held_until: float | None = None
        self._live: dict[str, Stream] = {}  # The streams that have not ended, by time stamp
        # Each known page's key by time stamp; None once the message's metadata holds the key.
        self._keys: dict[str, PageKey | None] = {}

    @property
    def limits(self) -> Limits:
        return self._limits

    async def find(self, key: PageKey) -> PageRef | None:
        """Search the messages since the question. Return None also where the bot may not read them."""
        with message_pages.page_errors():
            ours = await self._posted()
        found = [api.text(message, "ts") for message in ours if _key(message) == str(key)]
        if self._streaming:
            found += [api.text(message, "ts") for message in ours if self._is_unfinished(message)]
        if not found:
            return None
        self._keys.setdefault(found[0], key)
        return self._page(found[0])

    async def find_surplus(self, key: PageKey, pages: Collection[PageRef]) -> PageRef | None:
        with message_pages.page_errors():
            ours = await self._posted()
        found = [self._page(api.text(message, "ts")) for message in ours if _key(message) == str(key)]
        return next((page for page in found if page not in pages), None)

    async def _posted(self) -> list[JsonObject]:
        """Return the bot's messages there since the question; [] where it may not read. Raises SlackError."""
        where: dict[str, Json] = {"channel": self._to.channel, "oldest": self._to.after or "0", "limit": LOOK_BACK}
        method = Method.REPLIES if self._to.thread_ts else Method.HISTORY
        where |= {"ts": self._to.thread_ts} if self._to.thread_ts else {}
        max_pages = (
            MAX_FIND_PAGES if self._to.scheduled else 1
        )  # a scheduled reply has no thread: others post meanwhile
        ours: list[JsonObject] = []
        try:
            async with aclosing(self._api.pages(method, max_pages, **where, include_all_metadata=True)) as pages:
                async for page in pages:
                    ours += [message for message in api.items(page, "messages") if self._is_ours(message)]
        except SlackRefused:
            return []
        return ours

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        ts = "" if look.final else await self._start(key, look)
        if not ts:
            if not (look.text.strip() or look.note):
                raise PageQueued(STEPS_RETRY_S)
            if not look.final and self._is_held():
                raise PageQueued(HOLD_RETRY_S)
            with self._refusals():
                ts = await self._messages.post(key, look)
            self._keys[ts] = None
        self._session.mark_message_posted()
        return self._page(ts)

    async def edit(self, page: PageRef, look: PageContent) -> None:
        channel, ts = attachments.place_of_page(self._to.channel, page.id)
        if channel != self._to.channel:  # an earlier process showed it there
            await replace(self._messages, to=replace(self._to, channel=channel, thread_ts="")).edit(ts, look)
            return
        stream = self._live.get(ts)
        if stream is None or not await self._grow(stream, look):
            with self._refusals():
                await self._rewrite(ts, look)
        if look.final:
            self._workspace.budgets.remove(self._name)

    async def delete(self, page: PageRef) -> None:
        _, ts = attachments.place_of_page(self._to.channel, page.id)
        if ts in self._live:
            await self._streams.drop(ts)
            del self._live[ts]
        with message_pages.page_errors():
            await attachments.delete_shown(self._api, self._to.channel, page.id)

    def _page(self, ts: str) -> PageRef:
        return PageRef(f"{self._to.channel}/{ts}" if self._moved else ts)

    @contextmanager
    def _refusals(self) -> Generator[None]:
        """Say where a reply can go that is refused in this channel for good."""
        try:
            yield
        except PageRefused as refused:
            refused.elsewhere = None if inbound.is_direct(self._to.channel) else self._open_dm
            raise

    async def _open_dm(self) -> Surface:
        """Return the surface of this reply in its asker's direct messages. Raises SurfaceError."""
        with message_pages.page_errors():
            try:
                opened = await self._api.call(Method.OPEN, users=self._to.user)
            except SlackRefused as refused:
                raise PageRefused(str(refused), refused.remedy) from refused
        to = ReplyTo(api.text(opened, "channel", "id"), self._to.user, after=self._to.after)
        return SlackSurface(
            self._workspace, to, self._conversation, self._session, self._stop, self._waiting, moved=True
        )

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:
        with message_pages.page_errors():
            charts = await self._post_charts(key, files, again=again)
            rest = [file for file in files if charts is None or file not in charts.files]
            pages = () if charts is None else (self._page(charts.ts),)
            if not rest:
                return pages
            try:
                shared = await attachments.find_shared(self._api, self._workspace.me, self._to, rest) if again else ()
                shared = shared or await attachments.share_files(self._api, rest, self._to.channel, self._to.thread_ts)
            except SlackError as error:
                if not pages:
                    raise
                log.warning("the files of a reply were not shared beside its charts: %s", error)
                return pages  # else the charts would not be deleted with the reply
        return (*pages, *map(PageRef, shared))

    async def present(self, key: PageKey, presentation: Presentation, text: str, *, again: bool) -> tuple[PageRef, ...]:
        before = dict[str, str]()
        if again:
            with message_pages.page_errors():
                before = {_key(message): api.text(message, "ts") for message in await self._posted()}
        if str(key) in before:
            return (self._page(before[str(key)]),)
        blocks = presented_blocks(presentation, key.turn, self._conversation, self._to)
        if blocks is not None and not self._presents_text:
            if ts := await self._messages.post_blocks(key, notice(text), blocks):
                return (self._page(ts),)
            self._presents_text = True  # the text may have to wait its turn, and is then asked for again
        shown = list[PageRef]()
        for number, page in enumerate(pages(text, self._limits.page_chars)):
            page_key = replace(key, number=key.number - 1 - number)
            ts = before.get(str(page_key)) or self._presented.get(page_key)
            ts = ts or await self._messages.post(page_key, PageContent(page.text, final=True))
            self._presented[page_key] = ts
            shown.append(self._page(ts))
        return tuple(shown)

    async def _post_charts(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> "_PostedCharts | None":
        """Post the charts among these files as Slack draws them, in one message; None if there is none, or Slack does
        not draw it. `again`: it may have been posted. Raises SlackError.
        """
        if self._workspace.clock.monotonic() < self._workspace.features.charts_again:
            return None
        drawn = [(file, block) for file in files if file.chart and (block := chart_block(file.chart))][:MAX_CHARTS]
        if not drawn:
            return None
        shown = tuple(file for file, _ in drawn)
        if again and (found := [api.text(one, "ts") for one in await self._posted() if _key(one) == str(key)]):
            return _PostedCharts(found[0], shown)
        try:
            posted = await self._api.call(
                Method.POST,
                channel=self._to.channel,
                thread_ts=self._to.thread_ts or None,
                text="\n".join(file.alt for file in shown),
                blocks=[*(block for _, block in drawn)],
                metadata=message_pages.metadata_of(key),
            )
        except SlackRefused as refused:
            if refused.code not in message_pages.BLOCKS_REFUSED:
                raise
            log.info("%s Charts are shown as pictures.", refused)
            self._workspace.features.mark_charts_refused(self._workspace.clock.monotonic())
            return None
        return _PostedCharts(api.text(posted, "ts"), shown)

    async def send_ephemeral(self, text: str) -> None:
        with message_pages.page_errors():
            await Ephemeral(self._api, self._to).send(text)

    async def show_waiting(self, turn: int) -> None:
        if not self._to.scheduled:
            self._session.mark_waiting()
        await _show_waiting(self._workspace, self._to, self._waiting, turn)

    async def status(self, text: str) -> None:
        if not self._to.scheduled:  # else no user waits, and there is no thread to show it in
            self._session.set_status(text)

    def begin(self, *, resumed: bool) -> None:
        """The session begins with the first status, and a mark of an earlier process is taken over."""
        self._resumed = resumed
        if self._mark is not None:
            self._mark.begin()

    def finish(self, end: ReplyEnd) -> None:
        if self._has_session:
            waits = end is ReplyEnd.WAITS
            waited = self._resumed or end is ReplyEnd.TAKEN_BACK  # a reply that is taken back may begin nothing
            self._session.finish(ended=end is not ReplyEnd.CONTINUES, waits=waits, waited=waited)
        if self._mark is not None:
            self._mark.finish(end)

    def _is_held(self) -> bool:
        """Whether a message that needs later edits is held back, because edits are scarce."""
        now = self._workspace.clock.monotonic()
        self._held_until = self._held_until or now + MAX_HOLD_S
        return now < self._held_until and self._workspace.budgets.updates.is_scarce(now)

    def _may_stream(self) -> bool:
        now = self._workspace.clock.monotonic()
        match self._workspace.settings.stream:
            case Streaming.OFF:
                return False
            case Streaming.DIRECT:
                is_enabled = inbound.is_direct(self._to.channel)
            case Streaming.EVERYWHERE:
                is_enabled = True
            case _:
                assert_never(self._workspace.settings.stream)
        is_enabled = is_enabled and self._to.scheduled != ScheduleKind.WORK  # a stream lives for minutes
        is_possible = is_enabled and bool(self._to.thread_ts)
        return is_possible and self._workspace.features.has(Method.START_STREAM, self._to.channel, now)

    async def _start(self, key: PageKey, look: PageContent) -> str:
        """Start a stream that shows the look. Return its time stamp; "" where no stream can be started."""
        now = self._workspace.clock.monotonic()
        if not self._streaming or not await self._workspace.budgets.starts.try_call(self._name, now):
            return ""
        try:
            stream = await self._streams.start(look)
        except StreamRefused as refused:
            self._streaming = False
            if not refused.passing:
                log.info("Slack does not stream replies here: %s. The message is edited instead.", refused.code)
                self._workspace.features.mark_refused(Method.START_STREAM, self._to.channel, refused.code, now)
            return ""
        self._live[stream.ts] = stream
        self._keys[stream.ts] = key
        return stream.ts

    async def _grow(self, stream: Stream, look: PageContent) -> bool:
        """Show the look in the stream. Return False if the stream has ended before."""
        try:
            if not look.final:
                await self._streams.grow(stream, look)
                return True
            await self._end(stream, look)
        except StreamEnded as ended:
            del self._live[stream.ts]
            if ended.by_reader:
                await self._stop_turn()
            return False
        del self._live[stream.ts]
        self._keys[stream.ts] = None
        if look.last:
            self._session.mark_status(_status_after(look))
        if not stream.cards:  # an edit would remove them
            with suppress(SurfaceError):
                await self._messages.show_tables(stream.ts, look)
        return True

    async def _end(self, stream: Stream, look: PageContent) -> None:
        key = self._keys[stream.ts]
        refused = await self._streams.end(
            stream,
            look,
            self._messages.buttons(look),
            metadata=None if key is None else message_pages.metadata_of(key),
            session_status=_status_after(look),
        )
        if refused:
            self._workspace.features.plain_buttons = True

    async def _rewrite(self, ts: str, look: PageContent) -> None:
        """Show the look in a message whose stream has ended; a stream of an earlier process is ended first."""
        if not (look.text.strip() or look.note):
            return  # a page that has only steps keeps what it shows
        # A page that an earlier process began may be a stream that never got its key, and without one the next reply
        # would take it for its own. The number does not matter: pages that are known are not searched for.
        key = self._keys.get(ts, PageKey(look.turn, 0))
        try:
            await self._messages.edit(ts, look, key)
        except message_pages.StillStreaming:
            await self._streams.drop(ts)
            await self._messages.edit(ts, look, key)
        self._keys[ts] = None

    async def _stop_turn(self) -> None:
        try:
            await self._stop()
        except CogencyError as error:
            log.warning("a reply that somebody stopped in Slack could not be stopped: %s", error)

    def _is_ours(self, message: JsonObject) -> bool:
        return inbound.is_ours(message, self._workspace.me)

    def _is_unfinished(self, message: JsonObject) -> bool:
        """Whether it is a stream that was not ended: a message of the bot in the thread without a key or files."""
        ts = api.text(message, "ts")
        bare = not (_key(message) or api.items(message, "files"))
        return bare and ts != self._to.thread_ts and ts not in self._keys


def _status_after(look: PageContent) -> SessionStatus:
    """Return the status of the session once this final page is shown."""
    if not look.last:
        return SessionStatus.PROCESSING
    return SessionStatus.SUSPENDED if look.offers & WAITING_OFFERS else SessionStatus.ACTIVE


async def _show_waiting(workspace: SurfaceParts, to: ReplyTo, waiting_for: WaitingFor | None, turn: int) -> None:
    """Show the asker the buttons that wait for them, as an ephemeral message.

    Slack drops it when the asker reloads Slack, and does not deliver it while they are away. The button below the reply
    shows it again.
    """
    if waiting_for is None or (waiting := await waiting_for(turn)) is None:
        return
    below = panel_blocks(waiting.panel, waiting.command, ShownTo(to.user, to.channel))
    with message_pages.page_errors():
        await Ephemeral(workspace.api, to).send(named(waiting.panel.text, workspace.me.prefix), *below)


async def delete_page(api: SlackApi, page: ShownPage) -> None:
    """Delete a page of an earlier reply. Raises SurfaceError."""
    with message_pages.page_errors():
        await attachments.delete_shown(api, page.channel, page.page)


async def undo_kept(api_: SlackApi, page: ShownPage) -> None:
    """Change a page to say that what it remembered was forgotten. Raises SurfaceError."""
    if attachments.is_file(page.page):
        return
    with message_pages.page_errors():
        channel, ts = attachments.place_of_page(page.channel, page.page)
        shown = await message_at(api_, SlackMessageLink(channel, ts, "")) or {}
        before = api.items(shown, "blocks")
        if (blocks := without(RETRACTIONS[ReplyAction.UNDO], before)) and blocks != before:
            undone_text = platforms_texts.undone(api.text(shown, "text"))
            await api_.call(Method.UPDATE, channel=channel, ts=ts, text=undone_text, blocks=blocks)


def _place(workspace: SurfaceParts, to: ReplyTo) -> StreamPlace:
    if inbound.is_direct(to.channel):
        return StreamPlace(to.channel, to.thread_ts)
    return StreamPlace(to.channel, to.thread_ts, to.user, workspace.me.team)


def _key(message: JsonObject) -> str:
    return api.text(message, "metadata", "event_payload", "key")


# A markdown block holds 12,000 characters; five pages, which a `response_url` takes, are 55,000.
PRIVATE_LIMITS = Limits(
    page_chars=11_000,
    edit_interval_s=1.0,
    offers=frozenset(ReplyAction) - {ReplyAction.STOP},
    only_final=True,
    reader=MarkdownReader.WITH_REFERENCES,
    inexact_code=CHANGED_IN_CODE,
)


class PrivateSurface:
    """A reply that only its asker sees: `bot.chat.reply.surface.Surface` for ephemeral messages.

    It cannot grow: an ephemeral message has no id to edit, and a `response_url` takes up to five messages. So it is
    shown once, complete. Where it cannot be shown in place any more, it goes to the person's DM, never to the channel:
    a page there has an id, so that it can be deleted.
    """

    def __init__(
        self, workspace: SurfaceParts, to: ReplyTo, conversation: str, waiting: WaitingFor | None = None
    ) -> None:
        self._workspace = workspace
        self._api = workspace.api
        self._to = to
        self._conversation = conversation
        self._waiting = waiting
        self._ephemeral = Ephemeral(workspace.api, to)

    @property
    def limits(self) -> Limits:
        return PRIVATE_LIMITS

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- ephemeral messages are in no history
        return None

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        posted = await self._send(look) if look.final else ""
        return PageRef(posted or f"{EPHEMERAL_PAGE}/{key}")

    async def edit(self, page: PageRef, look: PageContent) -> None:  # noqa: ARG002 -- an ephemeral page has no id to edit
        if look.final:
            await self._send(look)

    async def _send(self, look: PageContent) -> str:
        """Return the id of the message in the person's DM; "" for an ephemeral one."""
        buttons, simpler = (
            button_rows(look.offers, look.turn, self._conversation, self._to, plain=plain) for plain in (False, True)
        )
        with message_pages.page_errors():
            try:
                return await self._ephemeral.send(look.text, *buttons)
            except SlackRefused as refused:
                if refused.code not in message_pages.BLOCKS_REFUSED:
                    raise
                return await self._ephemeral.send(look.text, *simpler)

    async def delete(self, page: PageRef) -> None:
        """Delete a page in the person's DM; others cannot be deleted."""
        if not page.id.startswith(EPHEMERAL_PAGE):
            with message_pages.page_errors():
                await attachments.delete_shown(self._api, self._to.channel, page.id)

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- Slack takes no key with a file
        with message_pages.page_errors():
            return tuple(map(PageRef, await attachments.share_alone(self._api, files, self._to.user)))

    async def send_ephemeral(self, text: str) -> None:
        with message_pages.page_errors():
            await self._ephemeral.send(text)

    async def show_waiting(self, turn: int) -> None:
        await _show_waiting(self._workspace, self._to, self._waiting, turn)

    async def status(self, text: str) -> None:
        """There is no private status line."""

    def begin(self, *, resumed: bool) -> None:
        """There is no session to begin."""

    def finish(self, end: ReplyEnd) -> None:
        """There is no session to end."""


class SlackSurfaces:
    """Makes the surface of a reply from what was stored with its question."""

    def __init__(self, host: Host, workspace: SurfaceParts, sessions: AgentSessions) -> None:
        self._host = host
        self._workspace = workspace
        self._sessions = sessions

    def __call__(self, incoming: Incoming) -> Surface:
        to = decode_reply_to(incoming.reply_to)
        if incoming.kind in {TurnKind.NOTICE, TurnKind.HANDOFF}:
            to = replace(to, scheduled=ScheduleKind.REMINDER)
        waiting = partial(waiting_panel, self._host.commands, incoming, WINDOW_FIELDS)
        if to.private:
            return PrivateSurface(self._workspace, to, incoming.conversation, waiting)
        others_wait = partial(self._host.turns.waits_for_people, incoming.conversation)
        session = self._sessions.of(to, incoming.text, others_wait)
        stop = partial(self._host.turns.stop_conversation, incoming.conversation, alone=True)
        mark = None
        if self._workspace.settings.marks and incoming.kind.is_asked and incoming.message_id:
            apply = partial(_apply_mark, self._sessions.best_effort, to.channel, incoming.message_id)
            mark = QuestionMark(apply, self._sessions.underway.start)
        return SlackSurface(self._workspace, to, incoming.conversation, session, stop, waiting, mark)


# The names of the reactions that mark a question.
_REACTIONS: Final[Mapping[Mark, str]] = {Mark.WORKING: "eyes", Mark.DONE: "white_check_mark", Mark.FAILED: "warning"}


async def _apply_mark(calls: BestEffortCalls, channel: str, message: str, mark: Mark, is_shown: bool) -> None:  # noqa: FBT001 -- as `QuestionMark.apply` has it
    method = Method.ADD_REACTION if is_shown else Method.REMOVE_REACTION
    await calls.call(method, channel, channel_key="channel", timestamp=message, name=_REACTIONS[mark])
