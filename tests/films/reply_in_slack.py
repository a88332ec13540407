"""The film of a reply that grows in Slack: a mention in a thread, what the bot does meanwhile, the answer."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from agent.machine import CLOCK
from tests.fakes.model_server import ModelServer, Reply, Request
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER, FakeMessage, Object
from tests.films.chat_states import ButtonStyle, Shot, ShownButton, ShownChat, ShownMessage, Speaker
from tests.films.recording import SETTINGS, STARTS, Pace, Recorder, Typist, given
from tests.flows.test_service import by_model, on_slack, service

ME: Final = f"<@{BOT_USER}>"
READS_S: Final = 1.3  # How long Slack takes to tell what was written in a channel
CALL: Final = '<execute>[{"name": "read_channel", "args": {"where": "#incident"}}]</execute>'
ANSWER: Final = """\
**Card payments failed from 09:12 to 09:47.** They work again; two things are left.

- **Cause:** the new key was missing on one of three servers, `payments-3` [3]
- **Fix:** Ben added it and restarted that server [4]
- **Left:** refund 14 double payments (*Cy, today*), and check the keys before a deploy (*nobody yet*) [5]

```sh
deploy check --keys payments
```
"""
SAID: Final = (
    ("09:14", "ben", "Card payments fail since 09:12: customers see an error after their PIN."),
    ("09:31", "cy", "The new key is missing on payments-3; the other two servers have it."),
    ("09:47", "ben", "Key added, payments-3 restarted. Payments work since 09:47."),
    ("09:55", "cy", "Left: 14 double payments to refund, I do that today. And a deploy should check the keys first."),
)
ICONS: Final = {"feedback_buttons": ("👍", "👎"), "icon_button": ("🗑️",)}


@dataclass
class Thread:
    """What the thread below `root` shows."""

    slack: FakeSlack
    root: FakeMessage
    typist: Typist
    began_s: float = field(default_factory=CLOCK.monotonic)

    def shown(self) -> ShownChat:
        state, root = self.slack.state, self.root
        names = {f"<@{user}>": f"@{self._name(user)}" for user in state.users}
        names |= {f"<#{channel.id}>": f"#{channel.info['name']}" for channel in state.channels.values()}
        said = [one for one in state.messages if one.channel == root.channel and root.ts in (one.ts, one.thread_ts)]
        session = state.agents.sessions.get((root.channel, root.ts))
        line = f"{self._name(BOT_USER)} {session.line}" if session is not None and session.line else ""
        place = f"#{state.channels[root.channel].info['name']}"
        return ShownChat(place, tuple(map(self._message, said)), names, line, self.typist.draft)

    def _name(self, user: str) -> str:
        return self.slack.state.users[user].info["profile"]["display_name"]

    def _message(self, one: FakeMessage) -> ShownMessage:
        speaker = Speaker(self._name(one.user), is_app=bool(one.bot_id))
        time = STARTS + timedelta(seconds=int(one.versions[0][0] - self.began_s))
        return ShownMessage(speaker, time, one.text, buttons_of(one.blocks))


def buttons_of(blocks: list[Object]) -> tuple[tuple[ShownButton, ...], ...]:
    """The rows below a message's words."""
    rows: list[tuple[ShownButton, ...]] = []
    for block in blocks:
        if block["type"] == "context_actions":
            icons = [icon for element in block["elements"] for icon in ICONS[element["type"]]]
            rows.append(tuple(ShownButton(icon, ButtonStyle.ICON) for icon in icons))
        elif block["type"] == "actions":
            rows.append(tuple(ShownButton(element["text"]["text"]) for element in block["elements"]))
    return tuple(rows)


def timestamp(time: str) -> str:
    """Of something said this morning, on the film's own day."""
    said = datetime.combine(STARTS, datetime.strptime(time, "%H:%M").time(), ZoneInfo("Europe/Paris"))  # noqa: DTZ007 -- the zone is beside it
    return f"{said.timestamp():.6f}"


async def record(folder: Path, pace: Pace) -> list[Shot]:
    """The bot is asked to catch somebody up, and reads the channel first."""

    def answer(request: Request) -> Reply:
        results = given(request)[-1]
        read = results.startswith("<results>") and SAID[-1][-1] in results
        return pace.writing(ANSWER if read else CALL)

    async with FakeSlack(CLOCK) as slack, ModelServer(answer) as model:
        state = slack.state
        ids = {name: state.user(name, profile={"display_name": name.title()}) for name in ("ann", "ben", "cy")}
        general, incident = state.channel("general"), state.channel("incident")
        for time, name, words in SAID:
            state.write(ids[name], incident, words).ts = timestamp(time)
        root = state.write(ids["ben"], general, "Stand-up in ten minutes. Who can say where we are with the payments?")
        typist = Typist(pace)
        recorder = Recorder(Thread(slack, root, typist).shown, slack.until)
        settings = {**SETTINGS, "COGENCY_FOOTER": "model", **on_slack(slack), **by_model(model)}
        async with service(folder, **settings):
            await slack.connected(2)
            slack.stalled["conversations.history"] = held = asyncio.Event()
            async with recorder.recording():
                await pace.wait(0.8)
                channel = f"<#{incident}>"
                await typist.type(f"{ME} catch me up on {channel}: what broke, and what is left?", [ME, channel])
                await slack.say(ids["ann"], general, typist.send(), root.ts)
                await slack.until(lambda: "conversations.history" in state.stalling)
                await pace.wait(READS_S)
                held.set()
                await slack.until(lambda: any(buttons_of(one.blocks) for one in state.answers(general, root.ts)))
    return recorder.shots
