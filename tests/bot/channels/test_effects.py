"""Rules of a channel act on questions, prompts and answers, in their order."""

from dataclasses import replace

from agent.admission_terms import Authority
from agent.context import Persona
from bot.channels.effects import ChannelEffects
from bot.channels.rule import ChannelRule, Effect, OnAnswer, OnPrompt, OnQuestion
from bot.channels.rules import WHO
from bot.chat.access.place_rules import place_owner
from bot.chat.texts import replies as reply_texts
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

CHANNEL = "C1"
QUESTION = replace(said("Hello?"), channel=CHANNEL)


def rule(name: str, *effects: Effect) -> ChannelRule:
    return ChannelRule(name=name, title=name, usual="none", usage=f"`{name}`", read=str, effects=effects)


async def store_with(chosen: str) -> StoreInMemory:
    store = store_in_memory()
    await store.preferences.set(place_owner(CHANNEL), "place", chosen)
    return store


async def test_the_first_rule_that_refuses_a_question_says_why() -> None:
    quiet = rule("quiet", OnQuestion(lambda value, asked: f"{value}: {asked.text}"))
    preferences = (await store_with('{"quiet": "Later"}')).preferences
    effects = ChannelEffects(preferences, [rule("first", OnQuestion(lambda _value, _asked: "not chosen")), quiet])
    assert await effects.refusal(QUESTION) == "Later: Hello?"
    assert await effects.refusal(replace(QUESTION, channel="C2")) is None


async def test_members_are_admitted_by_their_rank_and_others_by_their_id() -> None:
    effects = ChannelEffects((await store_with('{"who": "members person:eve"}')).preferences, [WHO])
    ann = replace(QUESTION, authority=Authority.GUEST)
    assert await effects.refusal(ann) == reply_texts.CLOSED_HERE
    assert await effects.refusal(replace(ann, authority=Authority.EMPLOYEE)) is None
    assert await effects.refusal(replace(ann, person=replace(ann.person, id="eve"))) is None


async def test_rules_shape_the_prompt_and_the_answer_one_after_the_other() -> None:
    polite = rule("polite", OnPrompt(lambda value, bot, _: replace(bot, text=f"{bot.text} {value}")))
    short = rule("short", OnAnswer(lambda value, text: text[: int(value)]))
    loud = rule("loud", OnAnswer(lambda _, text: text.upper()))
    preferences = (await store_with('{"polite": "Be kind.", "short": "4", "loud": "on"}')).preferences
    effects = ChannelEffects(preferences, [polite, short, loud])
    assert (await effects.persona(Persona("A bot.", ""), QUESTION)).text == "A bot. Be kind."
    assert (await effects.answer(QUESTION))("Hello.") == "HELL"
    elsewhere = replace(QUESTION, channel="C2")
    assert (await effects.answer(elsewhere))("Hello.") == "Hello."
