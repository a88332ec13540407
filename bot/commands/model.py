"""`/model`: which model answers somebody, and the choice of another."""

from collections.abc import Mapping, Sequence

from bot.access.acl import Requester
from bot.commands.declaration import Argument, Command, CommandCall, CommandHost, Panel
from bot.texts import reply_texts


async def show(call: CommandCall) -> Panel:
    who, host = await call.caller.requester(), call.host
    if name := call.words.strip(" `"):
        await host.choose_model(who, reply_texts.chosen_model(name))
    menu = await host.models(who)
    return Panel(menu.sentence or reply_texts.model_text(menu.current, menu.why, menu.allowed, "/model NAME"))


async def open_models(host: CommandHost, who: Requester, _: Mapping[str, str]) -> Sequence[str]:
    """Among which they may choose."""
    return (await host.models(who)).allowed


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
