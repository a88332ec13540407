"""`/keys`: the keys that a channel has of its own for services of models, which its managers enter and remove."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from bot.chat.commands.declaration import Argument, Command, CommandCall, CommandScope
from bot.chat.logs import FORM_OF_SECRETS
from bot.chat.panels import FieldKind, FormField, Panel, PanelAction, PanelForm, PanelPart
from bot.models import texts as models_texts
from bot.models.place_keys import MAX_KEY_CHARS, PlaceKeyService
from bot.models.settings import OWN_KEY_VENDORS

ADD: Final = "add"
REMOVE: Final = "remove"
KEY: Final = "key"  # The option with the key; a command's words never hold one

KEY_FORM = PanelForm(
    name=f"{FORM_OF_SECRETS}key",
    label="Add a key",
    title="Add an API key",
    submit="Save",
    fields=(
        FormField("service", "Service", FieldKind.CHOICE),
        FormField(
            KEY,
            "API key",
            FieldKind.SECRET,
            "Only its last four characters are shown again. This channel's questions are billed to it.",
            max_chars=MAX_KEY_CHARS,
        ),
    ),
    words=lambda filled: filled["service"],
)


async def answer(service: PlaceKeyService, call: CommandCall) -> Panel:
    asker, (act, _, vendor) = await call.caller.asker(), call.words.strip().partition(" ")
    vendor = vendor.strip().lower()
    match act.lower():
        case "" | "list" if not vendor:
            return await _show(service, call)
        case "add" if vendor in OWN_KEY_VENDORS and call.options.get(KEY):
            stored = await service.enter(asker, vendor, call.options[KEY])
            label = service.settings.endpoint(vendor).label
            return await _show(service, call, models_texts.OWN_KEY_SAVED.format(label=label, end=stored.ending))
        case "remove" if vendor in OWN_KEY_VENDORS:
            removed, label = await service.remove(asker, vendor), service.settings.endpoint(vendor).label
            sentence = models_texts.OWN_KEY_REMOVED if removed else models_texts.OWN_KEY_MISSING
            return await _show(service, call, sentence.format(label=label))
        case _:
            return Panel(models_texts.OWN_KEYS_USAGE, refused=True)


async def _show(service: PlaceKeyService, call: CommandCall, notice: str = "") -> Panel:
    asker = await call.caller.asker()
    if not asker.channel:
        return Panel(models_texts.NO_OWN_KEYS_HERE, refused=True)
    stored, may_change = await service.listed(asker), service.may_change(asker)
    if not (stored or service.offered()):
        return Panel(models_texts.NO_OWN_KEYS, refused=True)
    lines = list[str]()
    for one in stored:
        end = f" {one.ending}" if may_change else ""
        state = models_texts.OWN_KEY_IS_REFUSED.format(time=f"{one.refused:%Y-%m-%d %H:%M} UTC") if one.refused else ""
        label = service.settings.endpoint(one.vendor).label
        lines.append(models_texts.OWN_KEY_LINE.format(label=label, end=end, day=f"{one.added:%Y-%m-%d}", state=state))
    in_use = models_texts.OWN_KEYS_HEADING if service.is_on else models_texts.OWN_KEYS_UNUSED
    heading = in_use if stored else models_texts.NO_OWN_KEYS_YET
    hint = "" if may_change else models_texts.OWN_KEYS_OF_MANAGERS
    text = "\n\n".join(filter(None, [notice, heading, "\n".join(lines), hint]))
    if not may_change:
        return Panel(text)
    buttons = tuple(
        PanelAction(
            models_texts.REMOVE_OWN_KEY.format(label=service.settings.endpoint(one.vendor).label),
            f"{REMOVE} {one.vendor}",
            danger=True,
            confirm=models_texts.REMOVE_OWN_KEY_SURE,
        )
        for one in stored
    )
    adds = (KEY_FORM.button(ADD),) if service.offered() else ()
    return Panel(text, parts=(PanelPart(actions=(*adds, *buttons)),))


async def _build(service: PlaceKeyService, _: CommandCall) -> PanelForm:
    """The form, with the services whose models are in use."""
    first, *others = KEY_FORM.fields
    choices = service.offered() or {name: name for name in OWN_KEY_VENDORS[:1]}
    return replace(KEY_FORM, fields=(replace(first, choices=choices), *others))


def _is_meant(words: str, _: datetime) -> bool:
    """Whether a message means the command: then no model reads a key that somebody writes behind it."""
    return words.lower().startswith(tuple(f"{act} {vendor}" for act in (ADD, REMOVE) for vendor in OWN_KEY_VENDORS))


KEYS_COMMAND = Command(
    name="keys",
    summary="See this channel's API keys for models; its managers can change them",
    run=answer,
    builds={KEY_FORM.name: _build},
    arguments=(Argument("words", "Remove a key: remove SERVICE", hint="[remove SERVICE]"),),
    scope=CommandScope.SERVERS,
    bare=False,
    means=_is_meant,
    forms=(KEY_FORM,),
    examples={"remove openai": "remove this channel's own key for OpenAI"},
)
