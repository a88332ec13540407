"""Shows and changes the rules of a channel (`bot.channels.rules`), for `/channel`."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Final, Self, TypeAlias, assert_never, cast

from agent.admission_terms import Authority
from agent.errors import Refused, StoreError
from agent.incoming import person_source
from agent.ports.clock import Clock
from agent.ports.preferences import Preferences
from agent.ports.tool_audit import ToolAudit
from agent.ports.tools import Asker
from bot.channels import texts as channels_texts
from bot.channels.panel import channel_panel
from bot.channels.rule import ChannelRule, RuleContext, is_usual
from bot.channels.rules import CHANNEL_RULES, rule_named
from bot.chat.access.acl import AccessRules
from bot.chat.access.place_rules import PLACE, PlaceRules, carry_over, chosen_at, name_at, place_owner, rules_at
from bot.chat.askers import Requester
from bot.chat.audit import policy_change
from bot.chat.forums import ForumPlatform
from bot.chat.message_events import MessageEvents
from bot.chat.panels import Panel
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, literal, shortened, zone_of
from bot.memory.pauses import LearningPauses
from bot.models.service import ModelService

log = logging.getLogger(__name__)

# The requests of `/channel`, parsed from the words after it; the same on every platform. Pure.

MAX_NUMBER_DIGITS: Final = 7  # `int` refuses very long numbers with an error
MAX_HISTORY: Final = 30
TRIES: Final = 9  # Attempts of a change when concurrent changes interfere
SHOWN_CHARS: Final = 80  # Of a text in the history


@dataclass(frozen=True, slots=True)
class ShowPlace:
    past: bool = False


@dataclass(frozen=True, slots=True)
class ChangePlace:
    """`value`: in the form in which it is stored; "" for the operator's settings."""

    rule: ChannelRule
    value: str


@dataclass(frozen=True, slots=True)
class UndoChange:
    """`number`: of a change in the history; None for the newest."""

    number: int | None = None


@dataclass(frozen=True, slots=True)
class UnclearPlace:
    sentence: str


PlaceRequest: TypeAlias = ShowPlace | ChangePlace | UndoChange | UnclearPlace


def read_place_request(words: str) -> PlaceRequest:
    name, _, rest = words.strip().partition(" ")
    name, rest = name.casefold().rstrip(":"), rest.strip()
    rule = rule_named(name)
    match name:
        case "" | "show" | "list" if not rest:
            return ShowPlace()
        case "history" if not rest:
            return ShowPlace(past=True)
        case "undo" if not rest or (len(rest) < MAX_NUMBER_DIGITS and rest.isascii() and rest.isdecimal()):
            return UndoChange(int(rest) if rest else None)
        case _ if rule is not None and rest:
            return read_value(rule, rest)
        case _:
            return UnclearPlace(usage())


def read_value(rule: ChannelRule, words: str) -> ChangePlace | UnclearPlace:
    """Return what the words behind a rule's name ask for. Words that it does not read may stand for the usual value."""
    try:
        value = rule.read(words)
    except Refused as refused:
        return ChangePlace(rule, "") if is_usual(words) else UnclearPlace(str(refused))
    if value is None and is_usual(words):
        return ChangePlace(rule, "")
    return UnclearPlace(usage()) if value is None else ChangePlace(rule, value)


def usage() -> str:
    """Return how rules are written."""
    *others, last = [rule.usage for rule in CHANNEL_RULES]
    return channels_texts.PLACE_USAGE.format(rules=f"{', '.join(others)}, and {last}")


# The rules and their history, as they are stored.


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """`at`: a time in ISO's form. `by`: the author's authority; names are not stored, as the history outlives them."""

    number: int
    rule: str
    before: str
    after: str
    at: str
    by: int


@dataclass(frozen=True, slots=True)
class StoredPlace:
    rules: PlaceRules
    history: tuple[PlaceChange, ...] = ()

    @classmethod
    def read(cls, preferences: Mapping[str, str], source: str) -> Self:
        """Parse a place's preferences. Raises StoreError."""
        rules = PlaceRules.from_preferences(preferences, source)
        lines = (chosen_at(preferences, source) or "").split("\n")[1:]
        try:
            return cls(rules, tuple(PlaceChange(**cast("dict[str, object]", json.loads(line))) for line in lines))  # pyright: ignore[reportArgumentType] -- as `text` made it
        except (ValueError, TypeError):
            raise StoreError(reply_texts.PLACE_UNREADABLE.format(name=PLACE)) from None

    def text(self) -> str:
        rules = {name: value for name, value in self.rules.chosen.items() if value}
        lines = [rules, *map(asdict, self.history[-MAX_HISTORY:])]
        return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)

    def changed(self, change: ChangePlace, before: str, now: datetime, by: Authority) -> Self:
        rules = self.rules
        if change.rule.current is None:
            rules = PlaceRules({**rules.chosen, change.rule.name: change.value})
        number = self.history[-1].number + 1 if self.history else 1
        entry = PlaceChange(number, change.rule.name, before, change.value, now.isoformat(), int(by))
        return replace(self, rules=rules, history=(*self.history, entry))


# Seeing and changing them.

# Posts a message to all who read a place. Raises Refused where that is impossible.
Say: TypeAlias = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceService(MessageEvents):
    """Answers `/channel`, and lets what was chosen follow a channel to a new id.

    Rules
      Everybody who reads a channel may see its rules; its managers change them. A value that the operator's settings do
      not allow is refused with a sentence; if the settings forbid it later, it is ignored.
      A change applies from the next message on, in every process: the rules are read with each question.
      Each change is in the history, without its author's name, as with policies; the operators' audit has the name.
      Undoing a change is a change like any other.
    """

    preferences: Preferences
    audit: ToolAudit
    pauses: LearningPauses
    model_service: ModelService
    clock: Clock
    access: AccessRules
    most_ambient: int = 0
    """The limit of ambient answers a day in a channel; 0: they cannot be switched on."""
    can_judge: Callable[[], bool] = lambda: True
    """Returns whether there is a model that judges which messages may be answered."""
    may_act: bool = False
    """Whether the bot may act in channels at all."""
    sends_words: bool = False
    """Whether any of the operator's webhooks asks for questions and answers."""
    handoff_roles: frozenset[str] = frozenset()
    """The roles whom the operator lets take over from the bot, by their ids."""
    forums: Mapping[str, ForumPlatform] = field(default_factory=dict[str, ForumPlatform])
    """Know the tags of forums, by the source of their messages."""

    async def context(self, source: str, channel: str, not_receiving: str = "") -> RuleContext:
        """Return the channel with its current values for this source. Raises StoreError."""
        rules = await rules_at(self.preferences, source, channel)
        context = RuleContext(
            source=source,
            channel=channel,
            preferences=self.preferences,
            pauses=self.pauses,
            access=self.access,
            handoff_roles=self.handoff_roles,
            models=self.model_service.for_everybody(),
            most_ambient=self.most_ambient,
            may_act=self.may_act,
            sends_words=self.sends_words,
            tags=self._tags(source, channel),
            deaf=not_receiving or ("" if self.can_judge() else channels_texts.NO_JUDGE),
        )
        values = {rule.name: await _value(rule, rules, context) for rule in CHANNEL_RULES}
        return replace(context, chosen={name: value for name, value in values.items() if value})

    async def answer(self, asker: Asker, words: str, say: Say, not_receiving: str = "") -> Panel:
        """Return the answer to `/channel` with these words. Raises StoreError.

        Its buttons and menus are for those who may change the rules. `say`: posts to all who read there.
        `not_receiving`: why the bot does not receive the channel's other messages, or "".
        """
        if not asker.channel:
            return Panel(channels_texts.NO_CHANNEL_HERE, refused=True)
        request = read_place_request(words)
        try:
            match request:
                case ShowPlace(past):
                    return await (self._show_history(asker) if past else self._show(asker))
                case UnclearPlace(sentence):
                    return Panel(sentence, refused=True)
                case ChangePlace():
                    return await self._change(asker, request, say, not_receiving)
                case UndoChange(number):
                    return await self._undo(asker, number, say, not_receiving)
                case _:
                    assert_never(request)
        except Refused as refused:
            return Panel(str(refused), refused=True)

    async def place_renumbered(self, source: str, channel: str, new: str) -> None:
        await carry_over(self.preferences, source, channel, new)
        await self.pauses.carry_over(channel, new)

    def _tags(self, source: str, channel: str) -> tuple[str, ...]:
        tags = self.forums[source].tags(channel) if source in self.forums else None
        return tuple(tag.name for tag in tags or ())

    def _may_change(self, asker: Asker) -> bool:
        return asker.manages or self.access.is_operator(asker.person.id)

    async def _stored(self, asker: Asker) -> StoredPlace:
        return StoredPlace.read(
            await self.preferences.all_of(place_owner(asker.channel)), person_source(asker.person.id)
        )

    async def _undo(self, asker: Asker, number: int | None, say: Say, not_receiving: str) -> Panel:
        history = (await self._stored(asker)).history
        change = next((past for past in reversed(history) if number in {None, past.number}), None)
        # The rule may be one of another release of the bot.
        rule = None if change is None else rule_named(change.rule)
        if change is None or rule is None:
            return Panel(channels_texts.NO_SUCH_CHANGE, refused=True)
        return await self._change(asker, ChangePlace(rule, change.before), say, not_receiving)

    async def _change(self, asker: Asker, change: ChangePlace, say: Say, not_receiving: str) -> Panel:
        if not self._may_change(asker):
            return Panel(channels_texts.NOT_YOUR_CHANNEL, refused=True)
        rule, value = change.rule, change.value
        context = await self.context(person_source(asker.person.id), asker.channel, not_receiving)
        await rule.check(value, context)
        before = context.chosen.get(rule.name, "")
        if before == value:
            return await self._show(asker, channels_texts.SO_ALREADY)
        who = literal(asker.person.name) or reply_texts.A_MANAGER
        if (announcement := rule.announcement(before, value, who)) is not None:
            try:
                await say(announcement.text)
            except Refused as refused:
                if announcement.is_required:
                    raise Refused(reply_texts.NOT_SWITCHED.format(why=refused)) from None
        await rule.follows(before, value, context)
        await self._store(asker, change, before)
        return await self._show(asker, channels_texts.CHOSEN_FOR_CHANNEL)

    async def _store(self, asker: Asker, change: ChangePlace, old_value: str) -> None:
        owner, source, now = place_owner(asker.channel), person_source(asker.person.id), self.clock.now()
        by = Authority.ADMIN if self.access.is_operator(asker.person.id) else max(asker.authority, Authority.MANAGER)
        row = policy_change(now, _audit_text(change), asker.person.id, asker.channel)
        for _ in range(TRIES):
            preferences = await self.preferences.all_of(owner)
            changed, name = (
                StoredPlace.read(preferences, source).changed(change, old_value, now, by),
                name_at(source),
            )
            if await self.audit.keep_change(row, owner, name, preferences.get(name), changed.text()):
                log.info("a channel setting was changed: %s", change.rule.name)
                return
        raise StoreError(reply_texts.TOO_MUCH_AT_ONCE)

    async def _show(self, asker: Asker, notice: str = "") -> Panel:
        context, may_change = await self.context(person_source(asker.person.id), asker.channel), self._may_change(asker)
        rules = [rule for rule in CHANNEL_RULES if rule.applies(context)]
        lines = [f"- **{rule.title}**: {_shown(rule, context.chosen.get(rule.name, ''))}" for rule in rules]
        gone = (await self.model_service.menu(Requester(asker.person.id, asker.channel))).sentence
        hint = usage() if may_change else channels_texts.NOT_YOUR_CHANNEL
        text = "\n\n".join(filter(None, [notice, gone, channels_texts.PLACE_HEADING, "\n".join(lines), hint]))
        return channel_panel(text, context) if may_change else Panel(text)

    async def _show_history(self, asker: Asker) -> Panel:
        history = (await self._stored(asker)).history
        zone = zone_of(asker.person.time_zone)
        lines = [self._line(change, zone) for change in history]
        return Panel("\n".join([channels_texts.PLACE_HISTORY, "", *lines]) if lines else channels_texts.NO_CHANGES)

    def _line(self, change: PlaceChange, zone: tzinfo) -> str:
        rule, day = rule_named(change.rule), datetime.fromisoformat(change.at).astimezone(zone).date().isoformat()
        by = channels_texts.BY_ADMIN if change.by >= Authority.ADMIN else channels_texts.BY_MANAGER
        before, after = (shortened(_shown(rule, value), SHOWN_CHARS) for value in (change.before, change.after))
        title = literal(change.rule) if rule is None else rule.title
        return channels_texts.PLACE_CHANGE.format(
            number=change.number, rule=title, before=before, after=after, day=day, by=by
        )


async def _value(rule: ChannelRule, rules: PlaceRules, context: RuleContext) -> str:
    return rules.text(rule.name) if rule.current is None else await rule.current(context)


def _shown(rule: ChannelRule | None, value: str) -> str:
    """Format a stored value for people. `rule`: None for one of another release of the bot."""
    if rule is None:
        return literal(value)
    return rule.shown(value) if value else rule.usual


def _audit_text(change: ChangePlace) -> str:
    """Format a change for the audit: people's ids separated by blanks, so that forgetting finds them; of a text only
    its length.
    """
    if change.rule.is_text and change.value:
        return f"channel {change.rule.name}: {counted(len(change.value), 'character', 'characters')}"
    return f"channel {change.rule.name}: {change.value.replace('person:', '') or 'usual'}"


def is_place_request(words: str) -> bool:
    """Return whether these words are a request in a message without a slash, where a text needs a colon."""
    rule = rule_named(words.partition(" ")[0].casefold())
    if not words.strip() or (rule is not None and rule.is_text):
        return False
    return not isinstance(read_place_request(words), UnclearPlace)
