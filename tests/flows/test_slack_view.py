"""What people see of their memory in Slack: each entry with the link to the message that it came from."""

import json
import re
from collections.abc import Sequence

from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host

ME = f"<@{BOT_USER}>"


def answer(messages: Sequence[Message]) -> str:
    """A model that remembers what it is told to."""
    asked = re.search(r"remember (.*)", messages[-1].text)
    if "<results>" in messages[-1].text or asked is None:
        return "Done."
    call = [{"name": "remember", "args": {"text": asked[1]}}]
    return f"<execute>{json.dumps(call)}\n</execute>"


async def test_each_entry_links_to_its_message_and_belongs_to_the_one_who_wrote_it() -> None:
    async with FakeSlack(FastClock()) as slack:
        ann, bob = slack.state.user("ann"), slack.state.user("bob")
        dm, general, secret = (
            slack.state.channel("ann", "im"),
            slack.state.channel("general"),
            slack.state.channel("secret", "private"),
        )
        store, said = store_in_memory(), dict[str, FakeMessage]()
        host = turns_host(store, ScriptedProvider(answer), slack.clock)

        async def tell(user: str, channel: str, thing: str) -> None:
            turns = len(store.turns) + 1
            said[thing] = await slack.say(user, channel, f"{ME} remember {thing}")
            await slack.until(lambda: len(store.turns) == turns and store.turns[-1].state == "done")

        async def memory(user: str, words: str = "") -> str:
            before = len(slack.state.ephemerals)
            await slack.command(user, general, "/memory", words)
            await slack.until(lambda: len(slack.state.ephemerals) > before)
            return slack.state.ephemerals[-1].text

        async with serving(slack, host), host.turns.serving():
            for channel, thing in ((dm, "harmonium"), (general, "zeppelin"), (secret, "obsidian")):
                await tell(ann, channel, thing)
            await tell(bob, general, "marzipan")
            anns, bobs = await memory(ann), await memory(bob)
            erased = await memory(ann, "delete 1")
    for thing, where in (
        ("harmonium", "in a direct message"),
        ("zeppelin", "in a public channel"),
        ("obsidian", "private place"),
    ):
        link = f"https://fake.slack.com/archives/{said[thing].channel}/p{said[thing].ts.replace('.', '')}"
        (line,) = [line for line in anns.splitlines() if thing in line]
        assert link in line
        assert where in line
    assert "marzipan" not in anns
    assert [thing for thing in said if thing in bobs] == ["marzipan"]
    first, *rest = erased.split("\n\n", 1)
    assert first.startswith("Deleted entry 1, “")
    assert "harmonium" in first
    assert "harmonium" not in rest[0]
