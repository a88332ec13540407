"""Answers share greetings, closings and footers: forgetting one of them touches no other. Both engines.

Every turn here has all that was said before in its context, so nothing but what the texts share decides.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from agent.events import Outcome
from agent.memory.audience import label
from agent.memory.forgetting_plans import Deleted, ForgettingPlan, OneReply, OneThread
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.memory.writing import NewFact, Written
from agent.providers.rehearsal import NOTICE
from agent.turn_records import Claim, Closing
from store.engine import Store
from tests.contracts.steps import claimed, proved
from tests.examples import one_in
from tests.fakes.incoming import START, dm, said

HERE = label(dm("ann").audience)
STOCK = "Hello Ann, thank you for your question! {} Let me know if you need anything else."
TOPICS = {
    "boats": ("What does a mooring cost in Piraeus?", "Some forty euros a night for ten metres."),
    "bread": ("My dough does not rise.", "Warm water wakes the yeast."),
    "tax": ("When is the declaration due?", "By the end of July."),
    "trains": ("How do I get to Lyon?", "Change at Basel."),
    "garden": ("My roses have black spots.", "Cut off the leaves and burn them."),
    "chess": ("Is the Sicilian sharp?", "As sharp as it gets."),
}
ILL = "the doctor found hepatitis in my blood"


@dataclass
class Life:
    """One person's turns. `carried`: what stands in the context of the next one."""

    store: Store
    carried: list[int] = field(default_factory=list[int])
    claims: list[Claim] = field(default_factory=list[Claim])

    async def told(
        self, question: str, reply: str, conversation: str, *, of: Collection[int] | None = None, fact: str = ""
    ) -> tuple[int, int]:
        """A turn, with these messages in its context (None: all before it): the ids of its question and its reply.
        `fact`: what it remembers.
        """
        number = len(self.claims)
        asked = replace(said(question, conversation=conversation), time=START + timedelta(hours=number))
        await self.store.ledger.accept(asked)
        claim = await claimed(self.store)
        if fact:
            new = NewFact("", f"{conversation} {number}", fact, "user", START, HERE, person="ann")
            assert isinstance(await self.store.facts.write(replace(new, source_message=claim.message)), Written)
        context = tuple(self.carried if of is None else of)
        await self.store.ledger.finish(claim, Closing(Outcome.ANSWERED, reply, context_messages=context), asked.time)
        whole = await self.store.conversations.history(conversation, before_turn=10**6, limit=99)
        ids = claim.message, next(one.id for one in reversed(whole) if one.text == reply)
        self.carried += ids
        self.claims.append(claim)
        return ids

    async def texts(self, conversation: str) -> list[str]:
        whole = await self.store.conversations.history(conversation, before_turn=10**6, limit=99)
        return [one.text for one in whole]

    async def deletion(self, number: int) -> Deleted:
        incoming = self.claims[number].incoming
        return Deleted(incoming.source, incoming.channel, frozenset({incoming.message_id or ""}))


async def topics(life: Life) -> None:
    for conversation, (question, answer) in TOPICS.items():
        await life.told(question, STOCK.format(answer), conversation)


def thread(conversation: str) -> OneThread:
    return OneThread("ann", frozenset({conversation}))


@pytest.mark.parametrize(("forgotten", "deleted"), one_in(2, TOPICS, [False, True]))
async def test_answers_that_greet_and_close_alike_do_not_fall_with_one_another(
    either: Store, forgotten: str, deleted: bool
) -> None:
    life = Life(either)
    await topics(life)
    at = list(TOPICS).index(forgotten)
    plan: ForgettingPlan = await life.deletion(at) if deleted else thread(forgotten)
    if not deleted:
        assert (await either.forgetting.preview(thread(forgotten))).repetitions.count == 0
    assert proved(await either.forgetting.forget(plan, START))
    left = {conversation: await life.texts(conversation) for conversation in TOPICS if conversation != forgotten}
    assert left == {one: [TOPICS[one][0], STOCK.format(TOPICS[one][1])] for one in left}
    assert await life.texts(forgotten) == []


async def test_a_newcomers_second_answer_does_not_fall_by_the_footer_of_the_first(either: Store) -> None:
    life = Life(either)
    await life.told("What is a yawl?", f"You wrote: “What is a yawl?” {NOTICE}", "boats")
    await life.told("Is bread vegan?", f"You wrote: “Is bread vegan?” {NOTICE}", "bread")
    preview = await either.forgetting.preview(thread("boats"))
    assert (preview.repetitions.count, preview.related.count) == (0, 1)
    receipt = await either.forgetting.forget(thread("boats"), START)
    assert (proved(receipt), receipt.related) == (True, 1)
    assert len(await life.texts("bread")) == 2


async def test_what_is_uncertain_can_be_kept_or_forgotten_with_the_thread(either: Store) -> None:
    for related in (False, True):
        life = Life(either)
        await life.told("What is a yawl?", f"A boat. {NOTICE}", "boats")
        await life.told("Is bread vegan?", f"Mostly. {NOTICE}", "bread")
        await either.forgetting.forget(thread("boats"), START, related=related)
        assert len(await life.texts("bread")) == (1 if related else 2)
        await either.forgetting.forget(thread("bread"), START)


@pytest.mark.parametrize("deleted", [False, True])
async def test_what_quotes_the_person_falls_however_many_answers_close_alike(either: Store, deleted: bool) -> None:
    life = Life(either)
    await topics(life)
    await life.told(ILL, STOCK.format("I am sorry to hear that."), "health")
    at = len(life.claims) - 1
    await life.told("May I drink?", STOCK.format("Not while the doctor found hepatitis in your blood."), "bar")
    await life.told("And wine?", STOCK.format("No: hepatitis forbids it."), "cellar")
    await either.forgetting.forget(await life.deletion(at) if deleted else thread("health"), START)
    assert (await life.texts("bar"), await life.texts("cellar")) == (["May I drink?"], ["And wine?"])
    assert len(await life.texts("bread")) == 2


async def test_what_quotes_the_bots_own_words_falls_where_enough_was_said_to_know_that_they_are_rare(
    either: Store,
) -> None:
    life = Life(either)
    for number in range(20):
        await life.told(f"Tell me number {number}.", STOCK.format(f"It is {number}."), f"number {number}", of=())
    told = "The ferry Panagia leaves from gate E7 at dawn."
    _, reply = await life.told("How do I get away?", STOCK.format(told), "away")
    await life.told("Where was that?", STOCK.format(f"As I said: {told}"), "again", of=(reply,))
    await life.told("Is it far?", STOCK.format("A mile."), "far", of=(reply,))
    assert (await either.forgetting.preview(thread("away"))).repetitions.count == 1
    await either.forgetting.forget(thread("away"), START)
    assert (await life.texts("again"), len(await life.texts("far"))) == (["Where was that?"], 2)


@pytest.mark.parametrize("deleted", [False, True])
async def test_what_quotes_the_bots_own_words_early_on_is_shown_or_falls(either: Store, deleted: bool) -> None:
    """Nobody knows yet how the bot talks. Of what is deleted in the platform nobody is asked."""
    life = Life(either)
    told = "The ferry Panagia leaves from gate E7 at dawn."
    await life.told("How do I get away?", told, "away")
    await life.told("Where was that?", f"As I said: {told}", "again")
    if deleted:
        await either.forgetting.forget(await life.deletion(0), START)
        assert await life.texts("again") == ["Where was that?"]
    else:
        assert (await either.forgetting.preview(thread("away"))).related.lines == (f"As I said: {told}",)


async def test_what_the_question_itself_quotes_proves_nothing(either: Store) -> None:
    life = Life(either)
    pasted = "the mooring in Piraeus costs forty euros a night"
    await life.told(f"Note this: {pasted}", "Noted.", "boats")
    await life.told(f"Translate: {pasted}", f"You wrote: {pasted}", "words")
    assert (await either.forgetting.preview(thread("boats"))).repetitions.count == 0


async def test_one_deleted_answer_leaves_those_below_it_that_close_alike(either: Store) -> None:
    life = Life(either)
    for question, answer in TOPICS.values():
        await life.told(question, STOCK.format(answer), "dm")
    await either.forgetting.forget(OneReply(life.claims[0].turn), START)
    assert len(await life.texts("dm")) == 2 * len(TOPICS) - 1


async def test_a_fact_does_not_fall_by_words_that_all_answers_have(either: Store) -> None:
    life = Life(either)
    await topics(life)
    await life.told("remember it", STOCK.format("Kept."), "kept", fact="a question that Ann may need")
    await either.forgetting.forget(thread("boats"), START)
    known = await either.knowledge.for_turn(
        said("and?", conversation="kept"), frozenset({HERE}), before_turn=10**6, messages=9, actions=9
    )
    assert [one.value for one in known.facts] == ["a question that Ann may need"]


async def test_an_entry_of_the_profile_stays_if_its_own_source_says_what_it_quotes(either: Store) -> None:
    life = Life(either)
    await life.told("I want short recommendations", "Fine.", "boats")
    asked, _ = await life.told("Give recommendations in French", "Oui.", "words")
    lone, _ = await life.told("Bonjour", "Oui.", "other")
    partition = Partition("ann", HERE)
    insights = [
        Insight(ProfileField.PREFERENCES, "recommendations in French", (asked,), START, "language"),
        Insight(ProfileField.PREFERENCES, "recommendations be short", (lone,), START, "length"),
    ]
    profile = learned(await either.profiles.get(partition), HERE, insights, 1, START)
    assert await either.profiles.save(partition, profile, [])
    await either.forgetting.forget(thread("boats"), START)
    left = [one.text for one in (await either.profiles.get(partition)).entries]
    assert left == ["recommendations in French"], "the other one quotes what is gone, and its source does not say it"
