"""The commands of a conversation: `/ask`, `/stop`, `/new`, `/usage` and `/help`.

Each platform takes questions in by its own rules, and answers them as it answers messages.
"""

from agent.messages import Depth
from bot.commands.declaration import (
    Argument,
    ArgumentKind,
    Command,
    CommandCall,
    CommandScope,
    EntryForm,
    MessageEntry,
    Panel,
)
from bot.commands.model import open_models
from bot.spending_text import account_text
from bot.texts import command_texts, reply_texts

MAX_QUESTION_CHARS = 6_000
"""The least limit of a platform, of an option's text."""

ASK_COMMAND = Command(
    name="ask",
    summary="Ask me something",
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
            "How long I may think about it",
            choices={Depth.ADAPT: "as you see fit", Depth.FAST: "answer fast", Depth.DEEP: "think deeply"},
        ),
        Argument("model", "The model that answers this question alone", suggests=open_models),
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


async def stop(call: CommandCall) -> Panel:
    meant = await call.caller.stoppable()
    stopped = [await call.host.turns.stop_conversation(conversation) for conversation in meant.conversations]
    return Panel(reply_texts.STOPPING if any(stopped) else f"{reply_texts.NOTHING_RUNNING} {meant.otherwise}".strip())


STOP_COMMAND = Command(name="stop", summary="Stop the answer that is growing here", run=stop, bare=False)
"""A message that says "stop" is read by itself: it means the conversation in which it stands."""


async def begin(call: CommandCall) -> Panel:
    return Panel(await call.caller.begin_conversation())


NEW_COMMAND = Command(
    name="new",
    summary="Begin a new conversation here",
    run=begin,
    rolling=True,
    scope=CommandScope.DIRECT,
    bare=False,
)


async def usage(call: CommandCall) -> Panel:
    return Panel(account_text(await call.host.budgets.usage(call.caller.person.id)))


USAGE_COMMAND = Command(
    name="usage",
    summary="Show what your questions took today and this month",
    run=usage,
    phrases=("show usage", "show my usage"),
)


async def show_help(call: CommandCall) -> Panel:
    return Panel(call.caller.help())


HELP_COMMAND = Command(name="help", summary="Say what I can do, and how to ask for it", run=show_help)
