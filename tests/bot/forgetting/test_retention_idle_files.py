"""Files that code saved and nothing uses go after a week, whether or not code still runs."""

from datetime import timedelta

from agent.memory.forgetting_plans import IDLE_FILES
from agent.ports.saved_files import IDLE, FileChanges, FileSource
from bot.chat.jobs import JobWorker
from bot.forgetting.retention import SWEEP, Retention
from tests.contracts.steps import answered
from tests.fakes.fast_clock import MovedClock
from tests.fakes.incoming import said
from tests.fakes.store import store_in_memory
from tests.flows.forgetting_bot import OFTEN
from tests.patience import LOOK_S, until

HERS = "person:ann"


async def test_the_job_of_a_conversation_deletes_its_idle_files_and_looks_again_for_the_others() -> None:
    store, clock = store_in_memory(), MovedClock()
    question = await answered(store, said("draw it"), "here")
    sources = (FileSource(question.message, asked=True),)
    saved_at, day = clock.now(), timedelta(days=1)
    for name, later in (("idle.csv", timedelta()), ("used.csv", day)):
        changes = FileChanges("thread", "ann", HERS, "", [(name, b"quetzal " + name.encode())], sources=sources)
        assert await store.saved_files.save(changes, saved_at + later)
    clock.leap(IDLE - (clock.now() - saved_at))
    await store.jobs.schedule(IDLE_FILES, "thread", "", clock.now())  # the last save put it off
    erasing = Retention(store.forgetting, store.jobs, clock, {}).handlers
    async with JobWorker(store.jobs, {IDLE_FILES: erasing[IDLE_FILES]}, clock, "eraser", OFTEN).serving():
        await until(lambda: (SWEEP, "") in store.waiting_jobs, look_s=LOOK_S)
        left = await store.saved_files.readable("thread", frozenset({HERS}), "ann", saved_at)
        assert [file.name for file in left] == ["used.csv"]
        await until(lambda: (IDLE_FILES, "thread") in store.waiting_jobs, look_s=LOOK_S)
        assert store.waiting_jobs[IDLE_FILES, "thread"].run_at == saved_at + day + IDLE
