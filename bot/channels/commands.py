"""`/channel`: how the bot answers in a channel, which its managers set."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.channels import texts as channels_texts
from bot.channels.rules import PlaceAnswer
from bot.channels.service import MAX_INSTRUCTIONS, MAX_LANGUAGE, PlaceService, is_place_request
from bot.chat.access.place_rules import OFF, PlaceRule
from bot.chat.commands import declaration
from bot.chat.panels import FieldKind, Filled, FormField, Panel, PanelAction, PanelForm, PanelPart, PanelSelect

# Suggested while a person types; the capitals are to be replaced.
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
BOUNDS = (5, 10, 20, 50)  # Suggested numbers of answers a day


async def show(service: PlaceService, call: declaration.CommandCall) -> Panel:
    asker = await call.caller.asker()
    answer = await service.answer(asker, call.words, call.caller.announce, call.caller.not_receiving)
    if answer.chosen is None or call.caller.entry_chars is None:
        return Panel(answer.text, refused=answer.refused)
    return channel_panel(answer, answer.chosen, service.models)


def channel_panel(answer: PlaceAnswer, chosen: Mapping[str, str], models: Sequence[str]) -> Panel:
    """Return the panel with the buttons and menus of a channel's manager; other changes are written as words."""
    actions = [INSTRUCTIONS.button(), LANGUAGE.button()]
    actions += [MODELS.button()] if models else []
    for rule in (PlaceRule.LEARNING, PlaceRule.KNOWLEDGE):
        is_on = chosen.get(rule) != OFF
        confirm = channels_texts.SURE_TO_LEARN if rule is PlaceRule.LEARNING and not is_on else ""
        label = (channels_texts.SWITCH_OFF if is_on else channels_texts.SWITCH_ON).format(what=rule)
        actions.append(PanelAction(label, f"{rule} {'off' if is_on else 'on'}", confirm=confirm))
    who = {"everyone": channels_texts.PLACE_USUAL[PlaceRule.WHO], "members": channels_texts.FULL_MEMBERS}
    selects = [(PlaceRule.WHO, who, "")]
    if models:
        names = {"usual": channels_texts.PLACE_USUAL[PlaceRule.MODEL]} | {name: name for name in models}
        selects.append((PlaceRule.MODEL, names, chosen.get(PlaceRule.MODEL, "")))
    if answer.most_ambient:
        bounds = {str(bound) for bound in (*BOUNDS, answer.most_ambient) if bound <= answer.most_ambient}
        bounds |= {current} if (current := chosen.get(PlaceRule.AMBIENT, "")) else set()
        labels = {number: channels_texts.A_DAY.format(many=number) for number in sorted(bounds, key=int)}
        selects.append((PlaceRule.AMBIENT, {"off": channels_texts.PLACE_USUAL[PlaceRule.AMBIENT]} | labels, current))
    parts = [
        PanelPart(select=PanelSelect(channels_texts.PLACE_RULES[rule], options, current, rule))
        for rule, options, current in selects
    ]
    return Panel(answer.text, tuple(actions), tuple(parts))


async def _prefilled(service: PlaceService, call: declaration.CommandCall) -> Filled:
    """The form starts with the current values."""
    chosen = await service.chosen(call.caller.channel)
    return {rule.value: chosen.get(rule, "") for rule in PlaceRule}


async def _with_models(service: PlaceService, _: declaration.CommandCall) -> PanelForm:
    choices = {name: name for name in service.models}
    return replace(MODELS, fields=(replace(MODELS.fields[0], choices=choices),))


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


INSTRUCTIONS = PanelForm(
    name="channelwords",
    label="Instructions…",
    title="Instructions here",
    submit="Set",
    fields=(
        FormField(
            PlaceRule.INSTRUCTIONS,
            "What I should do here",
            FieldKind.LINES,
            hint="I read it with every question asked here. Empty for none.",
            optional=True,
            max_chars=MAX_INSTRUCTIONS,
        ),
    ),
    words=lambda filled: f"instructions: {filled[PlaceRule.INSTRUCTIONS] or 'none'}",
)
LANGUAGE = PanelForm(
    name="channellanguage",
    label="Language…",
    title="Language here",
    submit="Set",
    fields=(
        FormField(
            PlaceRule.LANGUAGE,
            "The language of my answers",
            hint="Such as German. Empty for the usual one.",
            optional=True,
            max_chars=MAX_LANGUAGE,
        ),
    ),
    words=lambda filled: f"language {filled[PlaceRule.LANGUAGE] or 'usual'}",
)
MODELS = PanelForm(
    name="channelmodels",
    label="Models…",
    title="Models here",
    submit="Set",
    fields=(
        FormField(
            PlaceRule.MODELS,
            "The only models here",
            FieldKind.PICKS,
            hint="None of them: all that people may choose.",
            optional=True,
        ),
    ),
    words=lambda filled: f"models {filled[PlaceRule.MODELS] or 'all'}",
)

COMMAND = declaration.Command(
    name="channel",
    summary="Show how I answer in this channel; who manages it changes that",
    run=show,
    suggests={"words": _words_offered},
    prefills={form.name: _prefilled for form in (INSTRUCTIONS, LANGUAGE, MODELS)},
    builds={MODELS.name: _with_models},
    arguments=(
        declaration.Argument(
            "words",
            "who, models, model, instructions, language, ambient, learning, knowledge; history or undo",
            mentions=True,
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
