"""OpenAI's wire: what is read from clients and refused, and what streams of answers say."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.events import Outcome
from agent.messages import Usage
from bot.api.wire import (
    MAX_DEPTH,
    MAX_EARLIER,
    MAX_QUESTION_CHARS,
    AnswerHead,
    AnswerStream,
    ApiError,
    ApiQuestion,
    Endpoint,
    SentMessage,
    new_response_id,
    read_request,
    whole_answer,
)
from bot.chat.http_routes import MAX_BRACKETS
from tests.examples import examples

CHAT, RESPONSES = Endpoint.CHAT, Endpoint.RESPONSES
HI = {"role": "user", "content": "Hi"}


def chat(**fields: Any) -> ApiQuestion:
    return read_request(CHAT, json.dumps({"model": "cogency", "messages": [HI], **fields}).encode())


def responses(**fields: Any) -> ApiQuestion:
    return read_request(RESPONSES, json.dumps({"model": "cogency", "input": "Hi", **fields}).encode())


def test_the_last_message_is_the_question_and_earlier_ones_are_data() -> None:
    system = {"role": "system", "content": "Be brief."}
    before = {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}, {"type": "refusal", "refusal": "No."}]}
    question = chat(messages=[system, HI, before, {"role": "user", "content": "Where?"}], stream=True)
    assert question.text == "Where?"
    assert question.streams
    sent = (SentMessage("system", "Be brief."), SentMessage("user", "Hi"), SentMessage("assistant", "Yes?\nNo."))
    assert question.earlier == sent
    assert responses(input=[{"type": "message", **HI}], instructions="Be brief.").earlier == sent[:1]
    assert responses(input="Where?").text == "Where?"


def test_in_a_conversation_that_the_bot_knows_its_own_history_counts() -> None:
    messages = [{"role": "system", "content": "Be brief."}, HI, {"role": "assistant", "content": "Yes?"}, HI]
    known = chat(messages=messages, metadata={"conversation": "boats-1"})
    assert (known.conversation, known.earlier) == ("boats-1", (SentMessage("system", "Be brief."),))
    assert responses(conversation={"id": "boats-1"}).conversation == "boats-1"
    assert responses(previous_response_id=new_response_id("boats-1", "0" * 32)).response == "boats-1"


def test_a_long_history_is_cut_to_its_last_messages() -> None:
    many = [{"role": "user", "content": str(number)} for number in range(1_000)]
    earlier = chat(messages=many).earlier
    assert (len(earlier), earlier[-1].text) == (MAX_EARLIER, "998")


def test_what_only_tunes_a_model_or_is_unknown_has_no_effect() -> None:
    tuned: dict[str, Any] = {
        "temperature": 0.1,
        "top_p": 1,
        "max_tokens": 9,
        "seed": 1,
        "user": "ann",
        "stop": ["x"],
        "brand_new": {},
    }
    usual = {"tools": [], "tool_choice": "none", "n": 1, "response_format": {"type": "text"}, "modalities": ["text"]}
    assert chat(**tuned, **usual, stream_options={"include_usage": True}) == ApiQuestion(CHAT, "Hi", counts_usage=True)
    shown: dict[str, Any] = {"text": {"format": {"type": "text"}, "verbosity": "low"}, "tools": [], "background": False}
    assert responses(**shown, store=False, max_output_tokens=5).text == "Hi"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 5}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "Hi"}, "messages"),
        ({"messages": ["Hi"]}, "messages[0]"),
        ({"messages": [{"role": "pirate", "content": "Hi"}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages"),
        ({"messages": [HI, {"role": "assistant", "content": "Yes?"}]}, "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "messages[0].content[0]",
        ),
        ({"messages": [{"role": "user", "content": [["Hi"]]}]}, "messages[0].content[0]"),
        ({"stream": "yes"}, "stream"),
        ({"metadata": {"conversation": "a:work:7"}}, "conversation"),
        ({"metadata": {"conversation": "../x"}}, "conversation"),
        ({"metadata": {"conversation": ""}}, "conversation"),
        ({"metadata": {"conversation": "x" * 65}}, "conversation"),
        ({"metadata": ["conversation"]}, "metadata"),
        ({"metadata": {str(number): "x" for number in range(17)}}, "metadata"),
        ({"metadata": {"x" * 65: "x"}}, "metadata"),
        ({"metadata": {"x": "x" * 513}}, "metadata"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"modalities": ["text", "audio"]}, "modalities"),
    ],
)
def test_what_is_missing_wrong_or_not_offered_is_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as refused:
        chat(**fields)
    assert (refused.value.status, refused.value.param) == (400, param)
    assert str(refused.value)


def test_as_much_metadata_as_openai_takes_comes_back() -> None:
    metadata = {f"{number:064}": "x" * 512 for number in range(16)}
    assert chat(metadata=metadata).metadata == metadata


@pytest.mark.parametrize("part", [b"{},", b"[],", b'"{[",'])
def test_a_body_of_very_many_parts_is_refused_before_it_is_parsed(part: bytes) -> None:
    body = b'{"model": "cogency", "other": [' + part * MAX_BRACKETS + b"0]"
    with pytest.raises(ApiError, match="20,000") as refused:
        read_request(CHAT, body)  # is not JSON either, which nobody has looked at
    assert refused.value.status == 400
    fewer = b'{"other": [' + b"{}," * (MAX_BRACKETS - 4) + b'0], "model": "cogency", "messages": ['
    assert read_request(CHAT, fewer + json.dumps(HI).encode() + b"]}").text == "Hi"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}, 400),
        ({"input": 5}, 400),
        ({"instructions": 5}, 400),
        ({"text": {"format": {"type": "json_schema"}}}, 400),
        ({"background": True}, 400),
        ({"previous_response_id": "resp_1", "conversation": "a"}, 404),
        ({"previous_response_id": new_response_id("a", "0" * 32), "conversation": "a"}, 400),
        ({"previous_response_id": "resp_a:b." + "0" * 32}, 404),
        ({"previous_response_id": 7}, 404),
    ],
)
def test_a_response_is_not_continued_or_shaped_in_ways_that_are_not_offered(
    fields: dict[str, Any], status: int
) -> None:
    with pytest.raises(ApiError) as refused:
        responses(**fields)
    assert refused.value.status == status


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"Hi"',
        b"\xff\xfe",
        b'{"model": NaN}',
        b"[" * 500_000,
        b'{"model": ' + b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 2),
        b'{"model": ' + b"9" * 10_000 + b"}",
        json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * (MAX_QUESTION_CHARS + 1)}]}).encode(),
    ],
)
def test_a_body_that_is_no_request_is_refused(body: bytes) -> None:
    for endpoint in Endpoint:
        with pytest.raises(ApiError) as refused:
            read_request(endpoint, body)
        assert refused.value.status == 400


def test_text_that_no_database_stores_is_mended() -> None:
    assert chat(messages=[{"role": "user", "content": "a\x00\ud800b"}]).text == "a\ufffdb"


def head(endpoint: Endpoint, *, usage: bool = True) -> AnswerHead:
    question = ApiQuestion(endpoint, "Hi", streams=True, counts_usage=usage)
    return AnswerHead(question, new_response_id("boats", "0" * 32), 1_795_959_099, "boats")


def events(stream: bytes) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in stream.decode().split("\n") if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def written(stream: bytes, endpoint: Endpoint) -> str:
    """What a client puts together."""
    if endpoint is CHAT:
        return "".join(e["choices"][0]["delta"].get("content") or "" for e in events(stream) if e.get("choices"))
    return "".join(e["delta"] for e in events(stream) if e["type"] == "response.output_text.delta")


@settings(max_examples=examples(60))
@given(st.text(max_size=40), st.lists(st.integers(0, 40), max_size=6), st.sampled_from(Endpoint))
def test_however_an_answer_grows_a_client_reads_it_whole(text: str, cuts: list[int], endpoint: Endpoint) -> None:
    stream = AnswerStream(head(endpoint))
    sent = stream.begin() + b"".join(stream.grow(text[:cut]) for cut in sorted(cuts))
    sent += stream.end(text, Outcome.ANSWERED, Usage(output=3))
    assert written(sent, endpoint) == text
    numbers = [event.get("sequence_number") for event in events(sent)]
    assert endpoint is CHAT or numbers == [*range(len(numbers))]


def test_an_answer_that_changes_at_its_end_is_written_again_below() -> None:
    for endpoint in Endpoint:
        stream = AnswerStream(head(endpoint))
        sent = stream.begin() + stream.grow("It is bl") + stream.end("It is red.", Outcome.ANSWERED, Usage())
        assert written(sent, endpoint) == "It is bl\n\nIt is red."


def test_an_answer_that_was_cut_says_so_in_each_form() -> None:
    usage = Usage(input_uncached=5, input_cached=2, output=3, reasoning=1)
    whole: Any = whole_answer(head(CHAT), "It is", Outcome.CUT, usage)
    assert whole["choices"][0]["finish_reason"] == "length"
    assert whole["usage"] == {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}
    response: Any = whole_answer(head(RESPONSES), "It is", Outcome.EXHAUSTED, usage)
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    last = events(AnswerStream(head(RESPONSES)).end("It is", Outcome.CUT, usage))[-1]
    assert (last["type"], last["response"]["usage"]["total_tokens"]) == ("response.incomplete", 11)


def test_a_failed_stream_ends_with_the_error() -> None:
    error = ApiError(502, "No model answers.", kind="server_error", code="not_answered")
    (chunk,) = events(AnswerStream(head(CHAT)).fail(error))
    assert chunk["error"]["message"] == "No model answers."
    (event,) = events(AnswerStream(head(RESPONSES)).fail(error))
    assert (event["type"], event["response"]["error"]["message"]) == ("response.failed", "No model answers.")
