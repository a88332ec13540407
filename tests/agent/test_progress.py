"""Progress survives its stored form, whatever it holds."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import Outcome
from agent.messages import (
    Image,
    Json,
    Keep,
    ModelCall,
    NativeContent,
    ResultStatus,
    SharedFile,
    ToolCall,
    ToolResult,
    Usage,
)
from agent.progress import MAX_RECORDED_CHARS, NOT_KEPT, Progress, RoundStep, action_records, decode, encode
from agent.records import Waiting
from agent.state import Workspace

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(texts, json_values, max_size=3)
counts = st.integers(0, 10**9)
model_calls = st.builds(
    ModelCall, texts, st.builds(Usage, counts, counts, counts, counts, counts, counts, st.booleans())
)
calls = st.builds(ToolCall, texts, st.dictionaries(texts, json_values, max_size=3))
images = st.lists(st.builds(Image, texts, st.binary(max_size=9)), max_size=2).map(tuple)
files = st.lists(st.builds(SharedFile, texts, texts, st.binary(max_size=9)), max_size=2).map(tuple)
sources = st.lists(st.integers(0, 10**9), max_size=2).map(tuple)
results = st.none() | st.builds(
    ToolResult, texts, st.sampled_from(ResultStatus), texts, sources, images, files, texts, st.sampled_from(Keep)
)


@st.composite
def steps(draw: st.DrawFn) -> RoundStep:
    pairs = draw(st.lists(st.tuples(calls, results), max_size=3))
    return RoundStep(
        time=draw(st.none() | st.datetimes(timezones=st.just(UTC))),
        text=draw(texts),
        thought=draw(texts),
        workspace=draw(st.none() | st.builds(Workspace, texts, texts, texts, texts)),
        calls=tuple(call for call, _ in pairs),
        results=tuple(result for _, result in pairs),
        problem=draw(texts),
        reminded=draw(st.booleans()),
        bad=draw(st.booleans()),
        native=draw(st.none() | st.builds(NativeContent, texts, st.lists(objects, max_size=2).map(tuple))),
        joined=tuple(draw(st.lists(st.builds(Waiting, counts, counts, texts), max_size=2))),
    )


progresses = st.builds(
    Progress,
    st.lists(steps(), max_size=3).map(tuple),
    st.none() | texts,
    st.none() | st.sampled_from(Outcome),
    st.dictionaries(texts, texts, max_size=2),
    st.lists(model_calls, max_size=3).map(tuple),
)


@given(progresses)
def test_what_is_stored_reads_back_the_same(progress: Progress) -> None:
    assert decode(encode(progress)) == progress


def test_what_an_older_version_stored_is_read() -> None:
    assert decode('{"steps": [], "reply": "Hi", "outcome": "answered", "summary": {}}') == Progress(
        reply="Hi", outcome=Outcome.ANSWERED
    )


def test_nothing_stored_is_no_progress() -> None:
    assert decode("") == Progress()


@pytest.mark.parametrize("stored", ["{", "[]", "{}", '{"steps": [{}], "reply": null, "outcome": null, "summary": {}}'])
def test_anything_else_is_refused(stored: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(stored)


@given(progresses)
def test_an_action_record_holds_at_most_a_thousand_characters_of_each_result(progress: Progress) -> None:
    for record in action_records(progress):
        assert all(len(result.content) <= MAX_RECORDED_CHARS for result in record.results)


def test_iterations_of_action_records_count_from_one() -> None:
    noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    long = ToolResult("read", ResultStatus.SUCCESS, "x" * 5_000)
    step = RoundStep(time=noon, calls=(ToolCall("read", {}),), results=(long,))
    (first, second) = action_records(Progress((step, RoundStep(time=noon, text="Done."))))
    assert (first.iteration, second.iteration) == (1, 2)
    assert len(first.results[0].content) == MAX_RECORDED_CHARS


def test_of_what_may_not_be_kept_and_of_pictures_a_record_says_only_that_they_were_there() -> None:
    noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    picture, plot = Image("image/png", b"png"), SharedFile("plot.png", "image/png", b"png")
    private = ToolResult("search", ResultStatus.SUCCESS, "the plan", keep=Keep.TURN)
    pictured = ToolResult("plot", ResultStatus.SUCCESS, "a plot", images=(picture,), files=(plot,))
    step = RoundStep(noon, calls=(ToolCall("search", {}), ToolCall("plot", {})), results=(private, pictured))
    (record,) = action_records(Progress((step,)))
    assert [result.content for result in record.results] == [NOT_KEPT, "a plot"]
    assert not any(result.images or result.files for result in record.results)
