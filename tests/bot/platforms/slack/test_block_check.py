"""What is sent to Slack for a check, and how its answer is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Json
from bot.platforms.slack.block_check import refused_kinds, sample_blocks
from tests.fakes.slack_blocks import message_problems
from tests.fakes.slack_sdk_spec import problems

KINDS = ["markdown", "data_table", "data_visualization", "context_actions", "actions"]


def test_the_samples_have_each_kind_of_block_and_slacks_reference_allows_them() -> None:
    blocks = sample_blocks("U0ANN", tables=True)
    assert [block["type"] for block in blocks] == KINDS
    assert message_problems(blocks) == []
    assert problems("chat.postMessage", {"channel": "C1", "blocks": blocks}) == []
    assert "data_table" not in [block["type"] for block in sample_blocks("U0ANN", tables=False)]


@pytest.mark.parametrize(
    ("pointers", "kinds"),
    [
        (["/1/rows/0"], ["data_table"]),
        (["/2", "/1/type", "/1"], ["data_table", "data_visualization"]),
        (["/blocks/3/elements/0/text"], ["context_actions"]),
        (["/99/type", "/", "", "x", "/message/1"], []),
    ],
)
def test_the_blocks_that_an_answer_names_are_found_by_their_place(pointers: list[str], kinds: list[str]) -> None:
    errors: list[Json] = [{"pointer": pointer, "code": "failed_constraint"} for pointer in pointers]
    assert refused_kinds(sample_blocks("U0ANN", tables=True), {"ok": False, "errors": errors}) == kinds


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["errors", "pointer", "x"]), inner),
    max_leaves=9,
)


@given(st.dictionaries(st.sampled_from(["errors", "error", "ok"]), json))
def test_an_answer_of_any_form_is_read(answer: dict[str, Json]) -> None:
    assert {*refused_kinds(sample_blocks("U0ANN", tables=True), answer)} <= {*KINDS}
