"""What answers present, on each platform: real clients, real turns, presses, faults and forgetting."""

import json

import pytest

from agent.tools.present import PresentTool
from bot.platforms import texts as platforms_texts
from tests.fakes.discord_requests import Fault as DiscordFault
from tests.fakes.discord_world import parts
from tests.fakes.slack_faults import HANGS_LATER, LOST, Fault
from tests.flows.talks import Talk, talk_in, talking
from tests.flows.worlds import (
    WORLDS,
    AnyWorld,
    DiscordPage,
    DiscordWorld,
    Page,
    SlackPage,
    SlackWorld,
    Who,
    World,
    mainly_in_slack,
)

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

NEXT = "Which is cheapest?"
PICTURE = "https://pics.example/boat.png"


def present(**more: object) -> str:
    args = {
        "title": "Boats",
        "sections": [
            {"heading": "Blue", "text": "They are **fast**, <@U0BOB>.", "fields": [{"name": "Speed", "value": "9 kn"}]},
            {"pictures": [{"address": PICTURE, "alt": "A boat"}]},
        ],
        "questions": [NEXT],
        **more,
    }
    return f"<execute>{json.dumps([{'name': 'present', 'args': args}])}</execute>"


SCRIPT = (present(), "Here is the overview.", "The blue one.")
ASKED = f"show an overview of our boats, with {PICTURE}"


def kinds(page: Page) -> set[object]:
    """The kinds of blocks or components of a message."""
    if isinstance(page, SlackPage):
        return {block["type"] for block in page.message.blocks}
    assert isinstance(page, DiscordPage)
    return {part["type"] for part in parts(page.message)}


def is_own_form(page: Page) -> bool:
    return kinds(page) > ({"header", "actions"} if isinstance(page, SlackPage) else {17, 1})


async def presented(talk: Talk[World], text: str = ASKED) -> tuple[Page, Page, Page]:
    """Ask, and return the question, the answer and what stands below it."""
    question = await talk.world.ask(text)
    await talk.ended(1)
    answer, shown = talk.world.answers(question)
    return question, answer, shown


@mainly_in_slack
async def test_it_stands_below_the_answer_in_the_platforms_own_form_and_is_stored_as_its_words(
    open_world: AnyWorld,
) -> None:
    async with talking(open_world, SCRIPT, [PresentTool()]) as talk:
        _, answer, shown = await presented(talk)
        assert answer.text == "Here is the overview."
        in_slack, on_discord = {"header", "markdown", "section", "image", "actions"}, {17, 10, 14, 12, 1, 2}
        assert kinds(shown) == (in_slack if isinstance(shown, SlackPage) else on_discord)
        assert shown.buttons == [NEXT]
        assert "9 kn" in shown.whole
        assert not talk.world.calls(shown)
        stored = talk.store.messages[-1][1].text
        assert stored.startswith("Here is the overview.\n\n**Boats**")
        assert "- **Speed**: 9 kn" in stored
        assert PICTURE in stored


async def test_a_button_asks_its_question_as_whoever_presses_it_once_also_after_a_restart(
    open_world: AnyWorld,
) -> None:
    async with talk_in(open_world, SCRIPT, [PresentTool()]) as talk:
        async with talk.running():
            question, _, shown = await presented(talk)
        async with talk.running(["The blue one."]):
            await talk.world.press(shown, NEXT, Who.OTHER)
            await talk.ended(2)
            assert talk.world.answers(question)[-1].text == "The blue one."
            asked = talk.store.turns[-1].incoming
            assert (asked.text, asked.person.id) == (NEXT, talk.world.person(Who.OTHER))
            assert [one.own for _, one in talk.store.messages if one.text == NEXT] == [False]
            assert asked.conversation == talk.store.turns[0].incoming.conversation
            await talk.world.press(shown, NEXT, Who.OTHER)
            await talk.told(platforms_texts.ASKED_ALREADY)
            assert len(talk.store.turns) == 2


async def test_a_form_that_the_platform_refuses_is_shown_as_text(open_world: AnyWorld) -> None:
    async with talking(open_world, SCRIPT, [PresentTool()]) as talk:
        if isinstance(talk.world, SlackWorld):
            talk.world.slack.faults["chat.postMessage"] += [Fault(), Fault(error="invalid_blocks")]
        else:
            assert isinstance(talk.world, DiscordWorld)
            refused = DiscordFault("POST", r"/messages$", 400, 50035, holds='"type": 17')
            talk.world.fake.rest.faults.append(refused)
        _, answer, shown = await presented(talk)
        assert answer.text == "Here is the overview."
        assert not is_own_form(shown)
        assert "**Boats**" in shown.whole
        assert PICTURE in shown.whole
        assert NEXT in shown.whole


async def test_a_picture_and_a_link_of_unread_addresses_are_not_shown_as_such(open_world: AnyWorld) -> None:
    unread = present(
        sections=[{"text": "[a](https://evil.example/?q=1)", "pictures": [{"address": PICTURE, "alt": "b"}]}]
    )
    async with talking(open_world, [unread, *SCRIPT[1:]], [PresentTool()]) as talk:
        _, _, shown = await presented(talk, "show an overview of our boats")
        assert not kinds(shown) & {"image", 12}
        assert "[a] (https://evil.example/?q=1)" in shown.whole
        assert f"[b] ({PICTURE})" in shown.whole


async def test_it_is_deleted_and_forgotten_with_its_answer(open_world: AnyWorld) -> None:
    async with talking(open_world, SCRIPT, [PresentTool()]) as talk:
        question, _, shown = await presented(talk)
        left = shown.copy()
        await talk.world.react(shown, "🗑")
        await talk.world.until(lambda: not talk.world.answers(question))
        assert not [one.text for _, one in talk.store.messages if "kn" in one.text]
        await talk.world.press(left, NEXT)
        await talk.told(platforms_texts.NO_SUCH_REPLY)


@mainly_in_slack
async def test_a_failure_of_the_platform_delays_it_and_shows_it_once(open_world: AnyWorld) -> None:
    async with talking(open_world, SCRIPT, [PresentTool()]) as talk:
        if isinstance(talk.world, SlackWorld):
            talk.world.slack.faults["chat.postMessage"] += [Fault(), LOST]
        else:
            assert isinstance(talk.world, DiscordWorld)
            lost = DiscordFault("POST", r"/messages$", 500, lost=True, holds='"type": 17')
            talk.world.fake.rest.faults.append(lost)
        question, _, shown = await presented(talk)
        assert is_own_form(shown)
        assert len(talk.world.answers(question)) == 2


async def test_a_process_that_ends_while_it_is_posted_leaves_it_to_the_next_one_which_shows_it_once(
    open_world: AnyWorld,
) -> None:
    async with talk_in(open_world, SCRIPT, [PresentTool()]) as talk:
        if isinstance(talk.world, SlackWorld):
            talk.world.slack.faults["chat.postMessage"] += [Fault(), HANGS_LATER]
        else:
            assert isinstance(talk.world, DiscordWorld)
            hangs = DiscordFault("POST", r"/messages$", 0, lost=True, hangs=True, holds='"type": 17')
            talk.world.fake.rest.faults.append(hangs)
        async with talk.running():
            question = await talk.world.ask(ASKED)
            await talk.world.until(lambda: len(talk.world.answers(question)) == 2)
        async with talk.running([]):
            await talk.ended(1)
            answer, shown = talk.world.answers(question)
            assert answer.text == "Here is the overview."
            assert is_own_form(shown)
            await talk.world.react(shown, "🗑")
            await talk.world.until(lambda: not talk.world.answers(question))


async def test_in_a_private_answer_only_its_asker_sees_it(open_world: AnyWorld) -> None:
    async with talking(open_world, SCRIPT, [PresentTool()]) as talk:
        await talk.world.ask_privately(ASKED)
        await talk.ended(1)
        await talk.world.until(lambda: any("9 kn" in page.whole for page in talk.world.private()))
        assert not talk.world.answers()
        shown = next(page for page in talk.world.private() if NEXT in f"{page.whole} {page.buttons}")
        if isinstance(talk.world, DiscordWorld):  # in Slack, it is text there
            await talk.world.press(shown, NEXT)
            await talk.ended(2)
            assert not talk.world.answers()
            assert any(page.text == "The blue one." for page in talk.world.private())
