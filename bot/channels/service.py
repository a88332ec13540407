"""The rules that managers set for a channel: who may ask, models, instructions, learning. `/channel` changes them."""

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, tzinfo
from typing import Final, Self, TypeAlias, assert_never, cast

from agent.admission_terms import Authority
from agent.errors import Refused, StoreError
from agent.memory.secrets import has_secret
from agent.ports.clock import Clock
from agent.ports.preferences import Preferences
from agent.ports.tool_audit import ToolAudit
from agent.ports.tools import Asker
from bot.channels import texts as channels_texts
from bot.channels.ambient_state import AmbientState
from bot.channels.rules import PlaceAnswer
from bot.chat.access.acl import AccessKind, AccessRules, parse_entries
from bot.chat.access.place_rules import MEMBERS, OFF, PLACE, PlaceRule, PlaceRules, place_owner
from bot.chat.audit import policy_change
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, literal, shortened, zone_of
from bot.memory import texts as memory_texts
from bot.memory.pauses import LearningPauses
from bot.models.service import ModelService

log = logging.getLogger(__name__)

# The requests of `/channel`, parsed from the words after it; the same on every platform. Pure.

MAX_INSTRUCTIONS: Final = 1_000  # About 250 tokens, which are part of the prefix of every question asked there
MAX_LANGUAGE: Final = 40
MAX_LISTED: Final = 50  # People, roles and models in one list
DAILY: Final = 10  # Ambient answers a day, where the request is "on" without a number
MAX_HISTORY: Final = 30
TRIES: Final = 9  # Attempts of a change when concurrent changes interfere
SHOWN_CHARS: Final = 80  # Of a text in the history

# A role of Discord, or a user group of Slack, as their clients write it.
_MENTIONED: Final = re.compile(r"<@&(\d{1,20})>|<!subteam\^(S\w{1,20})(?:\|[^<>]{0,100})?>", re.ASCII)
_PERSON: Final = re.compile(r"person:\S{1,100}", re.ASCII)
_USUAL: Final = frozenset({"", "all", "any", "auto", "default", "everybody", "everyone", "none", "reset", "usual"})
_SWITCH: Final = {"on": "", "off": OFF}


@dataclass(frozen=True, slots=True)
class ShowPlace:
    past: bool = False


@dataclass(frozen=True, slots=True)
class ChangePlace:
    """`value`: in the form in which it is stored; "" for the operator's settings."""

    rule: PlaceRule
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
    rule, rest = name.casefold().rstrip(":"), rest.strip()
    # People end an order like a sentence; only in instructions the marks are part of the text.
    plain = rest.casefold().rstrip(".!")
    match rule:
        case "" | "show" | "list" if not rest:
            return ShowPlace()
        case "history" if not rest:
            return ShowPlace(past=True)
        # Bounded before `int`, which refuses very long numbers with an error.
        case "undo" if not rest or (len(rest) < MAX_DIGITS and rest.isascii() and rest.isdecimal()):
            return UndoChange(int(rest) if rest else None)
        case "who" if rest:
            return _who(rest)
        case "models" if rest:
            # "usual" and its synonyms remove the rule: an empty value is none.
            names = [] if plain in _USUAL else rest.replace(",", " ").split()
            return ChangePlace(PlaceRule.MODELS, " ".join(dict.fromkeys(names[:MAX_LISTED])))
        case "model" if rest and len(rest.split()) == 1:
            return ChangePlace(PlaceRule.MODEL, "" if plain in _USUAL else rest)
        case "instructions" if rest:
            text = "" if plain in _USUAL else "\n".join(line.strip() for line in rest.splitlines()).strip()
            too_long = channels_texts.INSTRUCTIONS_TOO_LONG.format(most=MAX_INSTRUCTIONS)
            return UnclearPlace(too_long) if len(text) > MAX_INSTRUCTIONS else ChangePlace(PlaceRule.INSTRUCTIONS, text)
        case "language" if rest:
            # The language becomes part of the prompt, so it may hold nothing but a name.
            is_name = len(rest) <= MAX_LANGUAGE and all(char.isalpha() or char in " -()" for char in rest)
            return ChangePlace(PlaceRule.LANGUAGE, "" if plain in _USUAL else rest) if is_name else _unclear()
        case "ambient" if plain in _SWITCH:
            return ChangePlace(PlaceRule.AMBIENT, str(DAILY) if plain == "on" else "")
        case "ambient" if rest.isascii() and rest.isdecimal() and len(rest) < MAX_DIGITS:
            return ChangePlace(PlaceRule.AMBIENT, str(int(rest)) if int(rest) else "")
        case "learning" | "knowledge" if plain in _SWITCH:
            return ChangePlace(PlaceRule(rule), _SWITCH[plain])
        case _:
            return _unclear()


MAX_DIGITS: Final = 7


def _unclear() -> UnclearPlace:
    return UnclearPlace(channels_texts.PLACE_USAGE)


def _who(rest: str) -> PlaceRequest:
    given = _MENTIONED.sub(lambda mention: f" role:{mention[1] or mention[2]} ", rest).replace(",", " ").split()
    words = [word for word in given if word.casefold() not in {"and", "only"}]
    if len(words) == 1 and words[0].casefold() in _USUAL:
        return ChangePlace(PlaceRule.WHO, "")
    entries = [word.casefold() if word.casefold() == MEMBERS else word for word in words[:MAX_LISTED]]
    try:
        parse_entries(",".join(entry for entry in entries if entry != MEMBERS))
    except ValueError:
        return UnclearPlace(channels_texts.WHO_UNCLEAR)
    if not entries or any(entry.startswith(("team:", "channel:")) for entry in entries):
        return UnclearPlace(channels_texts.WHO_UNCLEAR)
    return ChangePlace(PlaceRule.WHO, " ".join(dict.fromkeys(entries)))


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
    def read(cls, preferences: Mapping[str, str]) -> Self:
        """Parse a place's preferences. Raises StoreError."""
        rules, lines = PlaceRules.from_preferences(preferences), preferences.get(PLACE, "").split("\n")[1:]
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
        if change.rule is not PlaceRule.LEARNING:
            rules = PlaceRules({**rules.chosen, change.rule.value: change.value})
        number = self.history[-1].number + 1 if self.history else 1
        entry = PlaceChange(number, change.rule.value, before, change.value, now.isoformat(), int(by))
        return replace(self, rules=rules, history=(*self.history, entry))


# Seeing and changing them.

# Posts a message to all who read a place. Raises Refused where that is impossible.
Say: TypeAlias = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceService:
    """Answers `/channel`.

    Rules
      Everybody who reads a channel may see its rules; its managers change them. A value that the operator's settings do
      not allow is refused with a sentence; if the settings forbid it later, it is ignored.
      A change applies from the next message on, in every process: the rules are read with each question.
      Each change is in the history, without its author's name, as with policies; the operators' audit has the name.
      Undoing a change is a change like any other.
      Learning and ambient answers concern others, so they are announced to all who read there before they are switched
      on.
      Instructions belong to the place and stay when their author leaves. They are text for the model; no code that
      decides about audience, authority or calls reads them.
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

    @property
    def models(self) -> tuple[str, ...]:
        """The models that may be chosen for a channel."""
        return self.model_service.for_everybody()

    async def chosen(self, channel: str) -> Mapping[str, str]:
        """Return a channel's values by the names of the rules; a missing one means the default. Raises StoreError."""
        rules = PlaceRules.from_preferences(await self.preferences.all_of(place_owner(channel)))
        learning = await self._current(channel, rules, PlaceRule.LEARNING)
        return {**rules.chosen, **({PlaceRule.LEARNING.value: learning} if learning else {})}

    async def answer(self, asker: Asker, words: str, say: Say, not_receiving: str = "") -> PlaceAnswer:
        """Return the answer to `/channel` with these words. Raises StoreError.

        `say`: posts to all who read there. `not_receiving`: why the bot does not receive the channel's other messages,
        or "".
        """
        if not asker.channel:
            return PlaceAnswer(channels_texts.NO_CHANNEL_HERE, refused=True)
        request = read_place_request(words)
        try:
            match request:
                case ShowPlace(past):
                    return await (self._show_history(asker) if past else self._show(asker))
                case UnclearPlace(sentence):
                    return PlaceAnswer(sentence, refused=True)
                case ChangePlace():
                    return await self._change(asker, request, say, not_receiving)
                case UndoChange(number):
                    return await self._undo(asker, number, say, not_receiving)
                case _:
                    assert_never(request)
        except Refused as refused:
            return PlaceAnswer(str(refused), refused=True)

    def _may_change(self, asker: Asker) -> bool:
        return asker.manages or self.access.is_operator(asker.person.id)

    async def _undo(self, asker: Asker, number: int | None, say: Say, not_receiving: str) -> PlaceAnswer:
        history = StoredPlace.read(await self.preferences.all_of(place_owner(asker.channel))).history
        change = next((past for past in reversed(history) if number in {None, past.number}), None)
        if change is None:
            return PlaceAnswer(channels_texts.NO_SUCH_CHANGE, refused=True)
        return await self._change(asker, ChangePlace(PlaceRule(change.rule), change.before), say, not_receiving)

    async def _change(self, asker: Asker, change: ChangePlace, say: Say, not_receiving: str) -> PlaceAnswer:
        if not self._may_change(asker):
            return PlaceAnswer(channels_texts.NOT_YOUR_CHANNEL, refused=True)
        self._check(change, not_receiving)
        owner = place_owner(asker.channel)
        rules = PlaceRules.from_preferences(await self.preferences.all_of(owner))
        current = await self._current(asker.channel, rules, change.rule)
        if current == change.value:
            return await self._show(asker, channels_texts.SO_ALREADY)
        if change.rule is PlaceRule.MODEL and change.value and rules.models and change.value not in rules.models:
            raise Refused(channels_texts.NOT_AMONG_MODELS.format(names=", ".join(rules.models)))
        if (announcement := _announcement(change, current)) is not None:
            name = literal(asker.person.name) or reply_texts.A_MANAGER
            try:
                await say(announcement.format(who=name, many=counted(int(change.value or 0), "answer", "answers")))
            except Refused as refused:
                # Ambient answers may be switched off without a notice.
                if change.value or change.rule is not PlaceRule.AMBIENT:
                    raise Refused(reply_texts.NOT_SWITCHED.format(why=refused)) from None
        if change.rule is PlaceRule.AMBIENT and not current:
            await self._reset_ambient(owner)
        if change.rule is PlaceRule.LEARNING:
            await self.pauses.set(None, asker.channel, on=change.value == OFF)
        await self._store(asker, change, current)
        return await self._show(asker, channels_texts.CHOSEN_FOR_CHANNEL)

    async def _reset_ambient(self, owner: str) -> None:
        stored = (await self.preferences.all_of(owner)).get(AmbientState.NAME)
        if stored is not None:  # else nothing was answered there yet; a concurrent newer state wins
            reset = AmbientState.from_preferences({AmbientState.NAME: stored}).switched_on()
            await self.preferences.swap(owner, AmbientState.NAME, stored, str(reset))

    async def _store(self, asker: Asker, change: ChangePlace, old_value: str) -> None:
        owner, now = place_owner(asker.channel), self.clock.now()
        by = Authority.ADMIN if self.access.is_operator(asker.person.id) else max(asker.authority, Authority.MANAGER)
        row = policy_change(now, _audit_text(change), asker.person.id, asker.channel)
        for _ in range(TRIES):
            preferences = await self.preferences.all_of(owner)
            changed = StoredPlace.read(preferences).changed(change, old_value, now, by)
            if await self.audit.keep_change(row, owner, PLACE, preferences.get(PLACE), changed.text()):
                log.info("what holds in a channel was changed: %s", change.rule)
                return
        raise StoreError(reply_texts.TOO_MUCH_AT_ONCE)

    def _check(self, change: ChangePlace, not_receiving: str) -> None:
        """Raise Refused if the operator's settings do not allow this change."""
        value, allowed = change.value, self.models
        match change.rule:
            case PlaceRule.MODELS | PlaceRule.MODEL if not set(value.split()) <= set(allowed):
                raise Refused(reply_texts.model_not_allowed(allowed) if allowed else channels_texts.ONE_MODEL)
            case PlaceRule.WHO:
                # Slack is asked only about the user groups that the settings name: in another one nobody would be
                # found, and all would be locked out.
                unknown = [role for role in value.split() if role.startswith("role:S") and not self._knows(role)]
                if unknown:
                    raise Refused(channels_texts.GROUP_UNKNOWN)
            case PlaceRule.INSTRUCTIONS if has_secret(value):
                raise Refused(memory_texts.NO_SECRETS)
            case PlaceRule.AMBIENT if value:
                if not self.most_ambient:
                    raise Refused(channels_texts.NO_AMBIENT)
                if int(value) > self.most_ambient:
                    raise Refused(channels_texts.AMBIENT_MOST.format(most=self.most_ambient))
                # Switched on without messages or a model to judge them, it would look as if the bot had nothing to say.
                if not_receiving or not self.can_judge():
                    raise Refused(not_receiving or channels_texts.NO_JUDGE)
            case _:
                pass

    def _knows(self, role: str) -> bool:
        """Return whether the operator's settings name this role: Slack is asked only about those user groups."""
        known = {entry.id for entry in self.access.allow if entry.kind is AccessKind.ROLE}
        known |= {entry.id for roles in self.access.models.values() for entry in roles if entry.kind is AccessKind.ROLE}
        return role.partition(":")[2] in known

    async def _current(self, channel: str, rules: PlaceRules, rule: PlaceRule) -> str:
        if rule is not PlaceRule.LEARNING:
            return rules.text(rule)
        lasting = await self.pauses.lasting("", channel)
        return OFF if any(pause.for_everybody for pause in lasting) else ""

    async def _show(self, asker: Asker, notice: str = "") -> PlaceAnswer:
        chosen, may_change = await self.chosen(asker.channel), self._may_change(asker)
        lines = [
            f"- **{channels_texts.PLACE_RULES[rule]}**: {self._value(rule, chosen.get(rule, ''))}" for rule in PlaceRule
        ]
        hint = channels_texts.PLACE_USAGE if may_change else channels_texts.NOT_YOUR_CHANNEL
        text = "\n\n".join(filter(None, [notice, channels_texts.PLACE_HEADING, "\n".join(lines), hint]))
        return PlaceAnswer(text, chosen if may_change else None, most_ambient=self.most_ambient)

    async def _show_history(self, asker: Asker) -> PlaceAnswer:
        history = StoredPlace.read(await self.preferences.all_of(place_owner(asker.channel))).history
        zone = zone_of(asker.person.time_zone)
        lines = [self._line(change, zone) for change in history]
        return PlaceAnswer(
            "\n".join([channels_texts.PLACE_HISTORY, "", *lines]) if lines else channels_texts.NO_CHANGES
        )

    def _line(self, change: PlaceChange, zone: tzinfo) -> str:
        rule, day = PlaceRule(change.rule), datetime.fromisoformat(change.at).astimezone(zone).date().isoformat()
        by = channels_texts.BY_ADMIN if change.by >= Authority.ADMIN else channels_texts.BY_MANAGER
        before, after = (shortened(self._value(rule, value), SHOWN_CHARS) for value in (change.before, change.after))
        return channels_texts.PLACE_CHANGE.format(
            number=change.number, rule=channels_texts.PLACE_RULES[rule], before=before, after=after, day=day, by=by
        )

    def _value(self, rule: PlaceRule, value: str) -> str:
        """Format a stored value for people."""
        if not value:
            return channels_texts.PLACE_USUAL[rule]
        match rule:
            case PlaceRule.WHO:
                return ", ".join(map(_mention, value.split()))
            case PlaceRule.MODELS:
                return ", ".join(map(literal, value.split()))
            case PlaceRule.AMBIENT:
                return channels_texts.AMBIENT_ON.format(many=counted(int(value), "answer", "answers"))
            case PlaceRule.LEARNING | PlaceRule.KNOWLEDGE:
                return OFF
            case _:
                return literal(value)


def _mention(entry: str) -> str:
    """Format an entry as a mention, which the platform's client shows as a name."""
    kind, _, id_ = entry.partition(":")
    if kind == AccessKind.PERSON:
        return f"<@{id_.rpartition(':')[2]}>"
    if kind == AccessKind.ROLE:
        return f"<!subteam^{id_}>" if id_.startswith("S") else f"<@&{id_}>"
    return channels_texts.FULL_MEMBERS


def _announcement(change: ChangePlace, before: str) -> str | None:
    match change.rule:
        case PlaceRule.AMBIENT if change.value and not before:
            return channels_texts.SAID_AMBIENT_ON
        case PlaceRule.AMBIENT if before and not change.value:
            return channels_texts.SAID_AMBIENT_OFF
        case PlaceRule.LEARNING if not change.value:
            return channels_texts.SAID_LEARNING_ON
        case _:
            return None


def _audit_text(change: ChangePlace) -> str:
    """Format a change for the audit: people's ids separated by blanks, so that forgetting finds them; of instructions
    only the length.
    """
    if change.rule is PlaceRule.INSTRUCTIONS and change.value:
        return f"channel {change.rule}: {counted(len(change.value), 'character', 'characters')}"
    return f"channel {change.rule}: {change.value.replace('person:', '') or 'usual'}"


def is_place_request(words: str) -> bool:
    """Return whether these words are a request in a message without a slash, where instructions need a colon."""
    if words.casefold().startswith("instructions ") or not words.strip():
        return False
    return not isinstance(read_place_request(words), UnclearPlace)
