"""What a place was told to know, on each platform: handed in by whoever manages it, and found by those who may."""

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TypeVar

from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from bot.chat.commands.declaration import by_name
from bot.chat.exit_codes import Exit
from bot.chat.network.guard import WebGuard
from bot.knowledge import texts as knowledge_texts
from bot.knowledge.commands import KNOWLEDGE_COMMAND, LEARN_COMMAND
from bot.knowledge.service import KnowledgeService
from bot.memory import texts as memory_texts
from bot.web.fetching import Fetcher
from bot.web.link_reader import LinkReader
from bot.web.page_text import PageReader
from tests.fakes import pdfs
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import by_the_bot
from tests.fakes.discord_bot import serving as serving_discord
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, GENERAL, GUILD, STAFF, text_file
from tests.fakes.discord_world import seen as seen_in
from tests.fakes.fast_clock import FastClock
from tests.fakes.hosts import ServedHost, patient_reader
from tests.fakes.ready_process import command
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host
from tests.fakes.web_world import WebWorld, answer, web_world
from tests.flows.test_discord_commands import answer_to
from tests.flows.test_terminal import environment

ME = f"<@{BOT_USER}>"
RECALL = '<execute>[{"name": "recall", "args": {"query": "hotel costs"}}]\n</execute>'
# What members may on Discord who manage nothing.
WRITES = str(sum(1 << bit for bit in (6, 10, 11, 14, 15, 16, 31, 35, 36, 38)))
HANDBOOK = "Trips are booked by train. Hotels may cost up to 120 EUR a night in Vienna."
FOUND = re.compile(r"\[D1\] (.*):\n(?:> .*\n)*> .*120 EUR")


TRIPS = "http://a.example/trips"
PAGES = {"a.example/trips": answer(HANDBOOK.encode()), "a.example/pay": answer(b"Nobody earns 120 EUR a night.")}
Served = TypeVar("Served", bound=ServedHost)


def with_the_web(host: Served, world: WebWorld) -> Served:
    """The same, for whose places pages of the web are read."""
    fetcher = Fetcher(WebGuard(), "Test/1", host.messages.clock, world.resolve, world.dial)
    assert isinstance(host.knowledge, KnowledgeService)
    reads = LinkReader(fetcher, PageReader(patient_reader())).read
    knowledge = replace(host.knowledge, read_page=reads)
    bound = by_name((KNOWLEDGE_COMMAND.bound(knowledge), LEARN_COMMAND.bound(knowledge)))
    return replace(host, knowledge=knowledge, commands={**host.commands, **bound})


def looking(seen: list[str]) -> ScriptedProvider:
    """A model that looks for hotels, and keeps what it was given."""

    def answer(messages: Sequence[Message]) -> str:
        if "<results>" not in messages[-1].text:
            return RECALL
        seen.append(messages[-1].text)
        return "Done."

    return ScriptedProvider(answer)


PRICE = "The hotel at the station costs 90 EUR"
SHARED = re.compile(
    r"\[\d+\] [^\n]*others told you in public channels \((\S+)\):\n[^\n]*, (\w+) wrote:\n> [^\n]*90 EUR"
)


def shared(seen: list[str]) -> tuple[str, str]:
    """The link and the writer of what others told, in what the model was given last; two times "" for nothing."""
    found = SHARED.search(seen.pop().replace("\\n", "\n"))
    return (found[1], found[2]) if found else ("", "")


async def test_in_slack_what_was_told_in_public_serves_others_once_a_manager_wants_that() -> None:
    seen = list[str]()
    async with FakeSlack(FastClock()) as slack:
        boss, ann, bob = slack.state.user("boss", is_admin=True), slack.state.user("ann"), slack.state.user("bob")
        gil = slack.state.user("gil", is_ultra_restricted=True)
        dm, gils, general = (slack.state.channel(*one) for one in (("bob", "im"), ("gil", "im"), ("general",)))
        slack.state.channels[general].members.discard(gil)
        store = store_in_memory()
        host = turns_host(store, looking(seen), slack.clock)

        async def order(user: str, words: str) -> str:
            before = len(slack.state.ephemerals)
            await slack.say(user, general, f"{ME} {words}")
            await slack.until(lambda: slack.state.ephemerals[before:])
            return slack.state.ephemerals[-1].text

        async def tell(user: str, channel: str, words: str = "what may a hotel cost?") -> tuple[str, str]:
            turns = len(store.turns) + 1
            await slack.say(user, channel, f"{ME} {words}")
            await slack.until(lambda: len(store.turns) == turns and store.turns[-1].state == "done")
            return shared(seen)

        def announced(words: str) -> int:
            return sum(words in one.text for one in slack.state.messages if one.user == BOT_USER)

        async with serving(slack, host), host.turns.serving():
            await tell(ann, general, "The hotel at the harbour costs 90 EUR")
            assert await tell(bob, dm) == ("", "")
            assert await order(bob, "knowledge share on") == knowledge_texts.NOT_SHARING
            assert await order(boss, "knowledge share on") == knowledge_texts.SHARED_FROM_NOW
            assert announced("turned on sharing. From now on, if a full member tells me something") == 1
            assert await tell(bob, dm) == ("", "")
            await tell(ann, general, PRICE)
            link, writer = await tell(bob, dm)
            assert (link.partition("/p")[0], writer) == (f"https://fake.slack.com/archives/{general}", "ann")
            assert await tell(bob, general) == (link, writer)
            assert await tell(gil, gils) == ("", "")
            assert await order(ann, "memory share off") == memory_texts.OWN_NOT_SHARED
            assert await tell(bob, dm) == ("", "")
            assert await order(ann, "memory share on") == memory_texts.OWN_SHARED
            assert await tell(bob, dm) == (link, writer)
            assert await order(boss, "knowledge share off") == knowledge_texts.SHARED_NO_MORE
            assert announced("turned off sharing") == 1
            assert await tell(bob, dm) == ("", "")


async def test_on_discord_what_was_told_in_public_serves_others_once_a_manager_wants_that() -> None:
    seen = list[str]()
    clock = FastClock()
    host = answering_host(looking(seen), clock)
    async with running_discord(clock) as fake:
        fake.world.everyone_may = WRITES
        await sharing(fake, host, seen)


async def sharing(fake: FakeDiscord, host: AnsweringHost, seen: list[str]) -> None:
    async with serving_discord(fake, host), host.answering():

        async def tell(person: str, channel: str, words: str = "what may a hotel cost?") -> tuple[str, str]:
            turns = len(host.taken) + 1
            await fake.say(person, f"<@{BOT}> {words}", channel)
            await fake.until(lambda: len(host.taken) == turns and seen)
            await host.turns.idle()
            return shared(seen)

        async def order(person: str, name: str, words: str, answer: str) -> None:
            shown = await answer_to(fake, person, name, words=words)
            await fake.until(lambda: answer in seen_in(shown))

        def announced(words: str) -> int:
            return sum(words in one["content"] for one in by_the_bot(fake) if one["channel_id"] == GENERAL)

        await tell(BO, GENERAL, "The hotel at the harbour costs 90 EUR")
        may, fake.member_may = fake.member_may, WRITES
        await order(BO, "knowledge", "share on", knowledge_texts.NOT_SHARING)
        fake.member_may = may
        await order(ANN, "knowledge", "share on", knowledge_texts.SHARED_FROM_NOW)
        assert announced("turned on sharing. From now on, if a full member tells me something") == 1
        assert await tell(ANN, DM_OF[ANN]) == ("", "")
        await tell(BO, GENERAL, PRICE)
        link, writer = await tell(ANN, DM_OF[ANN])
        assert (link.startswith(f"https://discord.com/channels/{GUILD}/{GENERAL}/"), writer) == (True, "Bo")
        await order(BO, "memory", "share off", memory_texts.OWN_NOT_SHARED)
        assert await tell(ANN, DM_OF[ANN]) == ("", "")
        await order(BO, "memory", "share on", memory_texts.OWN_SHARED)
        assert await tell(ANN, DM_OF[ANN]) == (link, writer)
        await order(ANN, "knowledge", "share off", knowledge_texts.SHARED_NO_MORE)
        assert announced("turned off sharing") == 1
        assert await tell(ANN, DM_OF[ANN]) == ("", "")


def cited(seen: list[str]) -> str:
    """What the document was called in what the model was given last; "" if it was not."""
    found = FOUND.search(seen.pop().replace("\\n", "\n"))
    return found[1] if found else ""


async def test_in_slack_a_manager_hands_in_a_pdf_that_members_find_with_its_page_until_it_is_removed() -> None:
    seen = list[str]()
    async with FakeSlack(FastClock()) as slack, web_world(PAGES) as web:
        boss, bob = slack.state.user("boss", is_admin=True), slack.state.user("bob")
        gil = slack.state.user("gil", is_ultra_restricted=True)
        dm, gils = slack.state.channel("bob", "im"), slack.state.channel("gil", "im")
        general, secret = slack.state.channel("general"), slack.state.channel("secret", "private")
        slack.state.channels[general].members.discard(gil)
        store = store_in_memory()
        host = with_the_web(turns_host(store, looking(seen), slack.clock), web)

        async def order(user: str, channel: str, words: str, *files: dict[str, object]) -> str:
            before = len(slack.state.ephemerals)
            await slack.say(user, channel, f"{ME} {words}", files=[*files])
            await slack.until(
                lambda: slack.state.ephemerals[before:] and "Reading" not in slack.state.ephemerals[-1].text
            )
            return slack.state.ephemerals[-1].text

        async def ask(user: str, channel: str) -> str:
            turns = len(store.turns) + 1
            await slack.say(user, channel, f"{ME} what may a hotel cost?")
            await slack.until(lambda: len(store.turns) == turns and store.turns[-1].state == "done")
            return cited(seen)

        async with serving(slack, host), host.turns.serving():
            file = slack.upload("handbook.pdf", pdfs.pdf("Nobody needs this page. " * 5, HANDBOOK), "application/pdf")
            assert await order(bob, general, "learn this", file) == knowledge_texts.NOT_LEARNING
            assert all("Reading" not in one.text for one in slack.state.ephemerals), "nobody reads what is refused"
            assert await order(boss, general, "learn this") == knowledge_texts.NOTHING_TO_LEARN
            learned = await order(boss, general, "learn this", file)
            assert learned.startswith("Learned: handbook.pdf (2 pages, ")
            assert (await ask(bob, general)).startswith("handbook.pdf, page 2 (https://fake.slack.com/archives/")
            assert await ask(bob, dm)
            assert await ask(gil, gils) == ""
            assert "I know 1 document here:" in await order(bob, general, "knowledge list")
            assert (await order(boss, secret, "learn this", file)).startswith("Learned: ")
            assert "I know 1 document here:" in await order(bob, general, "knowledge list")
            assert await order(bob, general, "knowledge remove 1") == knowledge_texts.NOT_REMOVING
            assert (await order(boss, general, "knowledge remove 1")).startswith("Removed: handbook.pdf.")
            assert await ask(bob, general) == ""
            assert await ask(boss, secret)
            page = f"learn this <{TRIPS}|a.example/trips>"
            assert (await order(bob, general, page), web.requests) == (knowledge_texts.NOT_LEARNING, [])
            learned = await order(boss, general, f"{page} and <http://10.0.0.7/inner>")
            assert learned.startswith("Learned: trips (1 passage). ")
            assert "http://10.0.0.7/inner was not learned: it is not on the public web" in learned
            assert (await ask(bob, general)).startswith(f"trips ({TRIPS}), learned ")
            assert await ask(gil, gils) == ""
            assert f"[trips]({TRIPS}) ({TRIPS}, as of" in await order(bob, general, "knowledge list")
            assert (await order(boss, general, "knowledge remove 3")).startswith("Removed: trips.")
            assert await ask(bob, general) == ""


async def test_on_discord_a_manager_hands_in_a_file_behind_a_mention_or_by_command() -> None:
    seen = list[str]()
    clock = FastClock()
    async with running_discord(clock) as fake, web_world(PAGES) as web:
        fake.world.everyone_may = WRITES
        await handing_in(fake, with_the_web(answering_host(looking(seen), clock), web), seen)


async def handing_in(fake: FakeDiscord, host: AnsweringHost, seen: list[str]) -> None:
    async with serving_discord(fake, host), host.answering():
        fake.rest.files["handbook.md"] = HANDBOOK.encode()
        address = f"http://{fake.address}/cdn/handbook.md"
        file = {**text_file("handbook.md", address, len(HANDBOOK), "text/markdown"), "id": "7"}

        async def ask(person: str, channel: str) -> str:
            turns = len(host.taken) + 1
            await fake.say(person, f"<@{BOT}> what may a hotel cost?", channel)
            await fake.until(lambda: len(host.taken) == turns and seen)
            await host.turns.idle()
            return cited(seen)

        async def told(words: str) -> None:
            await fake.until(lambda: [one for one in by_the_bot(fake) if words in one["content"]])

        await fake.say(BO, f"<@{BOT}> learn this", attachments=[file])
        await told(knowledge_texts.NOT_LEARNING)
        handed = await fake.say(ANN, f"<@{BOT}> learn this", attachments=[file])
        await told("Learned: handbook.md (1 passage).")
        link = f"https://discord.com/channels/{GUILD}/{GENERAL}/{handed['id']}"
        assert (await ask(BO, GENERAL)).startswith(f"handbook.md ({link}), learned ")
        assert await ask(BO, DM_OF[BO])
        shown = await answer_to(fake, ANN, "learn", STAFF, file={**file, "filename": "salaries.md"})
        done = "Learned: salaries.md (1 passage). Full members can ask me about it here."
        await fake.until(lambda: done in seen_in(shown))
        assert "salaries.md" in seen_in(await answer_to(fake, ANN, "knowledge", STAFF))
        assert await ask(ANN, STAFF)
        assert (await ask(BO, GENERAL)).startswith("handbook.md")
        known = seen_in(await answer_to(fake, BO, "knowledge"))
        assert ("handbook.md" in known, "salaries.md" in known) == (True, False)
        listed = await answer_to(fake, ANN, "knowledge")
        await fake.press(ANN, listed, "Remove")
        await fake.until(lambda: "Removed: handbook.md." in seen_in(listed))
        assert await ask(BO, GENERAL) == ""
        await fake.say(ANN, f"<@{BOT}> learn this <{TRIPS}>")
        await told("Learned: trips (1 passage).")
        assert (await ask(BO, GENERAL)).startswith(f"trips ({TRIPS}), learned ")
        shown = await answer_to(fake, ANN, "learn", STAFF, link="http://a.example/pay")
        await fake.until(lambda: "Learned: pay (1 passage)." in seen_in(shown))
        known = seen_in(await answer_to(fake, BO, "knowledge"))
        assert (f"[trips]({TRIPS}) ({TRIPS}, as of" in known, "pay" in known) == (True, False)


def test_in_the_terminal_a_file_is_learned_by_its_path_removed_by_its_number_and_answered_from(tmp_path: Path) -> None:
    (tmp_path / "hotels.txt").write_text(HANDBOOK)
    typed = "/learn hotels.txt\n/knowledge\n/knowledge show 1\n/learn nowhere.txt\n"
    ran = command(tmp_path, environment(tmp_path), "chat", typed=typed)
    assert "Learned: hotels.txt (1 passage). Only you can ask me about it." in ran.stdout
    assert re.search(r"\*\*1\*\* hotels\.txt \(added 20\d\d-", ran.stdout)
    assert "> Trips are booked by train." in ran.stdout
    assert (ran.returncode, "nowhere.txt" in ran.stderr) == (Exit.FAILED, True)
    ran = command(tmp_path, environment(tmp_path), "chat", typed="/knowledge remove 1\n/knowledge\n")
    assert "Removed: hotels.txt. I no longer use it, and its content is erased." in ran.stdout
    assert not [one for one in tmp_path.glob("bot.db*") if b"Vienna" in one.read_bytes()]
    ran = command(
        tmp_path, environment(tmp_path), "chat", typed="/learn hotels.txt\nWhat may a hotel cost in Vienna?\n"
    )
    assert re.search(r"Documents say about .*\s+hotels\.txt, learned 20[\s\S]*120 EUR a night", ran.stdout)


@contextmanager
def served(text: str) -> Generator[str]:
    """The address of a page on this machine."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the library's name
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_in_the_terminal_a_page_is_learned_where_the_operator_allows_it_and_answered_from(tmp_path: Path) -> None:
    with served(HANDBOOK) as host:
        typed = f"/learn http://{host}/trips\n/knowledge\nWhat may a hotel cost in Vienna?\n"
        closed = command(tmp_path, environment(tmp_path), "chat", typed=typed)
        away = environment(tmp_path, COGENCY_WEB="on")
        refused = command(tmp_path, away, "chat", typed=typed)
        ran = command(tmp_path, away | {"COGENCY_NETWORKS_ALLOWED": host}, "chat", typed=typed)
    assert (closed.returncode, "COGENCY_WEB=on" in closed.stderr) == (Exit.FAILED, True)
    assert (refused.returncode, "COGENCY_NETWORKS_ALLOWED" in refused.stderr) == (Exit.FAILED, True)
    assert "Learned: trips (1 passage). Only you can ask me about it." in ran.stdout
    assert re.search(rf"\*\*1\*\* \[trips\]\(http://{host}/trips\) \(http://{host}/trips, as of 20\d\d-", ran.stdout)
    assert re.search(r"Documents say about .*\s+trips \(.*\), learned 20[\s\S]*120 EUR a night", ran.stdout)
