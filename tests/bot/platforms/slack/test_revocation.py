"""When a bot token counts as revoked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.slack.revocation import CONFIRM_S, Confirmation, TokenState

SIGN_INS = st.lists(st.tuples(st.floats(0.0, 40.0), st.sampled_from([True, False, None])), max_size=30)


@given(SIGN_INS)
def test_a_token_is_revoked_only_after_a_minute_of_refusals_without_an_accepted_sign_in(
    sign_ins: list[tuple[float, bool | None]],
) -> None:
    confirmation, now, since = Confirmation(), 0.0, None
    for pause, refused in sign_ins:
        now += pause
        since = None if refused is False else now if refused and since is None else since
        state = confirmation.record(now, refused=refused)
        is_over = refused is True and since is not None and now - since >= CONFIRM_S
        assert (state is TokenState.REVOKED) == is_over
        assert (state is TokenState.VALID) == (refused is False)


@pytest.mark.parametrize("refused", [True, None])
def test_one_refusal_or_silence_leaves_the_token_doubted(refused: bool | None) -> None:
    assert Confirmation().record(1_000_000.0, refused=refused) is TokenState.DOUBTED
