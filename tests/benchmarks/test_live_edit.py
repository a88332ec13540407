"""Every bot of the freshness benchmark shows all of its replies, and skipping waits keeps their order."""

import asyncio

import pytest

from benchmarks.live_edit import AT_ONCE, CONTESTS, Bot, compare, measured
from benchmarks.live_edit_bots import Load
from benchmarks.live_edit_voices import Shown, first_seen, voices
from benchmarks.skipping_loop import run_skipping
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

BOTS = [bot for bots in CONTESTS.values() for bot in bots]


def in_no_time() -> float:
    """Work takes no time, so that a slow machine does not matter."""
    return 0.0


@pytest.mark.parametrize("bot", BOTS, ids=lambda bot: bot.__name__)
def test_three_replies_at_once_are_all_shown_to_their_end(bot: Bot) -> None:
    result = measured(bot, Load(replies=3, seconds=4), in_no_time)
    assert len(result.lags_ms) == 3 * 240
    assert all(lag >= 0 for lag in result.lags_ms)
    assert min(result.moves) >= 2


@pytest.mark.parametrize("surface", CONTESTS)
def test_ten_replies_of_the_product_meet_no_limit_and_all_move_on(surface: str) -> None:
    product, _ = CONTESTS[surface]
    result = measured(product, Load(replies=10, seconds=20), in_no_time)
    assert result.refused == 0
    assert min(result.moves) >= 0.75 * max(result.moves), "edits take turns; who begins first, and ends pages, has more"


def test_every_number_of_the_product_has_its_baseline() -> None:
    metrics, baseline, _ = compare(1)
    assert metrics.keys() == baseline.keys()
    assert len(metrics) == 2 * len(CONTESTS) * len(AT_ONCE)


def test_the_same_answers_are_said_each_time_and_no_word_twice() -> None:
    once, again = (voices(2, 5, FakeClock()) for _ in range(2))
    words = [word for voice in once for word in voice.words]
    assert words == [word for voice in again for word in voice.words]
    assert len(words) == len({*words}) == 2 * 300


def test_a_token_is_seen_when_it_is_shown_first_and_one_that_never_is_gives_an_error() -> None:
    (voice,) = voices(1, 0.1, FakeClock())
    half, whole = " ".join(voice.words[:3]), " ".join(voice.words)
    assert voice.seen(first_seen([Shown(2.0, whole), Shown(1.0, half)])) == [1.0] * 3 + [2.0] * 3
    with pytest.raises(AssertionError, match="3 of 6"):
        voice.seen(first_seen([Shown(1.0, half)]))


def test_waits_are_skipped_in_their_order() -> None:
    async def wait() -> list[float]:
        loop, woken = asyncio.get_running_loop(), list[float]()
        began = loop.time()

        async def after(seconds: float) -> None:
            await asyncio.sleep(seconds)
            woken.append(round(loop.time() - began))

        await asyncio.gather(*map(after, (7_200, 60, 3_600)))
        return woken

    assert run_skipping(wait()) == [60, 3_600, 7_200]


def test_what_comes_over_a_connection_is_not_skipped() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()

    async def ask() -> bytes:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello\n")
            async with asyncio.timeout(PATIENCE_S):
                answer = await reader.readline()
            writer.close()
            return answer

    assert run_skipping(ask()) == b"hello\n"
