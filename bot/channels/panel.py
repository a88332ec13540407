"""The buttons and menus with which a channel's managers set its rules. It follows from `bot.channels.rules`."""

from typing import assert_never

from bot.channels import texts as channels_texts
from bot.channels.rule import OFF, Form, Menu, RuleContext, Switch
from bot.channels.rules import CHANNEL_RULES
from bot.chat.panels import Panel, PanelAction, PanelPart, PanelSelect


def channel_panel(text: str, context: RuleContext) -> Panel:
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
    return Panel(text, (*forms, *switches), tuple(parts))
