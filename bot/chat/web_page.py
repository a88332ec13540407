"""The pages that a person opens in a browser: what a request is answered with, and the frame of a page. Pure."""

from dataclasses import dataclass
from typing import Final

from bot.chat.texts import web_pages as page_texts


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The response to a browser. `go`: the address of a redirect. `cookie`: the cookie to set. `json`: a document in
    place of a page.
    """

    status: int
    html: str = ""
    go: str = ""
    cookie: str = ""
    json: str = ""


def page(body: str) -> str:
    """Return the whole page with this HTML, in which all values are escaped."""
    return page_texts.PAGE.format(body=body)


LATER: Final = PageAnswer(503, page(page_texts.LATER))
