"""Each failure becomes one sentence that says what to do, and never contains a key."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import texts
from agent.errors import ContextTooLong, ProviderError, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.providers.catalog import ENDPOINTS, GEMINI, LLAMACPP, OLLAMA, OPENAI, OPENROUTER, XAI, Endpoint
from agent.providers.faults import (
    LARGE_PROMPT_CHARS,
    Fault,
    FaultKind,
    RetryPolicy,
    provider_error,
    read_error,
    read_fault,
)

KEY = "sk-secret-4711"


def body(error: object) -> bytes:
    return json.dumps({"error": error}).encode()


def told(
    fault: Fault,
    endpoint: Endpoint = OPENAI,
    key: str | None = KEY,
    *,
    begun: bool = False,
    prompt_chars: int = 0,
) -> ProviderError:
    return provider_error(fault, endpoint, "m-1", key, begun=begun, prompt_chars=prompt_chars)


@pytest.mark.parametrize(
    ("status", "content", "endpoint", "kind", "sentence"),
    [
        (401, body("no"), OPENAI, ProviderRefused, "OpenAI refused the API key (401). Check OPENAI_API_KEY."),
        (
            400,
            json.dumps({"error": "Incorrect API key provided: sk***11."}).encode(),
            XAI,
            ProviderRefused,
            "xAI refused the API key (400). Check XAI_API_KEY.",
        ),
        (
            400,
            body({"message": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."}),
            XAI,
            ContextTooLong,
            (
                "This question and its files are too long for the model “m-1”. Shorten them, or choose a model with a "
                "larger context window."
            ),
        ),
        (
            400,
            body({"message": "m-1 is not a valid model ID", "code": 400}),
            OPENROUTER,
            ProviderRefused,
            "OpenRouter does not know the model “m-1”: set COGENCY_MODEL to another model.",
        ),
        (401, body("no"), GEMINI, ProviderRefused, "Gemini refused the API key (401). Check GEMINI_API_KEY."),
        (
            403,
            body({"message": "country not supported"}),
            OPENAI,
            ProviderRefused,
            "OpenAI does not permit this request (403). Check the permissions of the key in OPENAI_API_KEY.",
        ),
        (
            404,
            body({"message": "The model `m-1` does not exist", "code": "model_not_found"}),
            OPENAI,
            ProviderRefused,
            "OpenAI does not know the model “m-1”: set COGENCY_MODEL to another model.",
        ),
        (
            404,
            body({"message": 'model "m-1" not found, try pulling it first'}),
            OLLAMA,
            ProviderRefused,
            (
                "Ollama does not know the model “m-1”: get it with `ollama pull m-1`, or set COGENCY_MODEL to another "
                "model."
            ),
        ),
        (
            404,
            b"404 page not found",
            OPENAI,
            ProviderRefused,
            "There is no model at https://api.openai.com/v1 (404). Check OPENAI_BASE_URL.",
        ),
        (
            308,
            b"",
            OPENAI,
            ProviderRefused,
            "There is no model at https://api.openai.com/v1 (308). Check OPENAI_BASE_URL.",
        ),
        (
            429,
            body({"message": "You exceeded your current quota", "code": "insufficient_quota"}),
            OPENAI,
            ProviderRefused,
            "OpenAI reports that the account has no credit left. Check the account's plan and billing.",
        ),
        (
            400,
            body({"message": "Your credit balance is too low"}),
            OPENAI,
            ProviderRefused,
            "OpenAI reports that the account has no credit left. Check the account's plan and billing.",
        ),
        (
            400,
            body({"code": "context_length_exceeded", "message": "too many tokens"}),
            OPENAI,
            ContextTooLong,
            (
                "This question and its files are too long for the model “m-1”. Shorten them, or choose a model with a "
                "larger context window."
            ),
        ),
        (
            429,
            body({"message": "Rate limit reached"}),
            OPENAI,
            ProviderUnavailable,
            "OpenAI is limiting requests (429). Please ask again in a moment.",
        ),
        (
            529,
            body({"type": "overloaded_error"}),
            OPENAI,
            ProviderUnavailable,
            "OpenAI returned a server error (529). Please ask again in a moment.",
        ),
        (
            400,
            json.dumps([{"error": {"code": 400, "message": "Bad\n  thing", "status": "INVALID_ARGUMENT"}}]).encode(),
            GEMINI,
            ProviderRefused,
            "Gemini refused the request (400): Bad thing.",
        ),
        (
            400,
            body({"code": 400, "message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}),
            GEMINI,
            ProviderRefused,
            "Gemini refused the API key (400). Check GEMINI_API_KEY.",
        ),
        (
            429,
            body({"code": 429, "message": "Slow down.", "details": [{"@type": "…/RetryInfo", "retryDelay": "7.5s"}]}),
            GEMINI,
            ProviderUnavailable,
            "Gemini is limiting requests (429). Please ask again in 8 s.",
        ),
        (
            429,
            body(
                {"code": 429, "message": "Quota exceeded for metric: x/generate_content_free_tier_requests, limit: 20"}
            ),
            GEMINI,
            ProviderUnavailable,
            f"Gemini is limiting requests (429). Please ask again in a moment. {texts.FREE_TIER}",
        ),
        (
            503,
            body({"code": 503, "status": "UNAVAILABLE", "details": [{"retryDelay": "soon"}, {"retryDelay": "-1s"}, 7]}),
            GEMINI,
            ProviderUnavailable,
            "Gemini returned a server error (503). Please ask again in a moment.",
        ),
        (
            400,
            body({"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}),
            OPENAI,
            ContextTooLong,
            (
                "This question and its files are too long for the model “m-1”. Shorten them, or choose a model with a "
                "larger context window."
            ),
        ),
        (
            422,
            b'{"detail": [{"loc": ["body", "x"]}]}',
            OPENROUTER,
            ProviderRefused,
            'OpenRouter refused the request (422): {"detail": [{"loc": ["body", "x"]}]}.',
        ),
        (400, b"<html>bad</html>", OPENAI, ProviderRefused, "OpenAI refused the request (400)."),
        (
            418,
            b"x" * 300,
            OPENAI,
            ProviderRefused,
            f"OpenAI refused the request (418): {'x' * 200}…",
        ),
    ],
)
def test_each_refusal_says_what_to_do(
    status: int, content: bytes, endpoint: Endpoint, kind: type[ProviderError], sentence: str
) -> None:
    error = told(read_fault(status, content), endpoint)
    assert type(error) is kind
    assert error.reason.to_operator == sentence


def test_a_server_that_wants_a_key_where_none_is_set_is_told_apart() -> None:
    assert str(told(read_fault(401, b"{}"), OPENAI, None)) == "OpenAI requires an API key. Set OPENAI_API_KEY."


@pytest.mark.parametrize(
    ("fault", "endpoint", "sentence"),
    [
        (
            Fault(FaultKind.UNREACHABLE),
            OLLAMA,
            (
                "Ollama does not respond at http://localhost:11434/v1: start it with `ollama serve`, or set "
                "OLLAMA_BASE_URL."
            ),
        ),
        (
            Fault(FaultKind.UNREACHABLE),
            LLAMACPP,
            (
                "llama.cpp does not respond at http://localhost:8080/v1: start it with `llama-server`, or set "
                "LLAMACPP_BASE_URL."
            ),
        ),
        (
            Fault(FaultKind.UNREACHABLE),
            OPENAI,
            "OpenAI does not respond at https://api.openai.com/v1: check the network and OPENAI_BASE_URL.",
        ),
        (
            Fault(FaultKind.UNREACHABLE),
            OPENROUTER,
            "OpenRouter does not respond at https://openrouter.ai/api/v1: check the network.",
        ),
        (
            Fault(FaultKind.CUT),
            OPENAI,
            "OpenAI closed the connection without an answer, and may have processed the question. Please ask again.",
        ),
    ],
)
def test_each_lost_connection_says_what_to_do(fault: Fault, endpoint: Endpoint, sentence: str) -> None:
    error = told(fault, endpoint)
    assert isinstance(error, ProviderUnavailable)
    assert str(error) == sentence


@pytest.mark.parametrize("kind", list(FaultKind))
def test_once_the_answer_has_begun_it_is_broken_whatever_the_fault(kind: FaultKind) -> None:
    error = told(Fault(kind, 500, waited_s=60), begun=True)
    assert isinstance(error, StreamBroken)
    assert str(error).startswith("The answer from OpenAI was cut off")


def test_a_password_in_an_address_is_never_shown() -> None:
    endpoint = OPENAI.at("http://me:hunter2@gpu.example:8000/v1")
    assert str(told(Fault(FaultKind.UNREACHABLE), endpoint)).startswith(
        "OpenAI does not respond at http://gpu.example:8000/v1:"
    )


@given(
    st.integers(300, 599),
    st.sampled_from(list(ENDPOINTS.values())),
    st.sampled_from(
        ["{}", '"{}"', '{{"error": "{}"}}', '{{"error": {{"message": "x {}", "code": "{}", "param": "{}"}}}}']
    ),
)
def test_no_sentence_ever_holds_the_key(status: int, endpoint: Endpoint, form: str) -> None:
    fault = read_fault(status, form.format(*[KEY] * form.count("{}")).encode())
    for begun in (False, True):
        reason = told(fault, endpoint, begun=begun).reason
        for sentence in (reason.sentence, reason.to_operator, reason.to_person):
            assert KEY not in sentence
            assert sentence.endswith((".", "…"))
            assert "\n" not in sentence


@given(st.integers(300, 599), st.binary(max_size=60))
def test_any_body_of_an_error_makes_a_sentence(status: int, content: bytes) -> None:
    assert str(told(read_fault(status, content)))


@given(st.integers(300, 599), st.sampled_from(list(ENDPOINTS.values())), st.booleans(), st.booleans())
def test_nobody_but_the_operator_reads_of_settings_and_addresses(
    status: int, endpoint: Endpoint, with_key: bool, begun: bool
) -> None:
    key = KEY if with_key else None
    answered = read_fault(status, body({"message": "The model at /srv/gpu-7 is not for you"}))
    for fault in (answered, *(Fault(kind, status, waited_s=60) for kind in FaultKind)):
        spoken = told(fault, endpoint, key, begun=begun).reason.to_person
        assert not re.search(r"[A-Z]+_[A-Z_]+|https?:|gpu-7|localhost", spoken)
        assert re.search(r"[Pp]lease|ask again|Start a new one|Shorten them", spoken), "and they are told what to do"


@given(st.sampled_from([400, 422, 413, 429, 500, 503, 404, 401]), st.sampled_from(list(ENDPOINTS.values())))
def test_what_a_vendor_repeats_of_a_question_stays_out_of_the_sentence_for_the_log(
    status: int, endpoint: Endpoint
) -> None:
    fault = read_fault(status, body({"message": "Invalid prompt: 'my diagnosis is secret'"}))
    error = told(fault, endpoint)
    assert "diagnosis" not in str(error)
    assert "diagnosis" not in error.reason.to_person


OVERFLOWS = [
    (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
    (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    (400, "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000"),
    (413, "Request exceeds the maximum allowed number of bytes."),
    (400, "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."),
    (400, "Input is too long for requested model."),
    (400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
    (400, "Please reduce the length of the messages or completion."),
    (400, "the request exceeds the available context size, try increasing it"),
    (500, "Context size has been exceeded."),
    (500, "input is too large to process. increase the physical batch size"),
    (400, "The number of tokens to keep from the initial prompt is greater than the context length."),
    (400, "Trying to keep the first 5000 tokens when context the overflows."),
    (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9000"),
    (422, "Input validation error: `inputs` must have less than 1000 tokens. Given: 2100"),
    (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    (400, "prompt too long; exceeded max context length by 900 tokens"),
    (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"),
    (400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
    (400, "Prompt 超长"),
    (400, "Invalid request: Your request exceeded model token limit: 8192"),
    (400, "invalid params, context window exceeds limit"),
    (413, "Request body too large for m-1 model. Max size: 8000 tokens."),
    (400, "prompt token count of 70000 exceeds the limit of 64000"),
    (404, "This endpoint's maximum context length is 32768 tokens."),
    (400, "request (6618 tokens) exceeds the available context size (2048 tokens), try increasing it"),
    (400, "Sequence length of 5000 exceeds max_seq_len of 4096"),
    (400, "Token limit exceeded: 9000 > 8192"),
    (400, "Number of tokens (9000) exceeds the limit 8192"),
    (500, "failed to find free space in the KV cache, retrying with smaller n_batch"),
    (500, "the context is full, and context shift is disabled"),
]


@pytest.mark.parametrize(("status", "message"), OVERFLOWS)
@pytest.mark.parametrize("form", ["object", "text", "wrapped", "stream"])
def test_a_prompt_that_is_too_long_is_known_in_the_words_of_every_server(status: int, message: str, form: str) -> None:
    forms: dict[str, object] = {
        "object": {"error": {"message": message}},
        "text": message,
        "wrapped": {
            "error": {
                "message": "Provider returned error",
                "code": status,
                "metadata": {"raw": json.dumps({"error": {"message": message}}), "provider_name": "X"},
            }
        },
    }
    fault = (
        read_error({"message": message}) if form == "stream" else read_fault(status, json.dumps(forms[form]).encode())
    )
    error = told(fault)
    if form == "stream" and status == 413:
        return  # only the status says it
    assert isinstance(error, ContextTooLong)
    assert error.stated
    assert RetryPolicy().delay_s(fault, 0, 0.0, 0.5) is None, "the same prompt is not sent again"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "max_tokens is too large: 100000. This model supports at most 4096 completion tokens."),
        (429, "Request too large for m-1 on tokens per minute (TPM): Limit 6000, Requested 7000."),
        (400, "tools: too many functions"),
        (400, "5000 completion tokens exceed the limit of this model"),
        (400, "The number of output tokens exceeds 4096"),
        (401, "The prompt is too long"),
        (503, "The server is overloaded: too many requests"),
    ],
)
def test_other_limits_are_not_taken_for_a_prompt_that_is_too_long(status: int, message: str) -> None:
    assert not read_fault(status, body({"message": message})).too_long


@pytest.mark.parametrize("status", [400, 422])
def test_a_large_prompt_that_is_refused_without_a_known_reason_may_be_too_long(status: int) -> None:
    fault = read_fault(status, body({"message": "Bad request"}))
    error = told(fault, prompt_chars=LARGE_PROMPT_CHARS)
    assert isinstance(error, ContextTooLong)
    assert not error.stated
    assert error.reason.to_operator == f"OpenAI refused the request ({status}): Bad request."
    assert type(told(fault, prompt_chars=LARGE_PROMPT_CHARS - 1)) is ProviderRefused


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}),
        (400, {"message": "Your credit balance is too low"}),
        (400, {"message": "m-1 is not a valid model ID"}),
        (403, {"message": "no"}),
        (404, {"message": "no"}),
    ],
)
def test_a_refusal_for_a_known_reason_is_not_taken_for_a_long_prompt(status: int, error: dict[str, object]) -> None:
    assert type(told(read_fault(status, body(error)), prompt_chars=10**6)) is ProviderRefused


INNER = {"message": "No such thing", "code": "thing_missing", "param": "tools"}


@pytest.mark.parametrize(
    "content",
    [
        {"error": INNER},
        [{"error": INNER}],
        {"errors": [INNER]},
        INNER,
        {"error": json.dumps(INNER)},
        {"error": {"message": json.dumps({"error": INNER}), "code": 400}},
        {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": INNER}}},
        {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps({"error": INNER})}}},
        {"error": {"message": "outer", "innererror": INNER}},
        {"detail": INNER},
        {"detail": [{"msg": "No such thing", "type": "thing_missing", "loc": ["body", "tools", 0]}]},
        {"error_code": "thing_missing", "error_msg": "No such thing", "param": "tools"},
        {"error": {"error": {"error": INNER}}},
    ],
)
def test_the_inner_error_of_every_wrapping_is_read(content: object) -> None:
    fault = read_fault(400, json.dumps(content).encode())
    assert (fault.status, fault.message, fault.code) == (400, "No such thing", "thing_missing")
    assert fault.param.startswith("tools")


def test_wrappings_without_an_end_are_read_in_bounded_time() -> None:
    wrapped: object = INNER
    for _ in range(40):
        wrapped = {"error": wrapped}
    assert read_error(wrapped).status == 500


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": "429", "message": "slow"}, 429),
        ({"message": "x", "metadata": {"raw": '{"error": {"code": 503}}'}}, 503),
        ({"status_code": 402, "message": "pay"}, 402),
        ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, 500),
        ([{"code": 404}], 404),
    ],
)
def test_the_status_of_an_error_in_a_stream_is_read_at_every_depth(error: object, status: int) -> None:
    assert read_error(error).status == status


PICTURE_REFUSALS = [
    (400, "Invalid content type"),
    (404, "No endpoints found that support image input"),
    (422, "messages.1.content: Input should be a valid string"),
    (415, ""),
    (413, "Payload too large"),
    (403, "Your input was flagged"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
]


@pytest.mark.parametrize(("status", "message"), PICTURE_REFUSALS)
def test_a_refusal_of_any_wording_may_be_of_the_pictures(status: int, message: str) -> None:
    assert read_fault(status, body({"message": message})).of_pictures


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "no"),
        (402, "no"),
        (429, "image quota"),
        (503, "busy"),
        (400, "Your credit balance is too low"),
        (400, "prompt is too long"),
    ],
)
def test_a_refusal_for_another_known_reason_is_not_of_the_pictures(status: int, message: str) -> None:
    assert not read_fault(status, body({"message": message})).of_pictures
