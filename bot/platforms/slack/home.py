"""A person's Home tab: shown when they open it, and anew after everything that they do there."""

import asyncio
import json
import logging
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Final
from weakref import WeakValueDictionary

from cachetools import TTLCache

from agent.errors import CogencyError, Refused
from agent.memory.forgetting_plans import PAUSED
from agent.memory.writing import POLICY_AUTHORITY
from agent.messages import Json, JsonObject
from agent.ports import Clock
from agent.spending import SpendingAccount
from bot.access.acl import Requester, ScheduleAnswer
from bot.access.budgets import account_text
from bot.commands import budget, memory, remind, talking
from bot.commands.channel import POLICY_COMMAND, policy_actions
from bot.commands.declaration import Command, Panel, PanelAction
from bot.commands.discovery import form_named
from bot.commands.memory import memory_panel
from bot.host import Host, MemoryAnswer, ModelMenu, PlaceAsker, PolicyAsker, Viewer
from bot.logs import severity
from bot.memory import view
from bot.memory.learning import PAUSE
from bot.memory.view import PauseLearning, ShowMemory, lasting_text, read_memory_request
from bot.platforms.slack import panels
from bot.platforms.slack.api import Method, SlackApi, SlackError, SlackLimited, number, text
from bot.platforms.slack.block_kit import button, carried_by, plain, row
from bot.platforms.slack.inbound import ReplyTo, SlackBot, of_click
from bot.platforms.slack.markup import SECTION_CHARS, mrkdwn, pieces
from bot.platforms.slack.members import People
from bot.platforms.slack.panels import ENTRY_CHARS, ShownTo, panel_blocks, pressed_command
from bot.platforms.slack.places import person_place, team_place
from bot.platforms.slack.slash_commands import named
from bot.platforms.slack.sockets import USER_TASKS, BackgroundTasks
from bot.texts import command_texts, memory_texts, reply_texts

# A person's Home tab as a view of Slack, and what its buttons and its opening say. Pure.
#
# Rules
#   Everything is text and buttons of Slack, so that it reads in every theme and to a screen reader.
#   Whatever is known, a view stays within Slack's limits: lists come page by page, and what no page can hold is cut.
#   What the lists show stands in the view itself (`Pages`), so that every process can go on with it.

HOME_ACTION: Final = "cogency_home"
VIEW: Final = "cogency_home"
_POLICIES: Final = f"{HOME_ACTION}:policies"
_AGAIN: Final = f"{HOME_ACTION}:again"

SECTIONS: Final = 4  # Of one text: more is a wall that nobody reads; all of it stands behind the command
# More than a page of the list has; with their buttons they leave half of Slack's hundred blocks to the rest.
ENTRIES: Final = 20
POLICIES_CHARS: Final = 1_500  # Of one page of policies: about ten of them
_PAUSED: Final = lasting_text([PauseLearning()])  # How the list begins then; here `NOT_LEARNING` stands below it


class Part(StrEnum):
    """Where something is shown."""

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
    """What has just happened, as Markdown, shown where it was asked for; `below`: what may be done about it."""

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
    """Everything that a home shows. `policies`: None for guests; `report`: None for all but operators."""

    user: str
    bot: str
    prefix: str
    memory: MemoryAnswer
    learns: bool
    schedules: ScheduleAnswer
    account: SpendingAccount
    budget: str
    models: ModelMenu
    policies: str | None
    sets_policies: bool
    report: str | None
    pages: Pages
    news: News | None = None


def home_opened(body: JsonObject) -> ReplyTo | None:
    """Whose Home tab was opened, and what it shows; None for any other event."""
    event = body.get("event")
    user, kind, tab = text(event, "user"), text(event, "type"), text(event, "tab")
    if not user or (kind, tab) != ("app_home_opened", "home"):
        return None
    return ReplyTo("", user, home=text(event, "view", "private_metadata") or Pages().encode())


def pages_of(carried: str) -> Pages:
    """The inverse of `Pages.encode`; the first pages for anything else."""
    try:
        value: Json = json.loads(carried)
    except ValueError:
        return Pages()
    return Pages(max(1, number(value, "memory")), max(1, number(value, "policies")))


def turned(action: JsonObject, pages: Pages) -> Pages:
    """The pages after a click on one of the home's own buttons."""
    page = number(carried_by(action), "page")
    return replace(pages, policies=page) if page and text(action, "action_id").startswith(_POLICIES) else pages


def part_of(body: JsonObject) -> Part:
    """Where a click or a window belongs."""
    actions = body.get("actions")
    action = text(actions[0], "action_id") if isinstance(actions, list) and actions else ""
    found = form_named(text(body, "view", "callback_id").removeprefix(f"{panels.FORM}:"))
    command = pressed_command(action) or (found[0] if found else None)
    return _PARTS.get(command.name, Part.TOP) if command else Part.TOP


def home_view(shown: HomeContent) -> JsonObject:
    """The whole tab."""
    is_new = not shown.memory.entries and not shown.account.month.calls
    welcome = [_section(command_texts.WELCOME.format(bot=shown.bot))] if is_new else []
    every = (_memory, _forgetting, _schedules, _usage, _model, _policies, _operating)
    parts = [part(shown) for part in every]
    return _view(shown.pages, [*welcome, *_news(shown, Part.TOP), *(block for part in parts for block in part)])


def sorry_view(sentence: str, pages: Pages) -> JsonObject:
    """In the place of everything, while it cannot be shown."""
    return _view(pages, [*_texts(sentence), *row([button(_AGAIN, command_texts.TRY_AGAIN, {})])])


def closed_view(sentence: str) -> JsonObject:
    """In the place of everything, for somebody whom the bot does not answer."""
    return _view(Pages(), _texts(sentence))


def _memory(shown: HomeContent) -> list[Json]:
    listed = memory_panel(replace(shown.memory, entries=shown.memory.entries[:ENTRIES]), ENTRY_CHARS)
    stop, go_on = PanelAction(command_texts.STOP_LEARNING, "pause"), PanelAction(command_texts.LEARN_AGAIN, "resume")
    deciding = Panel("", (stop if shown.learns else go_on, PanelAction(command_texts.EXPORT_BUTTON, "export")))
    return [
        _header(command_texts.HOME_MEMORY),
        *_news(shown, Part.MEMORY),
        *_texts(named(listed.text.removeprefix(_PAUSED).strip(), shown.prefix)),
        *_below(listed, memory.COMMAND, shown.user),
        _small(command_texts.LEARNING_ON if shown.learns else command_texts.LEARNING_OFF),
        *_below(deciding, memory.COMMAND, shown.user),
    ]


def _forgetting(shown: HomeContent) -> list[Json]:
    return [
        _header(command_texts.HOME_FORGET),
        _section(command_texts.FORGET_SECTION),
        *_below(Panel("", memory.choices(thread=False)), memory.FORGET_COMMAND, shown.user),
        *_news(shown, Part.FORGETTING),
    ]


def _schedules(shown: HomeContent) -> list[Json]:
    listed = remind.schedule_panel(shown.schedules)
    return [
        _header(command_texts.HOME_SCHEDULES),
        *_news(shown, Part.SCHEDULES),
        *_texts(named(listed.text, shown.prefix)),
        *_below(listed, remind.COMMAND, shown.user),
    ]


def _usage(shown: HomeContent) -> list[Json]:
    changing = Panel("", (budget.CHANGE.button(),) if shown.report is not None else ())
    return [
        _header(command_texts.HOME_USAGE),
        *_news(shown, Part.USAGE),
        *_texts(named(f"{account_text(shown.account)}\n\n{shown.budget}", shown.prefix)),
        *_below(changing, budget.COMMAND, shown.user),
    ]


def _model(shown: HomeContent) -> list[Json]:
    return [
        _header(command_texts.HOME_MODEL),
        *_news(shown, Part.MODEL),
        *_below(Panel("", parts=(talking.model_part(shown.models),)), talking.MODEL_COMMAND, shown.user),
    ]


def _policies(shown: HomeContent) -> list[Json]:
    if shown.policies is None:
        return []
    pages = pieces(mrkdwn(named(shown.policies, shown.prefix)), POLICIES_CHARS)
    page = max(1, min(shown.pages.policies, len(pages)))
    around = {command_texts.EARLIER_PAGE: page - 1, command_texts.NEXT_PAGE: page + 1}
    turning = [
        button(f"{_POLICIES}:{other}", label, {"page": other})
        for label, other in around.items()
        if 1 <= other <= len(pages)
    ]
    setting = Panel("", policy_actions(shown.policies) if shown.sets_policies else ())
    return [
        _header(command_texts.HOME_POLICIES),
        *_news(shown, Part.POLICIES),
        *[_section(piece) for piece in pages[page - 1 : page]],
        *row(turning),
        *_below(setting, POLICY_COMMAND, shown.user),
    ]


def _operating(shown: HomeContent) -> list[Json]:
    if shown.report is None:
        return []
    opening = Panel("", (PanelAction(command_texts.OPEN_OPERATOR_PAGE),))
    return [
        _header(command_texts.HOME_OPERATORS),
        *_news(shown, Part.OPERATING),
        *_texts(shown.report),
        *_below(opening, budget.OPERATOR_COMMAND, shown.user),
    ]


def _news(shown: HomeContent, part: Part) -> list[Json]:
    if shown.news is None or shown.news.part is not part:
        return []
    told = shown.news.text
    for list_below in (shown.policies or "", shown.memory.text):
        told = told.removesuffix(list_below).strip()
    if part is Part.MEMORY and (not told or told in _SHOWN_ANYWAY):
        return []
    return [*_texts(named(told or shown.news.text, shown.prefix)), *shown.news.below]


def _below(panel: Panel, command: Command, user: str) -> list[Json]:
    """What stands below the text of a panel."""
    return panel_blocks(panel, command, ShownTo(user), lambda words: _texts(words, limit=1))


def _view(pages: Pages, blocks: list[Json]) -> JsonObject:
    return {"type": "home", "callback_id": VIEW, "private_metadata": pages.encode(), "blocks": blocks}


def _header(words: str) -> Json:
    return {"type": "header", "text": plain(words)}


def _texts(markdown: str, limit: int = SECTIONS) -> list[Json]:
    """Markdown as sections, at most so many; the end of a longer text is cut."""
    found = pieces(mrkdwn(markdown), SECTION_CHARS - len(_MORE))
    shown = found if len(found) <= limit else [*found[: limit - 1], found[limit - 1] + _MORE]
    return [_section(piece) for piece in shown]


def _section(shown: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": shown, "verbatim": True}}


def _small(shown: str) -> Json:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": shown}]}


_MORE: Final = "\n…"
# Where it is shown what a command says.
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

# Going back and forth between the tabs opens it each time; what has changed by oneself is shown by oneself.
BURST_S: Final = 2.0
PATIENCE_S: Final = 60.0  # As long as Slack's limit of a minute lasts; after that they open the tab again
MAX_OPENED: Final = 2_000  # As many people as open it within a burst

# The tab says itself whether the bot learns.
_SHOWN_ANYWAY: Final = frozenset(
    memory_texts.pause_text(on=on, here=False, for_everybody=False) for on in (True, False)
)


@dataclass(slots=True)
class Home:
    """Rules
    Slack is told at once that the tab was opened; a burst of that shows it once.
    One person's tab is built and shown one after the other, so that what is shown last is the latest.
    What goes wrong is one sentence in the tab.
    """

    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    clock: Clock
    _opened: TTLCache[str, None] = field(init=False)
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary[str, asyncio.Lock])
    _showing: BackgroundTasks = field(default_factory=lambda: BackgroundTasks(name=USER_TASKS))

    def __post_init__(self) -> None:
        self._opened = TTLCache(MAX_OPENED, BURST_S, self.clock.monotonic)

    def open(self, to: ReplyTo) -> None:
        """They opened the tab: show it soon."""
        if to.user in self._opened:
            return
        self._showing.start(self._show(to.user, pages_of(to.home)))
        self._opened[to.user] = None

    def show_anew(self, user: str) -> None:
        """What it shows was forgotten elsewhere."""
        self._showing.start(self._show(user, Pages()))

    async def close(self) -> None:
        await self._showing.close()

    async def clicked(self, body: JsonObject, action: JsonObject) -> None:
        """A click on what only the tab has: another page of policies. Raises CogencyError."""
        to = of_click(body)
        await self._show(to.user, turned(action, pages_of(to.home)))

    async def answered(self, to: ReplyTo, command: Command, panel: Panel, words: str) -> None:
        """A command was used there, by a button: its answer stands above what the tab shows anyway."""
        pages, asked = pages_of(to.home), read_memory_request(words)
        if command.name == "memory" and isinstance(asked, ShowMemory):
            await self._show(to.user, replace(pages, memory=asked.page))
        elif command.name == "model":
            await self._show(to.user, pages)
        else:
            below = _below(replace(panel, parts=()), command, to.user)
            await self._show(to.user, pages, News(_PARTS.get(command.name, Part.TOP), panel.text, tuple(below)))

    async def failed(self, to: ReplyTo, body: JsonObject, error: CogencyError) -> None:
        """What was asked there did not work."""
        await self._show(to.user, pages_of(to.home), News(part_of(body), reply_texts.failure(error)))

    async def _show(self, user: str, pages: Pages, news: News | None = None) -> None:
        async with self._turns.setdefault(user, asyncio.Lock()):
            try:
                shown = await self._contents(user, pages)
                view = home_view(replace(shown, news=news))
            except Refused as refused:
                view = closed_view(reply_texts.failure(refused))
            except CogencyError as error:
                log.log(severity(error), "a Home tab could not be put together: %s", error)
                view = sorry_view(reply_texts.failure(error), pages)
            try:
                await self._publish(user, view)
            except SlackError as error:
                log.warning("a Home tab could not be shown: %s", error)

    async def _publish(self, user: str, view: JsonObject) -> None:
        """Raises SlackError; what Slack only puts off is tried once more."""
        try:
            await self.api.call(Method.PUBLISH_VIEW, user_id=user, view=dict(view))
        except SlackLimited as limited:
            await self.clock.sleep(min(limited.retry_after_s, PATIENCE_S))
            await self.api.call(Method.PUBLISH_VIEW, user_id=user, view=dict(view))

    async def _contents(self, user: str, pages: Pages) -> HomeContent:
        """Raises CogencyError."""
        member = await self.people.member(user)
        person, operates = member.person, self.host.operates(member.person.id)
        who = Requester(person.id, "", member.groups, self.me.team)
        closed = self.host.admission.closed_to(who, member.authority)
        if closed is not None:
            raise Refused(closed)
        manages = member.authority >= POLICY_AUTHORITY or operates
        viewer = Viewer(person, person_place(self.me, member), manages=manages)
        memory = await self.host.memory(viewer, view.page_words(pages.memory))
        policies = (
            (await self.host.policy(PolicyAsker(person, member.authority, team_place(self.me)), "")).text
            if member.full
            else None
        )
        return HomeContent(
            user=user,
            bot=self.me.name,
            prefix=self.me.prefix,
            memory=memory,
            learns=(await self.host.preferences.of(person.id)).get(PAUSE) != PAUSED,
            schedules=await self.host.schedules.answer(
                PlaceAsker(person, member.authority, viewer.place, self.me.source, manages=manages), ""
            ),
            account=await self.host.budgets.usage(person.id),
            budget=(await self.host.budgets.answer(person.id, "", "")).text,
            models=await self.host.models.menu(who),
            policies=policies,
            sets_policies=manages,
            report=await self.host.report(person.id),
            pages=replace(pages, memory=memory.page),
        )
