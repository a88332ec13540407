"""`/memory`: what the bot remembers about a person, and their decisions about it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agent.memory.forgetting_plans import PAUSE, PAUSED
from bot.chat.commands import declaration
from bot.chat.commands.declaration import CommandEntry, HomeContent, HomeSection, HomeVisit
from bot.chat.panels import (
    FieldKind,
    Filled,
    FormField,
    Panel,
    PanelAction,
    PanelFile,
    PanelForm,
    PanelPart,
    page_part,
    page_words,
)
from bot.chat.reply.surface import ReplyAction
from bot.memory import requests as view
from bot.memory import texts as memory_texts
from bot.memory.answers import MemoryAnswer, ShownEntry
from bot.memory.listing import TERMINAL_PAGE, entry_line, lasting_text
from bot.memory.service import FACT_CHARS, MemoryService

FILE_NAME = "what-i-know.json"
MAY_DECIDE = "Use `/memory help` to see what you can change."  # For platforms without buttons at each entry
SURE = (
    "I will erase this after one minute. Until then, you can undo the deletion. I will not learn it again from the "
    "same message."
)
# Suggested while a person types.
WORDS = ("undo", "export", "pause", "pause here", "resume", "resume here", "share off", "share on", "help")


async def show(service: MemoryService, call: declaration.CommandCall) -> Panel:
    if call.caller.entry_chars is None:
        service = replace(service, page_size=TERMINAL_PAGE, numbered=True)
    answer = await service.answer(await call.caller.private_asker(), call.words)
    path = view.export_path(call.words)
    return memory_panel(answer, call.caller.entry_chars, listed=not call.words, path=path)


def memory_panel(answer: MemoryAnswer, chars: int | None = None, *, listed: bool = False, path: str = "") -> Panel:
    """Return the panel of `/memory`. `chars`: see `Caller.entry_chars`; an entry that is cut off has its buttons only
    when it is opened. `listed`: the list was asked for, and nothing else. `path`: see `PanelFile`.
    """
    if answer.file is not None:
        return Panel(answer.text, file=PanelFile(FILE_NAME, answer.file, path))
    if answer.opened:
        (entry,) = answer.entries
        back = PanelAction("Back", page_words(answer.page))
        return Panel(entry_line(entry), (*_entry_actions(entry), back))
    undo = (PanelAction("Undo", view.undo_words(answer.undo)),) if answer.undo else ()
    parts = [_entry_part(entry, chars) for entry in answer.entries]
    if answer.pages > 1:
        usage = memory_texts.PAGE_OF if chars is None else ""
        parts.append(page_part(answer.page, answer.pages, usage))
    if chars is None and listed and answer.entries:
        parts.append(PanelPart(MAY_DECIDE))
    return Panel(answer.text, undo, tuple(parts), page=answer.page, refused=answer.refused)


def _entry_part(entry: ShownEntry, chars: int | None) -> PanelPart:
    opening = PanelAction(f"Open {entry.number}", view.show_words(entry.key))
    if chars is not None and len(entry.text) > chars:
        return PanelPart(entry_line(entry, chars), (opening,))
    # The list has room for three buttons at each entry; all stand below the entry when it is opened.
    if entry.may_settle:
        return PanelPart(entry_line(entry), (*_decisions(entry), opening))
    return PanelPart(entry_line(entry), _review_actions(entry) if entry.may_keep else _entry_actions(entry))


def _decisions(entry: ShownEntry) -> tuple[PanelAction, ...]:
    """The buttons of an entry that is marked as possibly outdated."""
    return (
        PanelAction(memory_texts.KEEP_BOTH, view.settle_words(entry.key, replaced=False)),
        PanelAction(memory_texts.REPLACE, view.settle_words(entry.key, replaced=True)),
    )


def _review_actions(entry: ShownEntry) -> tuple[PanelAction, ...]:
    """The buttons of an entry that is offered for review."""
    return (
        PanelAction(memory_texts.KEEP, view.keep_words(entry.key)),
        CORRECT.button(view.correct_words(entry.key)),
        PanelAction("Delete", view.delete_words(entry.key), danger=True, confirm=SURE),
    )


def _entry_actions(entry: ShownEntry) -> tuple[PanelAction, ...]:
    """The buttons of an entry."""
    key = entry.key
    actions = [
        PanelAction("Delete", view.delete_words(key), danger=True, confirm=SURE),
        CORRECT.button(view.correct_words(key)),
    ]
    if entry.may_keep:
        actions.append(PanelAction(memory_texts.KEEP, view.keep_words(key)))
    if entry.may_settle:
        actions += _decisions(entry)
    if entry.may_undo:
        actions.append(PanelAction("Undo", view.undo_words(key)))
    if entry.everywhere:
        actions.append(PanelAction("Stop using everywhere", view.everywhere_words(key, on=False)))
    elif entry.may_go_everywhere:
        actions.append(PanelAction("Use everywhere", view.everywhere_words(key, on=True)))
    return tuple(actions)


async def _words_now(service: MemoryService, call: declaration.CommandCall) -> Filled:
    """The current text of the entry to correct."""
    key = call.words.removeprefix(view.correct_words(""))
    answer = await service.answer(await call.caller.private_asker(), view.show_words(key))
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
)


async def _press_undo(_: object, pressed: declaration.PressedReply) -> PanelAction:
    """What takes back what was remembered from this turn. Platforms with buttons press the note's instead."""
    return PanelAction("Undo", view.undo_turn_words(pressed.turn))


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


# Begins the list while learning is paused, and the answers that only say whether the bot learns: on the page about a
# person, a line below the list says so.
_IS_PAUSED: Final = lasting_text([view.PauseLearning()])
_PAUSE_ANSWERS: Final = frozenset(
    memory_texts.pause_text(on=on, here=False, for_everybody=False) for on in (True, False)
)


async def _home(visit: HomeVisit) -> HomeContent:
    panel, learns = await visit.panel(page_words(visit.page)), _learns(visit)
    return HomeContent(
        replace(panel, text=panel.text.removeprefix(_IS_PAUSED).strip()),
        memory_texts.LEARNING_ON if learns else memory_texts.LEARNING_OFF,
        (_learning_action(learns=learns), PanelAction(memory_texts.EXPORT_BUTTON, "export")),
        empty=not panel.parts,
    )


def _learns(visit: HomeVisit) -> bool:
    return visit.choices.get(PAUSE) != PAUSED


def _learning_action(*, learns: bool) -> PanelAction:
    return (
        PanelAction(memory_texts.STOP_LEARNING, "pause") if learns else PanelAction(memory_texts.LEARN_AGAIN, "resume")
    )


async def _setting(visit: HomeVisit) -> PanelPart:
    learns = _learns(visit)
    learning = memory_texts.LEARNS_FROM_YOU if learns else memory_texts.LEARNS_NOTHING
    return PanelPart(memory_texts.LEARNING_NOW.format(learning=learning), (_learning_action(learns=learns),))


def _home_news(text: str) -> str:
    news = text.removesuffix(_IS_PAUSED).strip()
    return "" if news in _PAUSE_ANSWERS else news


COMMAND = declaration.Command(
    name="memory",
    summary="See, correct, and delete what I remember about you",
    run=show,
    suggests={"words": _words_offered},
    prefills={CORRECT.name: _words_now},
    presses={ReplyAction.UNDO: _press_undo},
    entry=CommandEntry(id="cogency_memory", label=memory_texts.MEMORY_ENTRY, summary=memory_texts.MEMORY_ENTRY_WHAT),
    home=HomeSection(title=memory_texts.HOME_MEMORY, show=_home, news=_home_news),
    setting=_setting,
    forms=(CORRECT,),
    arguments=(
        declaration.Argument(
            "words",
            "delete 3, undo, correct 3 NEW WORDS, keep 3, everywhere 3, here 3, both 3, replace 3, pause, or help",
        ),
    ),
    phrases=("show memory", "show my memory"),
    means=lambda words, _: not isinstance(view.read_memory_request(words), view.UnclearMemory),
    examples={
        written.removeprefix("/memory "): what for written, what in memory_texts.MEMORY_HELP.items() if " " in written
    },
)
