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
from bot.access.acl import Requester
from bot.commands.budget import CHANGE
from bot.commands.policy import REMOVE, SET, forms_below
from bot.host import Host, MemoryAnswer, ModelMenu, PolicyAsker, Viewer
from bot.logs import severity
from bot.memory import view
from bot.memory.learning import PAUSE
from bot.memory.view import PauseLearning, entry_line, lasting_text
from bot.platforms.slack import memory_blocks, modals
from bot.platforms.slack.api import Method, SlackApi, SlackError, SlackLimited, number, text
from bot.platforms.slack.block_kit import LABEL_CHARS, button, carried_by, option, plain, row
from bot.platforms.slack.inbound import ReplyTo, SlackBot, of_click
from bot.platforms.slack.markup import SECTION_CHARS, mrkdwn, pieces
from bot.platforms.slack.members import People
from bot.platforms.slack.memory_blocks import undoing
from bot.platforms.slack.places import person_place, team_place
from bot.platforms.slack.slash_commands import named
from bot.platforms.slack.sockets import ASKED, TaskGroup
from bot.spending_text import account_text
from bot.texts import command_texts, formatting, memory_texts, reply_texts

# A person's Home tab as a view of Slack, and what its buttons and its opening say. Pure.
#
# Rules
#   Everything is text and buttons of Slack, so that it reads in every theme and to a screen reader.
#   Whatever is known, a view stays within Slack's limits: lists come page by page, and what no page can hold is cut.
#   What the lists show stands in the view itself (`Pages`), so that every process can go on with it.

HOME_ACTION: Final = "cogency_home"
VIEW: Final = "cogency_home"
MODEL: Final = f"{HOME_ACTION}:model"
_POLICIES: Final = f"{HOME_ACTION}:policies"
_AGAIN: Final = f"{HOME_ACTION}:again"

SECTIONS: Final = 4
"""Of one text: more is a wall that nobody reads; all of it stands behind the command."""
ENTRIES: Final = 20
"""More than a page of the list has; with their buttons they leave half of Slack's hundred blocks to the rest."""
POLICIES_CHARS: Final = 1_500
"""Of one page of policies: about ten of them."""
OPTION_CHARS: Final = 150
"""Of what an option in a menu stands for; the name of a model that is longer can only be written."""
OPTIONS: Final = 100

_PAUSED: Final = lasting_text([PauseLearning()])
"""How the list begins then; here `NOT_LEARNING` stands below it."""


class Part(StrEnum):
    """Where something is shown."""

    TOP = "top"
    MEMORY = "memory"
    FORGETTING = "forgetting"
    USAGE = "usage"
    MODEL = "model"
    POLICIES = "policies"


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


def chosen_model(action: JsonObject) -> str | None:
    """What was chosen in the menu of models; None if the click was elsewhere."""
    return text(action, "selected_option", "value") or None if text(action, "action_id") == MODEL else None


def part_of(body: JsonObject) -> Part:
    """Where a click or a window belongs."""
    actions = body.get("actions")
    action = text(actions[0], "action_id") if isinstance(actions, list) and actions else ""
    name = action or text(body, "view", "callback_id")
    return next((part for beginning, part in _PARTS.items() if name.startswith(beginning)), Part.TOP)


def home_view(shown: HomeContent) -> JsonObject:
    """The whole tab."""
    is_new = not shown.memory.entries and not shown.account.month.calls
    welcome = [_section(command_texts.WELCOME.format(bot=shown.bot))] if is_new else []
    parts = (_memory(shown), _forgetting(shown), _usage(shown), _model(shown), _policies(shown), _operating(shown))
    return _view(shown.pages, [*welcome, *_news(shown, Part.TOP), *(block for part in parts for block in part)])


def sorry_view(sentence: str, pages: Pages) -> JsonObject:
    """In the place of everything, while it cannot be shown."""
    return _view(pages, [*_texts(sentence), *row([button(_AGAIN, command_texts.TRY_AGAIN, {})])])


def closed_view(sentence: str) -> JsonObject:
    """In the place of everything, for somebody whom the bot does not answer."""
    return _view(Pages(), _texts(sentence))


def _memory(shown: HomeContent) -> list[Json]:
    listed = replace(shown.memory, entries=shown.memory.entries[:ENTRIES])
    entries = [
        block
        for entry in listed.entries
        for block in (
            _texts(entry_line(entry, memory_blocks.ENTRY_CHARS), limit=1)
            + row(memory_blocks.entry_buttons(entry, shown.user))
        )
    ]
    stop_or_go = ("pause", command_texts.STOP_LEARNING) if shown.learns else ("resume", command_texts.LEARN_AGAIN)
    deciding = [memory_blocks.memory_button(words, label, words, shown.user) for words, label in (stop_or_go, _EXPORT)]
    return [
        _header(command_texts.HOME_MEMORY),
        *_news(shown, Part.MEMORY),
        *_texts(named(listed.text.removeprefix(_PAUSED).strip(), shown.prefix)),
        *entries,
        *row(memory_blocks.page_buttons(listed, shown.user)),
        _small(command_texts.LEARNING_ON if shown.learns else command_texts.LEARNING_OFF),
        *row(deciding),
    ]


def _forgetting(shown: HomeContent) -> list[Json]:
    return [
        _header(command_texts.HOME_FORGET),
        _section(command_texts.FORGET_SECTION),
        *memory_blocks.forget_buttons_at_home(shown.user),
        *_news(shown, Part.FORGETTING),
    ]


def _usage(shown: HomeContent) -> list[Json]:
    changing = [modals.modal_button(CHANGE, shown.user)] if shown.report is not None else []
    return [
        _header(command_texts.HOME_USAGE),
        *_news(shown, Part.USAGE),
        *_texts(named(f"{account_text(shown.account)}\n\n{shown.budget}", shown.prefix)),
        *row(changing),
    ]


def _model(shown: HomeContent) -> list[Json]:
    menu = shown.models
    usual = option(command_texts.USUAL_MODEL, reply_texts.USUAL)
    names = [name for name in menu.allowed if name.strip() and len(name) <= OPTION_CHARS and name != reply_texts.USUAL]
    options = {name: option(formatting.shortened(name, LABEL_CHARS), name) for name in names[: OPTIONS - 1]}
    select: dict[str, Json] = {
        "type": "static_select",
        "action_id": MODEL,
        "placeholder": plain(command_texts.CHOOSE_MODEL),
    }
    select["options"] = [*options.values(), usual]
    if menu.current in options:
        select["initial_option"] = options[menu.current]
    return [
        _header(command_texts.HOME_MODEL),
        *_news(shown, Part.MODEL),
        *_texts(reply_texts.model_in_use(menu.current, menu.why) if options else _only_model(menu), limit=1),
        *row([select] if options else []),
    ]


def _only_model(menu: ModelMenu) -> str:
    return reply_texts.model_text(menu.current, menu.why, (), "")


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
    forms = forms_below(shown.policies) if shown.sets_policies else ()
    setting = [modals.modal_button(form, shown.user) for form in forms]
    return [
        _header(command_texts.HOME_POLICIES),
        *_news(shown, Part.POLICIES),
        *[_section(piece) for piece in pages[page - 1 : page]],
        *row(turning),
        *row(setting),
    ]


def _operating(shown: HomeContent) -> list[Json]:
    return [] if shown.report is None else [_header(command_texts.HOME_OPERATORS), *_texts(shown.report)]


def _news(shown: HomeContent, part: Part) -> list[Json]:
    if shown.news is None or shown.news.part is not part:
        return []
    told = shown.news.text.removesuffix(shown.policies or "").strip()  # the list stands below it anyway
    return [*_texts(named(told or shown.news.text, shown.prefix)), *shown.news.below]


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
_EXPORT: Final = ("export", command_texts.EXPORT_BUTTON)
_PARTS: Final = {
    memory_blocks.ACTION: Part.MEMORY,
    memory_blocks.VIEW: Part.MEMORY,
    memory_blocks.FORGET_ACTION: Part.FORGETTING,
    memory_blocks.FORGET_VIEW: Part.FORGETTING,
    MODEL: Part.MODEL,
    modals.view_id(CHANGE): Part.USAGE,
    modals.view_id(SET): Part.POLICIES,
    modals.view_id(REMOVE): Part.POLICIES,
}

log = logging.getLogger(__name__)

BURST_S: Final = 2.0
"""Going back and forth between the tabs opens it each time; what has changed by oneself is shown by oneself."""
PATIENCE_S: Final = 60.0
"""As long as Slack's limit of a minute lasts; after that they open the tab again."""
MAX_OPENED: Final = 2_000
"""As many people as open it within a burst."""

_SHOWN_ANYWAY: Final = frozenset(
    memory_texts.pause_text(on=on, here=False, for_everybody=False) for on in (True, False)
)
"""The tab says itself whether the bot learns."""


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
    _showing: TaskGroup = field(default_factory=lambda: TaskGroup(name=ASKED))

    def __post_init__(self) -> None:
        self._opened = TTLCache(MAX_OPENED, BURST_S, self.clock.monotonic)

    def open(self, to: ReplyTo) -> None:
        """They opened the tab: show it soon."""
        if to.user in self._opened:
            return
        self._showing.begin(self._show(to.user, pages_of(to.home)))
        self._opened[to.user] = None

    def show_anew(self, user: str) -> None:
        """What it shows was forgotten elsewhere."""
        self._showing.begin(self._show(user, Pages()))

    async def close(self) -> None:
        await self._showing.close()

    async def clicked(self, body: JsonObject, action: JsonObject) -> None:
        """A click on what only the tab has: another page, another model. Raises CogencyError."""
        to = of_click(body)
        name = chosen_model(action)
        if name is not None:
            member = await self.people.member(to.user)
            who = Requester(member.person.id, "", member.groups, self.me.team)
            await self.host.choose_model(who, reply_texts.chosen_model(name))
        await self._show(to.user, turned(action, pages_of(to.home)))

    async def tell(self, to: ReplyTo, news: News) -> None:
        """Something was done there."""
        await self._show(to.user, pages_of(to.home), news)

    async def remembered(self, to: ReplyTo, answer: MemoryAnswer) -> None:
        """`/memory` was asked there, by a button."""
        await self._show(to.user, pages_of(to.home), memory=answer)

    async def failed(self, to: ReplyTo, body: JsonObject, error: CogencyError) -> None:
        """What was asked there did not work."""
        await self.tell(to, News(part_of(body), reply_texts.failure(error)))

    async def _show(
        self, user: str, pages: Pages, news: News | None = None, memory: MemoryAnswer | None = None
    ) -> None:
        async with self._turns.setdefault(user, asyncio.Lock()):
            try:
                shown = await self._contents(user, pages)
                view = home_view(_answered(replace(shown, news=news), memory))
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
        closed = self.host.closed_to(who, member.authority)
        if closed is not None:
            raise Refused(closed)
        manages = member.authority >= POLICY_AUTHORITY or operates
        viewer = Viewer(person, person_place(self.me, member), manages=manages)
        memory = await self.host.memory(viewer, view.page_words(pages.memory))
        policies = (
            await self.host.policy(PolicyAsker(person, member.authority, team_place(self.me)), "")
            if member.full
            else None
        )
        return HomeContent(
            user=user,
            bot=self.me.name,
            prefix=self.me.prefix,
            memory=memory,
            learns=(await self.host.preferences.of(person.id)).get(PAUSE) != PAUSED,
            account=await self.host.usage(person.id),
            budget=await self.host.budget(person.id, "", ""),
            models=await self.host.models(who),
            policies=policies,
            sets_policies=manages,
            report=await self.host.report(person.id),
            pages=replace(pages, memory=memory.page),
        )


def _answered(shown: HomeContent, answer: MemoryAnswer | None) -> HomeContent:
    """The tab after `/memory` said this: the page that was asked for, or what was done above the page that stood there.

    After something was done, the answer ends with the list's own heading, which the tab shows anyway.
    """
    if answer is None:
        return shown
    done = answer.text.removesuffix(shown.memory.text).strip()
    if not done:
        return replace(shown, memory=answer, pages=replace(shown.pages, memory=answer.page))
    return (
        shown if done in _SHOWN_ANYWAY else replace(shown, news=News(Part.MEMORY, done, _undoing(answer, shown.user)))
    )


def _undoing(answer: MemoryAnswer, user: str) -> tuple[Json, ...]:
    return tuple(row(undoing(answer, user)))
