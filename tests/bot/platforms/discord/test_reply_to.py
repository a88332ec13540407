"""The address that is stored with a question."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from agent.shown_replies import EPHEMERAL_PAGE
from bot.platforms.discord.reply_to import (
    TOKEN_LIFE,
    Address,
    decode_address,
    page_of_answer,
    pages_at,
    place_of_page,
    token_until,
)
from tests.fakes.clock import NOON

_fields = {"message", "thread", "interaction", "application", "token", "token_until"}


ids = st.text(min_size=1)


@given(st.builds(Address, ids, ids, private=st.booleans(), **dict.fromkeys(_fields, st.text())))
def test_an_address_survives_the_ledger(address: Address) -> None:
    assert decode_address(address.encode()) == address


def test_a_token_lives_for_less_than_fifteen_minutes_from_its_arrival() -> None:
    address = Address("20", "41", token="t", token_until=token_until(NOON))
    assert address.token_lives(NOON)
    assert address.token_lives(NOON + timedelta(minutes=14))
    assert not address.token_lives(NOON + TOKEN_LIFE)


def test_what_is_no_interaction_has_no_token() -> None:
    assert not Address("20", "41").token_lives(NOON)


def test_a_page_that_all_see_is_named_by_its_channel_and_one_that_the_token_alone_reaches_is_not() -> None:
    public = Address("20", "41", token="t")
    private, by_person = Address("20", "41", token="t", private=True), Address("20", "41", token="t", by_person=True)
    assert place_of_page(page_of_answer(public, "300")) == ("20", "300", True)
    assert place_of_page(page_of_answer(private, "300")) == (EPHEMERAL_PAGE, "300", True)
    assert place_of_page(page_of_answer(by_person, "300")) == (EPHEMERAL_PAGE, "300", True)
    assert place_of_page("20/300") == ("20", "300", False)


def test_a_message_is_found_as_a_page_whatever_reaches_it() -> None:
    for address in (Address("20", "41"), Address("20", "41", private=True)):
        assert page_of_answer(address, "300") in pages_at(20, 300)
