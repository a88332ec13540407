"""What its asker reads of an answer: only what they may be shown now."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from agent.errors import Refused
from agent.explanations import Grounds, UsedDocument, UsedFact, UsedMessage, UsedModel, UsedTool
from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.memory.audience import label as label_of
from agent.ports.tools import Asker
from agent.shown_replies import Answered
from bot.explanations import texts
from bot.explanations.service import LISTED, ExplanationService, explained

DAY = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
OWN, CLUB, TEAM = "person:ann", "group:club", "team:T1"
NOW = frozenset({OWN, TEAM})  # Ann has left the club
ANN, BOB = Person("ann", "Ann"), Person("bob", "Bob")


def fact(text: str, audience: str = OWN, person: str = "ann", *, is_valid: bool = True) -> UsedFact:
    return UsedFact(text, audience, person, DAY, "https://example.test/1", is_valid=is_valid)


def message(text: str, audience: str = OWN, person: str = "ann", *, given: bool = True, drawn: str = "") -> UsedMessage:
    return UsedMessage(text, audience, person, "thread", DAY, drawn, given=given, by_bot=False)


def test_facts_have_their_day_and_link_and_say_if_they_were_replaced() -> None:
    told = explained(Grounds(facts=[fact("likes tea"), fact("likes *rum*", is_valid=False)]), NOW, "ann")
    assert "- likes tea ([2026-01-05](https://example.test/1))" in told
    assert r"likes \*rum\*" in told
    assert texts.REPLACED in told


def test_what_a_place_says_that_they_cannot_read_now_is_only_counted() -> None:
    grounds = Grounds(
        facts=[fact("secret fact", CLUB), fact("of somebody else", TEAM, person="bob")],
        messages=[message("secret message", CLUB), message("mixed", drawn=CLUB)],
        documents=[UsedDocument("secret.pdf", CLUB, "", DAY)],
    )
    told = explained(grounds, NOW, "ann")
    assert not any(word in told for word in ("secret", "somebody", "mixed"))
    assert "5 entries from places that you cannot read are not shown." in told
    assert "secret fact" in explained(grounds, NOW | {CLUB}, "ann")


def test_of_other_peoples_messages_no_words_are_shown() -> None:
    told = explained(Grounds(messages=[message("from Bob", TEAM, "bob"), message("from Ann", given=False)]), NOW, "ann")
    assert "from Bob" not in told
    assert texts.MESSAGE_OF_OTHERS.format(source="2026-01-05") in told
    assert "from Ann" in told.partition(texts.BEHIND)[2]


def test_tools_accounts_models_and_costs_are_named() -> None:
    grounds = Grounds(
        tools=[
            UsedTool("wiki.search", "success", "unasked", "asker"),
            UsedTool("git.read", "failure", "unasked", "operator"),
            UsedTool("recall", "begun", "unasked", ""),
        ],
        models=[UsedModel("small", 1, 250_000_000), UsedModel("large", 2, None)],
        asked_model="huge",
    )
    told = explained(grounds, NOW, "ann")
    assert "`small` (1 call, $0.2500), `large` (2 calls)" in told
    assert texts.FALLBACK.format(asked="huge") in told
    for line in ("`wiki.search`: worked, with your account", "`git.read`: failed, with my operator's account"):
        assert line in told
    assert "`recall`: outcome unknown" in told


def test_long_lists_are_cut_with_the_newest_first() -> None:
    told = explained(
        Grounds(facts=[fact(f"fact {number}") for number in range(LISTED + 3)], gone=1, here=2), NOW, "ann"
    )
    assert told.index(f"fact {LISTED + 2}") < told.index("fact 3")
    assert "fact 2 " not in told
    assert "- and 3 more" in told
    assert texts.GONE.format(count="1 entry", have="has") in told
    assert texts.HERE.format(count="2 earlier messages") in told


def test_an_answer_from_its_conversation_alone_says_so() -> None:
    assert texts.ONLY_HERE in explained(Grounds(models=[UsedModel("small", 1, 0)]), NOW, "ann")


@dataclass
class Store:
    """One answer to Ann."""

    reply_shown: Answered = field(
        default_factory=lambda: Answered(7, "slack:T1", "thread", "C1", "1", "ann", "boat?", TEAM, ("page",))
    )

    async def grounds(self, turn: int) -> Grounds | None:
        return Grounds(facts=[fact("likes tea")]) if turn == self.reply_shown.turn else None

    async def reply(self, turn: int) -> Answered | None:
        return self.reply_shown if turn == self.reply_shown.turn else None

    async def newest(self, person: str, channel: str) -> Answered | None:
        return self.reply_shown if (person, channel) == ("ann", "C1") else None


def asker(person: Person, channel: str = "C1") -> Asker:
    return Asker(person, Place(PersonAudience(person.id)), channel)


async def asked(person: Person, words: str, channel: str = "C1") -> str:
    async def audiences(place: Place) -> frozenset[str]:
        return frozenset({label_of(place.audience)})

    service = ExplanationService(Store(), audiences)
    return (await service.answer(asker(person, channel), asker(person), words)).text


@pytest.mark.parametrize("words", ["", "7"])
async def test_the_asker_reads_it(words: str) -> None:
    assert "likes tea" in await asked(ANN, words)


@pytest.mark.parametrize(
    ("person", "words", "channel", "why"),
    [
        (BOB, "7", "C1", texts.WHY_NOT_YOURS),
        (BOB, "", "C1", texts.NO_ANSWER),
        (ANN, "", "C2", texts.NO_ANSWER),
        (ANN, "8", "C1", texts.NO_ANSWER),
        (ANN, "of this", "C1", texts.WHICH_ANSWER),
        (ANN, "9" * 40, "C1", texts.WHICH_ANSWER),
    ],
)
async def test_nobody_else_reads_it_and_other_words_are_explained(
    person: Person, words: str, channel: str, why: str
) -> None:
    with pytest.raises(Refused) as refused:
        await asked(person, words, channel)
    assert str(refused.value) == why
