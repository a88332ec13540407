"""`/knowledge unanswered`: what was not answered in a channel, by subject, and teaching what is missing.

Rules
  Only the managers of a channel, and operators there, are shown its questions; nobody is shown those of direct messages
  or of private answers (`agent.feedback.ChannelFeedback`). Who asked is not said.
  What is taught is a document of the place, as one that was learned from a file.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from agent.errors import Refused
from agent.feedback import ChannelFeedback
from agent.memory.documents import MAX_NAME_CHARS
from agent.ports.tools import Asker
from agent.unanswered import QuestionGroup, Unanswered
from bot.chat.audiences import channel_view
from bot.chat.panels import FieldKind, Filled, FormField, PanelAction, PanelForm, PanelPart, page_part
from bot.chat.texts.formatting import counted, literal, shortened
from bot.knowledge import texts as knowledge_texts

PERIOD: Final = timedelta(days=14)
MAX_QUESTIONS: Final = 500  # Of the period; each is compared with the others
PAGE: Final = 5  # Subjects: each has up to four lines and a button
EXAMPLES: Final = 3
QUESTION_CHARS: Final = 200
MAX_TEXT: Final = 3_000  # Windows of Slack accept no longer text; a longer one is a file for `/learn`
UNANSWERED: Final = "unanswered"
DIGEST: Final = "unanswered_digest"  # A person's preference: DIGEST_OFF, or the week of the last weekly message
DIGEST_OFF: Final = "off"
TEACH: Final = "teach"

_LIST: Final = re.compile(rf"{UNANSWERED}(?: page ([0-9]{{1,6}}))?", re.IGNORECASE)
_TEACH: Final = re.compile(rf"{TEACH}(?: ([0-9]{{1,18}}))? (?=\S)", re.IGNORECASE)


def list_page(words: str) -> int | None:
    """Return the page of the list that these words ask for, from 1; None if they do not."""
    found = _LIST.fullmatch(" ".join(words.split()))
    return None if found is None else max(1, int(found[1] or 1))


def taught(words: str) -> tuple[str, str] | None:
    """Return the title and the text that these words teach; None if they do not."""
    found = _TEACH.match(words.strip())
    if found is None:
        return None
    title, separator, text = words.strip()[found.end() :].partition("|")
    return (title.strip(), text.strip()) if separator else None


def digest_choice(words: str) -> bool | None:
    """Return whether the words switch the weekly message on or off; None: neither."""
    return {"digest on": True, "digest off": False}.get(" ".join(words.casefold().split()))


def view_of(asker: Asker, *, operates: bool) -> ChannelFeedback:
    """Return what this person may see here. Raises Refused."""
    view = channel_view(asker)
    if view is None or not (asker.manages or operates):
        raise Refused(knowledge_texts.UNANSWERED_FOR_MANAGERS)
    return view


def _form_words(filled: Filled) -> str:
    return f"{filled['title'].replace('|', '/').strip()} | {filled['text'].strip()}"


TEACH_FORM: Final = PanelForm(
    name=TEACH,
    label=knowledge_texts.TEACH_BUTTON,
    title=knowledge_texts.TEACH_TITLE,
    submit=knowledge_texts.TEACH_SUBMIT,
    fields=(
        FormField("title", knowledge_texts.TEACH_NAME, max_chars=MAX_NAME_CHARS),
        FormField("text", knowledge_texts.TEACH_TEXT, FieldKind.LINES, knowledge_texts.TEACH_HINT, max_chars=MAX_TEXT),
    ),
    words=_form_words,
)


def shown_groups(groups: Sequence[QuestionGroup], page: int, *, buttons: bool) -> tuple[PanelPart, ...]:
    """Return a page of the list. `buttons`: whether the platform has them; if not, the syntax is shown."""
    pages = max(1, -(-len(groups) // PAGE))
    page = min(page, pages)
    parts = list[PanelPart]()
    for group in groups[PAGE * (page - 1) : PAGE * page]:
        teach = TEACH_FORM.button(f"{TEACH} {group.questions[0].turn}")
        parts.append(PanelPart(group_text(group), (teach,) if buttons else ()))
    if groups and not buttons:
        parts.append(PanelPart(knowledge_texts.TEACH_USAGE))
    if pages > 1:
        below = page_part(page, pages, "" if buttons else knowledge_texts.UNANSWERED_PAGE)
        actions = tuple(PanelAction(one.label, f"{UNANSWERED} {one.words}") for one in below.actions)
        parts.append(PanelPart(below.text, actions))
    return tuple(parts)


def why_text(group: QuestionGroup) -> str:
    """Return why these questions count as unanswered, each reason with its number."""
    counts = {reason: group.count(reason) for reason in Unanswered}
    because = knowledge_texts.UNANSWERED_BECAUSE
    return ", ".join(because[reason].format(count=count) for reason, count in counts.items() if count)


def group_text(group: QuestionGroup) -> str:
    """Return a subject as Markdown: how often it was asked and why it counts, with its newest questions."""
    count = counted(len(group.questions), "question", "questions")
    lines = [knowledge_texts.UNANSWERED_GROUP.format(count=count, why=why_text(group))]
    for question in group.questions[:EXAMPLES]:
        day, link = f"{question.time:%Y-%m-%d}", question.link
        linked = f"[{day}]({link})" if link.startswith(("https://", "http://")) else day
        text = literal(shortened(" ".join(question.question.split()), QUESTION_CHARS))
        lines.append(f"> {text} ({linked})")
    return "\n".join(lines)
