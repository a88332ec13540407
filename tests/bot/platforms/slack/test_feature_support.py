"""A method that a workspace refused is not tried for a while."""

from bot.platforms.slack.feature_support import MAX_CHANNELS, REFUSED_EVERYWHERE_S, REFUSED_S, FeatureSupport
from bot.platforms.slack.options import Method
from bot.platforms.slack.tables import MAX_TABLES

STREAM = Method.START_STREAM


def test_a_refusal_holds_for_its_channel_and_for_a_while() -> None:
    features = FeatureSupport()
    features.mark_refused(STREAM, "D1", "channel_type_not_supported", 100.0)
    assert not features.has(STREAM, "D1", 100.0 + REFUSED_S - 1)
    assert features.has(STREAM, "D2", 100.0)
    assert features.has(Method.SET_SESSION, "D1", 100.0)
    assert features.has(STREAM, "D1", 100.0 + REFUSED_S)


def test_what_the_app_cannot_do_at_all_holds_everywhere() -> None:
    features = FeatureSupport()
    features.mark_refused(STREAM, "D1", "unknown_method", 100.0)
    assert not features.has(STREAM, "D2", 100.0 + REFUSED_EVERYWHERE_S - 1)


def test_no_more_channels_are_remembered_than_fit() -> None:
    features = FeatureSupport()
    for number in range(MAX_CHANNELS + 1):
        features.mark_refused(STREAM, f"D{number}", "invalid_thread_ts", 0.0)
    assert features.has(STREAM, "D0", 0.0)
    assert not features.has(STREAM, f"D{MAX_CHANNELS}", 0.0)


def test_a_channel_in_which_the_bot_is_no_member_says_nothing_about_others() -> None:
    features = FeatureSupport()
    features.mark_refused(
        Method.SET_SESSION, "C1", "not_authorized", 0.0
    )  # "The caller is not a member of the channel"
    assert not features.has(Method.SET_SESSION, "C1", REFUSED_S - 1)
    assert features.has(Method.SET_SESSION, "C2", 0.0)


def test_after_a_refusal_of_several_tables_one_is_tried_and_after_its_refusal_none_for_a_while() -> None:
    features = FeatureSupport()
    assert features.max_tables(0.0) == MAX_TABLES
    features.mark_tables_refused(3, 0.0)
    assert features.max_tables(REFUSED_EVERYWHERE_S - 1) == 1
    features.mark_tables_refused(1, 0.0)
    assert features.max_tables(REFUSED_EVERYWHERE_S - 1) == 0
    assert features.max_tables(REFUSED_EVERYWHERE_S) == MAX_TABLES
