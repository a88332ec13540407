"""Windows for what is easier to fill in than to write: a budget, a policy. Pure.

Rules. A window only spells what the command would be told: its words are read where those are, by the same rules. What
cannot be read is said beside its field, and the window stays.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.messages import Depth, Json, JsonObject
from agent.records import Attachment
from bot.access import budgets
from bot.memory import policy
from bot.platforms.slack.address import ReplyTo, decode_reply_to
from bot.platforms.slack.api import items, number, text
from bot.platforms.slack.block_kit import button, carried_by, field, line, option, picked, typed, window
from bot.platforms.slack.inbound import SlackBot, attachment, person_id

MODAL_ACTION: Final = "cogency_window"


@dataclass(frozen=True, slots=True)
class ModalKind:
    """A window: its name, what the button says that opens it, and its title and last button."""

    name: str
    label: str
    title: str
    submit: str

    @property
    def view(self) -> str:
        """The callback id."""
        return f"{MODAL_ACTION}:{self.name}"


@dataclass(frozen=True, slots=True)
class ModalOpened:
    """Somebody opens a window."""

    kind: ModalKind
    user: str
    channel: str


BUDGET: Final = ModalKind("budget", "Change a budget…", "Change a budget", "Change")
POLICY: Final = ModalKind("policy", "Set a policy…", "Set a policy", "Set")
REMOVAL: Final = ModalKind("removal", "Remove a policy…", "Remove a policy", "Remove")
KINDS: Final = (BUDGET, POLICY, REMOVAL)


def for_policies(shown: str) -> tuple[ModalKind, ...]:
    """What whoever sets policies is offered below their list."""
    return (POLICY,) if shown == policy.NOTHING else (POLICY, REMOVAL)


_WHOSE, _PERSON, _CHANNEL, _AMOUNT = "whose", "person", "channel", "amount"
_NAME, _TEXT, _PLACE, _NUMBER = "name", "text", "place", "number"
_EVERYONE: Final = "everyone"
_OF: Final[tuple[Json, ...]] = (
    option("A person", _PERSON),
    option("A channel", _CHANNEL),
    option("Everybody together", _EVERYONE),
)

CHOOSE: Final = "Please choose whose budget it is."
AMOUNT: Final = "Please write $20, 5,000,000 tokens, exempt or reset."
NO_COLON: Final = "Please write it without a colon."
NUMBER: Final = "Please write the number that stands before it in the list."


def modal_button(kind: ModalKind, user: str, channel: str = "") -> Json:
    """The button that opens a window; `channel`: where it was asked for, wherever the button may stand."""
    return button(kind.view, kind.label, {"user": user, "channel": channel})


def modal_opened(action: JsonObject) -> ModalOpened | None:
    """Which window a click opens; None if it is not on one of those buttons."""
    carried = carried_by(action)
    kind = next((kind for kind in KINDS if kind.view == text(action, "action_id")), None)
    return None if kind is None else ModalOpened(kind, text(carried, "user"), text(carried, "channel"))


def view_of(kind: ModalKind, to: ReplyTo) -> JsonObject:
    """The window; it is answered where `to` says."""
    blocks = {BUDGET: _budget_fields, POLICY: _policy_fields, REMOVAL: _removal_fields}[kind](to)
    return window(kind.view, kind.title, kind.submit, {"to": to.encode()}, blocks)


def mistakes(view: JsonObject) -> Mapping[str, str]:
    """What is wrong with what was filled in, by the names of the fields."""
    match text(view, "callback_id"):
        case BUDGET.view:
            return _budget_mistakes(view)
        case POLICY.view:
            return {_NAME: NO_COLON} if ":" in typed(view, _NAME) else {}
        case REMOVAL.view:
            read = policy.read_policy_request(removal_asked(view))
            return {} if isinstance(read, policy.RemovePolicy) else {_NUMBER: NUMBER}
        case _:
            return {}


def budget_asked(view: JsonObject, me: SlackBot) -> str:
    """The words of `/budget` that this window stands for."""
    amount = typed(view, _AMOUNT)
    match picked(view, _WHOSE):
        case "person":
            return f"person:{person_id(me, picked(view, _PERSON))} {amount}"
        case "channel":
            return f"channel:{picked(view, _CHANNEL)} {amount}"
        case _:
            return f"{_EVERYONE} {amount}"


def policy_asked(view: JsonObject) -> str:
    """The words of `/policy` that this window stands for."""
    name = typed(view, _NAME)
    return f"set {name}: {typed(view, _TEXT)}" if name else f"set {typed(view, _TEXT)}"


def policy_channel(view: JsonObject) -> str:
    """The private channel for which alone it is set; "" for where the window was opened."""
    return picked(view, _PLACE)


def removal_asked(view: JsonObject) -> str:
    """The words of `/policy` that this window stands for."""
    return f"remove {typed(view, _NUMBER)}"


def _budget_fields(_: ReplyTo) -> list[Json]:
    channels: dict[str, Json] = {"type": "conversations_select", "filter": {"include": ["public", "private", "mpim"]}}
    return [
        field(_WHOSE, "Whose budget", {"type": "radio_buttons", "options": [*_OF], "initial_option": _OF[0]}),
        field(_PERSON, "The person", {"type": "users_select"}, optional=True),
        field(_CHANNEL, "The channel", channels, optional=True),
        field(_AMOUNT, "For each day", line(most=40), hint="$20, 5,000,000 tokens, exempt, or reset to the usual one."),
    ]


def _policy_fields(to: ReplyTo) -> list[Json]:
    """A command sets it where it is written; at home there is a choice."""
    private: dict[str, Json] = {"type": "conversations_select", "filter": {"include": ["private"]}}
    place = field(_PLACE, "Only in this private channel", private, hint="Empty: in all public channels.", optional=True)
    name = line(most=policy.MAX_NAME_CHARS)
    return [
        field(_NAME, "Name", name, hint="A new policy with this name takes the place of the old one.", optional=True),
        field(_TEXT, "What holds", line(multiline=True, most=policy.MAX_CHARS)),
        *([place] if to.home else []),
    ]


def _removal_fields(_: ReplyTo) -> list[Json]:
    return [field(_NUMBER, "Its number in the list", line(most=12))]


def _budget_mistakes(view: JsonObject) -> Mapping[str, str]:
    whose = picked(view, _WHOSE)
    if whose in (_PERSON, _CHANNEL) and not picked(view, whose):
        return {whose: CHOOSE}
    request = budgets.read_budget_request(f"{_EVERYONE} {typed(view, _AMOUNT)}")
    return {} if request is not None and request.change is not None else {_AMOUNT: AMOUNT}


# --------------------------------------------------------------------------------------------------
# The windows in which a question is typed, and how they are read. Pure.
#
# Rule: a window carries where it is answered and for whom, so that it works after a restart, and for nobody else.


ASK_SHORTCUT = "cogency_ask"
FORGET_SHORTCUT = "cogency_forget_thread"
MEMORY_SHORTCUT = "cogency_memory"
ASK_VIEW = "cogency_ask_view"
ANYWHERE_SHORTCUT = "cogency_ask_anywhere"
ANYWHERE_VIEW = "cogency_ask_anywhere_view"
_QUESTION, _WHERE, _DEPTH, _PRIVATE = "question", "where", "depth", "private"
_DEPTHS = (
    option("As deep as the question needs", Depth.ADAPT),
    option("Deep: take your time", Depth.DEEP),
    option("Fast: a short answer", Depth.FAST),
)

MAX_FILES = 3
"""Of the message that is asked about: what a view carries beside its words."""
MAX_NAME_CHARS = 80
"""Of a file or an author, there."""
FILE = "file of the message that is asked about"

METADATA_CHARS = 3_000
"""The most that a view carries; a longer message is asked about by its beginning."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about one message, typed into the view of the shortcut."""

    question: str
    author: str
    about: str
    to: ReplyTo
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedAnywhere:
    """A question typed into the window that belongs to no channel; `channel` "" for the direct messages."""

    question: str
    channel: str
    private: bool
    depth: Depth


def ask_view(author: str, about: str, to: ReplyTo, files: Sequence[JsonObject] = ()) -> JsonObject:
    """The window in which a question about a message is typed. `files`: the message's, as Slack tells them."""
    told = [_file(file) for file in files[:MAX_FILES]]
    author = author[:MAX_NAME_CHARS]
    carried = _carried(author, about, to, told)
    while len(carried) > METADATA_CHARS and about:
        about = about[: len(about) * 3 // 4]
        carried = _carried(author, about, to, told)
    return {
        "type": "modal",
        "callback_id": ASK_VIEW,
        "title": _plain("Ask about this message"),
        "submit": _plain("Ask"),
        "close": _plain("Cancel"),
        "private_metadata": carried,
        "blocks": [
            {
                "type": "input",
                "block_id": _QUESTION,
                "label": _plain("Your question (only you will see the answer)"),
                "element": {"type": "plain_text_input", "action_id": _QUESTION, "multiline": True},
            }
        ],
    }


def asked(view: JsonObject) -> Asked | None:
    """What was typed into the window; None if it is not one of ours."""
    question = text(view, "state", "values", _QUESTION, _QUESTION, "value").strip()
    try:
        carried: Json = json.loads(text(view, "private_metadata"))
        to = decode_reply_to(text(carried, "to"))
    except ValueError:
        return None
    author = text(carried, "author")
    files = (replace(attachment(file), author=author, source=FILE) for file in items(carried, "files"))
    return Asked(question, author, text(carried, "about"), to, tuple(files)) if question else None


def anywhere_view() -> JsonObject:
    """The window in which something is asked from anywhere in Slack."""
    where: dict[str, Json] = {
        "type": "conversations_select",
        "default_to_current_conversation": True,
        "filter": {"include": ["public", "private", "mpim"]},
    }
    depth: dict[str, Json] = {"type": "static_select", "options": [*_DEPTHS], "initial_option": _DEPTHS[0]}
    private: dict[str, Json] = {"type": "checkboxes", "options": [option("Only I see the answer", _PRIVATE)]}
    blocks = [
        field(_QUESTION, "Your question", line(multiline=True)),
        field(_WHERE, "Where to answer", where, hint="Empty: in your direct messages with me.", optional=True),
        field(_PRIVATE, "Who sees the answer", private, optional=True),
        field(_DEPTH, "How deep", depth),
    ]
    return window(ANYWHERE_VIEW, "Ask", "Ask", {}, blocks)


def asked_anywhere(view: JsonObject) -> AskedAnywhere:
    """What was filled in there."""
    ticked = items(view, "state", "values", _PRIVATE, _PRIVATE, "selected_options")
    chosen = picked(view, _DEPTH)
    depth = Depth(chosen) if chosen in {*Depth} else Depth.ADAPT
    return AskedAnywhere(typed(view, _QUESTION), picked(view, _WHERE), bool(ticked), depth)


def _carried(author: str, about: str, to: ReplyTo, files: list[Json]) -> str:
    carried = {"author": author, "about": about, "to": to.encode(), "files": files}
    return json.dumps(carried, ensure_ascii=False)


def _file(file: JsonObject) -> Json:
    """As much of a file as it takes to ask Slack for it later."""
    named = {
        "id": text(file, "id")[:20],
        "name": text(file, "name")[:MAX_NAME_CHARS],
        "mimetype": text(file, "mimetype")[:MAX_NAME_CHARS],
    }
    return {**named, "size": number(file, "size"), "file_access": "check_file_info"}


def _plain(words: str) -> dict[str, Json]:
    return {"type": "plain_text", "text": words}
