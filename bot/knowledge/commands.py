"""`/knowledge` and `/learn`."""

import re
from collections.abc import Sequence

from agent.memory.documents import MAX_NAME_CHARS
from bot.chat.commands import declaration
from bot.chat.panels import Filled, Panel, PanelAction, PanelPart, page_part
from bot.chat.texts.formatting import shortened
from bot.knowledge import texts as knowledge_texts
from bot.knowledge import unanswered
from bot.knowledge.answers import KnowledgeAnswer, ShownDocument
from bot.knowledge.service import KnowledgeService, is_knowledge_request

SHARE = PanelAction("Share what people tell me here", "share on", confirm=knowledge_texts.SURE_TO_SHARE)
STOP_SHARING = PanelAction("Stop sharing", "share off")
SURE_TO_REMOVE = "I will erase this document and no longer use it. My earlier replies about it stay."
KNOWLEDGE_WORDS = (
    "list",
    "show 3",
    "remove 3",
    "share on",
    "share off",
    unanswered.UNANSWERED,
    "digest off",
)  # Suggested while a person types


async def show_knowledge(service: KnowledgeService, call: declaration.CommandCall) -> Panel:
    if (page := unanswered.list_page(call.words)) is not None:
        return await _show_unanswered(service, call, page)
    if (on := unanswered.digest_choice(call.words)) is not None:
        return await service.choose_digest(call.caller.person.id, on=on)
    if (text := unanswered.taught(call.words)) is not None:
        return await service.teach(await call.caller.asker(), *text)
    answer = await service.answer(await call.caller.asker(), call.words, call.caller.announce)
    return knowledge_panel(answer, buttons=call.caller.entry_chars is not None)


async def _show_unanswered(service: KnowledgeService, call: declaration.CommandCall, page: int) -> Panel:
    groups = await service.unanswered(await call.caller.asker())
    head = knowledge_texts.UNANSWERED_HEAD if groups else knowledge_texts.UNANSWERED_NONE
    buttons = call.caller.entry_chars is not None
    parts = unanswered.shown_groups(groups, page, buttons=buttons)
    return Panel(head.format(days=unanswered.PERIOD.days), parts=parts, page=page)


async def _question_to_teach(service: KnowledgeService, call: declaration.CommandCall) -> Filled:
    """The title is the newest question of the subject that the button stands next to."""
    _, _, turn = call.words.rpartition(" ")
    groups = await service.unanswered(await call.caller.asker())
    newest = (group.questions[0] for group in groups)
    asked = next((one.question for one in newest if str(one.turn) == turn), "")
    return {"title": shortened(" ".join(asked.split()), MAX_NAME_CHARS)}


def knowledge_panel(answer: KnowledgeAnswer, *, buttons: bool = True) -> Panel:
    """`buttons`: whether the platform has them; if not, the syntax is shown."""
    parts = [_document_part(document) for document in answer.documents]
    if answer.pages > 1:
        usage = "" if buttons else knowledge_texts.KNOWLEDGE_PAGE
        parts.append(page_part(answer.page, answer.pages, usage))
    if answer.documents and not buttons:
        parts.append(PanelPart(knowledge_texts.KNOWLEDGE_USAGE))
    switch = {None: (), True: (STOP_SHARING,), False: (SHARE,)}[answer.shares] if buttons else ()
    return Panel(answer.text, switch, parts=tuple(parts), refused=answer.refused)


def _document_part(document: ShownDocument) -> PanelPart:
    actions = [PanelAction("Show", f"show {document.id}")]
    if document.may_go:
        actions.append(PanelAction("Remove", f"remove {document.id}", danger=True, confirm=SURE_TO_REMOVE))
    return PanelPart(document.text, tuple(actions))


async def _knowledge_words(*_: object) -> Sequence[str]:
    return KNOWLEDGE_WORDS


KNOWLEDGE_COMMAND = declaration.Command(
    name="knowledge",
    summary="See the documents I know here, and who else can use what you tell me here",
    run=show_knowledge,
    suggests={"words": _knowledge_words},
    prefills={unanswered.TEACH_FORM.name: _question_to_teach},
    arguments=(declaration.Argument("words", "list, show 3, remove 3, share on, share off, unanswered"),),
    forms=(unanswered.TEACH_FORM,),
    phrases=("show knowledge", "what do you know here", "documents", "show documents"),
    means=lambda words, _: is_knowledge_request(words),
    examples={
        "show 3": "see the beginning of document 3",
        "remove 3": "remove document 3 and erase its content",
        "unanswered": "for channel managers: see, by subject, what I did not answer well here, and teach me",
        "digest off": "for managers: stop the weekly message about what I did not answer well; `digest on` starts it",
        "teach Guest wifi | It is called Heron.": (
            "add a text to the documents here (in channels: managers and operators)"
        ),
        "share on": "for managers in a public channel: let the whole team use what people tell me here from now on",
    },
)


# Adding documents.

# The only words allowed beside "learn" and links in an order; any other message is a question.
_THIS = re.compile(
    r"(?:this|these|that|it)?(?:\s+(?:files?|documents?|pdfs?|handbook|attachments?|links?|pages?|sites?))?"
    r"(?:\s+please)?",
    re.IGNORECASE,
)
# Links as people write them, in Markdown, and as Slack and Discord send them.
_LINK = re.compile(
    r"\[[^\[\]\n]{0,500}\]\((?P<named>https?://[^\s<>]+?)\)(?=[,;:.!?]*(?:\s|\Z))"
    r"|<(?P<marked>https?://[^\s<>|]+)(?:\|[^<>\n]{0,2000})?>|(?P<bare>https?://[^\s<>]+)",
    re.IGNORECASE,
)
MAX_LINK_CHARS = 4_000
_ENDS = ".,;:!?'\""
_BETWEEN = re.compile(r"(?<![,;:.!?])[,;:.!?]+(?=\s|\Z)|\band\b")


def links_in(words: str) -> list[str]:
    """Return the addresses in these words, each once."""
    addresses = (match["named"] or match["marked"] or _without_end(match["bare"]) for match in _LINK.finditer(words))
    return list(dict.fromkeys(addresses))


def _without_end(address: str) -> str:
    """Remove the punctuation of the sentence around an address; one that is too long is left, and is refused later."""
    if len(address) > MAX_LINK_CHARS:
        return address
    trimmed = address.rstrip(_ENDS)
    while trimmed.endswith(")") and trimmed.count(")") > trimmed.count("("):
        trimmed = trimmed[:-1].rstrip(_ENDS)
    return trimmed


async def learn(service: KnowledgeService, call: declaration.CommandCall) -> Panel:
    """Read the given files and pages, which may take a minute, and store them."""
    pages = links_in(call.words)
    if not (call.files or pages):
        return Panel(knowledge_texts.NOTHING_TO_LEARN, refused=True)
    asker = await call.caller.asker()
    if service.may_learn(asker):
        await call.show(Panel(knowledge_texts.LEARNING_NOW))
    return await service.learn(asker, call.files, call.link, pages)


def is_order(words: str) -> bool:
    rest = _BETWEEN.sub(" ", _LINK.sub(" ", words))
    return _THIS.fullmatch(" ".join(rest.split())) is not None


LEARN_COMMAND = declaration.Command(
    name="learn",
    summary="Add a file or web page to the documents I know here (in channels: managers and operators)",
    run=learn,
    arguments=(
        declaration.Argument(
            "link",
            "The URL of a web page; separate several with spaces",
            hint="[https://…] To add a file, attach it to a message to me that says “learn this”.",
        ),
        declaration.Argument(
            "file",
            "A file, such as text, PDF, Word, Excel, or PowerPoint",
            declaration.ArgumentKind.FILE,
        ),
    ),
    bare=False,
    means=lambda words, _: is_order(words),
    examples={
        "this": "learn the attached file; it replaces a document with the same name",
        "https://example.com/handbook": "learn a web page, and check it for changes each day",
    },
)
