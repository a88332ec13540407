"""`/model`."""

from collections.abc import Mapping, Sequence

from bot.chat.askers import Requester
from bot.chat.commands.declaration import Argument, Command, CommandCall
from bot.chat.commands.talking import model_select, open_models
from bot.chat.panels import Panel, PanelPart
from bot.chat.ports import ModelChoices
from bot.chat.texts import replies as reply_texts
from bot.models import texts as models_texts


async def show_model(models: ModelChoices, call: CommandCall) -> Panel:
    requester = await call.caller.requester()
    if name := call.words.strip(" `"):
        await models.choose(requester, models_texts.chosen_model(name))
    menu = await models.menu(requester)
    text = menu.sentence or reply_texts.model_text(menu.current, menu.why, menu.allowed, "/model NAME")
    return Panel(text, parts=(PanelPart(select=model_select(menu)),) if menu.allowed else ())


async def _choices(models: ModelChoices, requester: Requester, given: Mapping[str, str]) -> Sequence[str]:
    names = await open_models(models, requester, given)
    return [*names, reply_texts.USUAL] if names else []


MODEL_COMMAND = Command(
    name="model",
    summary="Show or choose the model that answers you",
    run=show_model,
    suggests={"name": _choices},
    arguments=(Argument("name", f"The model; “{reply_texts.USUAL}” goes back to the usual one", hint="[name]"),),
    means=lambda words, _: len(words.split()) <= 1,
    examples={"NAME": "answer with another model"},
)
