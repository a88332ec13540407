"""`/memory`: what is remembered about somebody, and what they decide about it."""

from collections.abc import Sequence

from bot.commands.declaration import Argument, Command, PanelAction
from bot.host import MemoryAnswer, ShownEntry
from bot.memory.view import (
    UnclearMemory,
    correct_words,
    delete_words,
    everywhere_words,
    page_words,
    read_memory_request,
    undo_words,
)
from bot.texts import memory_texts

WORDS = ("undo", "export", "pause", "pause here", "resume", "resume here", "help")
"""Offered while somebody types."""


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


def entry_actions(entry: ShownEntry) -> tuple[PanelAction, ...]:
    """What may be decided about an entry."""
    key = entry.key
    actions = [
        PanelAction("delete", "Delete", delete_words(key), danger=True),
        PanelAction("correct", "Correct", correct_words(key), fills_in=True),
    ]
    if entry.may_go_everywhere:
        actions.append(PanelAction("everywhere", "Use everywhere", everywhere_words(key, on=True)))
    if entry.everywhere:
        actions.append(PanelAction("here", "Only where it was said", everywhere_words(key, on=False)))
    return tuple(actions)


def undo_actions(answer: MemoryAnswer) -> tuple[PanelAction, ...]:
    """To bring back what was just deleted, if anything was."""
    return (PanelAction("undo", "Undo", undo_words(answer.undo)),) if answer.undo else ()


def page_actions(answer: MemoryAnswer) -> tuple[PanelAction, ...]:
    """To the pages before and after this one."""
    around = {"Earlier page": answer.page - 1, "Next page": answer.page + 1}
    return tuple(
        PanelAction(f"page:{page}", label, page_words(page))
        for label, page in around.items()
        if 1 <= page <= answer.pages
    )


COMMAND = Command(
    name="memory",
    summary="See what I remember about you, and decide about it",
    arguments=(
        Argument(
            "words",
            "delete 3, undo, correct 3 NEW WORDS, everywhere 3, here 3, export, pause, resume or help",
            suggests=_words_offered,
        ),
    ),
    phrases=("show memory", "show my memory"),
    means=lambda words, _: not isinstance(read_memory_request(words), UnclearMemory),
    examples={
        written.removeprefix("/memory "): what for written, what in memory_texts.MEMORY_HELP.items() if " " in written
    },
)
