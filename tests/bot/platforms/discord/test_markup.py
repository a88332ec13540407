"""Discord's markup as text for the model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.discord.markup import DiscordMessageLink, DiscordNames, message_links, readable, without_mention

NAMES = DiscordNames(users={1: "Ann"}, roles={2: "Crew"}, channels={3: "general"})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("ask <@1> and <@!1>", "ask @Ann and @Ann"),
        ("<@9>, <@&2>, <@&9>", "@someone, @Crew, @someone"),
        ("in <#3> or <#9>", "in #general or <#9>"),
        ("<:boat:77> <a:wave:78>", ":boat: :wave:"),
        ("</ask:5> </forget all:6>", "/ask /forget all"),
        ("at <t:0:R>", "at 1970-01-01 00:00 UTC"),
        ("at <t:99999999999>", "at 5138-11-16 09:46 UTC"),
        ("at <t:-99999999999>", "at <t:-99999999999>"),
        ("a < b > c, List<int>, <@>, <@x>", "a < b > c, List<int>, <@>, <@x>"),
    ],
)
def test_ids_become_names(content: str, text: str) -> None:
    assert readable(content, NAMES) == text


@given(st.text(alphabet="<@!&#:t/ 0123456789>ab"))
def test_any_text_is_readable(content: str) -> None:
    assert "<@1>" not in readable(content, NAMES)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<@5> hello", "hello"),
        ("  <@!5>, <@&6>: hello", "hello"),
        ("hello <@5>", "hello <@5>"),
        ("<@7> hello", "<@7> hello"),
        ("<@5>", ""),
    ],
)
def test_the_mention_that_a_message_begins_with_is_left_out(content: str, text: str) -> None:
    assert without_mention(content, frozenset({5, 6})) == text


def test_links_to_messages_are_found_once_each_in_order() -> None:
    text = (
        "see https://discord.com/channels/1/2/3, https://canary.discord.com/channels/@me/5/6 "
        "and https://discord.com/channels/1/2/3; not https://discord.com/channels/1/2 or https://discord.com.evil/channels/1/2/3"
    )
    assert message_links(text) == [DiscordMessageLink(1, 2, 3), DiscordMessageLink(None, 5, 6)]
