"""What is cached for one person, place or workspace is never given to another, unless it is the same for both."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import Rate, Whose
from agent.incoming import Person
from agent.memory.audience import GroupAudience, PersonAudience, Place
from agent.ports.tools import Asker
from bot.channels.ambient import RecentTalk
from bot.chat.access.admission import NoticeThrottle, RateCounter
from bot.chat.access.place_rules import name_at, place_owner
from bot.chat.access.readers import Readers
from bot.handoff.ask_a_human import HandoffTools
from bot.handoff.people import HandoffPeople
from store.turns.ledger import ChannelLabels
from tests.fakes.approver_platform import FakeApproverPlatform
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import START, said
from tests.fakes.one_turn import Echo
from tests.fakes.store import store_in_memory

ROOT: Final = Path(__file__).parents[1]
_CACHE: Final = re.compile(r"(\w+)(?:: \"?| = )(?:LRUCache|TTLCache|TLRUCache|ExpiringCache)\[|(\w+) = RecentKeys\(\)")

# Every cache, and why no two people, places or workspaces share an entry. A new one is added with its reason, and, if
# its key is made of several ids, to the properties below.
SHARED: Final[Mapping[str, str]] = {
    "agent/toolbox/registry.py _known": "by the tools themselves, which say nothing of anybody",
    "bot/api/asking.py _people": "by the person",
    "bot/api/mcp_server/client_documents.py _failed": "public documents, which are the same for everybody",
    "bot/api/mcp_server/client_documents.py _known": "public documents, which are the same for everybody",
    "bot/budgets/budgets.py _apps": "by the workspace",
    "bot/budgets/budgets.py _connected": "by the person",
    "bot/connect/service.py _present": "by the account",
    "bot/channels/ambient.py _messages": "by source and channel",
    "bot/chat/access/admission.py _counted": "by the rate, and the person or the channel of their workspace",
    "bot/chat/access/admission.py _shown": "by the person",
    "bot/chat/access/readers.py _known": "by the person and the place",
    "bot/chat/backoff.py _lines": "counts, by the cause of a failure",
    "bot/chat/backoff.py _pauses": "pauses, by the cause of a failure",
    "bot/chat/caches.py _known": "the cache that others are made of",
    "bot/handoff/ask_a_human.py _places": "by source and channel",
    "bot/operators/pages/frame.py _buckets": "by the client",
    "bot/platforms/discord/asking.py _asked_last": "by the channel and the person, whose ids are Discord's",
    "bot/platforms/discord/asking.py _contexts": "by the window, which names its person",
    "bot/platforms/discord/commands.py _invalid_input": "by the button, which names its person",
    "bot/platforms/discord/connection.py _expected": "ids of messages, which are Discord's",
    "bot/platforms/discord/connection.py _recent_gates": "the order of writes, by the channel",
    "bot/platforms/discord/connection.py _signed": "ids of messages, which are Discord's",
    "bot/platforms/discord/members.py _known": "by the person",
    "bot/platforms/discord/shards.py _other_guilds": "by the server",
    "bot/platforms/play/run.py _used_commands": "by the command, on a page for one",
    "bot/platforms/slack/event_places.py _channels": "by the channel, in one workspace",
    "bot/platforms/slack/agent_view.py _offered": "by the person, for one workspace",
    "bot/platforms/slack/agent_view.py _viewed": "by the person, for one workspace",
    "bot/platforms/slack/feature_support.py _suspended_until": "by the method and the channel, for one workspace",
    "bot/platforms/slack/home.py _recently_opened": "by the person, for one workspace",
    "bot/platforms/slack/occurrences.py _channels": "by the channel, for one workspace",
    "bot/schedules/work.py _allowed": "by the event of the work",
    "bot/tools/accounts/sign_in.py _requests": "by the person",
    "bot/tools/mcp/transport.py _passed": "times of notices, of one connection",
    "bot/web/fetch_tool.py cache": "public pages, which are the same for everybody",
    "bot/budgets/budgets.py _recent": "the account: see `BudgetAccount`",
    "bot/budgets/budgets.py _told": "the account, and the day: see `BudgetAccount`",
    "bot/web/fetching.py _robots": "what a site asks of robots, which is the same for everybody",
    "store/turns/ledger.py _labels": "by source and channel",
}

SOURCES: Final = ("slack:T1", "slack:T2")
CHANNELS: Final = ("C1", "C2")
_SOMEWHERE: Final = st.tuples(st.sampled_from(SOURCES), st.sampled_from(CHANNELS), st.sampled_from(("U1", "U2")))
_TWO: Final = st.tuples(_SOMEWHERE, _SOMEWHERE)


def test_each_cache_says_why_nobody_shares_an_entry() -> None:
    found = {
        f"{path.relative_to(ROOT)} {match[1] or match[2]}"
        for folder in ("agent", "bot", "store")
        for path in (ROOT / folder).rglob("*.py")
        for match in _CACHE.finditer(path.read_text())
    }
    assert found == SHARED.keys()


@given(_TWO)
async def test_a_rate_counts_for_one_person_and_for_a_channel_of_one_workspace(
    two: tuple[tuple[str, str, str], tuple[str, str, str]],
) -> None:
    (source, channel, user), (other_source, other_channel, other_user) = two
    for whose, same in (
        (Whose.PERSON, (source, user) == (other_source, other_user)),
        (Whose.CHANNEL, (source, channel) == (other_source, other_channel)),
    ):
        counter = RateCounter((Rate(whose, 1, timedelta(minutes=1)),))
        assert await counter.obstacle(f"{source}:{user}", channel, START) is None
        reached = await counter.obstacle(f"{other_source}:{other_user}", other_channel, START)
        assert (reached is not None) == same


@given(_TWO)
def test_a_notice_is_left_out_for_who_has_read_it_alone(
    two: tuple[tuple[str, str, str], tuple[str, str, str]],
) -> None:
    (source, _, user), (other_source, _, other_user) = two
    throttle = NoticeThrottle(FakeClock())
    assert not throttle.was_shown(f"{source}:{user}", "access")
    same = (source, user) == (other_source, other_user)
    assert throttle.was_shown(f"{other_source}:{other_user}", "access") == same


@given(_TWO)
def test_what_was_heard_and_how_a_channel_is_closed_are_known_of_the_channel_of_one_workspace(
    two: tuple[tuple[str, str, str], tuple[str, str, str]],
) -> None:
    (source, channel, user), (other_source, other_channel, _) = two
    same = (source, channel) == (other_source, other_channel)
    talk, labels = RecentTalk(), ChannelLabels()
    talk.record(source, channel, f"{source}:{user}", "1", START)
    assert talk.is_last(other_source, other_channel, "1") == same
    talk.forget(other_source, other_channel, "1")
    assert talk.is_last(source, channel, "1") != same
    closed = Place(GroupAudience(channel), whole_channel=True)  # a label that does not name the workspace
    labels.keep(replace(said("hello", place=closed), source=source, channel=channel))
    heard = replace(said("hello", place=closed), source=other_source, channel=other_channel)
    assert labels.may_have_changed(heard) != same


@given(_TWO)
async def test_who_reads_a_place_is_known_of_one_person_and_one_place(
    two: tuple[tuple[str, str, str], tuple[str, str, str]],
) -> None:
    (source, channel, user), (other_source, other_channel, other_user) = two
    asked = list[tuple[str, str]]()

    class Platform:
        async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
            asked.extend((person, place) for place in places)
            return {place: (person, place) == (f"{source}:{user}", f"{source}:{channel}") for place in places}

    wrote = {f"{source}:{user}": {f"{source}:{channel}"}}
    other = f"{other_source}:{other_user}"
    wrote[other] = wrote.get(other, set()) | {f"{other_source}:{other_channel}"}

    async def written_in(person: str, _: int) -> list[str]:
        return sorted(wrote[person])

    readers = Readers(written_in, FakeClock(), dict.fromkeys(SOURCES, Platform()))
    first = await readers.also_readable(Place(PersonAudience(f"{source}:{user}")))
    assert f"group:{source}:{channel}" in first
    for _ in range(2):
        for person in wrote:
            found = await readers.also_readable(Place(PersonAudience(person)))
            assert found == ({f"group:{source}:{channel}"} if person == f"{source}:{user}" else set())
    assert len(asked) == len(set(asked)), "each was asked about once"


@given(_TWO)
async def test_where_people_take_over_is_known_of_one_channel_of_one_workspace(
    two: tuple[tuple[str, str, str], tuple[str, str, str]],
) -> None:
    (source, channel, user), (other_source, other_channel, other_user) = two
    store, platform = store_in_memory(), FakeApproverPlatform({})
    people = HandoffPeople(store.preferences, store.approvals, dict.fromkeys(SOURCES, platform))
    tools = HandoffTools(people, (Echo(),))
    await store.preferences.set(place_owner(channel), name_at(source), '{"human": "managers"}')
    for at, where, who in ((source, channel, user), (other_source, other_channel, other_user)):
        asker = Asker(Person(f"{at}:{who}", who), Place(GroupAudience(where)), where)
        await tools.look_up(asker)
        assert bool(tools.tools(asker)) == ((at, where) == (source, channel))
