"""Whether we handle, on purpose, all that the vendors' own types let a service send.

Each table lists what a type knows, with what we make of it. When a new version of a vendor's client adds a value or a
field, the first test fails, until somebody has decided.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial

import pytest

from agent.ports.model import CallOptions, ResponseEnded, StopReason
from agent.providers.dialect import AnswerReader
from agent.providers.faults import Fault, read_error
from agent.providers.wire import UsageFields
from agent.providers.wire_chat import ChatReader
from agent.providers.wire_gemini import USAGE, GeminiReader
from agent.providers.wire_interactions import InteractionsReader
from agent.providers.wire_live import LIVE_USAGE, read_frame
from agent.providers.wire_messages import MessagesReader
from agent.providers.wire_realtime import USAGE as REALTIME_USAGE
from agent.providers.wire_realtime import RealtimeDialect
from agent.providers.wire_responses import ResponsesReader
from tests.fakes.vendor_types import fields, paths, variants, words

INTERACTIONS = "google.genai._gaos.types.interactions"

# What becomes of an event: it is read; it is known and says nothing new; or it is skipped as one that nobody asked for.
READ, SILENT, SKIPPED = "read", "silent", "skipped"
# What becomes of a part of an answer: it is read; it is a step of the vendor on the way to a text; or nobody sees it,
# so that the answer may be incomplete.
STEP, UNSEEN = "step", "unseen"


def each(handling: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, handling)


def groups(handling: str, **ends: str) -> dict[str, str]:
    """Return names with common beginnings: `a_b="c d"` stands for "response.a_b.c" and "response.a_b.d"."""
    return {f"response.{begin}.{end}": handling for begin, listed in ends.items() for end in listed.split()}


MESSAGES_EVENTS = {
    **each(READ, "message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta"),
    **each(SILENT, "content_block_stop"),
}
MESSAGES_BLOCKS = {
    **each(READ, "text", "thinking", "redacted_thinking"),
    **each(STEP, "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "tool_search_tool_result"),
    **each(STEP, "code_execution_tool_result", "bash_code_execution_tool_result"),
    **each(STEP, "text_editor_code_execution_tool_result"),
    **each(UNSEEN, "tool_use", "container_upload"),
}
MESSAGES_DELTAS = {
    **each(READ, "text_delta", "thinking_delta", "signature_delta"),
    **each(SKIPPED, "input_json_delta", "citations_delta"),
}
MESSAGES_REASONS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.HALTED,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.FILTERED,
    "tool_use": StopReason.UNKNOWN,
    "pause_turn": StopReason.UNKNOWN,
}
MESSAGES_ERRORS = {
    "api_error": 500,
    "authentication_error": 401,
    "billing_error": 402,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "timeout_error": 500,
}
MESSAGES_USAGE = {
    **each(READ, "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    **each(READ, "output_tokens_details.thinking_tokens"),
    # Parts of the count of written tokens, and facts about the request.
    **each(SKIPPED, "cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens"),
    **each(SKIPPED, "inference_geo", "service_tier", "speed"),
    **each(SKIPPED, "server_tool_use.web_fetch_requests", "server_tool_use.web_search_requests"),
}

RESPONSES_EVENTS = {
    **each(READ, "error"),
    **groups(READ, output_text="delta", refusal="delta", reasoning_text="delta", reasoning_summary_text="delta"),
    **groups(READ, custom_tool_call_input="delta", function_call_arguments="delta", output_item="done"),
    **each(READ, "response.completed", "response.incomplete", "response.failed"),
    **each(SILENT, "response.created", "response.in_progress", "response.queued"),
    **groups(SILENT, output_item="added", content_part="added done", output_text="done", refusal="done"),
    **groups(SILENT, custom_tool_call_input="done", function_call_arguments="done"),
    **groups(SILENT, reasoning_text="done", reasoning_summary_text="done", reasoning_summary_part="added done"),
    **groups(SKIPPED, output_text="annotation.added", audio="delta done transcript.delta transcript.done"),
    **groups(SKIPPED, code_interpreter_call="in_progress interpreting completed"),
    **groups(SKIPPED, code_interpreter_call_code="delta done", compaction="compacting"),
    **groups(SKIPPED, file_search_call="in_progress searching completed"),
    **groups(SKIPPED, web_search_call="in_progress searching completed"),
    **groups(SKIPPED, image_generation_call="in_progress generating partial_image completed"),
    **groups(SKIPPED, mcp_call="in_progress completed failed", mcp_call_arguments="delta done"),
    **groups(SKIPPED, mcp_list_tools="in_progress completed failed"),
    **groups(SKIPPED, shell_call_command="added delta done", shell_call_output_content="delta done"),
}
RESPONSES_SOCKET_EVENTS = {**RESPONSES_EVENTS, **groups(SKIPPED, steer="accepted pending failed")}
RESPONSES_ITEMS = {
    **each(READ, "message", "reasoning", "custom_tool_call", "function_call"),
    **each(STEP, "web_search_call", "file_search_call", "code_interpreter_call", "mcp_list_tools", "mcp_call"),
    **each(STEP, "mcp_approval_response", "tool_search_call", "tool_search_output", "program", "program_output"),
    **each(STEP, "compaction", "additional_tools", "custom_tool_call_output", "function_call_output"),
    **each(STEP, "computer_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output"),
    **each(UNSEEN, "apply_patch_call", "computer_call", "image_generation_call", "local_shell_call"),
    **each(UNSEEN, "mcp_approval_request", "shell_call"),
}
RESPONSES_STATUS = {
    "completed": StopReason.END,
    "incomplete": StopReason.LENGTH,
    "cancelled": StopReason.UNKNOWN,
    "in_progress": StopReason.UNKNOWN,
    "queued": StopReason.UNKNOWN,
    "failed": None,  # an error
}
RESPONSES_INCOMPLETE = {
    "max_output_tokens": StopReason.LENGTH,
    "content_filter": StopReason.FILTERED,
    "max_messages": StopReason.UNKNOWN,
    "steered": StopReason.UNKNOWN,
}
RESPONSES_ERRORS = {
    **dict.fromkeys(("server_error", "vector_store_timeout"), 500),
    "rate_limit_exceeded": 429,
    **dict.fromkeys(("invalid_prompt", "bio_policy", "misalignment_policy_violation", "data_residency_mismatch"), 400),
    **dict.fromkeys(("empty_image_file", "failed_to_download_image", "image_content_policy_violation"), 400),
    **dict.fromkeys(("image_file_not_found", "image_file_too_large", "image_parse_error", "image_too_large"), 400),
    **dict.fromkeys(("image_too_small", "invalid_base64_image", "invalid_image", "invalid_image_format"), 400),
    **dict.fromkeys(("invalid_image_mode", "invalid_image_url", "unsupported_image_media_type"), 400),
}
RESPONSES_USAGE = {
    **each(READ, "input_tokens", "input_tokens_details.cached_tokens", "input_tokens_details.cache_write_tokens"),
    **each(READ, "output_tokens", "output_tokens_details.reasoning_tokens"),
    **each(SKIPPED, "total_tokens", "input_tokens_details.cache_write_tokens_details.ttl_30m_tokens"),
    **each(SKIPPED, "input_tokens_details.cache_write_tokens_details.ttl_12h_tokens"),
}

CHAT_FIELDS = {
    **each(READ, "choices", "usage"),
    **each(SKIPPED, "id", "object", "created", "model", "service_tier", "system_fingerprint", "obfuscation"),
    **each(SKIPPED, "moderation"),
}
CHAT_CHOICE = {**each(READ, "delta", "finish_reason", "index"), **each(SKIPPED, "logprobs")}
CHAT_DELTA = {**each(READ, "content", "refusal", "tool_calls", "function_call"), **each(SKIPPED, "role", "audio")}
CHAT_REASONS = {
    "stop": StopReason.END,
    "tool_calls": StopReason.END,  # The calls are passed on as a block of the protocol
    "function_call": StopReason.END,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.FILTERED,
}
CHAT_USAGE = {
    **each(READ, "prompt_tokens", "prompt_tokens_details.cached_tokens", "prompt_tokens_details.cache_write_tokens"),
    **each(READ, "completion_tokens", "completion_tokens_details.reasoning_tokens", "total_tokens"),
    **each(SKIPPED, "prompt_tokens_details.audio_tokens", "prompt_tokens_details.image_tokens"),
    **each(SKIPPED, "prompt_tokens_details.text_tokens", "completion_tokens_details.text_tokens"),
    **each(SKIPPED, "completion_tokens_details.accepted_prediction_tokens", "completion_tokens_details.audio_tokens"),
    **each(SKIPPED, "completion_tokens_details.rejected_prediction_tokens"),
}

REALTIME_EVENTS = {
    **each(READ, "error", "response.created", "response.done"),
    **groups(READ, output_text="delta"),
    **each(SILENT, "session.created", "session.updated", "rate_limits.updated", "conversation.created"),
    **each(SILENT, "conversation.item.added", "conversation.item.created", "conversation.item.done"),
    **each(SILENT, "conversation.item.deleted"),
    **groups(SILENT, output_item="added done", content_part="added done", output_text="done"),
    **each(SKIPPED, "conversation.item.retrieved", "conversation.item.truncated"),
    **{
        f"conversation.item.input_audio_transcription.{end}": SKIPPED
        for end in ("completed", "delta", "failed", "segment")
    },
    **each(SKIPPED, "input_audio_buffer.cleared", "input_audio_buffer.committed", "input_audio_buffer.speech_started"),
    **each(SKIPPED, "input_audio_buffer.speech_stopped", "input_audio_buffer.timeout_triggered"),
    **each(SKIPPED, "input_audio_buffer.dtmf_event_received", "output_audio_buffer.cleared"),
    **each(SKIPPED, "output_audio_buffer.started", "output_audio_buffer.stopped", "mcp_list_tools.in_progress"),
    **each(SKIPPED, "mcp_list_tools.completed", "mcp_list_tools.failed"),
    **groups(SKIPPED, function_call_arguments="delta done", mcp_call="in_progress completed failed"),
    **groups(SKIPPED, mcp_call_arguments="delta done", output_audio="delta done"),
    **groups(SKIPPED, output_audio_transcript="delta done"),
}
REALTIME_USAGE_FIELDS = {
    **each(READ, "input_tokens", "output_tokens", "input_token_details.cached_tokens"),
    **each(SKIPPED, "total_tokens", "input_token_details.audio_tokens", "input_token_details.image_tokens"),
    **each(SKIPPED, "input_token_details.text_tokens", "output_token_details.audio_tokens"),
    **each(SKIPPED, "output_token_details.text_tokens", "input_token_details.cached_tokens_details.audio_tokens"),
    **each(SKIPPED, "input_token_details.cached_tokens_details.image_tokens"),
    **each(SKIPPED, "input_token_details.cached_tokens_details.text_tokens"),
}

GEMINI_CANDIDATE = {
    **each(READ, "content", "finishReason", "index"),
    **each(SKIPPED, "avgLogprobs", "citationMetadata", "continuationToken", "finishMessage", "groundingMetadata"),
    **each(SKIPPED, "logprobsResult", "safetyRatings", "tokenCount", "urlContextMetadata"),
}
GEMINI_PARTS = {
    **each(READ, "text"),
    **each(STEP, "thought", "thoughtSignature", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
    **each(STEP, "functionResponse", "mediaProcessing", "mediaResolution", "audioTranscription", "audioMetadata"),
    **each(STEP, "documentMetadata", "partMetadata", "speechMetadata", "spreadsheetMetadata", "videoMetadata"),
    **each(UNSEEN, "functionCall", "inlineData", "fileData"),
}
GEMINI_REASONS = {
    "STOP": StopReason.END,
    **dict.fromkeys(("MAX_TOKENS", "CONTINUATION"), StopReason.LENGTH),
    **dict.fromkeys(("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT"), StopReason.FILTERED),
    **dict.fromkeys(("SPII", "ESCALATION", "PUP_LIMITED_DISABLED", "MODEL_ARMOR"), StopReason.FILTERED),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), StopReason.FILTERED),
    **dict.fromkeys(("FINISH_REASON_UNSPECIFIED", "OTHER", "IMAGE_OTHER", "NO_IMAGE"), StopReason.UNKNOWN),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"), StopReason.UNKNOWN),
    **dict.fromkeys(("TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"), StopReason.UNKNOWN),
}
GEMINI_BLOCKED = (
    *("BLOCKED_REASON_UNSPECIFIED", "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY"),
    *("MODEL_ARMOR", "JAILBREAK"),
)
_GEMINI_COUNTS = {
    **each(READ, "promptTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount", "thoughtsTokenCount"),
    **each(SKIPPED, "totalTokenCount", "trafficType"),
    **{
        f"{kind}TokensDetails.{field}": SKIPPED
        for kind in ("prompt", "cache", "toolUsePrompt")
        for field in ("modality", "tokenCount")
    },
}
GEMINI_USAGE = {
    **_GEMINI_COUNTS,
    **each(READ, "candidatesTokenCount"),
    **each(SKIPPED, "candidatesTokensDetails.modality", "candidatesTokensDetails.tokenCount"),
}

LIVE_MESSAGE = each(
    READ,
    *("setupComplete", "serverContent", "toolCall", "toolCallCancellation", "usageMetadata", "goAway"),
    *("sessionResumptionUpdate", "voiceActivity", "voiceActivityDetectionSignal"),
)
LIVE_CONTENT = {
    **each(READ, "modelTurn", "outputTranscription", "turnComplete", "turnCompleteReason", "interactionStatus"),
    **each(READ, "interrupted"),
    **each(SKIPPED, "generationComplete", "groundingMetadata", "inputTranscription", "interimInputTranscription"),
    **each(SKIPPED, "urlContextMetadata", "waitingForInput"),
}
LIVE_REASONS = {
    **dict.fromkeys(("TURN_COMPLETE_REASON_UNSPECIFIED", "NEED_MORE_INPUT"), StopReason.END),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "MAX_REGENERATION_REACHED", "GENERATED_OTHER"), StopReason.UNKNOWN),
    **dict.fromkeys(("INPUT_TEXT_CONTAIN_PROMINENT_PERSON_PROHIBITED", "RESPONSE_REJECTED"), StopReason.FILTERED),
    **dict.fromkeys(("PROHIBITED_INPUT_CONTENT", "IMAGE_PROHIBITED_INPUT_CONTENT", "INPUT_OTHER"), StopReason.FILTERED),
    **dict.fromkeys(
        ("INPUT_IP_PROHIBITED", "INPUT_IMAGE_CELEBRITY", "INPUT_TEXT_NCII_PROHIBITED"), StopReason.FILTERED
    ),
    **dict.fromkeys(("INPUT_IMAGE_PHOTO_REALISTIC_CHILD_PROHIBITED", "BLOCKLIST"), StopReason.FILTERED),
    **dict.fromkeys(("UNSAFE_PROMPT_FOR_IMAGE_GENERATION", "GENERATED_IMAGE_SAFETY"), StopReason.FILTERED),
    **dict.fromkeys(("GENERATED_CONTENT_SAFETY", "GENERATED_AUDIO_SAFETY"), StopReason.FILTERED),
    **dict.fromkeys(("GENERATED_VIDEO_SAFETY", "GENERATED_CONTENT_PROHIBITED"), StopReason.FILTERED),
    **dict.fromkeys(("GENERATED_CONTENT_BLOCKLIST", "GENERATED_IMAGE_PROHIBITED"), StopReason.FILTERED),
    **dict.fromkeys(("GENERATED_IMAGE_CELEBRITY", "GENERATED_IMAGE_MINORS"), StopReason.FILTERED),
    "GENERATED_IMAGE_PROMINENT_PEOPLE_DETECTED_BY_REWRITER": StopReason.UNKNOWN,
    "GENERATED_IMAGE_IDENTIFIABLE_PEOPLE": StopReason.UNKNOWN,
    "OUTPUT_IMAGE_IP_PROHIBITED": StopReason.FILTERED,
}
LIVE_USAGE_FIELDS = {
    **_GEMINI_COUNTS,
    **each(READ, "responseTokenCount"),
    **each(SKIPPED, "serviceTier", "responseTokensDetails.modality", "responseTokensDetails.tokenCount"),
}

INTERACTIONS_EVENTS = {
    **each(READ, "error", "interaction.created", "interaction.completed", "interaction.status_update"),
    **each(READ, "step.start", "step.delta"),
    **each(SILENT, "step.stop"),
}
_INTERACTIONS_TOOLS = (
    *("code_execution", "file_search", "google_maps", "google_search", "mcp_server_tool", "processing", "retrieval"),
    *("tool_search", "url_context"),
)
INTERACTIONS_STEPS = {
    **each(READ, "model_output", "thought"),
    **{f"{tool}_{end}": STEP for tool in _INTERACTIONS_TOOLS for end in ("call", "result")},
    **each(STEP, "user_input", "function_result"),
    **each(UNSEEN, "function_call"),
}
INTERACTIONS_DELTAS = {
    **each(READ, "text", "thought_summary"),
    **each(STEP, "thought_signature", "text_annotation_delta", "arguments_delta", "function_result"),
    **{f"{tool}_{end}": STEP for tool in _INTERACTIONS_TOOLS for end in ("call", "result")},
    **each(UNSEEN, "image", "audio", "video", "document"),
}
INTERACTIONS_STATUS = {
    "completed": StopReason.END,
    **dict.fromkeys(("incomplete", "budget_exceeded", "requires_continuation"), StopReason.LENGTH),
    **dict.fromkeys(("in_progress", "requires_action", "cancelled", "queued", "idle"), StopReason.UNKNOWN),
    "failed": None,  # an error
}
INTERACTIONS_USAGE = {
    **each(READ, "total_input_tokens", "total_cached_tokens", "total_tool_use_tokens", "total_output_tokens"),
    **each(READ, "total_thought_tokens"),
    **each(SKIPPED, "total_tokens", "initial_input_tokens", "grounding_tool_count.count", "grounding_tool_count.type"),
    **{
        f"{kind}_tokens_by_modality.{field}": SKIPPED
        for kind in ("input", "cached", "output", "tool_use")
        for field in ("modality", "tokens")
    },
}

ANTHROPIC, RESPONSES, CHAT = "anthropic.types", "openai.types.responses", "openai.types.chat.chat_completion_chunk"
REALTIME, GOOGLE = "openai.types.realtime", "google.genai.types"

Names = Callable[[str], frozenset[str]]
OFFICIAL: list[tuple[str, Names, Mapping[str, object]]] = [
    (f"{ANTHROPIC}:RawMessageStreamEvent", variants, MESSAGES_EVENTS),
    (f"{ANTHROPIC}:ContentBlock", variants, MESSAGES_BLOCKS),
    (f"{ANTHROPIC}:RawContentBlockDelta", variants, MESSAGES_DELTAS),
    (f"{ANTHROPIC}:StopReason", words, MESSAGES_REASONS),
    (f"{ANTHROPIC}:ErrorObject", variants, MESSAGES_ERRORS),
    (f"{ANTHROPIC}:Usage", paths, MESSAGES_USAGE),
    (f"{RESPONSES}:ResponseStreamEvent", variants, RESPONSES_EVENTS),
    (f"{RESPONSES}:ResponsesServerEvent", variants, RESPONSES_SOCKET_EVENTS),
    (f"{RESPONSES}:ResponseOutputItem", variants, RESPONSES_ITEMS),
    (f"{RESPONSES}:ResponseStatus", words, RESPONSES_STATUS),
    (f"{RESPONSES}.response:IncompleteDetails#reason", words, RESPONSES_INCOMPLETE),
    (f"{RESPONSES}:ResponseError#code", words, RESPONSES_ERRORS),
    (f"{RESPONSES}:ResponseUsage", paths, RESPONSES_USAGE),
    ("openai.types.chat:ChatCompletionChunk", fields, CHAT_FIELDS),
    (f"{CHAT}:Choice", fields, CHAT_CHOICE),
    (f"{CHAT}:ChoiceDelta", fields, CHAT_DELTA),
    (f"{CHAT}:Choice#finish_reason", words, CHAT_REASONS),
    ("openai.types:CompletionUsage", paths, CHAT_USAGE),
    (f"{REALTIME}:RealtimeServerEvent", variants, REALTIME_EVENTS),
    (f"{REALTIME}:RealtimeResponseUsage", paths, REALTIME_USAGE_FIELDS),
    (f"{GOOGLE}:Candidate", fields, GEMINI_CANDIDATE),
    (f"{GOOGLE}:Part", fields, GEMINI_PARTS),
    (f"{GOOGLE}:FinishReason", words, GEMINI_REASONS),
    (f"{GOOGLE}:BlockedReason", words, dict.fromkeys(GEMINI_BLOCKED)),
    (f"{GOOGLE}:GenerateContentResponseUsageMetadata", paths, GEMINI_USAGE),
    (f"{GOOGLE}:LiveServerMessage", fields, LIVE_MESSAGE),
    (f"{GOOGLE}:LiveServerContent", fields, LIVE_CONTENT),
    (f"{GOOGLE}:TurnCompleteReason", words, LIVE_REASONS),
    (f"{GOOGLE}:UsageMetadata", paths, LIVE_USAGE_FIELDS),
    (f"{INTERACTIONS}:InteractionSSEEvent", partial(variants, tag="event_type"), INTERACTIONS_EVENTS),
    (f"{INTERACTIONS}:Step", variants, INTERACTIONS_STEPS),
    (f"{INTERACTIONS}:StepDeltaData", variants, INTERACTIONS_DELTAS),
    (f"{INTERACTIONS}:InteractionStatusUpdate#status", words, INTERACTIONS_STATUS),
    (f"{INTERACTIONS}:Usage", paths, INTERACTIONS_USAGE),
]


@pytest.mark.parametrize(("kind", "names", "handled"), OFFICIAL, ids=[kind for kind, _, _ in OFFICIAL])
def test_all_that_an_official_type_knows_is_handled_on_purpose(
    kind: str, names: Names, handled: Mapping[str, object]
) -> None:
    assert sorted(names(kind)) == sorted(handled)


def answer(reader: AnswerReader, *events: Mapping[str, object]) -> ResponseEnded | Fault:
    for event in events:
        if faults := [happened for happened in reader.receive(json.dumps(event)) if isinstance(happened, Fault)]:
            return faults[0]
    return reader.close()


def reason_of(reader: AnswerReader, *events: Mapping[str, object]) -> StopReason | None:
    """Return how the answer ended; None for an error."""
    ended = answer(reader, *events)
    return None if isinstance(ended, Fault) else ended.reason


def is_skipped(reader: AnswerReader, event: Mapping[str, object]) -> bool:
    reader.receive(json.dumps(event))
    return reader.ignored == 1


@pytest.mark.parametrize(("event", "handling"), MESSAGES_EVENTS.items())
def test_an_event_of_messages_is_skipped_only_if_it_is_listed_so(event: str, handling: str) -> None:
    told = {"type": event, "delta": {"type": "text_delta", "text": "Hi"}, "content_block": {"type": "text"}}
    assert is_skipped(MessagesReader(), told) == (handling == SKIPPED)


@pytest.mark.parametrize(("delta", "handling"), MESSAGES_DELTAS.items())
def test_a_delta_of_messages_is_skipped_only_if_it_is_listed_so(delta: str, handling: str) -> None:
    assert is_skipped(MessagesReader(), {"type": "content_block_delta", "delta": {"type": delta}}) == (
        handling == SKIPPED
    )


@pytest.mark.parametrize(("event", "handling"), RESPONSES_SOCKET_EVENTS.items())
def test_an_event_of_responses_is_skipped_only_if_it_is_listed_so(event: str, handling: str) -> None:
    assert is_skipped(ResponsesReader(), {"type": event}) == (handling == SKIPPED)


@pytest.mark.parametrize(("event", "handling"), INTERACTIONS_EVENTS.items())
def test_an_event_of_interactions_is_skipped_only_if_it_is_listed_so(event: str, handling: str) -> None:
    told = {"event_type": event, "delta": {"type": "text", "text": "Hi"}, "error": {"message": "m"}}
    assert is_skipped(InteractionsReader(), told) == (handling == SKIPPED)


@pytest.mark.parametrize(("event", "handling"), REALTIME_EVENTS.items())
def test_an_event_of_realtime_is_skipped_only_if_it_is_listed_so(event: str, handling: str) -> None:
    dialogue = RealtimeDialect("gpt-realtime").dialogue(CallOptions())
    dialogue.receive(json.dumps({"type": event}))
    assert (dialogue.ignored == 1) == (handling == SKIPPED)


@pytest.mark.parametrize("field", LIVE_MESSAGE)
def test_a_message_of_live_is_known(field: str) -> None:
    assert read_frame(json.dumps({field: {}}), spoken=False).known


MESSAGES_END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
RESPONSES_END = {"type": "response.completed", "response": {"id": "r", "status": "completed"}}
INTERACTIONS_END = {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "completed"}}
STOP = {"candidates": [{"finishReason": "STOP"}]}


Part = tuple[type[AnswerReader], Mapping[str, object], Mapping[str, object], str]


def parts() -> list[Part]:
    """Return each part of an answer: its reader, the part, the end of the answer, and how the part is handled."""
    return [
        *(
            (MessagesReader, {"type": "content_block_start", "content_block": {"type": kind}}, MESSAGES_END, handling)
            for kind, handling in MESSAGES_BLOCKS.items()
        ),
        *(
            (ResponsesReader, {"type": "response.output_item.done", "item": {"type": kind}}, RESPONSES_END, handling)
            for kind, handling in RESPONSES_ITEMS.items()
        ),
        *(
            (GeminiReader, {"candidates": [{"content": {"parts": [{kind: "x"}]}}]}, STOP, handling)
            for kind, handling in GEMINI_PARTS.items()
        ),
        *(
            (InteractionsReader, {"event_type": "step.start", "step": {"type": kind}}, INTERACTIONS_END, handling)
            for kind, handling in INTERACTIONS_STEPS.items()
        ),
        *(
            (InteractionsReader, {"event_type": "step.delta", "delta": {"type": kind}}, INTERACTIONS_END, handling)
            for kind, handling in INTERACTIONS_DELTAS.items()
        ),
    ]


@pytest.mark.parametrize(("reader", "part", "end", "handling"), parts())
def test_an_answer_with_a_part_that_nobody_sees_has_not_ended_well(
    reader: type[AnswerReader], part: Mapping[str, object], end: Mapping[str, object], handling: str
) -> None:
    assert (reason_of(reader(), part, end) is StopReason.UNKNOWN) == (handling == UNSEEN)


HOLOGRAM: Mapping[str, object] = {"type": "hologram"}
STRANGE_PART: Mapping[str, object] = {"candidates": [{"content": {"parts": [{"hologram": "x"}]}}]}


@pytest.mark.parametrize(
    ("reader", "end"),
    [
        (MessagesReader, [{"type": "content_block_start", "content_block": HOLOGRAM}, MESSAGES_END]),
        (ResponsesReader, [{"type": "response.output_item.done", "item": HOLOGRAM}, RESPONSES_END]),
        (GeminiReader, [STRANGE_PART, STOP]),
        (InteractionsReader, [{"event_type": "step.start", "step": HOLOGRAM}, INTERACTIONS_END]),
    ],
)
def test_an_answer_with_a_part_that_no_type_knows_has_not_ended_well(
    reader: type[AnswerReader], end: list[Mapping[str, object]]
) -> None:
    assert reason_of(reader(), *end) is StopReason.UNKNOWN


@pytest.mark.parametrize(("word", "reason"), MESSAGES_REASONS.items())
def test_a_stop_reason_of_messages_means_what_is_listed(word: str, reason: StopReason) -> None:
    assert reason_of(MessagesReader(), {"type": "message_delta", "delta": {"stop_reason": word}}) is reason


@pytest.mark.parametrize(("status", "reason"), RESPONSES_STATUS.items())
def test_a_status_of_responses_means_what_is_listed(status: str, reason: StopReason | None) -> None:
    assert reason_of(ResponsesReader(), {"type": "response.incomplete", "response": {"status": status}}) is reason


@pytest.mark.parametrize(("word", "reason"), RESPONSES_INCOMPLETE.items())
def test_why_a_response_is_incomplete_means_what_is_listed(word: str, reason: StopReason) -> None:
    response = {"status": "incomplete", "incomplete_details": {"reason": word}}
    assert reason_of(ResponsesReader(), {"type": "response.incomplete", "response": response}) is reason


@pytest.mark.parametrize(("word", "reason"), CHAT_REASONS.items())
def test_a_finish_reason_of_chat_means_what_is_listed(word: str, reason: StopReason) -> None:
    assert reason_of(ChatReader(), {"choices": [{"index": 0, "finish_reason": word}]}) is reason


@pytest.mark.parametrize(("word", "reason"), GEMINI_REASONS.items())
def test_a_finish_reason_of_gemini_means_what_is_listed(word: str, reason: StopReason) -> None:
    assert reason_of(GeminiReader(), {"candidates": [{"finishReason": word}]}) is reason


@pytest.mark.parametrize("word", GEMINI_BLOCKED)
def test_a_blocked_prompt_of_gemini_is_filtered(word: str) -> None:
    assert reason_of(GeminiReader(), {"promptFeedback": {"blockReason": word}}) is StopReason.FILTERED


@pytest.mark.parametrize(("word", "reason"), LIVE_REASONS.items())
def test_a_reason_of_live_means_what_is_listed(word: str, reason: StopReason) -> None:
    content = {"turnComplete": True, "turnCompleteReason": word}
    assert read_frame(json.dumps({"serverContent": content}), spoken=False).complete is reason


@pytest.mark.parametrize(("status", "reason"), INTERACTIONS_STATUS.items())
def test_a_status_of_interactions_means_what_is_listed(status: str, reason: StopReason | None) -> None:
    ended = {"event_type": "interaction.completed", "interaction": {"id": "i", "status": status}}
    assert reason_of(InteractionsReader(), ended) is reason


@pytest.mark.parametrize(("code", "status"), RESPONSES_ERRORS.items())
def test_an_error_of_a_response_has_the_status_that_is_listed(code: str, status: int) -> None:
    fault = answer(
        ResponsesReader(), {"type": "response.failed", "response": {"status": "failed", "error": {"code": code}}}
    )
    assert isinstance(fault, Fault)
    assert fault.status == status


@pytest.mark.parametrize(("kind", "status"), MESSAGES_ERRORS.items())
def test_an_error_of_messages_in_a_stream_has_the_status_that_is_listed(kind: str, status: int) -> None:
    assert read_error({"type": kind, "message": "m"}).status == status


COUNTED: list[tuple[UsageFields, Mapping[str, str]]] = [
    (MessagesReader.usage_fields, MESSAGES_USAGE),
    (ResponsesReader.usage_fields, RESPONSES_USAGE),
    (ChatReader.usage_fields, CHAT_USAGE),
    (REALTIME_USAGE, REALTIME_USAGE_FIELDS),
    (USAGE, GEMINI_USAGE),
    (LIVE_USAGE, LIVE_USAGE_FIELDS),
    (InteractionsReader.usage_fields, INTERACTIONS_USAGE),
]


@pytest.mark.parametrize(("counts", "listed"), COUNTED)
def test_the_counts_that_are_read_are_those_that_are_listed(counts: UsageFields, listed: Mapping[str, str]) -> None:
    read = {counts.input, counts.output, counts.cached, counts.written, counts.reasoning, counts.tools, counts.total}
    assert read - {""} == {path for path, handling in listed.items() if handling == READ}
