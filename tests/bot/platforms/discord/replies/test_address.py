"""The address that travels with a question."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.discord.replies.address import TOKEN_LIFE, Address, decode, token_until
from tests.fakes.clock import NOON

_fields = {"message", "thread", "interaction", "application", "token", "token_until"}


ids = st.text(min_size=1)


@given(st.builds(Address, ids, ids, private=st.booleans(), **dict.fromkeys(_fields, st.text())))
def test_an_address_survives_the_ledger(address: Address) -> None:
    assert decode(address.encode()) == address


def test_a_token_lives_for_less_than_fifteen_minutes_from_its_arrival() -> None:
    address = Address("20", "41", token="t", token_until=token_until(NOON))
    assert address.token_lives(NOON)
    assert address.token_lives(NOON + timedelta(minutes=14))
    assert not address.token_lives(NOON + TOKEN_LIFE)


def test_what_is_no_interaction_has_no_token() -> None:
    assert not Address("20", "41").token_lives(NOON)
