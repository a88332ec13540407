"""What an answer presents, for platforms that show it in their own form. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.memory.audience import WIDE
from agent.presentations import (
    Presentation,
    PresentedSection,
    picture_markdown,
    presentation_markdown,
)
from agent.protocol.render import joined
from agent.turn_records import Closing
from bot.chat.reply.link_addresses import show_addresses
from bot.chat.reply.surface import MarkdownReader


@dataclass(frozen=True, slots=True)
class SeparateAnswer:
    """An answer for a platform that shows the presentation in its own form. `text`: the answer without it."""

    text: str
    presentation: Presentation


def separated(closing: Closing) -> SeparateAnswer | None:
    """Return the answer apart from what it presents; None if that has to stay in its text: there is nothing else,
    somebody changed its words, or its questions come from what not all who read there may read: as messages of people,
    they would be found elsewhere.
    """
    if closing.presentation is None or (closing.presentation.questions and closing.drawn_from != WIDE):
        return None
    before, found, after = closing.reply.rpartition(presentation_markdown(closing.presentation))
    if not (found and before.strip()):
        return None
    return SeparateAnswer(joined([before.rstrip(), after.strip()]), closing.presentation)


def with_shown_addresses(
    presentation: Presentation, has_read: Callable[[str], bool], reader: MarkdownReader
) -> Presentation:
    """Return it as it may be shown: without links and pictures whose address the turn has not read, as platforms would
    open them. Such an address is shown as text (`bot.chat.reply.link_addresses`).
    """

    def shown(text: str) -> str:
        return show_addresses(text, has_read, complete=True, reader=reader)

    def section(given: PresentedSection) -> PresentedSection:
        unread = [picture_markdown(one) for one in given.pictures if not has_read(one.address)]
        pictures = tuple(one for one in given.pictures if has_read(one.address))
        return replace(given, text=shown(joined([given.text, "\n".join(unread)])), pictures=pictures)

    return replace(presentation, sections=tuple(map(section, presentation.sections)))
