"""Two dialects for a service that may not support the first."""

from agent.messages import Message, Role
from agent.ports.model import CallOptions
from agent.providers.dialect import Dialect, FallbackDialect
from agent.providers.faults import Fault, FaultKind
from agent.providers.wire_chat import ChatDialect
from agent.providers.wire_responses import ResponsesDialect

QUESTION = (Message(Role.USER, "Hello?"),)
FIRST, SECOND = ResponsesDialect("gpt-6.1-terra"), ChatDialect("gpt-6.1-terra")


def path(dialect: Dialect) -> str:
    return dialect.request(QUESTION, CallOptions()).path


def fault(status: int, message: str = "", param: str = "") -> Fault:
    return Fault(FaultKind.ANSWERED, status, param=param, message=message)


def test_the_first_is_spoken_until_the_service_does_not_have_it() -> None:
    either = FallbackDialect(FIRST, SECOND)
    assert path(either) == path(FIRST)
    for status in (404, 405, 501):
        simpler = either.without(fault(status, "no such route"))
        assert simpler == SECOND


def test_a_model_that_is_unknown_is_no_reason_to_speak_otherwise() -> None:
    assert FallbackDialect(FIRST, SECOND).without(fault(404, "The model does not exist.")) is None


def test_a_field_that_the_service_refuses_is_left_out_as_before() -> None:
    simpler = FallbackDialect(FIRST, SECOND).without(fault(400, "Unknown parameter", param="prompt_cache_key"))
    assert isinstance(simpler, FallbackDialect)
    assert b"prompt_cache_key" not in simpler.request(QUESTION, CallOptions(cache_key="k")).body
    assert FallbackDialect(FIRST, SECOND).without(fault(500)) is None
