"""Progress survives its stored form, whatever it holds."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.addresses import addresses_read
from agent.charts import Chart, ChartKind
from agent.events import Outcome
from agent.memory.audience import HERE, NOWHERE, WIDE, GroupAudience, PersonAudience, Place, TeamAudience
from agent.messages import (
    CallTiming,
    Image,
    Json,
    Keep,
    ModelCall,
    NativeContent,
    Provenance,
    ResultStatus,
    SharedFile,
    ToolCall,
    ToolResult,
    Usage,
)
from agent.progress import (
    MAX_RECORDED_CHARS,
    NOT_KEPT,
    NOT_KEPT_HERE,
    InnerCall,
    Progress,
    RoundStep,
    action_records,
    calls_before,
    decode,
    encode,
    tool_documents,
    tool_sources,
    turn_drawn_from,
    whose_words,
)
from agent.state import Workspace
from agent.turn_records import Waiting
from store.json_columns import NamedInProgress

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(texts, json_values, max_size=3)
counts = st.integers(0, 10**9)
times = st.datetimes(timezones=st.just(UTC))
model_calls = st.builds(
    ModelCall,
    texts,
    st.builds(Usage, counts, counts, counts, counts, counts, counts, st.booleans()),
    st.none() | st.builds(CallTiming, times, counts, st.none() | counts),
)
calls = st.builds(ToolCall, texts, st.dictionaries(texts, json_values, max_size=3))
images = st.lists(st.builds(Image, texts, st.binary(max_size=9)), max_size=2).map(tuple)
files = st.lists(st.builds(SharedFile, texts, texts, st.binary(max_size=9)), max_size=2).map(tuple)
sources = st.lists(st.integers(0, 10**9), max_size=2).map(tuple)
known_results = st.builds(
    ToolResult,
    texts,
    st.sampled_from(ResultStatus),
    texts,
    sources,
    images,
    files,
    texts,
    st.sampled_from(Keep),
    words=st.sampled_from(Provenance),
    read=st.none() | st.lists(texts, max_size=2).map(tuple),
)
results = st.none() | known_results
inner_calls = st.builds(InnerCall, texts, calls, known_results.map(lambda result: replace(result, keep=Keep.STORED)))

CHART = Chart(ChartKind.BARS, "Sales", ("July", 2.5), {"North": (3.0, None)}, "Month")


@st.composite
def steps(draw: st.DrawFn) -> RoundStep:
    pairs = draw(st.lists(st.tuples(calls, results), max_size=3))
    return RoundStep(
        time=draw(st.none() | times),
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
        inner=tuple(draw(st.lists(inner_calls, max_size=2))),
    )


progresses = st.builds(
    Progress,
    st.lists(steps(), max_size=3).map(tuple),
    st.none() | texts,
    st.none() | st.sampled_from(Outcome),
    st.dictionaries(texts, texts, max_size=2),
    st.lists(model_calls, max_size=3).map(tuple),
)


def kept(progress: Progress) -> Progress:
    """Without what may not be kept."""
    return replace(
        progress,
        steps=tuple(
            replace(step, results=tuple(result and replace(result, keep=Keep.STORED) for result in step.results))
            for step in progress.steps
        ),
    )


@pytest.mark.slow
@given(progresses)
def test_what_is_stored_reads_back_the_same(progress: Progress) -> None:
    read = decode(encode(kept(progress)))
    assert read == kept(progress)
    assert [call.timing for call in read.calls] == [call.timing for call in progress.calls]


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


@pytest.mark.slow
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


def test_a_file_survives_with_the_chart_that_it_is_a_picture_of() -> None:
    files = (SharedFile("plot.png", "image/png", b"\x89", "Bars", CHART), SharedFile("a.csv", "text/csv", b"a"))
    result = ToolResult("chart", ResultStatus.SUCCESS, "drawn", files=files)
    step = RoundStep(datetime(2026, 1, 5, 12, tzinfo=UTC), calls=(ToolCall("chart", {}),), results=(result,))
    (again,) = decode(encode(Progress((step,)))).steps
    assert again.results == (result,)


PUBLIC, CLUB = Place(TeamAudience("t"), within_team="t"), Place(GroupAudience("club"), within_team="t")
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def brought(*results: ToolResult) -> Progress:
    """A turn with a step for each of these results, and its answer."""
    steps = tuple(
        RoundStep(NOON, "", result.content, calls=(ToolCall("look", {"for": result.content}),), results=(result,))
        for result in results
    )
    return Progress((*steps, RoundStep(NOON, "Done.")))


def result(content: str, audience: str, keep: Keep = Keep.STORED) -> ToolResult:
    return ToolResult("look", ResultStatus.SUCCESS, content, audience=audience, keep=keep)


@pytest.mark.parametrize(
    ("audiences", "place", "drawn"),
    [
        ((), PUBLIC, WIDE),
        (("",), PUBLIC, WIDE),
        (("team:t",), PUBLIC, WIDE),
        (("team:t",), CLUB, WIDE),
        (("person:ann", "", "team:t"), PUBLIC, "person:ann"),
        (("person:ann", "person:ann"), CLUB, "person:ann"),
        (("group:club",), PUBLIC, "group:club"),
        (("person:ann", "group:hall"), PUBLIC, HERE),
        (("person:ann",), Place(PersonAudience("ann")), WIDE),
        (("person:ann",), Place(PersonAudience("bob")), "person:ann"),
    ],
)
def test_a_reply_is_drawn_from_what_fewer_may_read_than_read_it(
    audiences: tuple[str, ...], place: Place, drawn: str
) -> None:
    assert turn_drawn_from(brought(*(result("boat", audience) for audience in audiences)), place) == drawn


def test_one_result_that_may_not_be_kept_leaves_the_reply_where_it_was_given() -> None:
    for audience in ("", "team:t", "person:ann"):
        turn = brought(result("boat", "person:ann"), result("hull", audience, Keep.TURN))
        assert turn_drawn_from(turn, PUBLIC) == NOWHERE


def test_what_may_not_be_kept_is_not_stored_and_a_turn_that_goes_on_is_told_that_it_was_there() -> None:
    turn = brought(result("the plan", "person:ann", Keep.TURN), result("a boat", "person:ann"))
    turn = replace(
        turn,
        steps=tuple(replace(step, thought="", calls=step.calls and (ToolCall("look", {}),)) for step in turn.steps),
    )
    stored = encode(turn)
    assert "plan" not in stored
    assert "a boat" in stored
    again = decode(stored)
    assert again.steps[0].results == (
        replace(result(NOT_KEPT_HERE, "person:ann", Keep.TURN), status=ResultStatus.UNKNOWN, read=()),
    )
    assert turn_drawn_from(again, PUBLIC) == NOWHERE


def test_of_what_followed_a_result_that_may_not_be_kept_a_record_says_only_that_it_was_done() -> None:
    turn = brought(
        result("a boat", "person:ann"), result("the plan", "person:ann", Keep.TURN), result("the plan again", "")
    )
    first, second, third, _ = action_records(turn)
    assert (first.thinking, first.results[0].content) == ("a boat", "a boat")
    assert second.results[0].content == NOT_KEPT
    assert (third.thinking, third.calls, third.results[0].content) == (NOT_KEPT, (ToolCall("look", {}),), NOT_KEPT)


def test_of_what_may_not_be_kept_no_text_that_it_read_reaches_a_store_or_a_record() -> None:
    unkept = ToolResult("x", ResultStatus.SUCCESS, "the code", keep=Keep.TURN, read=("the code, as Ben wrote it",))
    kept = replace(unkept, content="a page", keep=Keep.STORED, read=("a page",))
    step = RoundStep(time=datetime(2026, 1, 1, tzinfo=UTC), calls=(ToolCall("x", {}),) * 2, results=(unkept, kept))
    stored = encode(Progress((step,)))
    assert "the code" not in stored
    assert [one.read for one in decode(stored).steps[0].results if one is not None] == [(), ("a page",)]
    assert "Ben" not in str(action_records(Progress((step,))))


@pytest.mark.parametrize(("own", "words"), [(True, Provenance.OWN), (False, Provenance.FOREIGN)])
def test_a_result_that_an_earlier_version_stored_says_whether_it_is_the_askers_own(
    own: bool, words: Provenance
) -> None:
    result = ToolResult("recall", ResultStatus.SUCCESS, "blue", words=Provenance.NAMED)
    stored = json.loads(encode(Progress((RoundStep(calls=(ToolCall("recall", {}),), results=(result,)),))))
    (kept_result,) = stored["steps"][0]["results"]
    assert kept_result.pop("words") == Provenance.NAMED
    kept_result["own"] = own
    (read,) = decode(json.dumps(stored)).steps[0].results
    assert read is not None
    assert read.words is words


def look(content: str, **more: object) -> InnerCall:
    result = replace(ToolResult("look", ResultStatus.SUCCESS, content, words=Provenance.OWN), **more)
    return InnerCall("1.1.1", ToolCall("look", {"query": content}), result)


def code_step(*inner: InnerCall) -> RoundStep:
    result = ToolResult("python", ResultStatus.SUCCESS, "7", audience="group:here", words=Provenance.OWN)
    return RoundStep(datetime(2026, 1, 1, tzinfo=UTC), calls=(ToolCall("python", {}),), results=(result,), inner=inner)


def test_what_code_called_counts_for_all_that_the_turn_has_read() -> None:
    inner = look("a", sources=(4,), documents=(5,), audience="person:ann", words=Provenance.FOREIGN)
    progress = Progress((code_step(inner),))
    assert tool_sources(progress) == (4,)
    assert tool_documents(progress) == (5,)
    assert turn_drawn_from(progress, Place(GroupAudience("here"))) == "person:ann"
    assert whose_words(Provenance.OWN, progress.steps) is Provenance.FOREIGN
    assert NamedInProgress.read(encode(progress)).given == frozenset({4})
    (record,) = action_records(progress)
    assert [call.name for call in record.calls] == ["python", "look"]
    assert [result.content for result in record.results] == ["7", "a"]


def test_after_a_result_of_code_that_may_not_be_kept_no_call_of_it_is_kept() -> None:
    calls = look("one"), look("two", keep=Keep.TURN), look("two and three")
    stored = encode(Progress((code_step(*calls),)))
    assert "one" in stored
    assert "three" not in stored
    read = decode(stored).steps[0].inner
    assert [each.result.read for each in read] == [None, (), ()]
    assert [each.call.args for each in read] == [{"query": "one"}, {"query": "two"}, {}]
    (record,) = action_records(Progress((code_step(*calls),)))
    assert "three" not in str(record)


def test_an_address_in_a_result_of_code_is_read_unless_a_call_was_given_it_before() -> None:
    found, given = "http://a.example/page/one", "http://b.example/page/two"
    plain = replace(look(f"see {found}"), call=ToolCall("look", {}))
    echoed = replace(look(f"see {given}"), call=ToolCall("look", {}))
    read = addresses_read(Progress((code_step(plain, look(given), echoed),)), ())
    assert read(found)
    assert not read(given)


def test_calls_of_a_tool_are_counted_over_the_whole_turn_also_after_a_crash() -> None:
    run, other = ToolCall("python", {}), ToolCall("recall", {})
    steps = RoundStep(calls=(run, other), results=(None, None)), RoundStep(calls=(run, run), results=(None, None))
    progress = decode(encode(Progress(steps)))
    assert [calls_before(progress, id_) for id_ in ("1.1", "1.2", "2.1", "2.2")] == [0, 0, 1, 2]
