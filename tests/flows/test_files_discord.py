"""Files as only Discord has them, with the real discord.py; what is the same on each platform is in `test_files`."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from bot.chat.attachments import kinds
from bot.chat.attachments.read_again import CHANGED, HIDDEN
from bot.chat.reply.attached_files import LONG_LINES
from bot.chat.reply.surface import FILES, OutFile, PageKey
from tests.fakes import documents
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, EPHEMERAL, OTHER_BOT, Payload, text_file
from tests.fakes.fast_clock import FastClock

ASK = f"<@{BOT}> "
CODE = "".join(f"line_{number} = {number}\n" for number in range(LONG_LINES + 1))
LONG = f"Here it is:\n\n```python\n{CODE}```\n\nThat is all."
AGAIN = '<execute>[{"name": "read_again", "args": {"file": "boat.docx"}}]\n</execute>'


@dataclass
class Town:
    fake: FakeDiscord
    host: AnsweringHost
    asked: list[Sequence[Message]] = field(default_factory=list[Sequence[Message]])

    def file(self, name: str, content: bytes, content_type: str = "text/plain", size: int | None = None) -> Payload:
        """A file that somebody attaches."""
        self.fake.rest.files[name] = content
        address = f"http://{self.fake.address}/cdn/{name}"
        return {**text_file(name, address, len(content) if size is None else size, content_type), "id": str(len(name))}

    async def write(self, text: str, *files: Payload, **more: Any) -> list[Payload]:
        """Ann writes directly, with these files, and waits: what the bot says."""
        messages = len(self.host.taken) + 1
        await self.fake.write(ANN, text, attachments=[*files], **more)
        return await self.answered(messages)

    async def answered(self, messages: int = 1) -> list[Payload]:
        await self.fake.until(lambda: len(self.host.taken) == messages)
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()
        return by_the_bot(self.fake)

    @property
    def came_along(self) -> str:
        """What the model was told of the files, in the latest request."""
        return self.asked[-1][-2].text.partition("CAME WITH THE QUESTION:")[2].partition("WORKSPACE")[0]


@asynccontextmanager
async def town(*answers: str, **host: Any) -> AsyncGenerator[Town, None]:
    asked: list[Sequence[Message]] = []

    def answer(messages: Sequence[Message]) -> str:
        asked.append(messages)
        return answers[min(len(asked), len(answers)) - 1] if answers else "Seen."

    clock = FastClock()
    made = answering_host(ScriptedProvider(answer), clock, **host)
    async with running_discord(clock) as fake, serving(fake, made), made.answering():
        yield Town(fake, made, asked)


async def test_a_file_that_is_gone_is_one_line_with_the_reason() -> None:
    async with town() as there:
        file = there.file("gone.txt", b"")
        there.fake.rest.files.clear()
        (answer,) = await there.write("look", file)
        assert answer["content"] == "Seen."
        assert "attached file gone.txt" in there.came_along
        assert f"(not read: {kinds.UNREACHABLE}" in there.came_along


async def test_what_is_announced_as_too_large_is_not_even_fetched() -> None:
    async with town() as there:
        await there.write("look", there.file("huge.pdf", b"%PDF-", "application/pdf", size=20_000_001))
        assert kinds.too_large("a PDF", 20_000_000) in there.came_along


async def test_files_of_a_forwarded_and_of_a_replied_to_message_come_along() -> None:
    async with town() as there:
        original = there.fake.world.message(
            DM_OF[ANN], BO, "Look.", attachments=[there.file("old.txt", b"the old one")]
        )
        reference = {"type": 0, "message_id": original["id"], "channel_id": DM_OF[ANN]}
        await there.write("what is it?", type=19, message_reference=reference, referenced_message=original)
        assert "file of the message that this one replies to old.txt, Bo" in there.came_along
        assert "the old one" in there.came_along
        forwarded = {"content": "", "attachments": [there.file("sent.txt", b"the sent one")], "embeds": []}
        forwarded |= {"timestamp": original["timestamp"], "edited_timestamp": None, "flags": 0, "type": 0}
        await there.write("and this?", message_snapshots=[{"message": forwarded}])
        assert "file of a forwarded message sent.txt, somebody" in there.came_along
        assert "the sent one" in there.came_along


async def test_the_file_of_a_command_comes_along() -> None:
    async with town() as there:
        await there.fake.command(ANN, "ask", question="what is it?", file=there.file("notes.md", b"Blue."))
        (answer,) = await there.answered()
        assert answer["content"] == "Seen."
        assert "Blue." in there.came_along


async def test_files_of_a_public_command_follow_its_answer() -> None:
    async with town(LONG) as there:
        await there.fake.command(ANN, "ask", question="write it")
        answer, shared = await there.answered()
        assert (answer["content"], shared["files"]) == (LONG, {"code.py": CODE})
        assert not shared["flags"] & EPHEMERAL


async def test_files_of_a_private_answer_are_seen_by_its_asker_alone() -> None:
    async with town(LONG) as there:
        await there.fake.command(ANN, "ask", question="write it", private=True)
        _, shared = await there.answered()
        assert shared["files"] == {"code.py": CODE}
        assert shared["flags"] & EPHEMERAL


async def test_an_answer_whose_files_cannot_be_handed_over_stands_without_them() -> None:
    async with town(LONG) as there:
        there.fake.rest.fail("POST", "/webhooks/", 400, 40005)
        await there.fake.command(ANN, "ask", question="write it")
        (answer,) = await there.answered()
        assert answer["content"] == LONG


@pytest.mark.parametrize("nonce_known", [True, False])
async def test_files_that_a_dead_process_handed_over_are_found_instead_of_sent_again(nonce_known: bool) -> None:
    async with town(LONG) as there:
        await there.fake.say(ANN, f"{ASK}write it")
        await there.answered()
        (turn,) = there.host.store.turns
        assert turn.state == "done"
        if not nonce_known:
            there.fake.rest.forget_nonces()
        another_bots = there.fake.world.message(turn.pages[-1].partition("/")[0], OTHER_BOT, "")
        another_bots["attachments"] = [text_file("code.py", "", len(CODE))]
        surface = there.host.platforms.surface_for(there.host.store.ledger.asked[turn.id])
        again = await surface.attach(PageKey(turn.id, FILES), [OutFile("code.py", CODE.encode())], again=True)
        assert [page.id for page in again] == [turn.pages[-1]]
        assert len(by_the_bot(there.fake)) == 2


async def test_files_of_the_same_name_that_another_answer_handed_over_are_not_taken_for_these() -> None:
    async with town(LONG) as there:
        await there.fake.say(ANN, f"{ASK}write it")
        await there.answered()
        (turn,) = there.host.store.turns
        there.fake.rest.forget_nonces()
        surface = there.host.platforms.surface_for(there.host.store.ledger.asked[turn.id])
        another = await surface.attach(PageKey(turn.id, FILES), [OutFile("code.py", b"boats = 1\n")], again=True)
        assert turn.state == "done"
        assert [page.id for page in another] != [turn.pages[-1]]
        assert len(by_the_bot(there.fake)) == 3


async def test_a_file_of_a_question_that_was_answered_anew_is_read_again() -> None:
    async with town("Seen.", "Seen again.", AGAIN, "That is all.") as there:
        boat = there.file("boat.docx", documents.docx(documents.paragraph("It is blue.")))
        await there.fake.say(ANN, f"{ASK}what is this?", attachments=[boat])
        (answer,) = await there.answered()
        await there.fake.press(ANN, answer, "Regenerate")
        await there.answered(2)
        await there.fake.say(ANN, f"{ASK}and then?", answer["channel_id"])
        await there.answered(3)
        assert "It is blue." in there.asked[-1][-1].text


@pytest.mark.parametrize(("what", "why"), [("edited", ""), ("deleted", CHANGED), ("kept out", HIDDEN)])
async def test_a_file_of_an_earlier_question_is_fetched_anew_while_it_is_there_and_its_asker_may_read_it(
    what: str, why: str
) -> None:
    async with town("Seen.", AGAIN, "That is all.") as there:
        boat = there.file("boat.docx", documents.docx(documents.paragraph("It is blue.")))
        asked = await there.fake.say(ANN, f"{ASK}what is this?", attachments=[boat])
        (answer,) = await there.answered()
        assert "It is blue." in there.came_along
        # Addresses of files expire: what Discord says of the message now is what counts.
        there.fake.rest.files["later.docx"] = there.fake.rest.files.pop("boat.docx")
        asked["attachments"] = [{**boat, "url": str(boat["url"]).replace("boat.docx", "later.docx")}]
        if what == "deleted":
            asked["attachments"] = []
        elif what == "edited":
            await there.fake.change(asked, f"{ASK}what is this here?")
            await there.fake.until(lambda: "this here" in there.host.store.turns[0].incoming.text)
        elif what == "kept out":
            there.fake.world.absent.add(ANN)
        await there.fake.say(ANN, f"{ASK}and then?", answer["channel_id"])
        await there.answered(2)
        told = there.asked[-1][-1].text
        assert ("It is blue." in told) == (not why)
        assert why in told
