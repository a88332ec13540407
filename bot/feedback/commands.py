"""`/feedback`: what was wrong with an answer. The button 👎 below an answer leads here, too."""

from collections.abc import Sequence

from agent.feedback import FeedbackReason
from bot.chat.commands import declaration
from bot.chat.panels import Filled, Panel, PanelAction
from bot.chat.reply.surface import ReplyAction
from bot.feedback import orders, texts
from bot.feedback.service import FORM, FeedbackService


async def show(service: FeedbackService, call: declaration.CommandCall) -> Panel:
    buttons = call.caller.entry_chars is not None
    shares = orders.SHARE in call.options
    return await service.answer(await call.caller.asker(), call.words, share=shares, buttons=buttons)


async def press_bad(_: object, pressed: declaration.PressedReply) -> PanelAction:
    """The window that asks what was wrong with the reply above the button."""
    return FORM.button(f"{orders.ON} {pressed.turn}")


async def _said_before(service: FeedbackService, call: declaration.CommandCall) -> Filled:
    return await service.filled(call.caller.person.id, call.words)


async def _words_offered(*_: object) -> Sequence[str]:
    return ("good", *FeedbackReason, orders.LIST)


COMMAND = declaration.Command(
    name="feedback",
    summary="Say what was wrong with my last answer to you; managers see the channel's feedback",
    run=show,
    suggests={"words": _words_offered},
    prefills={FORM.name: _said_before},
    presses={ReplyAction.BAD: press_bad},
    arguments=(
        declaration.Argument(
            "words",
            "A reason and what was wrong, as in “wrong: it is called Heron”, or “list”",
            hint="[wrong: what was wrong | what it should have been]",
        ),
        declaration.Argument(orders.SHARE, texts.SHARE_FLAG, declaration.ArgumentKind.FLAG),
    ),
    open_to_all=True,
    forms=(FORM,),
    bare=False,
    examples={
        "wrong: it is called Heron": "say what was wrong with my last answer to you here",
        "wrong share: it is called Heron": "also let the bot's operators read the question and the answer",
        "good": "rate my last answer to you here 👍",
        "list": "for managers of this channel, and for operators: see the feedback",
        "take 12": (
            "for managers and operators: mark #12 as in progress; `fixed 12` and `reopen 12` also change its state"
        ),
    },
)
