"""The vendor's own types as a judge of frames: what we send, and what our fakes send.

Above: tests of the Responses protocol, `tests.fakes.openai_service`. Below: the official SDK's types and pydantic.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from openai.types.responses.response_stream_event import ResponseStreamEvent
from openai.types.responses.responses_client_event_param import ResponsesClientEventParam
from openai.types.responses.responses_server_event import ResponsesServerEvent
from pydantic import TypeAdapter

_BODY: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsStreaming)
_FRAME: TypeAdapter[Any] = TypeAdapter(ResponsesClientEventParam)
_EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
_WS_EVENT: TypeAdapter[Any] = TypeAdapter(ResponsesServerEvent)


def check_sent(sent: Mapping[str, object]) -> None:
    """Raises unless this is a body for HTTP, or a frame for WebSocket, without a field that the types do not have."""
    adapter = _FRAME if sent.get("type") == "response.create" else _BODY
    assert _consumed(adapter.validate_python(sent)) == sent


def check_event(event: Mapping[str, object], *, websocket: bool = False) -> None:
    """Raises unless the service may send this."""
    (_WS_EVENT if websocket else _EVENT).validate_python(event)


def _consumed(value: object) -> object:
    """Pydantic checks an Iterable only while it is read."""
    if isinstance(value, dict):
        return {key: _consumed(inner) for key, inner in cast("dict[str, object]", value).items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [_consumed(inner) for inner in cast("Iterable[object]", value)]
