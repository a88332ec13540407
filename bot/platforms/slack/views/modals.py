"""Windows for what is easier to fill in than to write: a budget, a policy. Pure.

Above: `windows`, `home_blocks`, `control`, `listeners`. Below: `block_kit`, `reply_to`, `inbound`; what reads the words
of the commands in `bot.access` and `bot.memory`.

Rules. A window only spells what the command would be told: its words are read where those are, by the same rules. What
cannot be read is said beside its field, and the window stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agent.messages import Json, JsonObject
from bot.access import budget_words
from bot.memory import policy, policy_words
from bot.platforms.slack.payload import text
from bot.platforms.slack.reading.inbound import Me, person_id
from bot.platforms.slack.replies.reply_to import ReplyTo
from bot.platforms.slack.views.block_kit import button, carried_by, field, line, option, picked, typed, window

ACTION: Final = "cogency_window"


@dataclass(frozen=True, slots=True)
class Kind:
    """A window: its name, what the button says that opens it, and its title and last button."""

    name: str
    label: str
    title: str
    submit: str

    @property
    def view(self) -> str:
        """The callback id."""
        return f"{ACTION}:{self.name}"


@dataclass(frozen=True, slots=True)
class Opened:
    """Somebody opens a window."""

    kind: Kind
    user: str
    channel: str


BUDGET: Final = Kind("budget", "Change a budget…", "Change a budget", "Change")
POLICY: Final = Kind("policy", "Set a policy…", "Set a policy", "Set")
REMOVAL: Final = Kind("removal", "Remove a policy…", "Remove a policy", "Remove")
KINDS: Final = (BUDGET, POLICY, REMOVAL)


def for_policies(shown: str) -> tuple[Kind, ...]:
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


def opening(kind: Kind, user: str, channel: str = "") -> Json:
    """The button that opens a window; `channel`: where it was asked for, wherever the button may stand."""
    return button(kind.view, kind.label, {"user": user, "channel": channel})


def opened(action: JsonObject) -> Opened | None:
    """Which window a click opens; None if it is not on one of those buttons."""
    carried = carried_by(action)
    kind = next((kind for kind in KINDS if kind.view == text(action, "action_id")), None)
    return None if kind is None else Opened(kind, text(carried, "user"), text(carried, "channel"))


def view_of(kind: Kind, to: ReplyTo) -> JsonObject:
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
            read = policy_words.read(removal_asked(view))
            return {} if isinstance(read, policy_words.Remove) else {_NUMBER: NUMBER}
        case _:
            return {}


def budget_asked(view: JsonObject, me: Me) -> str:
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
    name = line(most=policy_words.MAX_NAME_CHARS)
    return [
        field(_NAME, "Name", name, hint="A new policy with this name takes the place of the old one.", optional=True),
        field(_TEXT, "What holds", line(multiline=True, most=policy_words.MAX_CHARS)),
        *([place] if to.home else []),
    ]


def _removal_fields(_: ReplyTo) -> list[Json]:
    return [field(_NUMBER, "Its number in the list", line(most=12))]


def _budget_mistakes(view: JsonObject) -> Mapping[str, str]:
    whose = picked(view, _WHOSE)
    if whose in (_PERSON, _CHANNEL) and not picked(view, whose):
        return {whose: CHOOSE}
    request = budget_words.read(f"{_EVERYONE} {typed(view, _AMOUNT)}")
    return {} if request is not None and request.change is not None else {_AMOUNT: AMOUNT}
