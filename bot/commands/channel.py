"""`/channel`: how the bot answers in a channel; who manages the channel changes it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.access.acl import OFF, PlaceAnswer, PlaceRule
from bot.commands import declaration
from bot.commands.knowledge import asker_of
from bot.memory.place_desk import MAX_INSTRUCTIONS, MAX_LANGUAGE, is_place_request
from bot.texts import command_texts, memory_texts

WORDS = (
    "history",
    "undo",
    "who everyone",
    "who members",
    "models NAME, NAME",
    "model NAME",
    "instructions: TEXT",
    "language NAME",
    "ambient on",
    "ambient off",
    "learning on",
    "learning off",
    "knowledge on",
    "knowledge off",
)
"""Offered while somebody types; what is in capitals they replace."""
BOUNDS = (5, 10, 20, 50)
"""Offered as answers a day."""


async def show(call: declaration.CommandCall) -> declaration.Panel:
    asker = await asker_of(call)
    answer = await call.host.places.answer(asker, call.words, call.caller.announce, call.caller.deaf)
    if answer.chosen is None or call.caller.entry_chars is None:
        return declaration.Panel(answer.text, refused=answer.refused)
    return channel_panel(answer, answer.chosen, call.host.places.models)


def channel_panel(answer: PlaceAnswer, chosen: Mapping[str, str], models: Sequence[str]) -> declaration.Panel:
    """What may be pressed and chosen by who manages the channel; the rest they write."""
    actions = [INSTRUCTIONS.button(), LANGUAGE.button()]
    actions += [MODELS.button()] if models else []
    for rule in (PlaceRule.LEARNING, PlaceRule.KNOWLEDGE):
        is_on = chosen.get(rule) != OFF
        sure = memory_texts.SURE_TO_LEARN if rule is PlaceRule.LEARNING and not is_on else ""
        label = (command_texts.SWITCH_OFF if is_on else command_texts.SWITCH_ON).format(what=rule)
        actions.append(declaration.PanelAction(label, f"{rule} {'off' if is_on else 'on'}", confirm=sure))
    who = {"everyone": memory_texts.PLACE_USUAL[PlaceRule.WHO], "members": memory_texts.FULL_MEMBERS}
    selects = [(PlaceRule.WHO, who, "")]
    if models:
        names = {"usual": memory_texts.PLACE_USUAL[PlaceRule.MODEL]} | {name: name for name in models}
        selects.append((PlaceRule.MODEL, names, chosen.get(PlaceRule.MODEL, "")))
    if answer.most_ambient:
        bounds = {str(one) for one in (*BOUNDS, answer.most_ambient) if one <= answer.most_ambient}
        bounds |= {now} if (now := chosen.get(PlaceRule.AMBIENT, "")) else set()
        many = {one: command_texts.A_DAY.format(many=one) for one in sorted(bounds, key=int)}
        selects.append((PlaceRule.AMBIENT, {"off": memory_texts.PLACE_USUAL[PlaceRule.AMBIENT]} | many, now))
    parts = [
        declaration.PanelPart(select=declaration.PanelSelect(memory_texts.PLACE_RULES[rule], options, now, rule))
        for rule, options, now in selects
    ]
    return declaration.Panel(answer.text, tuple(actions), tuple(parts))


async def _prefilled(call: declaration.CommandCall) -> declaration.Filled:
    """What holds now stands in the window."""
    chosen = await call.host.places.chosen(call.caller.channel)
    return {rule.value: chosen.get(rule, "") for rule in PlaceRule}


async def _with_models(call: declaration.CommandCall) -> declaration.PanelForm:
    choices = {name: name for name in call.host.places.models}
    return replace(MODELS, fields=(replace(MODELS.fields[0], choices=choices),))


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


INSTRUCTIONS = declaration.PanelForm(
    name="channelwords",
    label="Instructions…",
    title="Instructions here",
    submit="Set",
    fields=(
        declaration.FormField(
            PlaceRule.INSTRUCTIONS,
            "What I should do here",
            declaration.FieldKind.LINES,
            hint="I read it with every question asked here. Empty for none.",
            optional=True,
            max_chars=MAX_INSTRUCTIONS,
        ),
    ),
    words=lambda filled: f"instructions: {filled[PlaceRule.INSTRUCTIONS] or 'none'}",
    prefill=_prefilled,
)
LANGUAGE = declaration.PanelForm(
    name="channellanguage",
    label="Language…",
    title="Language here",
    submit="Set",
    fields=(
        declaration.FormField(
            PlaceRule.LANGUAGE,
            "The language of my answers",
            hint="Such as German. Empty for the usual one.",
            optional=True,
            max_chars=MAX_LANGUAGE,
        ),
    ),
    words=lambda filled: f"language {filled[PlaceRule.LANGUAGE] or 'usual'}",
    prefill=_prefilled,
)
MODELS = declaration.PanelForm(
    name="channelmodels",
    label="Models…",
    title="Models here",
    submit="Set",
    fields=(
        declaration.FormField(
            PlaceRule.MODELS,
            "The only models here",
            declaration.FieldKind.PICKS,
            hint="None of them: all that people may choose.",
            optional=True,
        ),
    ),
    words=lambda filled: f"models {filled[PlaceRule.MODELS] or 'all'}",
    prefill=_prefilled,
    made=_with_models,
)

COMMAND = declaration.Command(
    name="channel",
    summary="Show how I answer in this channel; who manages it changes that",
    run=show,
    arguments=(
        declaration.Argument(
            "words",
            "who, models, model, instructions, language, ambient, learning, knowledge; history or undo",
            mentions=True,
            suggests=_words_offered,
        ),
    ),
    scope=declaration.CommandScope.SERVERS,
    bare=False,
    forms=(INSTRUCTIONS, LANGUAGE, MODELS),
    phrases=("channel settings", "show channel settings"),
    means=lambda words, _: is_place_request(words),
    examples={
        "who members": "let only full members ask; or name people and roles",
        "models NAME, NAME": "let only these models answer; `model NAME` for who chose none",
        "instructions: Answer with a link to our wiki": "have me read this with every question here",
        "ambient on": "have me answer open questions that nobody put to me, some a day",
        "learning off": "have me learn nothing about anybody from this channel",
        "undo": "take the last change back; `history` shows them all",
    },
)
