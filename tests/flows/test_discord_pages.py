"""The pages of a reply on Discord after a crash, an edit too many, a deletion, and the end of a command's token."""

import pytest

from agent.providers.scripted import Answer, ScriptedProvider
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from tests.fakes.answering_host import answering_host
from tests.fakes.answers import answer_of
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, on_discord, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_rest import TOKEN_LIFE_S, Interaction
from tests.fakes.discord_world import ANN, DM_OF, EPHEMERAL, GENERAL
from tests.fakes.fast_clock import FastClock
from tests.fakes.reader import read_back
from tests.flows.test_discord_answers import PAGE, answered, slowly, talking

LONG = answer_of(3_500)


def saying(text: str, seconds: float = 1.5) -> Answer:
    return slowly(text, seconds)


async def test_a_page_that_can_no_longer_be_edited_is_followed_by_the_rest() -> None:
    text = ("The boat is blue. " * 60).strip()
    async with talking([saying(text)]) as (fake, host):
        await fake.write(ANN, "tell me")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN]))
        fake.rest.fail("PATCH", "/messages/", 400, 30046)
        await answered(fake, host)
        assert len(by_the_bot(fake)) == 2
        assert read_back(fake.world.shown(DM_OF[ANN]), PAGE) == on_discord(text)


async def growing(fake: FakeDiscord, *, private: bool) -> Interaction:
    """An `/ask` whose answer has begun to show."""
    asked = await fake.command(ANN, "ask", question="tell me", private=private)
    await fake.until(lambda: by_the_bot(fake) and by_the_bot(fake)[0]["content"])
    return asked


def end(interaction: Interaction) -> None:
    """Its fifteen minutes are over."""
    interaction.began -= TOKEN_LIFE_S


def shown_ephemerals(fake: FakeDiscord) -> list[str]:
    """What only the caller sees."""
    return [message["content"] for message in by_the_bot(fake) if message["flags"] & EPHEMERAL]


async def test_a_public_answer_whose_token_ends_is_finished_in_the_same_message() -> None:
    text = ("The boat is blue. " * 60).strip()
    async with talking([saying(text)]) as (fake, host):
        end(await growing(fake, private=False))
        await answered(fake, host)
        assert fake.world.shown(GENERAL) == [on_discord(text)]


async def test_a_public_answer_whose_token_ends_goes_on_in_the_channel_on_further_pages() -> None:
    async with talking([saying(LONG)]) as (fake, host):
        end(await growing(fake, private=False))
        await answered(fake, host)
        assert len(by_the_bot(fake)) == 2
        assert read_back(fake.world.shown(GENERAL), PAGE) == on_discord(LONG)


async def test_a_private_answer_whose_token_ends_goes_on_in_the_dm_and_never_in_the_channel() -> None:
    text = ("The boat is blue. " * 60).strip()
    async with talking([saying(text)]) as (fake, host):
        end(await growing(fake, private=True))
        await answered(fake, host)
        assert fake.world.shown(GENERAL) == []
        assert read_back([*shown_ephemerals(fake), *fake.world.shown(DM_OF[ANN])], PAGE) == on_discord(text)


async def test_a_public_answer_that_may_not_go_on_in_the_channel_stands_whole_in_its_askers_dm() -> None:
    async with talking([saying(LONG)]) as (fake, host):
        asked = await growing(fake, private=False)
        (begun,) = by_the_bot(fake)
        fake.rest.fail("PATCH", f"/channels/{GENERAL}/messages/", 403, 50001, times=99)
        fake.rest.fail("POST", f"/channels/{GENERAL}/messages$", 403, 50001, times=99)
        end(asked)
        await answered(fake, host)
        told, *pages = fake.world.shown(DM_OF[ANN])
        assert told == reply_texts.SHOWN_ELSEWHERE.format(why=platforms_texts.DISCORD_REMEDIES[50001])
        assert read_back(pages, PAGE) == on_discord(LONG)
        assert fake.world.shown(GENERAL) == [begun["content"]]


@pytest.mark.parametrize("private", [True, False])
async def test_an_answer_that_another_process_gives_after_the_tokens_end_is_complete(*, private: bool) -> None:
    """What only the caller could see stays as it is, and stands whole in the DM; all others find it in its place."""
    text = ("The boat is blue. " * 60).strip()
    clock = FastClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        first = answering_host(ScriptedProvider([saying(text)]), clock)
        async with serving(fake, first), first.answering():
            end(await growing(fake, private=private))
        second = answering_host(ScriptedProvider([saying(text)]), clock, first.store)
        async with second.answering(), serving(fake, second):
            await answered(fake, second, 0)
        assert fake.world.shown(GENERAL) == ([] if private else [text])
        assert fake.world.shown(DM_OF[ANN]) == ([text] if private else [])
