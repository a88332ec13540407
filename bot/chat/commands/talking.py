"""The commands of a conversation: `/ask`, `/stop`, `/new` and `/help`.

Questions have no `run`: each platform submits them by its own rules, and answers them like messages.
"""

from collections.abc import Mapping, Sequence

from agent.messages import Depth
from bot.chat.askers import Requester
from bot.chat.commands.declaration import (
    Argument,
    ArgumentKind,
    Command,
    CommandCall,
    CommandScope,
    EntryForm,
    MessageEntry,
)
from bot.chat.panels import Panel
from bot.chat.ports import ModelChoices, RunningTurns
from bot.chat.texts import commands as command_texts
from bot.chat.texts import replies as reply_texts

MAX_QUESTION_CHARS = 6_000  # The smallest of the platforms' limits for an option's text


async def open_models(models: ModelChoices, requester: Requester, _: Mapping[str, str]) -> Sequence[str]:
    """Return the models that they may choose."""
    return (await models.menu(requester)).allowed


ASK_COMMAND = Command(
    name="ask",
    summary="Ask me something",
    suggests={"model": open_models},
    arguments=(
        Argument(
            "question",
            "Your question",
            hint="[privately] [deep: or fast:] your question",
            required=True,
            mentions=True,
            max_chars=MAX_QUESTION_CHARS,
        ),
        Argument(
            "depth",
            "How long I should think",
            choices={
                Depth.ADAPT: "as long as the question needs",
                Depth.FAST: "answer fast",
                Depth.DEEP: "think deeply",
            },
        ),
        Argument("model", "The model for this question only"),
        Argument("private", "Only you see the answer", ArgumentKind.FLAG),
        Argument("file", "A file that the question is about", ArgumentKind.FILE),
    ),
    bare=False,
)

SUMMARISE = MessageEntry(
    id="cogency_summarise",
    summary=command_texts.SUMMARISE_WHAT,
    thread=EntryForm(command_texts.SUMMARISE_THREAD, command_texts.SUMMARISE_THREAD_QUESTION),
    onwards=EntryForm(command_texts.SUMMARISE_ONWARDS, command_texts.SUMMARISE_ONWARDS_QUESTION),
)


async def stop(turns: RunningTurns, call: CommandCall) -> Panel:
    target = await call.caller.stoppable()
    stopped = [await turns.stop_conversation(conversation) for conversation in target.conversations]
    return Panel(reply_texts.STOPPING if any(stopped) else f"{reply_texts.NOTHING_RUNNING} {target.otherwise}".strip())


# A message "stop" is read separately: it stops the conversation that it is in.
STOP_COMMAND = Command(name="stop", summary="Stop the answer that I am writing here", run=stop, bare=False)


async def begin_conversation(_: object, call: CommandCall) -> Panel:
    return Panel(await call.caller.begin_conversation())


NEW_COMMAND = Command(
    name="new",
    summary="Start a new conversation here",
    run=begin_conversation,
    rolling=True,
    scope=CommandScope.DIRECT,
    bare=False,
)


async def show_help(_: object, call: CommandCall) -> Panel:
    return Panel(call.caller.help())


HELP_COMMAND = Command(name="help", summary="See what I can do and how to ask for it", run=show_help)
