"""A person's Home tab as a view of Slack, and what its buttons and its opening say. Pure.

Above: `home`, and what shows its outcome there. Below: `block_kit`, `memory_blocks`, `forget_blocks`, `modals`,
`mrkdwn`, `commands`, `reply_to`; `bot.host` (the values), `bot.spending_text`, `bot.wording`.

Rules
  Everything is text and buttons of Slack, so that it reads in every theme and to a screen reader.
  Whatever is known, a view stays within Slack's limits: lists come page by page, and what no page can hold is cut.
  What the lists show stands in the view itself (`Pages`), so that every process can go on with it.
"""

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Final

from agent.messages import Json, JsonObject
from agent.spending import Account
from bot import wording
from bot.host import MemoryAnswer, ModelMenu
from bot.memory.view import lasting_text, line
from bot.memory.words import Pause
from bot.platforms.slack.mrkdwn import SECTION_CHARS, mrkdwn, pieces
from bot.platforms.slack.payload import number, text
from bot.platforms.slack.replies.reply_to import ReplyTo
from bot.platforms.slack.setup.commands import named
from bot.platforms.slack.views import forget_blocks, memory_blocks, modals
from bot.platforms.slack.views.block_kit import LABEL_CHARS, button, carried_by, option, plain, row
from bot.spending_text import account_text

ACTION: Final = "cogency_home"
VIEW: Final = "cogency_home"
MODEL: Final = f"{ACTION}:model"
_POLICIES: Final = f"{ACTION}:policies"
_AGAIN: Final = f"{ACTION}:again"

SECTIONS: Final = 4
"""Of one text: more is a wall that nobody reads; all of it stands behind the command."""
ENTRIES: Final = 20
"""More than a page of the list has; with their buttons they leave half of Slack's hundred blocks to the rest."""
POLICIES_CHARS: Final = 1_500
"""Of one page of policies: about ten of them."""
OPTION_CHARS: Final = 150
"""Of what an option in a menu stands for; the name of a model that is longer can only be written."""
OPTIONS: Final = 100

WELCOME: Final = (
    "I am *@{bot}*: I answer questions, use tools, and find again what you told me.\n"
    "To begin, write to me in the tab *Messages*, or mention @{bot} in a channel and go on in its thread.\n"
    "I keep what you write to me, and may learn from it what helps me to help you. Below you see what that is, and can "
    "correct it, have it forgotten, or stop the learning."
)
FORGETTING: Final = "You see what it is, and how much, before anything is erased."
LEARNING: Final = "I may learn from what you write to me."
NOT_LEARNING: Final = (
    "I do not learn from what you write to me, nor later from what you write now. What is remembered already stays."
)
_PAUSED: Final = lasting_text([Pause()])
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
class Shown:
    """Everything that a home shows. `policies`: None for guests; `report`: None for all but operators."""

    user: str
    bot: str
    prefix: str
    memory: MemoryAnswer
    learns: bool
    account: Account
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


def home_view(shown: Shown) -> JsonObject:
    """The whole tab."""
    is_new = not shown.memory.entries and not shown.account.month.calls
    welcome = [_section(WELCOME.format(bot=shown.bot))] if is_new else []
    parts = (_memory(shown), _forgetting(shown), _usage(shown), _model(shown), _policies(shown), _operating(shown))
    return _view(shown.pages, [*welcome, *_news(shown, Part.TOP), *(block for part in parts for block in part)])


def sorry_view(sentence: str, pages: Pages) -> JsonObject:
    """In the place of everything, while it cannot be shown."""
    return _view(pages, [*_texts(sentence), *row([button(_AGAIN, "Try again", {})])])


def closed_view(sentence: str) -> JsonObject:
    """In the place of everything, for somebody whom the bot does not answer."""
    return _view(Pages(), _texts(sentence))


def _memory(shown: Shown) -> list[Json]:
    listed = replace(shown.memory, entries=shown.memory.entries[:ENTRIES])
    entries = [
        block
        for entry in listed.entries
        for block in (
            _texts(line(entry, memory_blocks.ENTRY_CHARS), most=1) + row(memory_blocks.decisions(entry, shown.user))
        )
    ]
    stop_or_go = ("pause", "Stop learning") if shown.learns else ("resume", "Learn again")
    deciding = [memory_blocks.asking(words, label, words, shown.user) for words, label in (stop_or_go, _EXPORT)]
    return [
        _header("What I remember about you"),
        *_news(shown, Part.MEMORY),
        *_texts(named(listed.text.removeprefix(_PAUSED).strip(), shown.prefix)),
        *entries,
        *row(memory_blocks.pages(listed, shown.user)),
        _small(LEARNING if shown.learns else NOT_LEARNING),
        *row(deciding),
    ]


def _forgetting(shown: Shown) -> list[Json]:
    return [
        _header("Forget what I told you"),
        _section(FORGETTING),
        *forget_blocks.ways_at_home(shown.user),
        *_news(shown, Part.FORGETTING),
    ]


def _usage(shown: Shown) -> list[Json]:
    changing = [modals.opening(modals.BUDGET, shown.user)] if shown.report is not None else []
    return [
        _header("Your usage and budget"),
        *_news(shown, Part.USAGE),
        *_texts(named(f"{account_text(shown.account)}\n\n{shown.budget}", shown.prefix)),
        *row(changing),
    ]


def _model(shown: Shown) -> list[Json]:
    menu = shown.models
    usual = option("The usual one", wording.USUAL)
    names = [name for name in menu.allowed if name.strip() and len(name) <= OPTION_CHARS and name != wording.USUAL]
    options = {name: option(wording.shortened(name, LABEL_CHARS), name) for name in names[: OPTIONS - 1]}
    select: dict[str, Json] = {"type": "static_select", "action_id": MODEL, "placeholder": plain("Choose a model")}
    select["options"] = [*options.values(), usual]
    if menu.current in options:
        select["initial_option"] = options[menu.current]
    return [
        _header("The model that answers you"),
        *_news(shown, Part.MODEL),
        *_texts(wording.model_in_use(menu.current, menu.why) if options else _only_model(menu), most=1),
        *row([select] if options else []),
    ]


def _only_model(menu: ModelMenu) -> str:
    return wording.model_text(menu.current, menu.why, (), "")


def _policies(shown: Shown) -> list[Json]:
    if shown.policies is None:
        return []
    pages = pieces(mrkdwn(named(shown.policies, shown.prefix)), POLICIES_CHARS)
    page = max(1, min(shown.pages.policies, len(pages)))
    around = {"Earlier page": page - 1, "Next page": page + 1}
    turning = [
        button(f"{_POLICIES}:{other}", label, {"page": other})
        for label, other in around.items()
        if 1 <= other <= len(pages)
    ]
    kinds = modals.for_policies(shown.policies) if shown.sets_policies else ()
    setting = [modals.opening(kind, shown.user) for kind in kinds]
    return [
        _header("What holds for everybody"),
        *_news(shown, Part.POLICIES),
        *[_section(piece) for piece in pages[page - 1 : page]],
        *row(turning),
        *row(setting),
    ]


def _operating(shown: Shown) -> list[Json]:
    return [] if shown.report is None else [_header("For operators"), *_texts(shown.report)]


def _news(shown: Shown, part: Part) -> list[Json]:
    if shown.news is None or shown.news.part is not part:
        return []
    told = shown.news.text.removesuffix(shown.policies or "").strip()  # the list stands below it anyway
    return [*_texts(named(told or shown.news.text, shown.prefix)), *shown.news.below]


def _view(pages: Pages, blocks: list[Json]) -> JsonObject:
    return {"type": "home", "callback_id": VIEW, "private_metadata": pages.encode(), "blocks": blocks}


def _header(words: str) -> Json:
    return {"type": "header", "text": plain(words)}


def _texts(markdown: str, most: int = SECTIONS) -> list[Json]:
    """Markdown as sections, at most so many; the end of a longer text is cut."""
    found = pieces(mrkdwn(markdown), SECTION_CHARS - len(_MORE))
    shown = found if len(found) <= most else [*found[: most - 1], found[most - 1] + _MORE]
    return [_section(piece) for piece in shown]


def _section(shown: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": shown, "verbatim": True}}


def _small(shown: str) -> Json:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": shown}]}


_MORE: Final = "\n…"
_EXPORT: Final = ("export", "Send me all of it as a file")
_PARTS: Final = {
    memory_blocks.ACTION: Part.MEMORY,
    memory_blocks.VIEW: Part.MEMORY,
    forget_blocks.ACTION: Part.FORGETTING,
    forget_blocks.VIEW: Part.FORGETTING,
    MODEL: Part.MODEL,
    modals.BUDGET.view: Part.USAGE,
    modals.POLICY.view: Part.POLICIES,
    modals.REMOVAL.view: Part.POLICIES,
}
