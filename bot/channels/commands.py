"""`/channel`: how the bot answers in a channel, which its managers set. It follows from `bot.channels.rules`."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from bot.channels import texts as channels_texts
from bot.channels.rule import OFF, ChannelRule, Form, Menu, RuleContext, Switch
from bot.channels.rules import CHANNEL_RULES
from bot.channels.service import PlaceAnswer, PlaceService, is_place_request
from bot.chat.commands import declaration
from bot.chat.panels import Filled, Panel, PanelAction, PanelForm, PanelPart, PanelSelect


def _ordered(rule: ChannelRule, value: str) -> str:
    """Return the words that set this value; a text has a colon, so that it is not taken for talk."""
    return f"{rule.name}{':' if rule.is_text else ''} {value}"


# Suggested while a person types; the capitals are to be replaced.
WORDS = ("history", "undo", *(_ordered(rule, words) for rule in CHANNEL_RULES for words in rule.words))


async def show(service: PlaceService, call: declaration.CommandCall) -> Panel:
    asker = await call.caller.asker()
    answer = await service.answer(asker, call.words, call.caller.announce, call.caller.not_receiving)
    if answer.context is None or call.caller.entry_chars is None:
        return Panel(answer.text, refused=answer.refused)
    return channel_panel(answer, answer.context)


def channel_panel(answer: PlaceAnswer, context: RuleContext) -> Panel:
    """Return the panel with the buttons and menus of a channel's manager; other changes are written as words."""
    forms, switches, parts = list[PanelAction](), list[PanelAction](), list[PanelPart]()
    for rule in CHANNEL_RULES:
        chosen = context.chosen.get(rule.name, "")
        for control in rule.controls:
            match control:
                case Form(form, choices):
                    forms += [form.button()] if choices is None or choices(context) else []
                case Switch(sure):
                    is_on = chosen != OFF
                    label = (channels_texts.SWITCH_OFF if is_on else channels_texts.SWITCH_ON).format(what=rule.name)
                    words = f"{rule.name} {'off' if is_on else 'on'}"
                    switches.append(PanelAction(label, words, confirm="" if is_on else sure))
                case Menu(options):
                    labels = options(context)
                    current = chosen if chosen in labels else ""
                    select = PanelSelect(rule.title, labels, current, rule.name)
                    parts += [PanelPart(select=select)] if labels else []
                case _:
                    assert_never(control)
    return Panel(answer.text, (*forms, *switches), tuple(parts))


async def _prefilled(service: PlaceService, call: declaration.CommandCall) -> Filled:
    """The form starts with the current values."""
    chosen = (await service.context(call.caller.channel)).chosen
    return {rule.name: chosen.get(rule.name, "") for rule in CHANNEL_RULES}


async def _with_choices(control: Form, service: PlaceService, call: declaration.CommandCall) -> PanelForm:
    form = control.form
    if control.choices is None:
        return form
    choices = control.choices(await service.context(call.caller.channel))
    return replace(form, fields=(replace(form.fields[0], choices=choices), *form.fields[1:]))


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


FORMS = tuple(control for rule in CHANNEL_RULES for control in rule.controls if isinstance(control, Form))

COMMAND = declaration.Command(
    name="channel",
    summary="Show how I answer in this channel; who manages it changes that",
    run=show,
    suggests={"words": _words_offered},
    prefills={control.form.name: _prefilled for control in FORMS},
    builds={control.form.name: partial(_with_choices, control) for control in FORMS if control.choices is not None},
    arguments=(
        declaration.Argument(
            "words",
            f"{', '.join(rule.name for rule in CHANNEL_RULES)}; history or undo",
            mentions=True,
        ),
    ),
    scope=declaration.CommandScope.SERVERS,
    bare=False,
    forms=tuple(control.form for control in FORMS),
    phrases=("channel settings", "show channel settings"),
    means=lambda words, _: is_place_request(words),
    examples={
        **{_ordered(rule, words): does for rule in CHANNEL_RULES for words, does in rule.examples.items()},
        "undo": "take the last change back; `history` shows them all",
    },
)
