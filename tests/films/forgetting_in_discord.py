"""The film of forgetting in Discord: something is known, `/forget` shows what falls, and then it is found no more."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from agent.machine import CLOCK
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BOT, DM_OF, EPHEMERAL, LOADING, NAMES, Payload, parts, seen
from tests.fakes.model_server import ModelServer, Reply, Request
from tests.films.chat_states import ButtonStyle, Shot, ShownButton, ShownChat, ShownMessage, Speaker
from tests.films.recording import SETTINGS, Pace, Recorder, Typist, given, time_in_film
from tests.flows.test_service import by_model, on_discord, service

FACT: Final = "my interview at the harbour office is on Friday at ten"
NOTES: Final = f'<execute>[{{"name": "remember", "args": {{"text": "{FACT}"}}}}]</execute>'
LOOKS_UP: Final = '<execute>[{"name": "recall", "args": {"query": "interview"}}]</execute>'
NOTED: Final = "I have made a note of it. Good luck!"
KNOWS: Final = "Your interview at the harbour office is on **Friday at ten**."
KNOWS_NOTHING: Final = "I find nothing about an interview: neither in our conversations, nor in what I remember of you."
QUESTION: Final = "When is my interview?"
COMPLETED: Final = ("/forget what: ",)  # What Discord completes while the command is typed
TYPING_S: Final = 10.0
DANGER: Final = 4  # Discord's number for a red button


def answer(texts: list[str]) -> str:
    """The words of the model, by what it is given alone."""
    if FACT in texts[-1] and QUESTION not in texts[-1]:
        return NOTED if texts[-1].startswith("<results>") else NOTES
    if any(FACT in text for text in texts):
        return KNOWS
    return KNOWS_NOTHING if texts[-1].startswith("<results>") else LOOKS_UP


@dataclass
class DirectMessages:
    """What Ann's direct messages with the bot show her."""

    discord: FakeDiscord
    typist: Typist
    began: datetime = field(default_factory=CLOCK.now)

    def shown(self) -> ShownChat:
        said = self.discord.world.said_in(DM_OF[ANN])
        names = {f"<@{number}>": f"@{name}" for number, name in NAMES.items()}
        me = speaker(BOT).name
        status = f"{me} is typing…" if self._is_typing() else ""
        return ShownChat(me, tuple(map(self._message, said)), names, status, self.typist.draft)

    def _is_typing(self) -> bool:
        """As Discord shows it: for ten seconds, or until the message is there."""

        def last(path: str) -> float:
            asked = f"/channels/{DM_OF[ANN]}/{path}"
            return max((one.time for one in self.discord.calls if one.path == asked), default=-TYPING_S)

        return last("messages") < last("typing") > CLOCK.monotonic() - TYPING_S

    def _message(self, one: Payload) -> ShownMessage:
        made: Payload | None = one.get("interaction_metadata")
        return ShownMessage(
            speaker(one["author"]["id"]),
            time_in_film(datetime.fromisoformat(one["timestamp"]), self.began),
            seen(one),
            self._buttons(one),
            edited=bool(one["content"] and one["edited_timestamp"]),
            alone=bool(one["flags"] & EPHEMERAL),
            command=None if made is None else (speaker(made["user"]["id"]), "/forget"),
            loading=bool(one["flags"] & LOADING),
        )

    def _buttons(self, one: Payload) -> tuple[tuple[ShownButton, ...], ...]:
        rows = [part["components"] for part in parts(one) if part["type"] == 1]
        return tuple(tuple(map(self._button, row)) for row in rows)

    def _button(self, one: Payload) -> ShownButton:
        label: str = one.get("label") or one["emoji"]["name"]
        style = ButtonStyle.DANGER if one["style"] == DANGER else ButtonStyle.USUAL
        return ShownButton(label, style, pressed=label == self.typist.pressed)


def speaker(number: str) -> Speaker:
    return Speaker(NAMES[number].title(), is_app=number == BOT)


@dataclass
class Scene:
    """What Ann does, one after the other."""

    discord: FakeDiscord
    typist: Typist

    async def ask(self, words: str) -> None:
        """Until the answer stands there, with its buttons."""
        before = self.answered()
        await self.discord.write(ANN, words)
        await self.discord.until(lambda: self.answered() - before)

    async def forget(self, about: str) -> Payload:
        """The question whether to, which Ann alone sees."""
        called = await self.discord.command(ANN, "forget", DM_OF[ANN], what=f"about {about}")
        messages = self.discord.world.messages
        await self.discord.until(lambda: called.original and seen(messages[called.original]))
        return messages[called.original]

    async def agree(self, question: Payload) -> None:
        """Until the receipt stands there."""
        before, label = seen(question), "Forget"
        await self.typist.press(label)
        await self.discord.press(ANN, question, label)
        await self.discord.until(lambda: seen(question) != before)
        self.typist.release()

    async def deleted(self, messages: set[str]) -> None:
        """Until these are gone."""
        await self.discord.until(lambda: not self.answered() & messages)

    def answered(self) -> set[str]:
        """The ids of the answers that are complete."""
        said = self.discord.world.said_in(DM_OF[ANN])
        return {one["id"] for one in said if any(part.get("label") == "Regenerate" for part in parts(one))}


async def record(folder: Path, pace: Pace) -> list[Shot]:
    """What Ann had noted is known; then she has it forgotten, and asks again."""

    def write(request: Request) -> Reply:
        return pace.writing(answer(given(request)))

    async with running_discord(CLOCK) as discord, ModelServer(write) as model:
        typist = Typist(pace)
        scene = Scene(discord, typist)
        async with service(folder, **SETTINGS, **on_discord(discord), **by_model(model)):
            await discord.until(lambda: discord.identified and discord.rest.commands)
            await scene.ask(f"Please remember: {FACT}.")
            recorder = Recorder(DirectMessages(discord, typist).shown, discord.until)
            async with recorder.recording():
                await pace.wait(0.8)
                await typist.type(QUESTION)
                await scene.ask(typist.send())
                await pace.wait(1.2)
                await typist.type("/forget what: about interview", COMPLETED)
                typist.send()
                question = await scene.forget("interview")
                await pace.wait(3.0)
                told = scene.answered()
                await scene.agree(question)
                await pace.wait(3.0)
                await typist.type(QUESTION)
                await scene.ask(typist.send())
                await scene.deleted(told)
    return recorder.shots
