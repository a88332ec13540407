"""Canvases in Slack that the bot makes for people: `agent.ports.acting.Canvases`.

Rules
- A canvas is created as a tab of a channel. Slack then lets everyone in the channel read and change it, so a person who
  may write there may have it changed. Of other canvases Slack does not say who may change them: they are left alone.
- A canvas mentions nobody, and shows no pictures and cards: those are Markdown's pictures ("![](@U0123)").
- A section is what Slack counts as one: a heading, a paragraph, a list, a table. One is replaced only if it is the only
  one with the words by which it is named.
"""

import re
from dataclasses import dataclass
from typing import Final

from agent.errors import ToolError
from agent.messages import Json
from agent.ports.acting import ActTarget, Posted
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.act_calls import ActCalls
from bot.platforms.slack.api import SlackApi, items
from bot.platforms.slack.attachments import CANVAS_PAGE
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.options import Method

_LINK: Final = re.compile(r"https://[\w.-]{1,100}/docs/(T[A-Z0-9]{1,30})/(F[A-Z0-9]{1,30})", re.ASCII)
_PICTURE: Final = re.compile(r"!(?=\[)")


def canvas_page(me: SlackBot, link: str) -> str:
    """Return the page of a canvas in this workspace, by its link; "" for any other text. Pure."""
    found = _LINK.search(link)
    return f"{CANVAS_PAGE}{found[2]}" if found is not None and found[1] == me.team else ""


def _content(markdown: str) -> Json:
    return {"type": "markdown", "markdown": _PICTURE.sub(r"!\\", markdown)}


@dataclass(frozen=True, slots=True)
class SlackCanvases:
    api: SlackApi
    me: SlackBot
    calls: ActCalls

    async def create_canvas(self, target: ActTarget, title: str, text: str) -> Posted:  # the port's names
        about: dict[str, Json] = {"channel_id": target.channel, "title": title}
        created = await self.calls.done(
            lambda: self.api.call(Method.CREATE_CANVAS, **about, document_content=_content(text))
        )
        if not (id_ := str(created.get("canvas_id") or "")):
            raise ToolError(platforms_texts.ACT_UNSURE, ours=True)
        return Posted((f"{CANVAS_PAGE}{id_}",), f"{self.me.address}docs/{self.me.team}/{id_}")

    async def append(self, target: ActTarget, text: str) -> None:  # the port's names
        await self._edit(target, {"operation": "insert_at_end", "document_content": _content(text)})

    async def replace(self, target: ActTarget, section: str, text: str) -> None:  # the port's names
        criteria: Json = {"contains_text": section}
        found = items(
            await self.calls.asked(
                lambda: self.api.call(Method.CANVAS_SECTIONS, canvas_id=_canvas(target), criteria=criteria)
            ),
            "sections",
        )
        if len(found) != 1:
            raise ToolError(platforms_texts.ACT_NO_SECTION.format(count=len(found)), ours=True)
        id_ = found[0].get("id")
        await self._edit(target, {"operation": "replace", "section_id": id_, "document_content": _content(text)})

    async def _edit(self, target: ActTarget, change: Json) -> None:
        await self.calls.done(lambda: self.api.call(Method.EDIT_CANVAS, canvas_id=_canvas(target), changes=[change]))


def _canvas(target: ActTarget) -> str:
    return target.page.removeprefix(CANVAS_PAGE)
