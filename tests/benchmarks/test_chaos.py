"""How `benchmarks.chaos` judges the replies. (The runs themselves: `tests.flows.test_chaos`.)"""

from pathlib import Path
from random import Random

import pytest

from benchmarks.chaos import kept
from benchmarks.chaos_model import asking, whole
from benchmarks.chaos_town import Town, judge, town
from bot.memory.texts import KEPT, KEPT_AND_LEARNED, LEARNED_SINCE
from bot.platforms import texts
from store.engine import open_store
from tests.fakes.incoming import said
from tests.fakes.slack_things import BOT_ID, BOT_USER

ASKED = ["c00-00", "c00-01"]
SWAPPED = ASKED[::-1]


def reply(place: Town, question: str, below: str = "") -> None:
    text = whole(question, place.model.kinds[question]) + below
    place.slack.state.write(BOT_USER, place.conversations[0].channel, text, bot_id=BOT_ID)


@pytest.mark.parametrize(
    ("late", "shown", "stored", "out_of_order"),
    [
        (False, ASKED, ASKED, 0),
        (False, SWAPPED, ASKED, 1),
        (False, SWAPPED, SWAPPED, 1),
        (True, SWAPPED, SWAPPED, 0),
        (True, SWAPPED, ASKED, 1),
        (True, ASKED, SWAPPED, 1),
    ],
)
async def test_replies_stand_in_the_order_of_asking_or_where_one_came_late_of_storing(
    late: bool, shown: list[str], stored: list[str], out_of_order: int
) -> None:
    async with town(conversations=1, events=2, chance=Random(1)) as place:
        for question in shown:
            reply(place, question)
        place.conversations[0].envelopes.add("envelope")
        if late:
            place.redelivery.attempts["envelope"] = 1
        verdict = judge(place, stored)
    assert (verdict.replies, verdict.lost, verdict.duplicates) == (2, 0, 0)
    assert verdict.out_of_order == out_of_order


@pytest.mark.parametrize("line", [KEPT, LEARNED_SINCE, KEPT_AND_LEARNED])
async def test_the_line_about_what_was_stored_is_no_part_of_the_models_text(line: str) -> None:
    async with town(conversations=1, events=1, chance=Random(1)) as place:
        reply(place, "c00-00", f"\n\n{line.format(facts='a note', earlier='another one')}")
        verdict = judge(place, [])
    assert (verdict.replies, verdict.lost, verdict.duplicates) == (1, 0, 0)


async def test_a_message_that_the_reply_takes_longer_is_no_reply_and_no_fault() -> None:
    async with town(conversations=1, events=1, chance=Random(1)) as place:
        channel = place.conversations[0].channel
        place.slack.state.write(BOT_USER, channel, texts.KEPT_WAITING, bot_id=BOT_ID)
        waiting = judge(place, [])
        reply(place, "c00-00")
        verdict = judge(place, [])
    assert (waiting.lost, waiting.notices) == (1, 1)
    assert (verdict.replies, verdict.notices, verdict.strange) == (1, 1, ())


async def test_a_late_question_counts_before_the_later_ones_that_waited_when_it_came(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'bot.db'}"
    store = await open_store(url)
    for number in (0, 2, 1):
        await store.ledger.accept(said(asking(f"c00-0{number}"), number=number))
    await store.close()
    assert await kept(url) == (["c00-00", "c00-01", "c00-02"], 0)
