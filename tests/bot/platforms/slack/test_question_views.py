"""The windows for questions."""

from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Json
from bot.platforms.slack.question_views import METADATA_CHARS, ask_view, read_ask_view
from bot.platforms.slack.reply_to import ReplyTo


@given(st.text(max_size=300), st.text(max_size=9_000), st.text(max_size=300))
def test_a_window_carries_what_fits_whatever_somebody_is_called_or_wrote(author: str, about: str, name: str) -> None:
    view = ask_view(author, about, ReplyTo("C1", "U1"), [{"id": "F1", "name": name}])
    carried = view["private_metadata"]
    assert isinstance(carried, str)
    assert len(carried) <= METADATA_CHARS
    typed: Json = {"values": {"question": {"question": {"value": "What?"}}}}
    read = read_ask_view({"private_metadata": carried, "state": typed})
    assert read is not None
    assert about.startswith(read.about)
