"""A rule of a channel, as one value. `/channel` follows from it: how it is set, shown, suggested and documented.

Rules
  A rule only narrows or shapes what the operator's settings allow; a value that they no longer allow has no effect.
  Managers of the channel and operators set rules, and everybody who reads there sees them (`bot.channels.service`).
  Its value is a text; "" means that nothing was chosen, and is never stored.
  Where it acts is declared (`Effect`). A rule without an effect is read by the part of the bot that it is about.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from agent.context import Persona
from agent.incoming import Incoming
from agent.ports.preferences import Preferences
from bot.chat.access.acl import AccessRules
from bot.chat.access.place_rules import OFF
from bot.chat.panels import PanelForm
from bot.chat.texts.formatting import literal
from bot.memory.pauses import LearningPauses


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleContext:
    """The channel where a rule is shown or set, and what the bot has there."""

    source: str
    """The workspace or platform whose managers' choices these are."""
    channel: str
    preferences: Preferences
    pauses: LearningPauses
    access: AccessRules
    handoff_roles: frozenset[str] = frozenset()
    """The roles whom the operator lets take over from the bot, by their ids."""
    models: tuple[str, ...] = ()
    """The models that may be chosen for a channel."""
    most_ambient: int = 0
    """The operator's limit of ambient answers a day in a channel; 0: they cannot be switched on."""
    may_act: bool = False
    """Whether the operator's settings allow the bot to act in channels at all."""
    sends_words: bool = False
    """Whether any of the operator's webhooks asks for questions and answers."""
    tags: tuple[str, ...] = ()
    """The names of the tags of a forum; none in other channels."""
    deaf: str = ""
    """Why ambient answers would not work, a sentence; "" if they do."""
    chosen: Mapping[str, str] = field(default_factory=dict[str, str])
    """The values of all rules there, by their names."""


# Where a rule acts. A closed union; each function is pure, and gets the chosen value first, which is never "".


@dataclass(frozen=True, slots=True)
class OnQuestion:
    """Returns why the question is not answered, a sentence for its author; None if it is. Operators and managers of the
    whole team are not asked about, so that they cannot be locked out.
    """

    refusal: Callable[[str, Incoming], str | None]


@dataclass(frozen=True, slots=True)
class OnPrompt:
    """Returns who the bot is for the question. It is the same for each question of a person there, for caches."""

    persona: Callable[[str, Persona, Incoming], Persona]


@dataclass(frozen=True, slots=True)
class OnAnswer:
    """Returns the answer as it is shown and stored: what a model wrote, without the sources and notes below it.

    It is also applied while the answer grows: the result of a longer text begins with the result of a shorter one, as
    what was shown stays. `bot.chat.reply.markdown.cut_markdown` limits a length that way.
    """

    text: Callable[[str, str], str]


Effect: TypeAlias = OnQuestion | OnPrompt | OnAnswer


# How a manager sets it in the panel, besides writing words. A closed union.


@dataclass(frozen=True, slots=True)
class Switch:
    """A button that switches it on or off. `sure`: what to confirm before it is switched on; "" for nothing."""

    sure: str = ""


@dataclass(frozen=True, slots=True)
class Menu:
    """A menu. `options`: labels, by the words that are written behind the rule's name; empty for no menu there."""

    options: Callable[[RuleContext], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Form:
    """A form that asks for the value; its only field has the rule's name. `choices`: the field's, which are not known
    before; no form without any.
    """

    form: PanelForm
    choices: Callable[[RuleContext], Mapping[str, str]] | None = None


Control: TypeAlias = Switch | Menu | Form


async def _allowed(value: str, context: RuleContext) -> None:
    """Every value is allowed."""


async def _nothing_follows(before: str, after: str, context: RuleContext) -> None:
    """Nothing else changes."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """`is_required`: nothing is changed if it cannot be posted."""

    text: str
    is_required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRule:
    name: str
    """What is written behind `/channel`, and stored: one word in lowercase letters."""
    title: str
    """How its line in the panel begins."""
    usual: str
    """What stands behind the title if nothing was chosen."""
    usage: str
    """How it is written, in the hint below the rules: "`knowledge` (`on` or `off`)"."""
    read: Callable[[str], str | None]
    """Returns the value of the words behind its name, as it is stored; None if they are no value. Raises Refused with a
    sentence if it is clear what is wrong. The words are not empty. Words such as "usual" and "off" (`is_usual`) stand
    for the operator's setting wherever this does not read them."""
    words: tuple[str, ...] = ()
    """Suggested while a person types, without its name; capitals stand for something to write."""
    examples: Mapping[str, str] = field(default_factory=dict[str, str])
    """For the table in the documentation: words behind its name, and what they do."""
    shown: Callable[[str], str] = literal
    """Formats a value that was chosen, as Markdown."""
    controls: tuple[Control, ...] = ()
    effects: tuple[Effect, ...] = ()
    applies: Callable[[RuleContext], bool] = lambda _: True
    """Returns whether the channel is of a kind that the rule is about; else `/channel` does not list it there."""
    is_text: bool = False
    """It is a text of some length, which may look like a sentence of a talk: without a slash it needs a colon, and the
    operators' audit has its length."""
    check: Callable[[str, RuleContext], Awaitable[None]] = _allowed
    """Raises Refused if this value is not allowed there now."""
    announcement: Callable[[str, str, str], "Announcement | None"] = lambda _before, _after, _who: None
    """Returns what all who read there are told before a change, since it concerns them. It gets the values before and
    after, and the name of who changes it."""
    follows: Callable[[str, str, RuleContext], Awaitable[None]] = _nothing_follows
    """Carries out what else changes with it, from the value before to the one after. Raises StoreError."""
    current: Callable[[RuleContext], Awaitable[str]] | None = None
    """Returns its value if that is not stored with the others, but by what `follows`. Raises StoreError."""


def switch_value(words: str) -> str | None:
    """Return the value of a rule that is on unless it was switched off: OFF, or "" for on."""
    return {"on": "", "off": OFF}.get(plain(words))


def is_usual(words: str) -> bool:
    """Return whether the words stand for the operator's setting in place of a value."""
    return plain(words) in _USUAL


def plain(words: str) -> str:
    """Return the words as they are compared: people end an order like a sentence."""
    return words.casefold().rstrip(".!")


_USUAL: Final = frozenset(
    {"", "all", "any", "auto", "default", "everybody", "everyone", "none", "off", "reset", "usual"}
)
