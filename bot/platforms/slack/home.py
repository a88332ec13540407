"""A person's Home tab: published when they open it, and again after each action there."""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Final
from weakref import WeakValueDictionary

from cachetools import TTLCache

from agent.errors import CogencyError, Refused
from agent.memory.forgetting_plans import PAUSE, PAUSED
from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from bot.budgets import commands as budget
from bot.budgets import texts as budgets_texts
from bot.budgets.commands import USAGE_COMMAND
from bot.chat.askers import Requester
from bot.chat.commands import talking
from bot.chat.commands.declaration import AnyCommand, Caller, CommandCall
from bot.chat.host import Host
from bot.chat.logs import severity
from bot.chat.panels import Panel, PanelAction
from bot.chat.ports import ModelMenu
from bot.commands import form_named
from bot.forgetting.commands import FORGET_COMMAND, choices
from bot.memory import commands as memory
from bot.memory import requests as view
from bot.memory import texts as memory_texts
from bot.memory.listing import lasting_text
from bot.memory.policy_commands import POLICY_COMMAND
from bot.memory.requests import PauseLearning, ShowMemory, read_memory_request
from bot.models.commands import MODEL_COMMAND
from bot.operators.commands import OPERATOR_COMMAND, REPORT
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import panels
from bot.platforms.slack.api import SlackApi, SlackError, SlackLimited, number, text
from bot.platforms.slack.block_kit import button, button_payload, plain, row
from bot.platforms.slack.inbound import ReplyTo, SlackBot, of_click
from bot.platforms.slack.markup import SECTION_CHARS, mrkdwn, pieces
from bot.platforms.slack.members import People
from bot.platforms.slack.options import Method
from bot.platforms.slack.panels import ShownTo, panel_blocks, pressed_command
from bot.platforms.slack.slash_commands import named
from bot.platforms.slack.sockets import USER_TASKS, BackgroundTasks
from bot.schedules import commands as remind

# The Home tab as Slack's view, and the parsing of its events. Pure.
#
# Rules
#   It consists of Slack's own texts and buttons, so that it works in every theme and with screen readers.
#   A view stays within Slack's limits for any content: lists have pages, and what does not fit a page is cut.
#   The view itself carries the pages that its lists show (`Pages`), so that every process can handle its clicks.

HOME_ACTION: Final = "cogency_home"
VIEW: Final = "cogency_home"
_POLICIES: Final = f"{HOME_ACTION}:policies"
_AGAIN: Final = f"{HOME_ACTION}:again"

SECTIONS: Final = 4  # Of one text: a longer one is hard to read here; the command shows all of it
# More than a page of the list has. With their buttons they leave half of Slack's hundred blocks to the rest.
ENTRIES: Final = 20
POLICIES_CHARS: Final = 1_500  # Of one page of policies: about ten of them
_PAUSED: Final = lasting_text([PauseLearning()])  # Begins a list of memories then; the tab says so below the list


class Part(StrEnum):
    """A section of the tab."""

    TOP = "top"
    MEMORY = "memory"
    FORGETTING = "forgetting"
    SCHEDULES = "schedules"
    USAGE = "usage"
    MODEL = "model"
    POLICIES = "policies"
    OPERATING = "operating"


@dataclass(frozen=True, slots=True)
class News:
    """The answer to an action, as Markdown, shown in the section of that action. `below`: its blocks."""

    part: Part
    text: str
    below: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Pages:
    """The page that each list shows, from 1."""

    memory: int = 1
    policies: int = 1

    def encode(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeContent:
    """Everything that the tab shows. `policies`: None for guests. `report`: None for all but operators."""

    user: str
    bot: str
    prefix: str
    memory: Panel
    learns: bool
    schedules: Panel
    usage: Panel
    budget: Panel
    models: ModelMenu
    policies: Panel | None
    report: str | None
    pages: Pages
    news: News | None = None


def read_home_opened(body: JsonObject) -> ReplyTo | None:
    """Return the user whose Home tab was opened, with the pages that it shows; None for any other event."""
    event = body.get("event")
    user, kind, tab = text(event, "user"), text(event, "type"), text(event, "tab")
    if not user or (kind, tab) != ("app_home_opened", "home"):
        return None
    return ReplyTo("", user, home=text(event, "view", "private_metadata") or Pages().encode())


def pages_of(encoded: str) -> Pages:
    """Return the inverse of `Pages.encode`; the first pages for anything else."""
    try:
        value: Json = json.loads(encoded)
    except ValueError:
        return Pages()
    return Pages(max(1, number(value, "memory")), max(1, number(value, "policies")))


def pages_after(action: JsonObject, pages: Pages) -> Pages:
    """Return the pages to show after a click on one of the tab's own buttons."""
    page = number(button_payload(action), "page")
    return replace(pages, policies=page) if page and text(action, "action_id").startswith(_POLICIES) else pages


def part_of(body: JsonObject) -> Part:
    """Return the section to which a click or a window belongs."""
    actions = body.get("actions")
    action = text(actions[0], "action_id") if isinstance(actions, list) and actions else ""
    found = form_named(text(body, "view", "callback_id").removeprefix(f"{panels.FORM}:"))
    command = pressed_command(action) or (found[0] if found else None)
    return _PARTS.get(command.name, Part.TOP) if command else Part.TOP


def home_view(content: HomeContent) -> JsonObject:
    """Return the whole tab."""
    is_new = not content.memory.parts and content.usage.text == budgets_texts.NOTHING_SPENT
    welcome = [_section(platforms_texts.WELCOME.format(bot=content.bot))] if is_new else []
    every = (_memory, _forgetting, _schedules, _usage, _model, _policies, _operating)
    parts = [part(content) for part in every]
    return _view(content.pages, [*welcome, *_news(content, Part.TOP), *(block for part in parts for block in part)])


def error_view(sentence: str, pages: Pages) -> JsonObject:
    """Return the tab with an error and a button to try again."""
    return _view(pages, [*_texts(sentence), *row([button(_AGAIN, platforms_texts.TRY_AGAIN, {})])])


def closed_view(sentence: str) -> JsonObject:
    """Return the tab for a person whom the bot does not answer."""
    return _view(Pages(), _texts(sentence))


def _memory(content: HomeContent) -> list[Json]:
    listed = replace(content.memory, parts=content.memory.parts[:ENTRIES])
    stop, go_on = (
        PanelAction(platforms_texts.STOP_LEARNING, "pause"),
        PanelAction(platforms_texts.LEARN_AGAIN, "resume"),
    )
    deciding = Panel("", (stop if content.learns else go_on, PanelAction(platforms_texts.EXPORT_BUTTON, "export")))
    return [
        _header(platforms_texts.HOME_MEMORY),
        *_news(content, Part.MEMORY),
        *_texts(named(listed.text.removeprefix(_PAUSED).strip(), content.prefix)),
        *_below(listed, memory.COMMAND, content.user),
        _context(platforms_texts.LEARNING_ON if content.learns else platforms_texts.LEARNING_OFF),
        *_below(deciding, memory.COMMAND, content.user),
    ]


def _forgetting(content: HomeContent) -> list[Json]:
    return [
        _header(platforms_texts.HOME_FORGET),
        _section(platforms_texts.FORGET_SECTION),
        *_below(Panel("", choices(thread=False)), FORGET_COMMAND, content.user),
        *_news(content, Part.FORGETTING),
    ]


def _schedules(content: HomeContent) -> list[Json]:
    return [
        _header(platforms_texts.HOME_SCHEDULES),
        *_news(content, Part.SCHEDULES),
        *_texts(named(content.schedules.text, content.prefix)),
        *_below(content.schedules, remind.COMMAND, content.user),
    ]


def _usage(content: HomeContent) -> list[Json]:
    return [
        _header(platforms_texts.HOME_USAGE),
        *_news(content, Part.USAGE),
        *_texts(named(f"{content.usage.text}\n\n{content.budget.text}", content.prefix)),
        *_below(content.budget, budget.COMMAND, content.user),
    ]


def _model(content: HomeContent) -> list[Json]:
    return [
        _header(platforms_texts.HOME_MODEL),
        *_news(content, Part.MODEL),
        *_below(Panel("", parts=(talking.model_part(content.models),)), MODEL_COMMAND, content.user),
    ]


def _policies(content: HomeContent) -> list[Json]:
    if content.policies is None:
        return []
    pages = pieces(mrkdwn(named(content.policies.text, content.prefix)), POLICIES_CHARS)
    page = max(1, min(content.pages.policies, len(pages)))
    around = {platforms_texts.EARLIER_PAGE: page - 1, platforms_texts.NEXT_PAGE: page + 1}
    turning = [
        button(f"{_POLICIES}:{other}", label, {"page": other})
        for label, other in around.items()
        if 1 <= other <= len(pages)
    ]
    return [
        _header(platforms_texts.HOME_POLICIES),
        *_news(content, Part.POLICIES),
        *[_section(piece) for piece in pages[page - 1 : page]],
        *row(turning),
        *_below(content.policies, POLICY_COMMAND, content.user),
    ]


def _operating(content: HomeContent) -> list[Json]:
    if content.report is None:
        return []
    opening = Panel("", (PanelAction(platforms_texts.OPEN_OPERATOR_PAGE),))
    return [
        _header(platforms_texts.HOME_OPERATORS),
        *_news(content, Part.OPERATING),
        *_texts(content.report),
        *_below(opening, OPERATOR_COMMAND, content.user),
    ]


def _news(content: HomeContent, part: Part) -> list[Json]:
    if content.news is None or content.news.part is not part:
        return []
    news_text = content.news.text
    for list_below in ("" if content.policies is None else content.policies.text, content.memory.text):
        news_text = news_text.removesuffix(list_below).strip()
    if part is Part.MEMORY and (not news_text or news_text in _REDUNDANT_NEWS):
        return []
    return [*_texts(named(news_text or content.news.text, content.prefix)), *content.news.below]


def _below(panel: Panel, command: AnyCommand, user: str) -> list[Json]:
    """Return the blocks below the text of a panel."""
    return panel_blocks(panel, command, ShownTo(user), lambda words: _texts(words, limit=1))


def _view(pages: Pages, blocks: list[Json]) -> JsonObject:
    return {"type": "home", "callback_id": VIEW, "private_metadata": pages.encode(), "blocks": blocks}


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
# The section in which a command's answer is shown.
_PARTS: Final = {
    "memory": Part.MEMORY,
    "forget": Part.FORGETTING,
    "schedules": Part.SCHEDULES,
    "model": Part.MODEL,
    "budget": Part.USAGE,
    "policy": Part.POLICIES,
    "operator": Part.OPERATING,
}

log = logging.getLogger(__name__)

# Each switch of tabs is an opening. The person's own changes are published at once anyway.
BURST_S: Final = 2.0
MAX_RETRY_AFTER_S: Final = 60.0  # Slack's limits are per minute
MAX_OPENED: Final = 2_000  # People who open the tab within BURST_S

# Answers that are not shown, because the tab itself says whether the bot learns.
_REDUNDANT_NEWS: Final = frozenset(
    memory_texts.pause_text(on=on, here=False, for_everybody=False) for on in (True, False)
)


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
        self._tasks.start(self._show(user, Pages()))

    async def close(self) -> None:
        await self._tasks.close()

    async def handle_click(self, body: JsonObject, action: JsonObject) -> None:
        """Handle a click on one of the tab's own buttons. Raises CogencyError."""
        to = of_click(body)
        await self._show(to.user, pages_after(action, pages_of(to.home)))

    async def show_answer(self, to: ReplyTo, command: AnyCommand, panel: Panel, words: str) -> None:
        """Show the answer of a command that was used in the tab, above what the tab shows anyway."""
        pages, request = pages_of(to.home), read_memory_request(words)
        if command.name == "memory" and isinstance(request, ShowMemory):
            await self._show(to.user, replace(pages, memory=request.page))
        elif command.name == "model":
            await self._show(to.user, pages)
        else:
            below = _below(replace(panel, parts=()), command, to.user)
            await self._show(to.user, pages, News(_PARTS.get(command.name, Part.TOP), panel.text, tuple(below)))

    async def show_failure(self, to: ReplyTo, body: JsonObject, error: CogencyError) -> None:
        """Show why an action in the tab failed."""
        await self._show(to.user, pages_of(to.home), News(part_of(body), platforms_texts.failure(error)))

    async def _show(self, user: str, pages: Pages, news: News | None = None) -> None:
        async with self._locks.setdefault(user, asyncio.Lock()):
            try:
                content = await self._contents(user, pages)
                view = home_view(replace(content, news=news))
            except Refused as refused:
                view = closed_view(platforms_texts.failure(refused))
            except CogencyError as error:
                log.log(severity(error), "a Home tab could not be put together: %s", error)
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

    async def _contents(self, user: str, pages: Pages) -> HomeContent:
        """Read everything that the tab shows. Raises CogencyError."""
        member = await self.people.member(user)
        person = member.person
        who = Requester(person.id, "", member.groups, self.me.team)
        closed = self.host.admission.closed_to(who, member.authority)
        if closed is not None:
            raise Refused(closed)
        caller = self.caller(ReplyTo("", user, home=pages.encode()))

        async def panel_of(command: AnyCommand, words: str = "") -> Panel:
            return await self.host.commands[command.name].run(CommandCall(words=words, caller=caller))

        memories = await panel_of(memory.COMMAND, view.page_words(pages.memory))
        return HomeContent(
            user=user,
            bot=self.me.name,
            prefix=self.me.prefix,
            memory=memories,
            learns=(await self.host.preferences.all_of(person.id)).get(PAUSE) != PAUSED,
            schedules=await panel_of(remind.COMMAND),
            usage=await panel_of(USAGE_COMMAND),
            budget=await panel_of(budget.COMMAND),
            models=await self.host.models.menu(who),
            policies=await panel_of(POLICY_COMMAND) if member.full else None,
            report=None if (report := await panel_of(OPERATOR_COMMAND, REPORT)).refused else report.text,
            pages=replace(pages, memory=memories.page),
        )
