"""A person's Home tab: published when they open it, and again after each action there."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from cachetools import TTLCache

from agent.errors import CogencyError, Refused
from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from bot.chat.askers import Requester
from bot.chat.background_tasks import BackgroundTasks
from bot.chat.commands.declaration import AnyCommand, Caller, HomeContent, HomeSection, HomeVisit
from bot.chat.host import Host
from bot.chat.logs import severity
from bot.chat.panels import Panel, page_of
from bot.chat.texts import commands as command_texts
from bot.commands import HOME, form_named
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import panels
from bot.platforms.slack.api import SlackApi, SlackError, SlackLimited, number, text
from bot.platforms.slack.block_kit import button, button_payload, plain, row
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.markup import SECTION_CHARS, mrkdwn, pieces
from bot.platforms.slack.members import People
from bot.platforms.slack.options import Method
from bot.platforms.slack.panels import ShownTo, panel_blocks, pressed_command
from bot.platforms.slack.reply_to import ReplyTo, of_click
from bot.platforms.slack.slash_commands import named
from bot.platforms.slack.sockets import USER_TASKS

# The Home tab as Slack's view, and the parsing of its events. Pure.
#
# Rules
#   It consists of Slack's own texts and buttons, so that it works in every theme and with screen readers.
#   A view stays within Slack's limits for any content: lists have pages, and what does not fit a page is cut.
#   The view itself carries the pages that its lists show (`Pages`), so that every process can handle its clicks.

HOME_ACTION: Final = "cogency_home"
VIEW: Final = "cogency_home"
_PAGES: Final = f"{HOME_ACTION}:page"
_AGAIN: Final = f"{HOME_ACTION}:again"

SECTIONS: Final = 4  # Of one text: a longer one is hard to read here; the command shows all of it
# More than a page of a list has. With their buttons they leave half of Slack's hundred blocks to the rest.
ENTRIES: Final = 20
PAGE_CHARS: Final = 1_500  # Of one page of a long text: about ten policies

# The page that each section shows, from 1, by the names of their commands; those not named show their first.
Pages: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class News:
    """The answer to an action, as Markdown, shown in the section of its command; "" at the top. `below`: its blocks.

    `failed`: nothing was done, and the text says why.
    """

    command: str
    text: str
    below: tuple[Json, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A section of the tab, and its content for this person."""

    command: AnyCommand
    section: HomeSection
    content: HomeContent


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    """Everything that the tab shows."""

    user: str
    bot: str
    prefix: str
    sections: Sequence[ShownSection]
    pages: Pages
    news: News | None = None


def read_home_opened(body: JsonObject) -> ReplyTo | None:
    """Return the user whose Home tab was opened, with the pages that it shows; None for any other event."""
    event = body.get("event")
    user, kind, tab = text(event, "user"), text(event, "type"), text(event, "tab")
    if not user or (kind, tab) != ("app_home_opened", "home"):
        return None
    return ReplyTo("", user, home=text(event, "view", "private_metadata") or encode_pages({}))


def encode_pages(pages: Pages) -> str:
    return json.dumps(dict(pages), sort_keys=True)


def pages_of(encoded: str) -> Pages:
    """Return the inverse of `encode_pages`, without first pages; none for anything else."""
    try:
        value: Json = json.loads(encoded)
    except ValueError:
        return {}
    pages = {command.name: number(value, command.name) for command in HOME}
    return {name: page for name, page in pages.items() if page > 1}


def pages_after(action: JsonObject, pages: Pages) -> Pages:
    """Return the pages to show after a click on one of the tab's own buttons."""
    payload = button_payload(action)
    page, name = number(payload, "page"), text(payload, "section")
    return {**pages, name: page} if page and text(action, "action_id").startswith(_PAGES) else pages


def command_of(body: JsonObject) -> str:
    """Return the name of the command to which a click or a window belongs; "" for none."""
    actions = body.get("actions")
    action = text(actions[0], "action_id") if isinstance(actions, list) and actions else ""
    found = form_named(text(body, "view", "callback_id").removeprefix(f"{panels.FORM}:"))
    command = pressed_command(action) or (found[0] if found else None)
    return command.name if command else ""


def home_view(page: HomePage) -> JsonObject:
    """Return the whole tab."""
    is_new = all(shown.content.empty for shown in page.sections)
    welcome = [_section(platforms_texts.WELCOME.format(bot=page.bot))] if is_new else []
    is_above = page.news is not None and page.news.command not in {shown.command.name for shown in page.sections}
    above = _news(page, page.news.text) if page.news is not None and is_above else []
    return _view(page.pages, [*welcome, *above, *(block for shown in page.sections for block in _blocks(page, shown))])


def error_view(sentence: str, pages: Pages) -> JsonObject:
    """Return the tab with an error and a button to try again."""
    return _view(pages, [*_texts(sentence), *row([button(_AGAIN, platforms_texts.TRY_AGAIN, {})])])


def closed_view(sentence: str) -> JsonObject:
    """Return the tab for a person whom the bot does not answer."""
    return _view({}, _texts(sentence))


def _blocks(page: HomePage, shown: ShownSection) -> list[Json]:
    content = shown.content
    panel = replace(content.panel, parts=content.panel.parts[:ENTRIES])
    words = named(panel.text, page.prefix)
    return [
        *([_header(shown.section.title)] if shown.section.title else []),
        *_news_of(page, shown),
        *(_text_page(words, shown.command.name, page.pages) if shown.section.long else _texts(words)),
        *_below(panel, shown.command, page.user),
        *([_context(content.note)] if content.note else []),
        *_below(Panel("", content.actions), shown.command, page.user),
    ]


def _text_page(words: str, name: str, pages: Pages) -> list[Json]:
    """Return one page of a long text, with buttons for its neighbours."""
    parts = pieces(mrkdwn(words), PAGE_CHARS)
    page = max(1, min(pages.get(name, 1), len(parts)))
    around = {command_texts.EARLIER_PAGE: page - 1, command_texts.NEXT_PAGE: page + 1}
    turning = [
        button(f"{_PAGES}:{name}:{other}", label, {"section": name, "page": other})
        for label, other in around.items()
        if 1 <= other <= len(parts)
    ]
    return [*[_section(piece) for piece in parts[page - 1 : page]], *row(turning)]


def _news_of(page: HomePage, shown: ShownSection) -> list[Json]:
    """Return the answer to an action in this section, without what the section shows anyway."""
    if page.news is None or page.news.command != shown.command.name:
        return []
    if page.news.failed:
        return _news(page, page.news.text)
    return _news(page, shown.section.news(page.news.text.removesuffix(shown.content.panel.text).strip()))


def _news(page: HomePage, news_text: str) -> list[Json]:
    return [*_texts(named(news_text, page.prefix)), *(page.news.below if page.news else ())] if news_text else []


def _below(panel: Panel, command: AnyCommand, user: str) -> list[Json]:
    """Return the blocks below the text of a panel."""
    return panel_blocks(panel, command, ShownTo(user), lambda words: _texts(words, limit=1))


def _view(pages: Pages, blocks: list[Json]) -> JsonObject:
    return {"type": "home", "callback_id": VIEW, "private_metadata": encode_pages(pages), "blocks": blocks}


def _header(words: str) -> Json:
    return {"type": "header", "text": plain(words)}


def _texts(markdown: str, limit: int = SECTIONS) -> list[Json]:
    """Return Markdown as up to `limit` sections; the end of a longer text is cut."""
    sections = pieces(mrkdwn(markdown), SECTION_CHARS - len(_MORE))
    shown = sections if len(sections) <= limit else [*sections[: limit - 1], sections[limit - 1] + _MORE]
    return [_section(piece) for piece in shown]


def _section(mrkdwn_text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn_text, "verbatim": True}}


def _context(mrkdwn_text: str) -> Json:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": mrkdwn_text}]}


_MORE: Final = "\n…"

log = logging.getLogger(__name__)

# Each switch of tabs is an opening. The person's own changes are published at once anyway.
BURST_S: Final = 2.0
MAX_RETRY_AFTER_S: Final = 60.0  # Slack's limits are per minute
MAX_OPENED: Final = 2_000  # People who open the tab within BURST_S


@dataclass(slots=True)
class Home:
    """Rules
    The event that the tab was opened is acknowledged at once; openings within BURST_S publish it once.
    One person's tab is built and published one at a time, so that the last one published is the latest.
    An error is one sentence in the tab.
    `caller`: returns the user of the commands whose panels the tab shows.
    """

    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    clock: Clock
    caller: Callable[[ReplyTo], Caller]
    _recently_opened: TTLCache[str, None] = field(init=False)
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary[str, asyncio.Lock])
    _tasks: BackgroundTasks = field(default_factory=lambda: BackgroundTasks(name=USER_TASKS))

    def __post_init__(self) -> None:
        self._recently_opened = TTLCache(MAX_OPENED, BURST_S, self.clock.monotonic)

    def open(self, to: ReplyTo) -> None:
        """Publish the tab in the background: the person opened it."""
        if to.user in self._recently_opened:
            return
        self._tasks.start(self._show(to.user, pages_of(to.home)))
        self._recently_opened[to.user] = None

    def refresh(self, user: str) -> None:
        """Publish the tab again in the background: what it shows was forgotten elsewhere."""
        self._tasks.start(self._show(user, {}))

    async def close(self) -> None:
        await self._tasks.close()

    async def handle_click(self, body: JsonObject, action: JsonObject) -> None:
        """Handle a click on one of the tab's own buttons. Raises CogencyError."""
        to = of_click(body)
        await self._show(to.user, pages_after(action, pages_of(to.home)))

    async def show_answer(self, to: ReplyTo, command: AnyCommand, panel: Panel, words: str) -> None:
        """Show the answer of a command that was used in the tab, above what the tab shows anyway."""
        pages = pages_of(to.home)
        if page := page_of(words):
            await self._show(to.user, {**pages, command.name: page})
        else:
            below = _below(replace(panel, parts=()), command, to.user)
            await self._show(to.user, pages, News(command.name, panel.text, tuple(below)))

    async def show_failure(self, to: ReplyTo, body: JsonObject, error: CogencyError) -> None:
        """Show why an action in the tab failed."""
        news = News(command_of(body), platforms_texts.failure(error), failed=True)
        await self._show(to.user, pages_of(to.home), news)

    async def _show(self, user: str, pages: Pages, news: News | None = None) -> None:
        async with self._locks.setdefault(user, asyncio.Lock()):
            try:
                view = home_view(await self._page(user, pages, news))
            except Refused as refused:
                view = closed_view(platforms_texts.failure(refused))
            except CogencyError as error:
                log.log(severity(error), "a Home tab could not be built: %s", error)
                view = error_view(platforms_texts.failure(error), pages)
            try:
                await self._publish(user, view)
            except SlackError as error:
                log.warning("a Home tab could not be shown: %s", error)

    async def _publish(self, user: str, view: JsonObject) -> None:
        """Publish a view; if Slack limits the call, try once more. Raises SlackError."""
        try:
            await self.api.call(Method.PUBLISH_VIEW, user_id=user, view=dict(view))
        except SlackLimited as limited:
            await self.clock.sleep(min(limited.retry_after_s, MAX_RETRY_AFTER_S))
            await self.api.call(Method.PUBLISH_VIEW, user_id=user, view=dict(view))

    async def _page(self, user: str, pages: Pages, news: News | None) -> HomePage:
        """Read everything that the tab shows. Raises CogencyError."""
        member = await self.people.member(user)
        person = member.person
        who = Requester(person.id, "", member.groups, self.me.team)
        closed = self.host.admission.closed_to(who, member.authority)
        if closed is not None:
            raise Refused(closed)
        caller = self.caller(ReplyTo("", user, home=encode_pages(pages)))
        chosen, sections = await self.host.preferences.all_of(person.id), list[ShownSection]()
        for command in HOME:
            if command.home is None:
                continue
            run, page = self.host.commands[command.name].run, pages.get(command.name, 1)
            content = await command.home.show(HomeVisit(caller, page, not member.full, chosen, run))
            if content is not None:
                sections.append(ShownSection(command, command.home, content))
        # A list may have fewer pages by now than when one of them was chosen.
        lists = {one.command.name: one.content.panel.page for one in sections if not one.section.long}
        shown = {name: page for name, page in {**pages, **lists}.items() if page > 1}
        return HomePage(user=user, bot=self.me.name, prefix=self.me.prefix, sections=sections, pages=shown, news=news)
