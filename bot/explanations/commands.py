"""`/why`: what an answer was drawn from. The button below an answer leads here, too."""

from bot.chat.commands import declaration
from bot.chat.panels import Panel, PanelAction
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.explanations.service import ExplanationService


async def show(service: ExplanationService, call: declaration.CommandCall) -> Panel:
    caller = call.caller
    return await service.answer(await caller.asker(), await caller.private_asker(), call.words.strip())


async def press_why(_: object, pressed: declaration.PressedReply) -> PanelAction:
    """What the reply above the button was drawn from."""
    return PanelAction(reply_texts.WHY_BUTTON, str(pressed.turn))


COMMAND = declaration.Command(
    name="why",
    summary="See which memories, documents, tools, and models my last answer to you used",
    run=show,
    presses={ReplyAction.WHY: press_why},
    bare=False,
    phrases=("why this answer",),
    examples={"": "see what my last answer to you was based on"},
)
