"""A number of any length that a text writes as a character ends no answer, wherever it stands."""

from typing import Final

import pytest

from tests.examples import one_in
from tests.fakes.fast_clock import MovedClock
from tests.fakes.store import store_in_memory
from tests.fakes.web_world import answer, web_world
from tests.injection.attempts import Attempt, Goal, Mechanism, Source
from tests.injection.test_sequences import Player, stage_of
from tests.injection.world import PAGE, Bot

DIGITS: Final = "9" * 5_000
REFERENCE: Final = f"&#{DIGITS};"
FEED: Final = f"<rss><channel><item><title>The harbor &amp;#{DIGITS};</title></item></channel></rss>"
PAGES: Final = {
    "text": answer(f"The harbor {REFERENCE}".encode()),
    "page": answer(f"<html><body>The harbor {REFERENCE}</body></html>".encode(), kind="text/html"),
    "feed": answer(FEED.encode(), kind="application/rss+xml"),
    "json": answer(f'{{"The harbor": {DIGITS}}}'.encode(), kind="application/json"),
}
WORDS: Final = {
    "words": f"The harbor {REFERENCE}.",
    "a line": f"The harbor.\n{REFERENCE}\nIt is open.",
    "a link": f"The harbor is [there]({REFERENCE}).",
    "an address": f"The harbor is [there](http://page.example/{REFERENCE}).",
}


@pytest.mark.parametrize(("page", "words"), one_in(2, PAGES, WORDS))
async def test_an_answer_ends_whatever_numbers_it_reads_and_writes(page: str, words: str) -> None:
    attempt = Attempt(Source.PAGE, Goal.FETCH, Mechanism.EFFECT, "The harbor")
    async with web_world({PAGE.removeprefix("http://"): PAGES[page]}) as web:
        player = Player(attempt, [("web_fetch", {"url": PAGE})], words=WORDS[words], obeys=True, has_read=True)
        bot = Bot(store_in_memory(), MovedClock(), attempt, None, player, web=web)
        async with stage_of(bot) as stage:
            await stage.ask("ann", "general", f"What does <{PAGE}> say?")
        assert "The harbor" in bot.model.requests[-1][-1].text
        assert "The harbor" in bot.stored_replies[-1]
