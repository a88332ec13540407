"""`/solved` and `/unanswered`: posts of forums that are answered, and those that are not."""

import re
from collections.abc import Awaitable
from typing import Final

from agent.errors import Refused
from bot.chat.commands import declaration
from bot.chat.panels import Panel, PanelAction, page_of
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.forums import texts
from bot.forums.service import ForumService

_REOPEN: Final = frozenset({"reopen", "open", "undo", "no", "off"})
_UNANSWERED: Final = re.compile(r"(?:channel:(?P<forum>\d{1,20}))?\s*+(?P<page>page \d{1,9})?", re.ASCII)


async def mark(service: ForumService, call: declaration.CommandCall) -> Panel:
    words = call.words.strip(" .!").casefold()
    if words and words not in _REOPEN:
        return Panel(texts.SOLVED_USAGE, refused=True)
    return await _refusing(service.mark(await call.caller.private_asker(), solved=not words))


async def press_solved(_: object, __: declaration.PressedReply) -> PanelAction:
    """The post in which the reply above the button stands."""
    return PanelAction(reply_texts.SOLVED_BUTTON)


async def list_unanswered(service: ForumService, call: declaration.CommandCall) -> Panel:
    found = _UNANSWERED.fullmatch(call.words.strip())
    if found is None:
        return Panel(texts.UNANSWERED_USAGE, refused=True)
    page = page_of(found["page"] or "") or 1
    return await _refusing(service.unanswered(await call.caller.asker(), found["forum"] or "", page))


async def _refusing(answer: Awaitable[Panel]) -> Panel:
    """Return the answer; a refusal names commands, so it is Markdown, too."""
    try:
        return await answer
    except Refused as refused:
        return Panel(str(refused), refused=True)


SOLVED_COMMAND = declaration.Command(
    name="solved",
    summary="Mark your forum post as solved",
    run=mark,
    presses={ReplyAction.SOLVED: press_solved},
    arguments=(declaration.Argument("words", "reopen: the post is not solved after all", hint="[reopen]"),),
    scope=declaration.CommandScope.SERVERS,
    forums=True,
    examples={"": "mark your forum post as solved", "reopen": "remove the mark"},
)

UNANSWERED_COMMAND = declaration.Command(
    name="unanswered",
    summary="See this forum's posts without an answer (for its managers and operators)",
    run=list_unanswered,
    arguments=(declaration.Argument("words", "The forum, if you are elsewhere", hint="[#forum]", mentions=True),),
    scope=declaration.CommandScope.SERVERS,
    forums=True,
    bare=False,
    examples={"": "see the unanswered posts of this forum", "#forum": "see the unanswered posts of another forum"},
)
