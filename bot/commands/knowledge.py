"""`/knowledge`: the documents that a place knows; `/learn`, or "learn this" behind a mention, hands one in."""

import re
from collections.abc import Sequence

from bot.commands import declaration
from bot.host import KnowledgeAnswer, PlaceAsker, ShownDocument
from bot.memory.knowledge_desk import is_knowledge_request
from bot.texts import memory_texts

SHARE = declaration.PanelAction("Share what is told here", "share on", confirm=memory_texts.SURE_TO_SHARE)
STOP_SHARING = declaration.PanelAction("Stop sharing", "share off")
SURE = "I will know it no longer, and erase it. What I said of it stays where I said it."
WORDS = ("list", "show 3", "remove 3", "share on", "share off")
"""Offered while somebody types."""


async def asker_of(call: declaration.CommandCall) -> PlaceAsker:
    """Who asks, as they would be asked about here, and whether they manage it."""
    asker, viewer = await call.caller.tool_asker(), await call.caller.viewer()
    source = asker.person.id.rpartition(":")[0]
    return PlaceAsker(asker.person, asker.authority, asker.place, source, call.caller.channel, viewer.manages)


async def show(call: declaration.CommandCall) -> declaration.Panel:
    answer = await call.host.knowledge.answer(await asker_of(call), call.words, call.caller.announce)
    return knowledge_panel(answer, buttons=call.caller.entry_chars is not None)


def knowledge_panel(answer: KnowledgeAnswer, *, buttons: bool = True) -> declaration.Panel:
    """`buttons`: whether the platform has some; else what may be written is said."""
    parts = [_part(one) for one in answer.documents]
    if answer.pages > 1:
        parts.append(_pages(answer, buttons=buttons))
    if answer.documents and not buttons:
        parts.append(declaration.PanelPart(memory_texts.KNOWLEDGE_USAGE))
    switch = {None: (), True: (STOP_SHARING,), False: (SHARE,)}[answer.shares] if buttons else ()
    return declaration.Panel(answer.text, switch, parts=tuple(parts), refused=answer.refused)


def _part(document: ShownDocument) -> declaration.PanelPart:
    actions = [declaration.PanelAction("Show", f"show {document.id}")]
    if document.may_go:
        actions.append(declaration.PanelAction("Remove", f"remove {document.id}", danger=True, confirm=SURE))
    return declaration.PanelPart(document.text, tuple(actions))


def _pages(answer: KnowledgeAnswer, *, buttons: bool) -> declaration.PanelPart:
    if not buttons:
        another = answer.page % answer.pages + 1
        return declaration.PanelPart(
            memory_texts.KNOWLEDGE_PAGE.format(page=answer.page, pages=answer.pages, another=another)
        )
    around = {"Earlier page": answer.page - 1, "Next page": answer.page + 1}
    turning = [
        declaration.PanelAction(label, f"page {page}") for label, page in around.items() if 1 <= page <= answer.pages
    ]
    return declaration.PanelPart(f"Page {answer.page} of {answer.pages}", tuple(turning))


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


COMMAND = declaration.Command(
    name="knowledge",
    summary="See the documents that I know here, and who else is served by what you tell me here",
    run=show,
    arguments=(
        declaration.Argument("words", "list, show 3, remove 3, share on or share off", suggests=_words_offered),
    ),
    phrases=("show knowledge", "what do you know here", "documents", "show documents"),
    means=lambda words, _: is_knowledge_request(words),
    examples={
        "show 3": "see how a document begins",
        "remove 3": "have it removed, bytes included",
        "share on": "for who manages a public channel: let what is told me here from now on serve others of the team",
    },
)


# A place is to know a document from now on.

_THIS = re.compile(
    r"(?:this|these|that|it)?(?:\s+(?:files?|documents?|pdfs?|handbook|attachments?|links?|pages?|sites?))?"
    r"(?:\s+please)?",
    re.IGNORECASE,
)
"""What may stand behind "learn" beside links for it to be an order: everything else is talk, and the model's."""
_LINK = re.compile(
    r"\[[^\[\]\n]{0,500}\]\((?P<named>https?://[^\s<>]+?)\)(?=[,;:.!?]*(?:\s|\Z))"
    r"|<(?P<marked>https?://[^\s<>|]+)(?:\|[^<>\n]{0,2000})?>|(?P<bare>https?://[^\s<>]+)",
    re.IGNORECASE,
)
"""As people write it, as Markdown does, and as Slack and Discord do."""
MAX_LINK_CHARS = 4_000
_ENDS = ".,;:!?'\""
_BETWEEN = re.compile(r"(?<![,;:.!?])[,;:.!?]+(?=\s|\Z)|\band\b")


def links_in(words: str) -> list[str]:
    """The addresses of pages in these words, each once."""
    found = (one["named"] or one["marked"] or _without_end(one["bare"]) for one in _LINK.finditer(words))
    return list(dict.fromkeys(found))


def _without_end(address: str) -> str:
    """Without what ends the sentence that it stands in; what is too long to be an address is refused as it is."""
    if len(address) > MAX_LINK_CHARS:
        return address
    kept = address.rstrip(_ENDS)
    while kept.endswith(")") and kept.count(")") > kept.count("("):
        kept = kept[:-1].rstrip(_ENDS)
    return kept


async def learn(call: declaration.CommandCall) -> declaration.Panel:
    """Read what was handed over, which may take a minute, and keep it."""
    pages = links_in(call.words)
    if not (call.files or pages):
        return declaration.Panel(memory_texts.NOTHING_TO_LEARN, refused=True)
    asker = await asker_of(call)
    if call.host.knowledge.may_learn(asker):
        await call.show(declaration.Panel(memory_texts.LEARNING_NOW))
    answer = await call.host.knowledge.learn(asker, call.files, call.link, pages)
    return declaration.Panel(answer.text, refused=answer.refused)


def is_order(words: str) -> bool:
    beside = _BETWEEN.sub(" ", _LINK.sub(" ", words))
    return _THIS.fullmatch(" ".join(beside.split())) is not None


LEARN_COMMAND = declaration.Command(
    name="learn",
    summary="Have me know a file or a page here: whoever manages this place hands in documents",
    run=learn,
    arguments=(
        declaration.Argument(
            "link",
            "The address of a page of the web; several with blanks between them",
            hint="[https://… | nothing: attach the file to a message to me that says “learn this”]",
        ),
        declaration.Argument(
            "file",
            "The file: text, PDF, Word, Excel, PowerPoint",
            declaration.ArgumentKind.FILE,
        ),
    ),
    bare=False,
    means=lambda words, _: is_order(words),
    examples={
        "this": "with a file: know it from now on, in place of one with its name",
        "https://example.com/handbook": "know a page of the web, which is looked at again each day",
    },
)
