"""Whatever replies grow at once, however they end: no limit of Discord is ever exceeded.

Real discord.py and real turns over real sockets; the fake counts as Discord does. Waits are skipped, and what is done
takes no time: how busy the machine is changes nothing.
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.messages import Message
from agent.providers.scripted import Part, ScriptedProvider, ScriptPause
from benchmarks.skipping_loop import run_skipping
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.settings import DiscordSettings, ReplyMode
from bot.settings.secret import Secret
from tests.examples import examples
from tests.fakes.answering_host import answering_host
from tests.fakes.answers import answer_of
from tests.fakes.discord_bot import by_the_bot, most_in, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import Call
from tests.fakes.discord_rest import ACKNOWLEDGE_S, FOLLOW_UPS, PANEL_CHARS, PANEL_PARTS
from tests.fakes.discord_world import ANN, BO, BOT, COMPONENTS_V2, DM_OF, GENERAL, STAFF, Payload, parts
from tests.fakes.fast_clock import FastClock
from tests.fakes.turns_host import AT_ONCE

PACE_S: Final = DiscordOptions(Secret("any")).edit_interval_s
WINDOW_S, EDITS = 5.0, 5
PIECES: Final = 20
LIFE_S: Final = 900.0  # Skipped time: as long as a token of an interaction lives


def in_no_time() -> float:
    return 0.0


@dataclass(frozen=True)
class Asked:
    """A question: how and where, how long its answer is, and over how many seconds it comes."""

    how: str
    person: str
    chars: int
    seconds: float
    after: float
    stopped_after: float | None = None


questions = st.builds(
    Asked,
    how=st.sampled_from(["mention", "staff", "write", "ask", "private", "by person", "memory"]),
    person=st.sampled_from([ANN, BO]),
    chars=st.sampled_from([1, 300, 1_999, 2_001, 4_500, 13_000]),
    seconds=st.floats(0.0, 12.0),
    after=st.floats(0.0, 3.0),
    stopped_after=st.none() | st.floats(0.0, 10.0),
)


def answering(asked: list[Asked]) -> ScriptedProvider:
    """Each question has its number in its words, and its answer ends with it."""

    def answer(messages: Sequence[Message]) -> list[Part]:
        number = int(re.findall(r"number (\d+)", "\n".join(message.text for message in messages))[-1])
        one = asked[number]
        text = f"{answer_of(one.chars)}\n\nThe end of {number}."
        size = -(-len(text) // PIECES)
        said: list[Part] = []
        for start in range(0, len(text), size):
            said += [text[start : start + size], ScriptPause(one.seconds / PIECES)]
        return said

    return ScriptedProvider(answer)


async def ask(fake: FakeDiscord, number: int, one: Asked) -> None:
    await fake.world.clock.sleep(one.after)
    text = f"number {number}"
    match one.how:
        case "mention":
            await fake.say(one.person, f"<@{BOT}> {text}")
        case "staff":
            await fake.say(one.person, f"<@{BOT}> {text}", STAFF)
        case "write":
            await fake.write(one.person, text)
        case "memory":
            await fake.command(one.person, "memory")
        case _:
            fake.elsewhere = one.how == "by person"
            await fake.command(one.person, "ask", question=text, private=one.how == "private")
            fake.elsewhere = False
    if one.stopped_after is not None:
        await fake.world.clock.sleep(one.stopped_after)
        await fake.command(one.person, "stop", DM_OF[one.person] if one.how == "write" else GENERAL)


async def played(asked: list[Asked], limits: int) -> FakeDiscord:
    """All of it, to the end."""
    clock = FastClock(speed=1.0)
    host = answering_host(answering(asked), clock, limits=replace(AT_ONCE, per_person=None, sweep_s=1.0))
    async with running_discord(clock) as fake:
        chosen: Payload = {"chosen": DiscordSettings(replies=ReplyMode.CHAIN), "edit_interval_s": PACE_S}
        async with serving(fake, host, **chosen), host.answering():
            if limits:
                body = {"retry_after": 1.0, "message": "limited", "global": False}
                headers = {"Via": "1.1 google"}
                fake.rest.fail("PATCH", "/messages/", 429, headers=headers, body=body, times=limits)
            async with asyncio.timeout(LIFE_S):
                await asyncio.gather(*(ask(fake, number, one) for number, one in enumerate(asked)))
                await fake.until(lambda: len(host.taken) >= sum(one.how != "memory" for one in asked))
                await host.turns.idle()
        return fake


def check(fake: FakeDiscord, injected: int) -> None:
    """Everything that was asked of Discord kept to its limits."""
    calls = fake.calls
    refused = [call for call in calls if call.status == 400]
    assert not refused, "nothing was too long, too much or of a wrong form"
    assert sum(call.status == 429 for call in calls) <= injected, "nothing was too fast"
    for call in calls:
        if not call.path.endswith("/commands"):
            check_message(call.body.get("data") or call.body)
    for place, times in edits(calls).items():
        assert most_in(times, WINDOW_S) <= EDITS, place
    for interaction in fake.rest.interactions.values():
        assert interaction.acknowledged, f"within {ACKNOWLEDGE_S} s"
        assert interaction.followed <= FOLLOW_UPS or not interaction.by_person
    by_token = [call for call in calls if call.path.startswith(("/webhooks", "/interactions"))]
    assert not [call for call in by_token if call.status in {401, 404}], "no token was used after its time"
    assert len(fake.rest.commands) <= 100


def check_message(body: Payload) -> None:
    assert len(body.get("content") or "") <= 2_000
    inside = [*parts({"components": body.get("components") or []})]
    if (body.get("flags") or 0) & COMPONENTS_V2:
        assert len(inside) <= PANEL_PARTS
        assert sum(len(part.get("content", "")) for part in inside) <= PANEL_CHARS


def edits(calls: list[Call]) -> dict[str, list[float]]:
    """When messages were edited, by what Discord counts together: a channel, or the token of an interaction."""
    found: dict[str, list[float]] = defaultdict(list)
    for call in calls:
        if call.method == "PATCH" and call.status == 200:
            found[call.path.partition("/messages/")[0]].append(call.time)
    return found


@settings(max_examples=examples(8), deadline=None)
@given(asked=st.lists(questions, min_size=1, max_size=6), limits=st.integers(0, 2))
def test_no_limit_of_discord_is_exceeded(asked: list[Asked], limits: int) -> None:
    fake = run_skipping(played(asked, limits), in_no_time)
    check(fake, limits)
    ends = "\n".join(message["content"] for message in by_the_bot(fake))
    for number, one in enumerate(asked):
        if one.how != "memory" and not any(other.stopped_after is not None for other in asked):
            assert ends.count(f"The end of {number}.") == 1, "each answer was shown to its end, once"


def test_ten_replies_in_one_channel_each_grow() -> None:
    asked = [Asked("mention", ANN, 1_500, 35.0, 0.0) for _ in range(10)]
    fake = run_skipping(played(asked, 0), in_no_time)
    check(fake, 0)
    posted = max(call.time for call in fake.calls if call.method == "POST" and call.path.endswith("/messages"))
    edited = Counter(call.path for call in fake.calls if call.method == "PATCH" and call.time > posted)
    assert len(by_the_bot(fake)) == len(edited) == 10
    assert max(edited.values()) - min(edited.values()) <= 2, "once all were there, each had its share"
