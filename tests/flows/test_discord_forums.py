"""Forum posts as a help desk on Discord: the real client, real turns, and rights that change meanwhile."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent.providers.scripted import ScriptedProvider
from bot.chat.jobs import JobWorker
from bot.chat.texts import replies as reply_texts
from bot.forums import texts
from bot.forums.service import REOPEN
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_rest import Interaction
from tests.fakes.discord_world import ANN, BO, BOT, EVERYBODY, GENERAL, INVITED, Payload, labels, seen
from tests.fakes.fast_clock import MovedClock
from tests.fakes.hosts import ServedHost
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host

ME = f"<@{BOT}>"
HELP = "60"
SOLVED, BUG = "600", "601"
NOTHING: Payload = {"content": "", "components": []}
MANAGE_THREADS, MANAGE_CHANNELS = 1 << 34, 1 << 4


@dataclass
class Desk:
    fake: FakeDiscord
    host: ServedHost
    store: StoreInMemory

    async def post(self, person: str, title: str, text: str = f"{ME} it leaks") -> str:
        """A person posts, and the bot answers if it is mentioned."""
        before = len(by_the_bot(self.fake))
        post = await self.fake.post_in_forum(person, title, text, HELP)
        if ME in text:
            await self.fake.until(lambda: len(by_the_bot(self.fake)) > before)
            await self.host.turns.idle()
        return post["channel_id"]

    def answer(self, post: str) -> Payload:
        return next(one for one in self.fake.world.said_in(post) if one["author"]["id"] == BOT)

    def tags(self, post: str) -> list[str]:
        return self.fake.world.channels[post]["applied_tags"]

    async def press(self, person: str, page: Payload, label: str) -> str:
        before = seen(page)
        interaction = await self.fake.press(person, page, label)
        return seen(await self._answer(interaction, before))

    async def use(self, person: str, name: str, channel: str, **options: str) -> Payload:
        return await self._answer(await self.fake.command(person, name, channel, **options), "")

    async def _answer(self, interaction: Interaction, before: str) -> Payload:
        """The message that answers a command or a button, once it no longer shows what was there before."""
        messages = self.fake.world.messages
        await self.fake.until(lambda: seen(messages.get(interaction.original, NOTHING)) not in {"", before})
        return messages[interaction.original]

    async def work(self) -> bool:
        """Do what waits to be done in the background."""
        handlers = {REOPEN: self.host.forums.reopen}
        return await JobWorker(self.host.forums.jobs, handlers, self.fake.world.clock, "worker").work()


@asynccontextmanager
async def help_desk(*tags: str, moderated: bool = False) -> AsyncGenerator[Desk]:
    """Ann owns the server, and Bo may only write there. The bot manages threads."""
    clock = MovedClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        fake.world.open_forum(HELP, "help", *(tags or ("✅ Solved", "Bug")), moderated=moderated)
        fake.world.everyone_may = fake.member_may = EVERYBODY
        fake.world.bot_may = str(int(INVITED) | MANAGE_THREADS)
        store = store_in_memory()
        host = turns_host(store, ScriptedProvider(lambda _: "Caulk it."), clock)
        async with serving(fake, host), host.turns.serving():
            yield Desk(fake, host, store)


async def test_the_author_of_a_post_marks_it_as_solved_below_an_answer_and_nobody_else_does() -> None:
    async with help_desk() as desk:
        post = await desk.post(ANN, "My boat")
        await desk.fake.tag(post, BUG)
        page = desk.answer(post)
        assert reply_texts.SOLVED_BUTTON in labels(page)
        assert await desk.press(BO, page, reply_texts.SOLVED_BUTTON) == texts.NOT_YOUR_POST
        assert await desk.press(ANN, page, reply_texts.SOLVED_BUTTON) == texts.SOLVED.format(tag="✅ Solved")
        assert desk.tags(post) == [BUG, SOLVED]


async def test_a_solved_post_is_open_again_once_its_author_asks_further() -> None:
    async with help_desk() as desk:
        post = await desk.post(BO, "My boat", "It leaks.")
        shown = await desk.use(BO, "solved", post)
        assert seen(shown) == texts.SOLVED.format(tag="✅ Solved")
        await desk.fake.say(BO, f"Thank you so much, {ME}!", post)
        await desk.host.turns.idle()
        await desk.fake.say(ANN, "Are you sure?", post)
        assert not await desk.work()
        await desk.fake.say(BO, "No, it leaks again.", post)
        await desk.fake.until(lambda: desk.store.waiting_jobs)
        assert await desk.work()
        assert desk.tags(post) == []
        assert texts.REOPEN_BUTTON in labels(shown)


async def test_reopening_by_hand_and_with_each_right_checked_at_the_time() -> None:
    async with help_desk() as desk:
        post = await desk.post(BO, "My boat", "It leaks.")
        shown = await desk.use(BO, "solved", post)
        assert await desk.press(BO, shown, texts.REOPEN_BUTTON) == texts.OPEN
        assert desk.tags(post) == []
        desk.fake.world.channels[post]["thread_metadata"]["locked"] = True
        assert seen(await desk.use(BO, "solved", post)) == texts.POST_CLOSED
        desk.fake.world.channels[post]["thread_metadata"]["locked"] = False
        desk.fake.world.bot_may = INVITED
        await desk.fake.dispatch("GUILD_ROLE_UPDATE", {"guild_id": "10", "role": desk.fake.world.guild()["roles"][1]})
        assert seen(await desk.use(BO, "solved", post)) == texts.BOT_LACKS.format(permission="Manage Threads")
        assert seen(await desk.use(BO, "solved", GENERAL)) == texts.NO_POST
        assert desk.tags(post) == []


async def test_a_tag_of_moderators_is_set_for_authors_only_where_a_manager_chose_it() -> None:
    async with help_desk("Solved", "Bug", moderated=True) as desk:
        post = await desk.post(BO, "My boat", "It leaks.")
        assert seen(await desk.use(BO, "solved", post)) == texts.ONLY_MANAGERS.format(tag="Solved")
        desk.fake.member_may = str(int(EVERYBODY) | MANAGE_CHANNELS)
        unknown = await desk.use(ANN, "channel", post, words="solved Finished")
        assert "Choose one of Solved, Bug." in seen(unknown)
        assert "Tag for solved posts" in seen(await desk.use(ANN, "channel", post, words="solved Solved"))
        assert seen(await desk.use(BO, "solved", post)) == texts.SOLVED.format(tag="Solved")
        await desk.use(ANN, "channel", post, words="solved off")
        assert seen(await desk.use(BO, "solved", post, words="reopen")) == texts.TURNED_OFF


async def test_only_managers_see_which_posts_have_no_answer() -> None:
    async with help_desk() as desk:
        leak = await desk.post(BO, "My boat *leaks*", "It leaks.")
        oars = await desk.post(ANN, "Where are the oars?")
        done = await desk.post(BO, "How do I moor?", "How?")
        rules = await desk.post(ANN, "Read this first", "Be kind.")
        desk.fake.world.channels[rules]["flags"] = 1 << 1
        await desk.fake.tag(done, SOLVED)
        desk.fake.world.channels[leak]["thread_metadata"]["archived"] = True
        assert seen(await desk.use(BO, "unanswered", oars)) == texts.NOT_YOUR_FORUM
        assert seen(await desk.use(ANN, "unanswered", GENERAL)) == texts.NO_FORUM
        before = len(desk.fake.calls)
        shown = seen(await desk.use(ANN, "unanswered", GENERAL, words=f"<#{HELP}>"))
        reads = [call.path for call in desk.fake.calls[before:] if call.method == "GET"]
        assert len(reads) <= 6
        head, _, lines = shown.partition("\n\n")
        assert head == texts.UNANSWERED.format(forum="\\#help", count="2")
        first, second = lines.splitlines()
        assert "My boat \\*leaks\\*" in first
        assert first.endswith(texts.NO_REPLY)
        assert "Where are the oars?" in second
        assert second.endswith(texts.ANSWERED_BY_BOT.format(replies="1 reply"))
