"""Who adds documents."""

from dataclasses import replace

from agent.admission_terms import Authority
from agent.memory.audience import PersonAudience, Place
from bot.chat.panels import Panel
from bot.knowledge import texts as knowledge_texts
from tests.bot.knowledge.test_service_sharing import BOB, Channel


async def test_a_guest_adds_no_documents_of_their_own_because_they_would_not_find_them() -> None:
    service = Channel().service
    member = replace(BOB, place=Place(PersonAudience(BOB.person.id)), channel="")
    guest = replace(member, authority=Authority.GUEST)
    refused = Panel(knowledge_texts.NOT_FOR_GUESTS, refused=True)
    assert [service.may_learn(one) for one in (member, guest)] == [True, False]
    assert await service.teach(guest, "Guest wifi", "It is called Heron.") == refused
    assert await service.learn(guest, (), pages=["https://example.com/"]) == refused
