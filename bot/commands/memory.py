"""`/memory`: what is remembered about somebody, and what they decide about it."""

from collections.abc import Mapping, Sequence

from bot.commands import declaration
from bot.host import MemoryAnswer, ShownEntry
from bot.memory import view
from bot.memory.desk import FACT_CHARS
from bot.texts import memory_texts

FILE_NAME = "what-i-know.json"
MAY_DECIDE = "`/memory help` says what you may decide about it."
"""Elsewhere each entry has its buttons."""
SURE = "I will erase this after a minute in which you can undo it, and not learn it again from the same message."
WORDS = ("undo", "export", "pause", "pause here", "resume", "resume here", "share off", "share on", "help")
"""Offered while somebody types."""


async def show(call: declaration.CommandCall) -> declaration.Panel:
    answer = await call.host.memory(await call.caller.viewer(), call.words)
    return memory_panel(answer, call.caller.entry_chars, listed=not call.words)


def memory_panel(answer: MemoryAnswer, chars: int | None = None, *, listed: bool = False) -> declaration.Panel:
    """What `/memory` answers. `chars`: see `Caller.entry_chars`; an entry that is cut is decided about where it stands
    whole. `listed`: the list was asked for, and nothing else.
    """
    if answer.file is not None:
        return declaration.Panel(answer.text, file=declaration.PanelFile(FILE_NAME, answer.file))
    if answer.opened:
        (entry,) = answer.entries
        back = declaration.PanelAction("Back", view.page_words(answer.page))
        return declaration.Panel(view.entry_line(entry), (*_entry_actions(entry), back))
    undo = (declaration.PanelAction("Undo", view.undo_words(answer.undo)),) if answer.undo else ()
    parts = [_entry_part(entry, chars) for entry in answer.entries]
    if answer.pages > 1:
        parts.append(_pages_part(answer, buttons=chars is not None))
    if chars is None and listed and answer.entries:
        parts.append(declaration.PanelPart(MAY_DECIDE))
    return declaration.Panel(answer.text, undo, tuple(parts), refused=answer.refused)


def _entry_part(entry: ShownEntry, chars: int | None) -> declaration.PanelPart:
    if chars is None or len(entry.text) <= chars:
        return declaration.PanelPart(view.entry_line(entry), _entry_actions(entry))
    return declaration.PanelPart(
        view.entry_line(entry, chars), (declaration.PanelAction(f"Open {entry.number}", view.show_words(entry.key)),)
    )


def _entry_actions(entry: ShownEntry) -> tuple[declaration.PanelAction, ...]:
    """What may be decided about an entry."""
    key = entry.key
    actions = [
        declaration.PanelAction("Delete", view.delete_words(key), danger=True, confirm=SURE),
        CORRECT.button(view.correct_words(key)),
    ]
    if entry.everywhere:
        actions.append(declaration.PanelAction("Only where it was said", view.everywhere_words(key, on=False)))
    elif entry.may_go_everywhere:
        actions.append(declaration.PanelAction("Use everywhere", view.everywhere_words(key, on=True)))
    return tuple(actions)


def _pages_part(answer: MemoryAnswer, *, buttons: bool) -> declaration.PanelPart:
    """Which page this is, and the way to others."""
    if not buttons:
        another = answer.page % answer.pages + 1
        return declaration.PanelPart(memory_texts.PAGE_OF.format(page=answer.page, pages=answer.pages, another=another))
    around = {"Earlier page": answer.page - 1, "Next page": answer.page + 1}
    turning = [
        declaration.PanelAction(label, view.page_words(page))
        for label, page in around.items()
        if 1 <= page <= answer.pages
    ]
    return declaration.PanelPart(f"Page {answer.page} of {answer.pages}", tuple(turning))


async def _words_now(call: declaration.CommandCall) -> Mapping[str, str]:
    """What an entry says that is to be corrected."""
    key = call.words.removeprefix(view.correct_words(""))
    answer = await call.host.memory(await call.caller.viewer(), view.show_words(key))
    return {"words": next((entry.plain[:FACT_CHARS] for entry in answer.entries if entry.key == key), "")}


def _corrected(filled: declaration.Filled) -> str:
    return filled["words"]


CORRECT = declaration.PanelForm(
    name="correct",
    label="Correct",
    title="Correct an entry",
    submit="Correct",
    fields=(declaration.FormField("words", "In your own words", declaration.FieldKind.LINES, max_chars=FACT_CHARS),),
    words=_corrected,
    prefill=_words_now,
)


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


COMMAND = declaration.Command(
    name="memory",
    summary="See what I remember about you, and decide about it",
    run=show,
    forms=(CORRECT,),
    arguments=(
        declaration.Argument(
            "words",
            "delete 3, undo, correct 3 NEW WORDS, everywhere 3, here 3, export, pause, share off or help",
            suggests=_words_offered,
        ),
    ),
    phrases=("show memory", "show my memory"),
    means=lambda words, _: not isinstance(view.read_memory_request(words), view.UnclearMemory),
    examples={
        written.removeprefix("/memory "): what for written, what in memory_texts.MEMORY_HELP.items() if " " in written
    },
)
