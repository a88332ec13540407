"""What the turns of each door cost."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from agent.doors import Door, door_of
from agent.messages import ModelCall, Usage
from agent.spending import By, SpendingPeriod
from store import model_calls
from store.engine import Store
from tests.fakes.incoming import START
from tests.fakes.store import store_in_memory

CALLS = [
    ("slack:T1:U1", "C1", ""),
    ("discord:7", "api%7", ""),
    ("slack:T1:U1", "api-7", Door.API),
    ("discord:api-9", "C1", Door.API),
    ("slack:T1:U1", "mcp-7", Door.MCP),
    ("slack:T1:U1", "mcp", Door.MCP),
    ("slack:T1:webhook-alerts", "C1", Door.WEBHOOK),
    ("discord:webhook-api-7", "C1", Door.WEBHOOK),
]
TODAY = SpendingPeriod.days_until(START, 1)


async def _record(store: Store, person: str, channel: str) -> None:
    call = ModelCall("m", Usage(output=1))
    await store.database.write(
        lambda c: model_calls.record(c, [call], turn=None, person=person, channel=channel, now=START)
    )


async def _counts(store: Store) -> dict[str, int]:
    return {total.key: total.spent.calls for total in await store.spending.totals(TODAY, By.DOOR)}


async def test_each_call_is_counted_for_its_door(either: Store) -> None:
    for person, channel, door in CALLS:
        assert (door_of(person, channel) or "") == door
        await _record(either, person, channel)
    assert await _counts(either) == Counter(str(door) for _, _, door in CALLS)


NAMES = st.sampled_from(["U1", "api-7", "webhook-a", "mcp-7", "xapi-7", "7"])


@given(NAMES, st.sampled_from(["C1", "api-7", "mcp-7", "mcp", "mcpx", "webhook-a", ""]))
async def test_the_database_finds_the_same_door(name: str, channel: str) -> None:
    store = store_in_memory()
    await _record(store, f"slack:T1:{name}", channel)
    assert await _counts(store) == {str(door_of(f"slack:T1:{name}", channel) or ""): 1}
