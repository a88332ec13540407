"""`/ask`: a question. Each platform takes questions in by its own rules, and answers them as it answers messages."""

from agent.messages import Depth
from bot.commands.declaration import Argument, ArgumentKind, Command, EntryForm, MessageEntry
from bot.commands.model import open_models
from bot.texts import command_texts

MAX_QUESTION_CHARS = 6_000
"""The least limit of a platform, of an option's text."""

COMMAND = Command(
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
