"""Each known deviation of weak models ends in the right call, one correction or the answer, however it is cut."""

from collections.abc import Iterable

import pytest

from agent.events import CallsArrived, CallsRejected, ProtocolEvent, TextArrived
from agent.protocol.parser import Parser
from tests.agent.protocol.deviations import DEVIATIONS, TOOL_NAMES, Deviation


def read(pieces: Iterable[str]) -> list[ProtocolEvent]:
    parser = Parser(tool_names=TOOL_NAMES)
    events = [event for piece in pieces for event in parser.feed(piece)]
    return [*events, *parser.close()]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 4, 1_000_000])
def test_every_deviation_ends_well(size: int) -> None:
    for deviation in DEVIATIONS:
        assert_ends_well(deviation, size)


def assert_ends_well(deviation: Deviation, size: int) -> None:
    stream = deviation.stream
    events = read(stream[start : start + size] for start in range(0, len(stream), size))
    text = "".join(event.text for event in events if isinstance(event, TextArrived))
    calls = [event.calls for event in events if isinstance(event, CallsArrived)]
    reasons = [event.reason for event in events if isinstance(event, CallsRejected)]
    assert text == deviation.text, deviation.name
    assert calls == ([deviation.calls] if deviation.calls else []), deviation.name
    assert len(reasons) == bool(deviation.correction), deviation.name
    assert all(deviation.correction in reason for reason in reasons), deviation.name


def test_the_names_differ() -> None:
    assert len({deviation.name for deviation in DEVIATIONS}) == len(DEVIATIONS) >= 45
