"""The rules that managers can set for a channel, each as one value (`bot.channels.rule`). A new one is added here."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from agent import texts
from agent.admission_terms import Authority
from agent.context import Persona
from agent.errors import Refused
from agent.incoming import Incoming, Quoted
from agent.memory.audience import PersonAudience
from agent.memory.secrets import has_secret
from agent.protocol.render import joined, neutralise
from bot.channels import texts as channels_texts
from bot.channels.ambient_state import AmbientState
from bot.channels.rule import (
    Announcement,
    ChannelRule,
    Form,
    Menu,
    OnPrompt,
    OnQuestion,
    RuleContext,
    Switch,
    is_usual,
    plain,
    switch_value,
)
from bot.chat.access import place_rules
from bot.chat.access.acl import AccessKind, AccessRules, parse_entries, parse_entry
from bot.chat.access.place_rules import MANAGERS, OFF, ON, chosen_at, name_at, place_owner
from bot.chat.askers import Requester
from bot.chat.panels import FieldKind, FormField, PanelForm
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, literal
from bot.memory import texts as memory_texts

MAX_INSTRUCTIONS: Final = 1_000  # About 250 tokens, which are part of the prefix of every question asked there
MAX_LANGUAGE: Final = 40
MAX_LISTED: Final = 50  # People, roles and models in one list
MAX_DIGITS: Final = 7  # `int` refuses very long numbers with an error
MAX_TAG: Final = 50  # Discord's tags have up to 20 characters
DAILY: Final = 10  # Ambient answers a day, where the request is "on" without a number
BOUNDS: Final = (5, 10, 20, 50)  # Suggested numbers of answers a day


# Who may ask.

MEMBERS: Final = "members"  # In place of an entry: all full members
# A role of Discord, or a user group of Slack, as their clients write it.
_MENTIONED: Final = re.compile(r"<@&(\d{1,20})>|<!subteam\^(S\w{1,20})(?:\|[^<>]{0,100})?>", re.ASCII)


def _read_who(words: str) -> str:
    given = _MENTIONED.sub(lambda mention: f" role:{mention[1] or mention[2]} ", words).replace(",", " ").split()
    listed = [word for word in given if word.casefold() not in {"and", "only"}]
    if len(listed) == 1 and is_usual(listed[0]):
        return ""
    entries = [word.casefold() if word.casefold() == MEMBERS else word for word in listed[:MAX_LISTED]]
    try:
        parse_entries(",".join(entry for entry in entries if entry != MEMBERS))
    except ValueError:
        raise Refused(channels_texts.WHO_UNCLEAR) from None
    if not entries or any(entry.startswith(("team:", "channel:")) for entry in entries):
        raise Refused(channels_texts.WHO_UNCLEAR)
    return " ".join(dict.fromkeys(entries))


async def _check_who(value: str, context: RuleContext) -> None:
    # Slack is asked only about the user groups that the settings name: in another one nobody would be found, and all
    # would be locked out.
    if any(role.startswith("role:S") and not _knows(context.access, role) for role in value.split()):
        raise Refused(channels_texts.GROUP_UNKNOWN)


def _knows(access: AccessRules, role: str) -> bool:
    """Return whether the operator's settings name this role."""
    known = {entry.id for entry in access.allow if entry.kind is AccessKind.ROLE}
    known |= {entry.id for roles in access.models.values() for entry in roles if entry.kind is AccessKind.ROLE}
    return role.partition(":")[2] in known


def _refuse_others(value: str, incoming: Incoming) -> str | None:
    listed, who = value.split(), Requester.wrote(incoming)
    if MEMBERS in listed and incoming.authority >= Authority.EMPLOYEE:
        return None
    is_listed = any(parse_entry(entry).matches(who) for entry in listed if entry != MEMBERS)
    return None if is_listed else reply_texts.CLOSED_HERE


def _mention(entry: str) -> str:
    """Format an entry as a mention, which the platform's client shows as a name."""
    kind, _, id_ = entry.partition(":")
    if kind == AccessKind.PERSON:
        return f"<@{id_.rpartition(':')[2]}>"
    if kind == AccessKind.ROLE:
        return f"<!subteam^{id_}>" if id_.startswith("S") else f"<@&{id_}>"
    return channels_texts.FULL_MEMBERS


WHO: Final = ChannelRule(
    name="who",
    title="Who may ask",
    usual=channels_texts.WHO_USUAL,
    usage="`who` (`everyone`, `members`, or people and roles)",
    read=_read_who,
    words=("everyone", MEMBERS),
    examples={MEMBERS: "let only full members ask; you can also name people and roles"},
    shown=lambda value: ", ".join(map(_mention, value.split())),
    controls=(Menu(lambda _: {"everyone": channels_texts.WHO_USUAL, MEMBERS: channels_texts.FULL_MEMBERS}),),
    check=_check_who,
    effects=(OnQuestion(_refuse_others),),
)


# Models: `bot.models.service` reads both rules.


def _read_models(words: str) -> str:
    names = [] if is_usual(words) else words.replace(",", " ").split()
    return " ".join(dict.fromkeys(names[:MAX_LISTED]))


def _read_model(words: str) -> str | None:
    if len(words.split()) != 1:
        return None
    return "" if is_usual(words) else words


async def _check_models(value: str, context: RuleContext) -> None:
    if not set(value.split()) <= set(context.models):
        names = context.models
        raise Refused(reply_texts.model_not_allowed(names) if names else channels_texts.ONE_MODEL)


async def _check_model(value: str, context: RuleContext) -> None:
    await _check_models(value, context)
    allowed = context.chosen.get(place_rules.MODELS, "").split()
    if value and allowed and value not in allowed:
        raise Refused(channels_texts.NOT_AMONG_MODELS.format(names=", ".join(allowed)))


def _named(context: RuleContext) -> Mapping[str, str]:
    return {name: name for name in context.models}


def _model_menu(context: RuleContext) -> Mapping[str, str]:
    return {"usual": channels_texts.MODEL_USUAL, **_named(context)} if context.models else {}


MODELS: Final = ChannelRule(
    name=place_rules.MODELS,
    title="Models",
    usual="all models that people can choose",
    usage="`models`",
    read=_read_models,
    words=("NAME, NAME",),
    examples={"NAME, NAME": "let only these models answer; `model NAME` sets the default"},
    shown=lambda value: ", ".join(map(literal, value.split())),
    controls=(
        Form(
            PanelForm(
                name="channelmodels",
                label="Models…",
                title="Models here",
                submit="Set",
                fields=(
                    FormField(
                        place_rules.MODELS,
                        "Allowed models",
                        FieldKind.PICKS,
                        hint="Choose none to allow all models.",
                        optional=True,
                    ),
                ),
                words=lambda filled: f"models {filled[place_rules.MODELS] or 'all'}",
            ),
            _named,
        ),
    ),
    check=_check_models,
)
MODEL: Final = ChannelRule(
    name=place_rules.MODEL,
    title="Default model",
    usual=channels_texts.MODEL_USUAL,
    usage="`model`",
    read=_read_model,
    words=("NAME",),
    controls=(Menu(_model_menu),),
    check=_check_model,
)


# Instructions: they belong to the place and stay when their author leaves. They are text for the model; no code that
# decides about audience, authority or calls reads them.


def _read_instructions(words: str) -> str:
    text = "" if is_usual(words) else "\n".join(line.strip() for line in words.splitlines()).strip()
    if len(text) > MAX_INSTRUCTIONS:
        raise Refused(channels_texts.INSTRUCTIONS_TOO_LONG.format(most=MAX_INSTRUCTIONS))
    return text


async def _check_instructions(value: str, _: RuleContext) -> None:
    if has_secret(value):
        raise Refused(memory_texts.NO_SECRETS)


def _instruct(value: str, persona: Persona, asked: Incoming) -> Persona:
    if isinstance(asked.place.audience, PersonAudience):  # managers do not read along, so they give no orders
        return replace(persona, quoted=(*persona.quoted, Quoted(texts.PLACE_INSTRUCTIONS_QUOTED, "", value)))
    quoted = [texts.PLACE_INSTRUCTIONS, *(f"> {line}" for line in neutralise(value).splitlines())]
    return replace(persona, channel_instructions=joined([persona.channel_instructions, "\n".join(quoted)]))


INSTRUCTIONS: Final = ChannelRule(
    name="instructions",
    title="Instructions",
    usual="none",
    usage="`instructions:`",
    read=_read_instructions,
    words=("TEXT",),
    examples={"Answer with a link to our wiki": "give me instructions for this channel"},
    controls=(
        Form(
            PanelForm(
                name="channelwords",
                label="Instructions…",
                title="Instructions here",
                submit="Set",
                fields=(
                    FormField(
                        "instructions",
                        "Instructions",
                        FieldKind.LINES,
                        hint="I follow these instructions in this channel. Leave empty for none.",
                        optional=True,
                        max_chars=MAX_INSTRUCTIONS,
                    ),
                ),
                words=lambda filled: f"instructions: {filled['instructions'] or 'none'}",
            )
        ),
    ),
    is_text=True,
    check=_check_instructions,
    effects=(OnPrompt(_instruct),),
)


# The language of answers.


def _read_language(words: str) -> str | None:
    # The language becomes part of the prompt, so it may hold nothing but a name.
    is_name = len(words) <= MAX_LANGUAGE and all(char.isalpha() or char in " -()" for char in words)
    if not is_name:
        return None
    return "" if is_usual(words) else words


def _speak(value: str, persona: Persona, _: Incoming) -> Persona:
    return replace(persona, language_rule=texts.LANGUAGE_HERE.format(language=value))


LANGUAGE: Final = ChannelRule(
    name="language",
    title="Language",
    usual="as usual",
    usage="`language`",
    read=_read_language,
    words=("NAME",),
    controls=(
        Form(
            PanelForm(
                name="channellanguage",
                label="Language…",
                title="Language here",
                submit="Set",
                fields=(
                    FormField(
                        "language",
                        "Language of my answers",
                        hint="For example, German. Leave empty for the default.",
                        optional=True,
                        max_chars=MAX_LANGUAGE,
                    ),
                ),
                words=lambda filled: f"language {filled['language'] or 'usual'}",
            )
        ),
    ),
    effects=(OnPrompt(_speak),),
)


# Answers that nobody asked for: `bot.channels.ambient` reads this rule.


def _read_ambient(words: str) -> str | None:
    number = {"on": str(DAILY), "off": "0"}.get(plain(words), words)
    if not (number.isascii() and number.isdecimal() and len(number) < MAX_DIGITS):
        return None
    return str(int(number)) if int(number) else ""


async def _check_ambient(value: str, context: RuleContext) -> None:
    if not value:
        return
    if not context.most_ambient:
        raise Refused(channels_texts.NO_AMBIENT)
    if int(value) > context.most_ambient:
        raise Refused(channels_texts.AMBIENT_MOST.format(most=context.most_ambient))
    # Switched on without messages or a model to judge them, it would look as if the bot had nothing to say.
    if context.deaf:
        raise Refused(context.deaf)


def _announce_ambient(before: str, after: str, who: str) -> Announcement | None:
    if after and not before:
        many = counted(int(after), "question", "questions")
        return Announcement(channels_texts.SAID_AMBIENT_ON.format(who=who, many=many))
    # They may be switched off without a notice.
    return None if after else Announcement(channels_texts.SAID_AMBIENT_OFF.format(who=who), is_required=False)


async def _begin_ambient(before: str, _: str, context: RuleContext) -> None:
    """Let the next answer say again how they are switched off."""
    owner, name = place_owner(context.channel), name_at(context.source, AmbientState.NAME)
    preferences = await context.preferences.all_of(owner)
    stored = None if before else chosen_at(preferences, context.source, AmbientState.NAME)
    if stored is not None:  # else nothing was answered there yet; a concurrent newer state wins
        reset = AmbientState.decode(stored).switched_on()
        await context.preferences.swap(owner, name, preferences.get(name), str(reset))


def _ambient_menu(context: RuleContext) -> Mapping[str, str]:
    if not context.most_ambient:
        return {}
    bounds = {str(bound) for bound in (*BOUNDS, context.most_ambient) if bound <= context.most_ambient}
    bounds |= {chosen} if (chosen := context.chosen.get("ambient", "")) else set()
    labels = {number: channels_texts.A_DAY.format(many=number) for number in sorted(bounds, key=int)}
    return {"off": channels_texts.AMBIENT_USUAL} | labels


AMBIENT: Final = ChannelRule(
    name="ambient",
    title="Answers without a mention",
    usual=channels_texts.AMBIENT_USUAL,
    usage="`ambient` (`on`, `off`, or the number of answers a day)",
    read=_read_ambient,
    words=("on", "off"),
    examples={"on": "let me answer a few open questions a day without a mention"},
    shown=lambda value: channels_texts.AMBIENT_ON.format(many=counted(int(value), "answer", "answers")),
    controls=(Menu(_ambient_menu),),
    check=_check_ambient,
    announcement=_announce_ambient,
    follows=_begin_ambient,
)


# Learning: stored as a pause for everyone there (`bot.memory.pauses`).


async def _is_learning(context: RuleContext) -> str:
    return OFF if await context.pauses.is_paused_for_all(context.source, context.channel) else ""


async def _pause(_: str, after: str, context: RuleContext) -> None:
    await context.pauses.set_for_all(context.source, context.channel, on=after == OFF)


def _announce_learning(_: str, after: str, who: str) -> Announcement | None:
    return None if after else Announcement(channels_texts.SAID_LEARNING_ON.format(who=who))


LEARNING: Final = ChannelRule(
    name="learning",
    title="Learning",
    usual="on, except for people who turned it off",
    usage="`learning` (`on` or `off`)",
    read=switch_value,
    words=("on", "off"),
    examples={"off": "stop me from learning about people from this channel"},
    controls=(Switch(sure=channels_texts.SURE_TO_LEARN),),
    announcement=_announce_learning,
    follows=_pause,
    current=_is_learning,
)

# Documents: the tool that searches them reads this rule.
KNOWLEDGE: Final = ChannelRule(
    name=place_rules.KNOWLEDGE,
    title="Documents",
    usual="found in answers",
    usage="`knowledge` (`on` or `off`)",
    read=switch_value,
    words=("on", "off"),
    controls=(Switch(),),
)


# Acting: `bot.acts` reads this rule.


def _read_act(words: str) -> str | None:
    return {"on": ON, "off": OFF}.get(plain(words))


async def _check_act(value: str, context: RuleContext) -> None:
    if value == ON and not context.may_act:
        raise Refused(channels_texts.NO_ACTING)


def _act_menu(context: RuleContext) -> Mapping[str, str]:
    if not context.may_act:
        return {}
    return {"usual": channels_texts.ACT_USUAL, ON: channels_texts.ACT_ON, OFF: channels_texts.ACT_OFF}


ACTING: Final = ChannelRule(
    name=place_rules.ACT,
    title="Posts and reactions for people",
    usual=channels_texts.ACT_USUAL,
    usage="`act` (`on` or `off`)",
    read=_read_act,
    words=("on", "off"),
    examples={"on": "let me post, react, and pin here for the people who ask me"},
    shown=lambda value: {ON: channels_texts.ACT_ON, OFF: channels_texts.ACT_OFF}.get(value, value),
    controls=(Menu(_act_menu),),
    check=_check_act,
)


# Words in outgoing webhooks: their delivery reads this rule (`bot.webhooks.outgoing`).


async def _check_webhooks(value: str, context: RuleContext) -> None:
    if value and not context.sends_words:
        raise Refused(channels_texts.NO_WEBHOOKS)


def _webhooks_menu(context: RuleContext) -> Mapping[str, str]:
    return {"off": channels_texts.WEBHOOKS_OFF, ON: channels_texts.WEBHOOKS_ON} if context.sends_words else {}


def _announce_webhooks(_: str, after: str, who: str) -> Announcement:
    said = channels_texts.SAID_WEBHOOKS_ON if after else channels_texts.SAID_WEBHOOKS_OFF
    return Announcement(said.format(who=who), is_required=bool(after))


WEBHOOKS: Final = ChannelRule(
    name=place_rules.WEBHOOKS,
    title="Questions and answers in webhooks",
    usual=channels_texts.WEBHOOKS_OFF,
    usage="`webhooks` (`on` or `off`)",
    read=lambda words: {"on": ON}.get(plain(words)),
    words=("on", "off"),
    examples={"on": "let the operator's webhooks send this channel's questions and answers"},
    shown=lambda _: channels_texts.WEBHOOKS_ON,
    controls=(Menu(_webhooks_menu),),
    check=_check_webhooks,
    announcement=_announce_webhooks,
)


# The tag of solved posts in a forum: `bot.forums` reads this rule.


def _read_solved(words: str) -> str | None:
    if plain(words) == OFF:
        return OFF
    return None if is_usual(words) or len(words) > MAX_TAG else words


async def _check_solved(value: str, context: RuleContext) -> None:
    if value in {"", OFF}:
        return
    if not context.tags:
        raise Refused(channels_texts.NO_TAGS)
    if value.casefold() not in {tag.casefold() for tag in context.tags}:
        raise Refused(channels_texts.TAG_UNKNOWN.format(names=", ".join(map(literal, context.tags))))


def _solved_menu(context: RuleContext) -> Mapping[str, str]:
    tags = {tag: tag for tag in context.tags if tag.casefold() != OFF and not is_usual(tag)}
    return {"usual": channels_texts.SOLVED_USUAL, **tags, OFF: channels_texts.SOLVED_OFF} if tags else {}


SOLVED: Final = ChannelRule(
    name=place_rules.SOLVED,
    title="Tag for solved posts",
    usual=channels_texts.SOLVED_USUAL,
    usage="`solved` (in a forum: one of its tags, or `off`)",
    read=_read_solved,
    words=("TAG", "off"),
    examples={"TAG": "in a forum, let authors mark their posts as solved with this tag"},
    shown=lambda value: channels_texts.SOLVED_OFF if value == OFF else literal(value),
    controls=(Menu(_solved_menu),),
    applies=lambda context: bool(context.tags),
    check=_check_solved,
)

# The people who take over from the bot: `bot.handoff` reads this rule.


def _read_human(words: str) -> str | None:
    given = _MENTIONED.sub(lambda mention: f" role:{mention[1] or mention[2]} ", words).replace(",", " ").split()
    listed = [word for word in given if word.casefold() != "and"]
    if plain(words) == OFF or not listed:
        return OFF if listed else None
    if len(listed) == 1 and is_usual(listed[0]):
        return ""
    entries = [MANAGERS if plain(word) == MANAGERS else word for word in listed[:MAX_LISTED]]
    try:
        parsed = parse_entries(",".join(entry for entry in entries if entry != MANAGERS))
    except ValueError:
        raise Refused(channels_texts.HUMAN_UNCLEAR) from None
    if any(entry.kind not in {AccessKind.PERSON, AccessKind.ROLE} for entry in parsed):
        raise Refused(channels_texts.HUMAN_UNCLEAR)
    return " ".join(dict.fromkeys(entries))


async def _check_human(value: str, context: RuleContext) -> None:
    known = context.handoff_roles
    roles = [entry for entry in value.split() if entry.startswith("role:S")]
    if any(role.partition(":")[2] not in known and not _knows(context.access, role) for role in roles):
        raise Refused(channels_texts.GROUP_UNKNOWN)


def _helper(entry: str) -> str:
    return channels_texts.HUMAN_MANAGERS if entry == MANAGERS else _mention(entry)


PEOPLE_WHO_HELP: Final = ChannelRule(
    name=place_rules.HUMAN,
    title="People who can take over",
    usual=channels_texts.HUMAN_USUAL,
    usage="`human` (people, roles, `managers`, or `off`)",
    read=_read_human,
    words=(MANAGERS, "off"),
    examples={MANAGERS: "let people ask this channel's managers to take over; you can also mention people and roles"},
    shown=lambda value: channels_texts.HUMAN_OFF if value == OFF else ", ".join(map(_helper, value.split())),
    controls=(
        Menu(
            lambda _: {
                "usual": channels_texts.HUMAN_USUAL,
                MANAGERS: channels_texts.HUMAN_MANAGERS,
                OFF: channels_texts.HUMAN_OFF,
            }
        ),
    ),
    check=_check_human,
)

CHANNEL_RULES: Final = (
    *(WHO, MODELS, MODEL, INSTRUCTIONS, LANGUAGE, AMBIENT, LEARNING, KNOWLEDGE, ACTING, PEOPLE_WHO_HELP, WEBHOOKS),
    SOLVED,
)
"""In the order in which `/channel` lists them."""


def rule_named(name: str) -> ChannelRule | None:
    return next((rule for rule in CHANNEL_RULES if rule.name == name), None)
