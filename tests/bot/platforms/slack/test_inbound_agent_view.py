"""Parsing of agent events, in the shapes that Slack documents."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.slack.inbound import (
    MAX_ENTITIES,
    AgentOpened,
    Entity,
    EntityKind,
    LookedAt,
    SessionRenamed,
    SessionStopped,
    entities_in,
    read_agent_event,
)
from tests.fakes.slack_things import Object

ENTITIES = [
    {"type": "slack#/types/message_context", "value": {"channel_id": "C1", "message_ts": "1700000000.000100"}},
    {"type": "slack#/types/channel_id", "value": "C1", "team_id": "T1"},
    {"type": "slack#/types/canvas_id", "value": "F1"},
    {"type": "slack#/types/list_id", "value": "F2"},
]
SEEN = (
    Entity(EntityKind.MESSAGE, "C1", "1700000000.000100"),
    Entity(EntityKind.CHANNEL, "C1"),
    Entity(EntityKind.CANVAS, "F1"),
    Entity(EntityKind.LIST, "F2"),
)


def envelope(**event: Any) -> dict[str, Any]:
    return {"type": "event_callback", "event_id": "Ev1", "team_id": "T1", "event": event}


def test_opening_the_messages_tab_comes_with_what_the_person_looks_at() -> None:
    event = {"type": "app_home_opened", "user": "U1", "channel": "D1", "tab": "messages"}
    assert read_agent_event(envelope(**event)) == AgentOpened("U1", "D1", "messages", None)
    assert read_agent_event(envelope(**event, context={})) == AgentOpened("U1", "D1", "messages", ())
    assert read_agent_event(envelope(**event, context={"entities": ENTITIES})) == AgentOpened(
        "U1", "D1", "messages", SEEN
    )


@pytest.mark.parametrize(
    "who",
    [
        {"event": {"user": "U1"}},
        {"authorizations": [{"user_id": "UBOT", "is_bot": True}, {"user_id": "U1", "is_bot": False}]},
    ],
)
def test_whose_view_has_changed_is_named_in_the_event_or_beside_it(who: dict[str, Any]) -> None:
    body = envelope(type="app_context_changed", context={"entities": ENTITIES[1:2]}, **who.get("event", {}))
    assert read_agent_event(body | {key: value for key, value in who.items() if key != "event"}) == LookedAt(
        "U1", SEEN[1:2]
    )


def test_a_view_of_nobody_is_no_event() -> None:
    assert read_agent_event(envelope(type="app_context_changed", context={"entities": ENTITIES})) is None


def test_a_view_of_nothing_that_has_a_name_is_empty() -> None:
    assert read_agent_event(envelope(type="app_context_changed", user="U1", context={})) == LookedAt("U1", ())


def test_a_stop_names_its_thread() -> None:
    event = {"type": "agent_session_stopped", "channel": "D1", "user": "U1", "thread_ts": "1.1"}
    assert read_agent_event(envelope(**event, streaming_message_ts=["2.1"])) == SessionStopped("D1", "1.1", "U1")


def test_a_title_that_a_person_gave_names_its_thread() -> None:
    event = {"type": "agent_session_title_changed", "channel": "D1", "user": "U1", "thread_ts": "1.1", "title": "Boats"}
    assert read_agent_event(envelope(**event)) == SessionRenamed("D1", "1.1", "U1")


@pytest.mark.parametrize(
    "entity",
    [
        {"type": "slack#/types/thread_ts", "value": "1700000000.000100"},
        {"type": "slack#/types/channel_id", "value": "<!channel>"},
        {"type": "slack#/types/channel_id", "value": {"id": "C1"}},
        {"type": "slack#/types/message_context", "value": {"channel_id": "C1"}},
        {"type": "slack#/types/message_context", "value": None},
        {},
    ],
)
def test_what_cannot_be_named_is_left_out(entity: dict[str, Any]) -> None:
    event: Object = {"app_context": {"entities": [entity, ENTITIES[2]]}}
    assert entities_in(event, "app_context") == (Entity(EntityKind.CANVAS, "F1"),)


def test_of_many_things_those_that_come_first_are_kept() -> None:
    entities = [{"type": "slack#/types/channel_id", "value": f"C{number}"} for number in range(20)]
    event: Object = {"context": {"entities": entities}}
    assert entities_in(event, "context") == tuple(
        Entity(EntityKind.CHANNEL, f"C{number}") for number in range(MAX_ENTITIES)
    )


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["entities", "type", "value", "channel_id", "message_ts"]), inner)
    ),
    max_leaves=6,
)
_types = st.sampled_from(
    ["app_home_opened", "app_context_changed", "agent_session_stopped", "agent_session_title_changed"]
)


@given(
    _types,
    st.dictionaries(st.sampled_from(["user", "channel", "tab", "context", "thread_ts", "authorizations"]), _json),
)
def test_no_event_is_too_strange_to_be_read(kind: str, fields: dict[str, Any]) -> None:
    read_agent_event({"event": {**fields, "type": kind}, "authorizations": fields.get("authorizations")})
