"""Validates frames by the vendor's own types: what we send, and what our fakes send."""

from collections.abc import Mapping

from tests.fakes.vendor_types import fits, parses

RESPONSES = "openai.types.responses"


def check_sent(sent: Mapping[str, object]) -> None:
    """Raise unless this is a body for HTTP, or a frame for WebSocket, without fields that the types do not have."""
    if sent.get("type") == "response.create":
        assert fits(f"{RESPONSES}.responses_client_event_param:ResponsesClientEventParam", sent)
    else:
        assert fits(f"{RESPONSES}.response_create_params:ResponseCreateParamsStreaming", sent)


def check_event(event: Mapping[str, object], *, websocket: bool = False) -> None:
    """Raise unless the service may send this."""
    if websocket:
        parses(f"{RESPONSES}.responses_server_event:ResponsesServerEvent", event)
    else:
        parses(f"{RESPONSES}.response_stream_event:ResponseStreamEvent", event)
