"""`/human`: ask people of the place to take a conversation over. The buttons below answers lead here, too."""

from collections.abc import Sequence
from dataclasses import replace

from bot.chat.commands import declaration
from bot.chat.panels import Panel, PanelAction
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.handoff import orders, texts
from bot.handoff.service import FORM, PRIVATE_FORM, HandoffService


async def show(service: HandoffService, call: declaration.CommandCall) -> Panel:
    caller, share = call.caller, "share" in call.options
    asker, thread = await caller.asker(), (await caller.private_asker()).thread
    panel = await service.command(asker, thread, call.words, share=share, buttons=caller.entry_chars is not None)
    return replace(panel, text=await caller.with_names(panel.text))


async def press_human(_: object, pressed: declaration.PressedReply) -> PanelAction:
    """What people would get about the reply above the button."""
    return PanelAction(reply_texts.HUMAN_BUTTON, f"{orders.ON} {pressed.turn}")


async def press_back(_: object, pressed: declaration.PressedReply) -> PanelAction:
    """The request that the notice above the button is about."""
    return PanelAction(reply_texts.HAND_BACK_BUTTON, f"{orders.BACK} {orders.ON} {pressed.turn}")


async def _words_offered(*_: object) -> Sequence[str]:
    return (orders.BACK, orders.CANCEL, orders.LIST)


COMMAND = declaration.Command(
    name="human",
    summary="Ask a human to take over this conversation, or hand it back to me",
    run=show,
    suggests={"words": _words_offered},
    presses={ReplyAction.HUMAN: press_human, ReplyAction.HAND_BACK: press_back},
    arguments=(
        declaration.Argument(
            "words",
            "Your message to the people who are asked; or “back”, “cancel”, or “list”",
            hint="[message; back; cancel; list]",
        ),
        declaration.Argument("share", texts.SHARE_FLAG, declaration.ArgumentKind.FLAG),
    ),
    forms=(FORM, PRIVATE_FORM),
    phrases=(
        *("ask a human", "ask a person", "talk to a human", "talk to a person", "speak to a human"),
        *("i want to talk to a human", "i want to talk to a person", "hand back"),
    ),
    examples={
        "": "see who can take over, and what they would get, before you ask them",
        "my order is lost": "ask people immediately, with this message",
        "back": "hand the conversation back to me",
        "cancel": "cancel your request while nobody has taken over",
        "list": "see your open requests and those that you can take over",
    },
)
