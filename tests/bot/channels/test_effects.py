"""Rules of a channel act on questions, prompts and answers, in their order."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.admission_terms import Authority
from agent.context import Persona
from bot.channels.effects import ChannelEffects
from bot.channels.rule import ChannelRule, Effect, OnAnswer, OnPrompt, OnQuestion
from bot.channels.rules import CHANNEL_RULES, WHO
from bot.channels.service import ChangePlace, read_value
from bot.chat.access.place_rules import place_owner
from bot.chat.reply.markdown import cut_markdown
from bot.chat.texts import replies as reply_texts
from tests.examples import examples
from tests.fakes.answers import answers, scribbles
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

CHANNEL = "C1"
SHORT = OnAnswer(lambda value, answer: cut_markdown(answer, int(value)))
ABRUPT = OnAnswer(lambda value, answer: answer if len(answer) <= int(value) else f"{answer[: int(value) - 1]}…")
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
    here, elsewhere = [await effects.answer(replace(QUESTION, channel=channel)) for channel in (CHANNEL, "C2")]
    usual = Persona("A bot.", "")
    assert here.persona(usual).text == "A bot. Be kind."
    assert here.shape("Hello.") == "HELL"
    assert (elsewhere.persona(usual), elsewhere.shape("Hello.")) == (usual, "Hello.")


def taken_back(effect: OnAnswer, value: str, answer: str) -> list[str]:
    """Return what was shown of an answer while it grew, and did not stay."""
    shown = [effect.text(value, answer[:length]) for length in range(len(answer) + 1)]
    return [before for before, after in pairwise(shown) if not after.startswith(before)]


def values(rule: ChannelRule) -> set[str]:
    """Return the values that a rule's own suggestions stand for."""
    read = (read_value(rule, words) for words in (*rule.words, *rule.examples) if not words.isupper())
    return {change.value for change in read if isinstance(change, ChangePlace) and change.value}


DECLARED = [
    pytest.param(effect, value, id=f"{rule.name}-{value}")
    for rule in CHANNEL_RULES
    for effect in rule.effects
    if isinstance(effect, OnAnswer)
    for value in sorted(values(rule))
]


@pytest.mark.slow
@pytest.mark.parametrize(("effect", "value"), [*DECLARED, (SHORT, "20"), (SHORT, "60"), (SHORT, "300")])
@settings(max_examples=examples(100))
@given(answer=st.one_of(answers, scribbles))
def test_what_a_rule_has_shown_of_a_growing_answer_stays(effect: OnAnswer, value: str, answer: str) -> None:
    assert taken_back(effect, value, answer[:400]) == []


def test_a_rule_that_takes_back_what_it_has_shown_is_found() -> None:
    assert taken_back(ABRUPT, "20", "x" * 30) == ["x" * 20]


def test_every_rule_that_acts_on_answers_suggests_words_that_choose_a_value() -> None:
    acting = [rule for rule in CHANNEL_RULES if any(isinstance(effect, OnAnswer) for effect in rule.effects)]
    assert [rule.name for rule in acting if not values(rule)] == [], "else no test tries it"
