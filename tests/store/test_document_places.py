"""Where an operator's documents belong, by the id of a place, and which version of a file is stored."""

from dataclasses import replace

from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.memory.documents import DocumentPlace, NewDocument, Passage
from store.engine import Store
from store.subject_access import data_subjects_in
from tests.contracts.steps import answered
from tests.fakes.incoming import START, said

TEAM = TeamAudience("slack:T1")
PUBLIC = Place(TEAM, within_team="slack:T1")
CLOSED = Place(GroupAudience("slack:T1:C1"), whole_channel=True)
ANN = "slack:T1:U1"


async def wrote(store: Store, number: int, place: Place | None, channel: str, source: str = "slack:T1") -> None:
    one = said("hello", person=ANN, conversation=f"{source}:{channel}:1.{number}", number=number)
    await answered(store, replace(one, source=source, channel=channel, place=place or one.place), "hi")


async def at(store: Store, id_: str) -> DocumentPlace | None:
    return await (await data_subjects_in(store)).document_place(id_)


async def test_a_channels_readers_are_those_of_its_newest_message(either: Store) -> None:
    await wrote(either, 1, CLOSED, "C1")
    assert await at(either, "slack:T1:C1") == DocumentPlace(CLOSED.audience, "slack:T1", "C1")
    await wrote(either, 2, PUBLIC, "C1")
    await wrote(either, 3, None, "C1")  # an answer that one person alone sees says nothing of who reads the channel
    assert await at(either, "slack:T1:C1") == DocumentPlace(TEAM, "slack:T1", "C1")


async def test_a_private_thread_of_a_channel_does_not_stand_for_it(either: Store) -> None:
    await wrote(either, 1, Place(GroupAudience("discord:88")), "77", "discord")
    assert await at(either, "discord:77") is None
    await wrote(either, 2, Place(TeamAudience("discord:9")), "77", "discord")
    await wrote(either, 3, Place(GroupAudience("discord:88")), "77", "discord")
    assert await at(either, "discord:77") == DocumentPlace(TeamAudience("discord:9"), "discord", "77")


async def test_a_workspace_a_server_and_a_person_have_no_channel(either: Store) -> None:
    await wrote(either, 1, CLOSED, "C1")
    await wrote(either, 2, None, "D1")
    await wrote(either, 3, Place(TeamAudience("discord:9")), "77", "discord")
    assert await at(either, "slack:T1") == DocumentPlace(TEAM, "slack:T1", "")
    assert await at(either, "discord:9") == DocumentPlace(TeamAudience("discord:9"), "discord", "")
    assert await at(either, ANN) == DocumentPlace(PersonAudience(ANN), "slack:T1", "")


async def test_what_is_unknown_or_a_thread_has_no_place(either: Store) -> None:
    await wrote(either, 1, PUBLIC, "C1")
    for id_ in ("", ":", "slack", "slack:T2", "slack:T1:C2", "slack:T1:C1:1.1", "slack:T1:U2", "slack:T1:"):
        assert await at(either, id_) is None


async def test_the_digest_of_a_file_is_stored_with_its_document(either: Store) -> None:
    new = NewDocument("a.md", label(TEAM), "slack:T1", "C1", "", START, [Passage("words")], file_digest="d1")
    for name, digest in (("a.md", "d1"), ("b.md", ""), ("a.md", "d2")):
        assert await either.documents.keep(replace(new, name=name, file_digest=digest)) is None
    found = await either.documents.listed(frozenset({label(TEAM)}))
    assert [(one.name, one.file_digest, one.by) for one in found] == [("b.md", "", ""), ("a.md", "d2", "")]
