"""`/model`: which model answers somebody, and the choice of another."""

from collections.abc import Mapping, Sequence

from bot.access.acl import Requester
from bot.commands.declaration import Argument, Command, CommandCall, Panel, PanelPart, PanelSelect
from bot.host import CommandHost, ModelMenu
from bot.texts import reply_texts


async def show(call: CommandCall) -> Panel:
    who, host = await call.caller.requester(), call.host
    if name := call.words.strip(" `"):
        await host.models.choose(who, reply_texts.chosen_model(name))
    menu = await host.models.menu(who)
    text = menu.sentence or reply_texts.model_text(menu.current, menu.why, menu.allowed, "/model NAME")
    return Panel(text, parts=(PanelPart(select=model_select(menu)),) if menu.allowed else ())


def model_part(menu: ModelMenu, words: str = "") -> PanelPart:
    """The model and the choice of another, as part of a panel whose command takes the name behind `words`."""
    if not menu.allowed:
        return PanelPart(reply_texts.model_text(menu.current, menu.why, (), ""))
    return PanelPart(reply_texts.model_in_use(menu.current, menu.why), select=model_select(menu, words))


def model_select(menu: ModelMenu, words: str = "") -> PanelSelect:
    names = {name: name for name in menu.allowed if name.strip() and name != reply_texts.USUAL}
    return PanelSelect("Choose a model", {reply_texts.USUAL: "The usual one"} | names, menu.current, words)


async def open_models(host: CommandHost, who: Requester, _: Mapping[str, str]) -> Sequence[str]:
    """Among which they may choose."""
    return (await host.models.menu(who)).allowed


async def _choices(host: CommandHost, who: Requester, given: Mapping[str, str]) -> Sequence[str]:
    names = await open_models(host, who, given)
    return [*names, reply_texts.USUAL] if names else []


COMMAND = Command(
    name="model",
    summary="Show or choose the model that answers you",
    run=show,
    arguments=(
        Argument(
            "name", f"The model; “{reply_texts.USUAL}” goes back to the usual one", hint="[name]", suggests=_choices
        ),
    ),
    means=lambda words, _: len(words.split()) <= 1,
    examples={"NAME": "answer with another model"},
)
