"""A conversation is handed to a person and back by two processes: each request goes to another one than the one before.

Real processes on a real PostgreSQL, with Slack's requests in turn.
"""

from pathlib import Path

from agent.machine import CLOCK
from bot.chat.texts import replies as reply_texts
from bot.handoff import texts
from tests.examples import thorough
from tests.fakes.fast_clock import MovedClock
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text
from tests.fakes.postgresql import PostgresServer
from tests.fakes.slack import FakeSlack
from tests.flows.bot import opened
from tests.flows.test_slack_replicas import REPLICAS, replicas
from tests.flows.worlds import SLACK_ASKER, Page, SlackWorld, Who


def answer(_: Request) -> Reply:
    return [head(), text("It sails on Monday."), DONE]


async def taker_in(url: str, world: SlackWorld) -> Who:
    async with opened(url) as store:
        handoff = await store.handoffs.by_number(1)
        assert handoff is not None
        return next(who for who in Who if world.person(who) == handoff.taker)


@thorough
async def test_two_processes_hand_a_conversation_to_a_person_and_back(tmp_path: Path, postgres: PostgresServer) -> None:
    async with FakeSlack(CLOCK, over_http=True) as slack, ModelServer(answer) as model, postgres.migrated() as url:
        for name in ("ann", "bob", "cat"):
            slack.state.user(name)
        general = slack.state.channel("general")
        world = SlackWorld(slack, MovedClock())
        for who in Who:
            world.open_dm(who)
        people = ",".join(f"person:{world.person(who)}" for who in (Who.OTHER, Who.THIRD))
        async with replicas(tmp_path, slack, model, url, COGENCY_HANDOFF_PEOPLE=people):
            question = await world.ask("When does it sail?")

            def offers() -> bool:
                return any(reply_texts.HUMAN_BUTTON in page.buttons for page in world.answers(question)[-1:])

            def requests(who: Who) -> list[Page]:
                return [page for page in world.direct(who) if "asks for a human" in page.whole]

            await world.until(offers)
            await world.press(world.answers(question)[-1], reply_texts.HUMAN_BUTTON)
            await world.until(lambda: any(texts.BUTTON in page.buttons for page in world.private()))
            await world.press(world.private()[-1], texts.BUTTON)

            await world.until(lambda: requests(Who.OTHER) and requests(Who.THIRD))
            copies = {who: world.direct(who)[-1].copy() for who in (Who.OTHER, Who.THIRD)}
            for who, copy in copies.items():
                await world.press(copy, texts.TAKE_BUTTON, who)
            await world.until(lambda: any("has taken over" in page.whole for page in world.answers(question)))
            await world.until(lambda: not requests(Who.OTHER) and not requests(Who.THIRD))
            taker = await taker_in(url, world)
            asked = len(model.requests)
            for number in range(2 * REPLICAS):
                await slack.say(SLACK_ASKER, general, f"{number}: are you there?", question.id)
            await slack.settled()
            await world.ask("and what do you say?", question)
            await world.until(lambda: len(model.requests) > asked)
            notice = next(page for page in world.answers(question) if "has taken over" in page.whole)
            await world.until(lambda: reply_texts.HAND_BACK_BUTTON in notice.buttons)
            await world.press(notice, reply_texts.HAND_BACK_BUTTON, taker)
            await world.until(lambda: any(texts.NOTICE_RETURNED in page.whole for page in world.answers(question)))
            await world.until(lambda: "handed back" in world.direct(taker)[0].whole)
            assert len(model.requests) == asked + 1
            for number in range(REPLICAS):
                await world.ask(f"{number}: and tomorrow?", question)
                await world.until(lambda number=number: len(model.requests) == asked + 2 + number and offers())
        assert len([page for page in world.answers(question) if "has taken over" in page.whole]) == 1
