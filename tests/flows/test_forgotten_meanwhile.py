"""What a running turn draws on is forgotten: nothing of it is kept, and the person reads another answer."""

import asyncio
from pathlib import Path

from agent.memory.audience import label
from agent.memory.forgetting_plans import OneThread
from agent.memory.writing import NewFact
from agent.providers.scripted import ScriptedProvider, Until
from bot.chat.reply.surface import Limits
from tests.fakes.clock import FakeClock
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import START, dm, said
from tests.fakes.surface import FakeSurface
from tests.flows.bot import live_bot
from tests.patience import PATIENCE_S


async def test_an_answer_that_draws_on_what_is_forgotten_meanwhile_is_given_anew(tmp_path: Path) -> None:
    async def forget() -> object:
        return await bot.store.forgetting.forget(OneThread("ann", frozenset({"boats"})), START)

    surface = FakeSurface(FakeClock(), Limits(page_chars=2_000, edit_interval_s=1.0, announce_final=False))
    model = ScriptedProvider(["Noted.", ["It is ", Until(forget), "Zanzibarwhisper."], "I do not know."])
    async with asyncio.timeout(PATIENCE_S), live_bot(tmp_path, model, lambda _: surface, FastClock()) as bot:
        await bot.turns.ask(said("my boat is Zanzibarwhisper", conversation="boats"))
        told = (await bot.store.conversations.history("boats", before_turn=9, limit=9))[0].id
        here = label(dm("ann").audience)
        await bot.store.facts.write(
            NewFact("", "boat", "Zanzibarwhisper", "user", START, here, person="ann", source_message=told)
        )
        await bot.turns.ask(said("what is my boat called?", conversation="later"))
        await bot.turns.idle()
        history = await bot.store.conversations.history("later", before_turn=9, limit=9)
    assert "Zanzibarwhisper" in str(model.requests[1])
    assert "Zanzibarwhisper" not in str(model.requests[2])
    assert [one.text for one in history] == ["what is my boat called?", "I do not know."]
    assert "Zanzibarwhisper" not in surface.shown[-1]
