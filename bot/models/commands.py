"""`/model`."""

from collections.abc import Mapping, Sequence

from bot.chat.askers import Requester
from bot.chat.commands.declaration import Argument, Command, CommandCall, HomeContent, HomeSection, HomeVisit
from bot.chat.commands.talking import open_models
from bot.chat.panels import Panel, PanelPart, PanelSelect, as_part
from bot.chat.ports import ModelChoices, ModelMenu
from bot.chat.texts import replies as reply_texts
from bot.models import texts as models_texts


async def show_model(models: ModelChoices, call: CommandCall) -> Panel:
    requester = await call.caller.requester()
    if name := call.words.strip(" `"):
        await models.choose(requester, models_texts.chosen_model(name))
    return model_panel(await models.menu(requester), with_names=not call.pressed)


def model_panel(menu: ModelMenu, *, with_names: bool) -> Panel:
    """Return the model, and a menu of others. `with_names`: the text lists them, too, and how to write the command."""
    if menu.sentence or not menu.allowed:
        return Panel(menu.sentence or reply_texts.model_text(menu.current, menu.why, (), ""))
    text = (
        reply_texts.model_text(menu.current, menu.why, menu.allowed, "/model NAME")
        if with_names
        else reply_texts.model_in_use(menu.current, menu.why)
    )
    names = {name: name for name in menu.allowed if name.strip() and name != reply_texts.USUAL}
    select = PanelSelect("Choose a model", {reply_texts.USUAL: "The default model"} | names, menu.current)
    return Panel(text, parts=(PanelPart(select=select),))


async def _home(visit: HomeVisit) -> HomeContent:
    return HomeContent(await visit.panel(pressed=True))


async def _setting(visit: HomeVisit) -> PanelPart:
    return as_part(await visit.panel(pressed=True))


def _no_news(_: str) -> str:
    """The menu shows what was chosen."""
    return ""


async def _choices(models: ModelChoices, requester: Requester, given: Mapping[str, str]) -> Sequence[str]:
    names = await open_models(models, requester, given)
    return [*names, reply_texts.USUAL] if names else []


MODEL_COMMAND = Command(
    name="model",
    summary="Show or choose the model that answers you",
    run=show_model,
    home=HomeSection(title=models_texts.HOME_MODEL, show=_home, news=_no_news),
    setting=_setting,
    suggests={"name": _choices},
    arguments=(Argument("name", f"The model's name, or “{reply_texts.USUAL}” for the default model", hint="[name]"),),
    means=lambda words, _: len(words.split()) <= 1,
    examples={"NAME": "choose another model"},
)
