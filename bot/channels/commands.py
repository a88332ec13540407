"""`/channel`: how the bot answers in a channel, which its managers set. It follows from `bot.channels.rules`."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from agent.incoming import person_source
from bot.channels.rule import ChannelRule, Form, RuleContext
from bot.channels.rules import CHANNEL_RULES
from bot.channels.service import PlaceService, is_place_request
from bot.chat.commands import declaration
from bot.chat.panels import Filled, Panel, PanelForm


def _ordered(rule: ChannelRule, value: str) -> str:
    """Return the words that set this value; a text has a colon, so that it is not taken for talk."""
    return f"{rule.name}{':' if rule.is_text else ''} {value}"


# Suggested while a person types; the capitals are to be replaced.
WORDS = ("history", "undo", *(_ordered(rule, words) for rule in CHANNEL_RULES for words in rule.words))


async def show(service: PlaceService, call: declaration.CommandCall) -> Panel:
    asker = await call.caller.asker()
    panel = await service.answer(asker, call.words, call.caller.announce, call.caller.not_receiving)
    named = replace(panel, text=await call.caller.with_names(panel.text))
    return named if call.caller.entry_chars is not None else replace(named, actions=(), parts=())


async def _context(service: PlaceService, call: declaration.CommandCall) -> RuleContext:
    return await service.context(person_source(call.caller.person.id), call.caller.channel)


async def _prefilled(service: PlaceService, call: declaration.CommandCall) -> Filled:
    """The form starts with the current values."""
    chosen = (await _context(service, call)).chosen
    return {rule.name: chosen.get(rule.name, "") for rule in CHANNEL_RULES}


async def _with_choices(control: Form, service: PlaceService, call: declaration.CommandCall) -> PanelForm:
    form = control.form
    if control.choices is None:
        return form
    choices = control.choices(await _context(service, call))
    return replace(form, fields=(replace(form.fields[0], choices=choices), *form.fields[1:]))


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


FORMS = tuple(control for rule in CHANNEL_RULES for control in rule.controls if isinstance(control, Form))

COMMAND = declaration.Command(
    name="channel",
    summary="See how I answer in this channel; its managers can change that",
    run=show,
    suggests={"words": _words_offered},
    prefills={control.form.name: _prefilled for control in FORMS},
    builds={control.form.name: partial(_with_choices, control) for control in FORMS if control.choices is not None},
    arguments=(
        declaration.Argument(
            "words",
            "What to change, and its value; undo",
            hint=f"[{', '.join(rule.name for rule in CHANNEL_RULES)}; undo]",
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
        "undo": "undo the last change; `history` shows all changes",
    },
)
