"""Solved and unanswered posts, by the commands of a forum."""

from dataclasses import dataclass, field

import pytest

from agent.jobs import Job
from bot.chat.commands.declaration import CommandCall
from bot.chat.panels import Panel
from bot.forums import texts
from bot.forums.commands import SOLVED_COMMAND, UNANSWERED_COMMAND
from bot.forums.service import ON_PAGE, REOPEN, ForumsAway, ForumService
from tests.fakes.caller import ANN, FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.forums import SOLVED, FakeForums
from tests.fakes.store import StoreInMemory, store_in_memory

SOURCE = "slack:T1"


@dataclass
class Desk:
    forums: FakeForums = field(default_factory=lambda: FakeForums(readers={ANN.id}))
    store: StoreInMemory = field(default_factory=store_in_memory)
    operators: frozenset[str] = frozenset()

    @property
    def service(self) -> ForumService:
        return ForumService(
            forums={SOURCE: self.forums},
            preferences=self.store.preferences,
            replies=self.store.replies,
            jobs=self.store.jobs,
            clock=FakeClock(),
            operates=self.operators.__contains__,
        )

    async def unanswered(self, words: str = "", channel: str = "60") -> Panel:
        call = CommandCall(words=words, caller=FakeCaller(channel=channel))
        return await UNANSWERED_COMMAND.bound(self.service).run(call)

    async def solved(self, words: str = "", thread: str = "slack:T1:1") -> Panel:
        call = CommandCall(words=words, caller=FakeCaller(channel="60", conversations=frozenset({thread})))
        return await SOLVED_COMMAND.bound(self.service).run(call)


async def test_the_list_has_pages_whose_buttons_name_the_forum() -> None:
    desk = Desk()
    desk.forums.managers.add(ANN.id)
    for number in range(ON_PAGE + 2):
        desk.forums.add("bo", f"Post {number}")
    first = await desk.unanswered()
    assert first.text.count(texts.NO_REPLY) == ON_PAGE
    assert "(12, oldest first)" in first.text
    (pages,) = first.parts
    assert [action.words for action in pages.actions] == ["channel:60 page 2"]
    second = await desk.unanswered(pages.actions[0].words, channel="C1")
    assert [line for line in second.text.splitlines() if line.startswith("-")] == [
        f"- [Post {number}](https://forum.example/{number + 1}), {day}: no reply"
        for number, day in ((10, "2026-11-12"), (11, "2026-11-13"))
    ]
    assert (await desk.unanswered("page 99")).page == 2


@pytest.mark.parametrize(("operates", "reads"), [(False, True), (True, False), (False, False)])
async def test_nobody_else_sees_it_and_an_operator_only_where_they_read(*, operates: bool, reads: bool) -> None:
    desk = Desk(operators=frozenset({ANN.id} if operates else ()))
    desk.forums.add("bo", "A secret")
    desk.forums.readers = {ANN.id} if reads else set()
    panel = await desk.unanswered()
    assert panel == Panel(texts.NOT_YOUR_FORUM if reads else texts.NO_FORUM, refused=True)


async def test_the_list_says_what_it_leaves_out() -> None:
    desk = Desk()
    desk.forums.managers.add(ANN.id)
    assert (await desk.unanswered()).text == texts.ALL_ANSWERED.format(forum="\\#help")
    desk.forums.given_tags, desk.forums.complete = (), False
    desk.forums.add("bo", "Answered", replies=3)
    text = (await desk.unanswered()).text
    assert texts.NO_SOLVED_TAG in text
    assert texts.NOT_ALL in text
    assert "Answered" not in text
    assert await desk.unanswered("what?") == Panel(texts.UNANSWERED_USAGE, refused=True)


async def test_marking_twice_or_with_other_words_changes_nothing() -> None:
    desk = Desk()
    desk.forums.add(ANN.id, "My boat")
    assert await desk.solved("reopen") == Panel(texts.OPEN_ALREADY)
    assert (await desk.solved()).text == texts.SOLVED.format(tag="Solved")
    assert (await desk.solved()).text == texts.SOLVED_ALREADY.format(tag="Solved")
    assert await desk.solved("perhaps") == Panel(texts.SOLVED_USAGE, refused=True)
    assert desk.forums.open_posts["slack:T1:1"].tags == (SOLVED.id,)
    assert await desk.solved(thread="slack:T1:9") == Panel(texts.NO_POST, refused=True)


async def test_a_post_is_opened_again_once_its_platform_is_back_and_not_after_it_was_marked_anew() -> None:
    desk = Desk()
    added = desk.forums.add(ANN.id, "My boat")
    await desk.solved()
    await desk.service.wrote_on(SOURCE, added.conversation, ANN.id, "It leaks again.")
    ((kind, key),) = desk.store.waiting_jobs
    job = desk.store.waiting_jobs[kind, key]
    assert kind == REOPEN
    with pytest.raises(ForumsAway):
        await desk.service.reopen(_elsewhere(job))
    await desk.service.reopen(job)
    assert desk.forums.open_posts[added.conversation].tags == ()
    await desk.solved()
    assert not desk.store.waiting_jobs


def _elsewhere(job: Job) -> Job:
    return Job(job.id, job.epoch, job.owner, job.kind, job.key, f"discord {job.key}", job.run_at, job.person)
