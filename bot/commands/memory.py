"""`/memory`: what is remembered about somebody, and what they decide about it."""

from collections.abc import Mapping, Sequence

from bot.commands.declaration import (
    Argument,
    Command,
    CommandCall,
    FieldKind,
    Filled,
    FormField,
    Panel,
    PanelAction,
    PanelFile,
    PanelForm,
    PanelPart,
)
from bot.host import MemoryAnswer, ShownEntry
from bot.memory.desk import FACT_CHARS
from bot.memory.view import (
    UnclearMemory,
    correct_words,
    delete_words,
    entry_line,
    everywhere_words,
    page_words,
    read_memory_request,
    show_words,
    undo_words,
)
from bot.texts import memory_texts

FILE_NAME = "what-i-know.json"
MAY_DECIDE = "`/memory help` says what you may decide about it."
"""Elsewhere each entry has its buttons."""
SURE = "I will erase this after a minute in which you can undo it, and not learn it again from the same message."
WORDS = ("undo", "export", "pause", "pause here", "resume", "resume here", "help")
"""Offered while somebody types."""


async def show(call: CommandCall) -> Panel:
    answer = await call.host.memory(await call.caller.viewer(), call.words)
    return memory_panel(answer, call.caller.entry_chars, listed=not call.words)


def memory_panel(answer: MemoryAnswer, chars: int | None = None, *, listed: bool = False) -> Panel:
    """What `/memory` answers. `chars`: see `Caller.entry_chars`; an entry that is cut is decided about where it stands
    whole. `listed`: the list was asked for, and nothing else.
    """
    if answer.file is not None:
        return Panel(answer.text, file=PanelFile(FILE_NAME, answer.file))
    if answer.opened:
        (entry,) = answer.entries
        back = PanelAction("Back", page_words(answer.page))
        return Panel(entry_line(entry), (*_entry_actions(entry), back))
    undo = (PanelAction("Undo", undo_words(answer.undo)),) if answer.undo else ()
    parts = [_entry_part(entry, chars) for entry in answer.entries]
    if answer.pages > 1:
        parts.append(_pages_part(answer, buttons=chars is not None))
    if chars is None and listed and answer.entries:
        parts.append(PanelPart(MAY_DECIDE))
    return Panel(answer.text, undo, tuple(parts))


def _entry_part(entry: ShownEntry, chars: int | None) -> PanelPart:
    if chars is None or len(entry.text) <= chars:
        return PanelPart(entry_line(entry), _entry_actions(entry))
    return PanelPart(entry_line(entry, chars), (PanelAction(f"Open {entry.number}", show_words(entry.key)),))


def _entry_actions(entry: ShownEntry) -> tuple[PanelAction, ...]:
    """What may be decided about an entry."""
    key = entry.key
    actions = [
        PanelAction("Delete", delete_words(key), danger=True, confirm=SURE),
        CORRECT.button(correct_words(key)),
    ]
    if entry.everywhere:
        actions.append(PanelAction("Only where it was said", everywhere_words(key, on=False)))
    elif entry.may_go_everywhere:
        actions.append(PanelAction("Use everywhere", everywhere_words(key, on=True)))
    return tuple(actions)


def _pages_part(answer: MemoryAnswer, *, buttons: bool) -> PanelPart:
    """Which page this is, and the way to others."""
    if not buttons:
        another = answer.page % answer.pages + 1
        return PanelPart(memory_texts.PAGE_OF.format(page=answer.page, pages=answer.pages, another=another))
    around = {"Earlier page": answer.page - 1, "Next page": answer.page + 1}
    turning = [PanelAction(label, page_words(page)) for label, page in around.items() if 1 <= page <= answer.pages]
    return PanelPart(f"Page {answer.page} of {answer.pages}", tuple(turning))


async def _words_now(call: CommandCall) -> Mapping[str, str]:
    """What an entry says that is to be corrected."""
    key = call.words.removeprefix(correct_words(""))
    answer = await call.host.memory(await call.caller.viewer(), show_words(key))
    return {"words": next((entry.plain[:FACT_CHARS] for entry in answer.entries if entry.key == key), "")}


def _corrected(filled: Filled) -> str:
    return filled["words"]


CORRECT = PanelForm(
    name="correct",
    label="Correct",
    title="Correct an entry",
    submit="Correct",
    fields=(FormField("words", "In your own words", FieldKind.LINES, max_chars=FACT_CHARS),),
    words=_corrected,
    prefill=_words_now,
)


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


COMMAND = Command(
    name="memory",
    summary="See what I remember about you, and decide about it",
    run=show,
    forms=(CORRECT,),
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
