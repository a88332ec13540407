"""The API through the whole running bot: the `openai` SDK, what a token may read, and how a program's turn ends."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from openai import (
    APIConnectionError,
    APIError,
    AsyncOpenAI,
    InternalServerError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
)

from agent.machine import CLOCK
from agent.memory.audience import PersonAudience, Place, TeamAudience, label
from agent.memory.documents import NewDocument, Passage
from agent.ports.api_tokens import TokenScope
from agent.turn_kinds import TurnKind
from bot.api.tokens import DailyBudget
from bot.chat.exit_codes import Exit
from bot.platforms.play.inbound import read_message
from bot.platforms.play.workspace import CHANNELS, PEOPLE, SOURCE, TEAM
from store.engine import open_store
from tests.fakes.api_bot import ANN, BEN, ApiBot, api_bot
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN as DISCORD_ANN
from tests.fakes.discord_world import BOT as DISCORD_BOT
from tests.fakes.incoming import said
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, Wait, head, text
from tests.fakes.new_database import new_database
from tests.fakes.postgresql import PostgresServer
from tests.fakes.sign_in_world import free_port
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.fakes.slack_things import TEAM as SLACK_TEAM
from tests.flows.test_service import on_discord, on_slack, service
from tests.flows.test_terminal import cogency
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.slow
QUESTION: Any = [{"role": "user", "content": "Where is my boat?"}]


def answering(*pieces: bytes | Wait) -> Reply:
    return [head(), *pieces, DONE]


def recalling(request: Request) -> Reply:
    """Look for the color once, and then answer."""
    if b"<results>" in request.body.rpartition(b"color")[2]:
        return answering(text("Yes."))
    return answering(text('<execute>[{"name": "recall", "args": {"query": "boat canoe raft dinghy"}}]\n</execute>'))


def by_model(server: ModelServer, **settings: str) -> dict[str, str]:
    return {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": server.url, **settings}


@asynccontextmanager
async def client_of(bot: ApiBot, secret: str) -> AsyncGenerator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key=secret, base_url=bot.base_url, max_retries=0, timeout=PATIENCE_S) as client:
        yield client


async def test_the_sdk_streams_an_answer_while_the_model_writes_it_and_continues_the_response(tmp_path: Path) -> None:
    seen = asyncio.Event()
    half = answering(text("The boat lies in the harbour, "), Wait(seen.wait), text("beside the mole."))
    script = [half, answering(text("Vermilion.")), answering(text("I said so."))]
    async with ModelServer(script) as model, api_bot(tmp_path, **by_model(model)) as bot:
        async with client_of(bot, await bot.token()) as client:
            stream = await client.chat.completions.create(
                model="cogency", messages=QUESTION, stream=True, stream_options={"include_usage": True}
            )
            pieces, usage = list[str](), 0
            async for chunk in stream:
                pieces += [choice.delta.content or "" for choice in chunk.choices]
                usage += 0 if chunk.usage is None else chunk.usage.total_tokens
                if "".join(pieces):
                    seen.set()
            assert "".join(pieces) == "The boat lies in the harbour, beside the mole."
            assert usage > 0
            first = await client.responses.create(model="cogency", input="What color?")
            assert first.output_text == "Vermilion."
            async with client.responses.stream(
                model="cogency", input="Are you sure?", previous_response_id=first.id
            ) as responding:
                kinds = [event.type async for event in responding]
                final = await responding.get_final_response()
            assert final.output_text == "I said so."
            assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
        asked = [json.dumps(request.json) for request in model.requests]
        assert "Vermilion." in asked[2]
        assert "Where is my boat" not in asked[2], "another conversation"


async def test_a_client_that_goes_away_stops_its_turn(tmp_path: Path) -> None:
    waiting = asyncio.Event()
    script = [answering(text("The boat lies "), Wait(waiting.wait)), answering(text("Again."))]
    async with ModelServer(script) as model, api_bot(tmp_path, **by_model(model)) as bot:
        secret = await bot.token()
        async with client_of(bot, secret) as client:
            stream = await client.responses.create(model="cogency", input="Where?", stream=True)
            async for event in stream:
                if event.type == "response.output_text.delta":
                    break
            await stream.close()
        async with asyncio.timeout(PATIENCE_S):
            await model.left.wait()
            await bot.host.turns.idle()
        async with client_of(bot, secret) as client:
            assert (await client.responses.create(model="cogency", input="And now?")).output_text == "Again."


async def test_a_token_reads_what_its_persons_direct_messages_could_and_a_service_only_its_place(
    tmp_path: Path,
) -> None:
    """Ann told of her boat in private, of her canoe in a private channel, and of her raft in a public one; each of the
    channels knows a document.
    """
    store = await open_store(await new_database(tmp_path / "bot.db"))
    for channel, words in {"plans": "mauve", "general": "beige"}.items():
        passages = (Passage(f"The dinghy of the club has the color {words}."),)
        audience = label(CHANNELS[channel].place.audience)
        await store.documents.keep(NewDocument(words, audience, SOURCE, channel, ANN, CLOCK.now(), passages))
    await store.close()
    async with ModelServer(recalling) as model, api_bot(tmp_path, **by_model(model)) as bot:
        for channel, words in {
            "dm-ann": "boat is vermilion",
            "plans": "canoe is teal",
            "general": "raft is ochre",
        }.items():
            told = read_message(PEOPLE["ann"], CHANNELS[channel], channel, f"My {words}.", CLOCK.now(), "UTC")
            assert await bot.host.messages.submit(told)
        async with asyncio.timeout(PATIENCE_S):
            await bot.host.turns.idle()
        plans = CHANNELS["plans"].place.audience
        read = dict[str, set[str]]()
        for who, secret in {
            "ann": await bot.token(ANN),
            "ben": await bot.token(BEN),
            "in general": await bot.token(audience=TeamAudience(TEAM), channel="general"),
            "in plans": await bot.token(audience=plans, channel="plans"),
        }.items():
            before = len(model.requests)
            async with client_of(bot, secret) as client:
                for thing in ("boat", "canoe", "raft", "dinghy"):
                    await client.responses.create(model="cogency", input=f"What color is my {thing}?")
            prompts = " ".join(json.dumps(request.json) for request in model.requests[before:])
            read[who] = {color for color in ("vermilion", "teal", "ochre", "mauve", "beige") if color in prompts}
    assert read == {
        "ann": {"vermilion", "teal", "ochre", "mauve", "beige"},
        "ben": {"beige"},
        "in general": {"beige"},
        "in plans": {"mauve"},
    }


ACTS = '''
from cogency_bot import tool

@tool(effect="acts outward")
def ship(cargo: str) -> str:
    """Ship something."""
    raise SystemExit("shipped")
'''


async def test_a_tool_that_needs_approval_does_not_run_for_a_program_and_the_answer_says_why(tmp_path: Path) -> None:
    (tmp_path / "acts.py").write_text(ACTS, encoding="utf-8")
    tools = {"COGENCY_TOOLS": str(tmp_path / "acts.py")}
    async with api_bot(tmp_path, **tools) as bot, client_of(bot, await bot.token()) as client:
        answer = await client.responses.create(model="cogency", input='use ship {"cargo": "herring"}')
    assert "needs the person's approval, and nobody can be asked" in answer.output_text
    assert answer.status == "completed"


async def test_history_of_a_program_is_quoted_and_words_without_the_scope_are_not_the_persons(tmp_path: Path) -> None:
    async with ModelServer(lambda _: answering(text("Yes."))) as model, api_bot(tmp_path, **by_model(model)) as bot:
        messages: Any = [
            {"role": "system", "content": "Speak like a pirate."},
            {"role": "assistant", "content": "The boat is vermilion."},
            {"role": "user", "content": "Is it?"},
        ]
        for scopes in (frozenset({TokenScope.ASK}), frozenset({TokenScope.ASK, TokenScope.REMEMBER})):
            async with client_of(bot, await bot.token(scopes=scopes)) as client:
                await client.chat.completions.create(model="cogency", messages=messages)
        prompts = [json.dumps(request.json) for request in model.requests]
        for prompt in prompts:
            for quoted in ("Speak like a pirate.", "The boat is vermilion."):
                assert f"> {quoted}" in prompt
    store = await open_store(bot.url)
    own = await store.database.read(
        lambda c: [
            row[0] for row in c.exec_driver_sql("SELECT retold FROM message WHERE author = 'person' ORDER BY id")
        ]
    )
    await store.close()
    assert own == [True, False]


async def test_limits_of_the_bot_and_of_the_token_hold(tmp_path: Path) -> None:
    async with ModelServer(lambda _: answering(text("Yes."))) as model:
        async with api_bot(tmp_path, **by_model(model, COGENCY_PERSON_PER_MINUTE="2")) as bot:
            poor = await bot.token(BEN, budget=DailyBudget(tokens=1))
            async with client_of(bot, poor) as client:
                await client.responses.create(model="cogency", input="One?")
                with pytest.raises(RateLimitError, match="budget of 1 token"):
                    await client.responses.create(model="cogency", input="Two?")
            async with client_of(bot, await bot.token(ANN)) as client:
                with pytest.raises(NotFoundError, match="no model gpt-9"):
                    await client.responses.create(model="gpt-9", input="One?")
                with pytest.raises(NotFoundError, match="previous response"):
                    await client.responses.create(
                        model="cogency", input="One?", previous_response_id=f"resp_x.{'0' * 32}"
                    )
                await asyncio.gather(*(client.responses.create(model="cogency", input="?") for _ in range(2)))
                with pytest.raises(RateLimitError, match="2 messages") as limited:
                    await client.responses.create(model="cogency", input="Three?")
                assert limited.value.response.headers["retry-after"]
        assert len(model.requests) == 3


async def test_an_answer_that_uses_up_the_budget_of_its_token_ends_with_the_status_of_a_limit(tmp_path: Path) -> None:
    async with ModelServer(recalling) as model, api_bot(tmp_path, **by_model(model)) as bot:
        async with client_of(bot, await bot.token(budget=DailyBudget(tokens=1))) as client:
            with pytest.raises(RateLimitError, match="budget of 1 token") as limited:
                await client.responses.create(model="cogency", input="Which color has my boat?")
            assert limited.value.response.headers["retry-after"]
        assert len(model.requests) == 1


async def test_a_program_chooses_among_the_models_that_its_person_may_choose(tmp_path: Path) -> None:
    async with ModelServer(lambda _: answering(text("Yes."))) as model:
        settings = by_model(model, COGENCY_ALLOWED_MODELS="openai:m-1,openai:m-2")
        async with api_bot(tmp_path, **settings) as bot, client_of(bot, await bot.token()) as client:
            listed = [one.id async for one in client.models.list()]
            assert listed == ["cogency", "openai:m-1", "openai:m-2"]
            assert (await client.models.retrieve("openai:m-2")).id == "openai:m-2"
            for name in ("openai:m-2", "cogency"):
                answer = await client.responses.create(model=name, input="Hello?")
                assert answer.model == name
        assert [request.json["model"] for request in model.requests if request.body] == ["m-2", "m-1"]


async def test_who_may_not_ask_in_the_chat_may_not_ask_here(tmp_path: Path) -> None:
    async with ModelServer([]) as model:
        async with api_bot(tmp_path, **by_model(model, COGENCY_DENY="person:ben")) as bot:
            for person in (BEN, "play:gone"):
                async with client_of(bot, await bot.token(person)) as client:
                    with pytest.raises(PermissionDeniedError):
                        await client.responses.create(model="cogency", input="Hello?")
            async with client_of(bot, await bot.token("slack:T1:U1")) as client:
                with pytest.raises(InternalServerError, match="not connected to Slack"):  # so nobody knows who asks
                    await client.responses.create(model="cogency", input="Hello?")
        assert model.requests == []


async def test_a_token_that_is_revoked_meanwhile_ends_its_turn_before_the_next_call_of_a_model(tmp_path: Path) -> None:
    revoked = asyncio.Event()
    calling = text('<execute>[{"name": "recall", "args": {"query": "boat"}}]\n</execute>')
    script = [answering(Wait(revoked.wait), calling)]
    async with ModelServer(script) as model, api_bot(tmp_path, **by_model(model)) as bot:
        secret = await bot.token()
        async with client_of(bot, secret) as client:
            asking = asyncio.ensure_future(client.responses.create(model="cogency", input="Where is my boat?"))
            await until(lambda: model.requests)
            await bot.revoke(secret)
            revoked.set()
            with pytest.raises(APIError, match="revoked"):
                await asking
        assert len(model.requests) == 1


async def test_a_question_whose_process_died_is_ended_without_a_model(tmp_path: Path) -> None:
    """Its connection is gone, so nobody waits for an answer; the conversation is free for the next question."""
    async with ModelServer([answering(text("Yes."))]) as model:
        async with api_bot(tmp_path, **by_model(model)) as bot:
            conversation = f"api:{ANN}:boats"
        store = await open_store(bot.url)
        left = replace(
            said("Where?", person=ANN, conversation=conversation, place=Place(PersonAudience(ANN))),
            source="api:dead",
            kind=TurnKind.API,
            channel="api-1",
        )
        turn = (await store.ledger.accept(left)).turn
        await store.close()
        async with api_bot(tmp_path, **by_model(model)) as bot, client_of(bot, await bot.token()) as client:
            answer = await client.responses.create(model="cogency", input="And now?", conversation="boats")
            assert answer.output_text == "Yes."
        store = await open_store(bot.url)
        ended = await store.ledger.ended(frozenset({turn}))
        await store.close()
        assert list(ended) == [turn]
        assert len(model.requests) == 1


async def test_a_bot_that_stops_tells_the_waiting_program(tmp_path: Path) -> None:
    waiting = asyncio.Event()
    async with ModelServer([answering(text("The boat "), Wait(waiting.wait))]) as model:
        async with api_bot(tmp_path, **by_model(model)) as bot:
            client = AsyncOpenAI(api_key=await bot.token(), base_url=bot.base_url, max_retries=0, timeout=PATIENCE_S)
            asking = asyncio.ensure_future(client.responses.create(model="cogency", input="Where is my boat?"))
            await until(lambda: model.requests)
        with pytest.raises((APIError, APIConnectionError)):
            await asking
        await client.close()


def served(model: ModelServer) -> tuple[dict[str, str], str]:
    """The settings of a bot with the API, and its address."""
    port = free_port()
    settings = {"OPENAI_BASE_URL": model.url, "COGENCY_HTTP": f"127.0.0.1:{port}", "COGENCY_FIRST_NOTICE": "off"}
    return settings, f"http://127.0.0.1:{port}/v1"


async def created(folder: Path, person: str) -> str:
    """The token that an operator creates at a shell while the bot runs."""
    done = await asyncio.to_thread(cogency, folder, "token", "create", "ide", "--as", person)
    assert done.returncode == Exit.OK, done.stderr
    return done.stdout.strip()


async def test_on_slack_a_member_asks_by_a_program_and_one_who_left_does_not(tmp_path: Path) -> None:
    async with FakeSlack(CLOCK) as slack, ModelServer(lambda _: answering(text("Vermilion."))) as model:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        settings, address = served(model)
        async with service(tmp_path, **on_slack(slack), **settings):
            await slack.connected(2)
            told = await slack.say(ann, general, f"<@{BOT_USER}> my boat is vermilion")
            await until(lambda: slack.state.answers(general, told.ts))
            hers = await created(tmp_path, f"slack:{SLACK_TEAM}:{ann}")
            left = ApiBot(address, f"sqlite:///{tmp_path / 'bot.db'}")
            his = await left.token(f"slack:{SLACK_TEAM}:{slack.state.user('bob', deleted=True)}")
            async with AsyncOpenAI(api_key=hers, base_url=address, max_retries=0) as client:
                answer = await client.responses.create(model="cogency", input="What color is my boat?")
                assert answer.output_text == "Vermilion."
            async with AsyncOpenAI(api_key=his, base_url=address, max_retries=0) as client:
                with pytest.raises(PermissionDeniedError, match="no longer active"):
                    await client.responses.create(model="cogency", input="What color is my boat?")
        (asked,) = [one for one in model.requests if b"What color is my boat" in one.body]
        assert b"my boat is vermilion" in asked.body


async def test_on_discord_a_member_asks_by_a_program(tmp_path: Path) -> None:
    async with running_discord(CLOCK) as discord, ModelServer(lambda _: answering(text("Vermilion."))) as model:
        settings, address = served(model)
        async with service(tmp_path, **on_discord(discord), **settings):
            await discord.until(lambda: discord.identified and discord.rest.commands)
            asked = await discord.say(DISCORD_ANN, f"<@{DISCORD_BOT}> my boat is vermilion")
            await until(lambda: discord.world.shown(asked["id"]))
            secret = await created(tmp_path, f"discord:{DISCORD_ANN}")
            async with AsyncOpenAI(api_key=secret, base_url=address, max_retries=0) as client:
                answer = await client.responses.create(model="cogency", input="What color is my boat?")
                assert answer.output_text == "Vermilion."


async def test_of_two_processes_on_one_database_each_answers_what_it_was_asked(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = await postgres.empty()
    async with ModelServer(lambda _: answering(text("Yes."))) as model:
        settings = by_model(model, COGENCY_DATABASE_URL=url, COGENCY_MAX_RUNNING="1")
        async with api_bot(tmp_path, **settings) as one, api_bot(tmp_path, **settings) as other:
            secret = await one.token()
            answers = list[Any]()
            for bot in (one, other):
                async with client_of(bot, secret) as client:
                    asking = (client.responses.create(model="cogency", input=f"{number}?") for number in range(3))
                    answers += await asyncio.gather(*asking)
        assert [answer.output_text for answer in answers] == ["Yes."] * 6
        assert len(model.requests) == 6
