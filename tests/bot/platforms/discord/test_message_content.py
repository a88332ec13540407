"""What a person sees of a message on Discord."""

import inspect
from collections.abc import Iterator
from typing import Any, Final, get_args

import discord
import pytest
from discord import components
from discord.types.embed import EmbedType
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.message_parts import CARD, FORWARDED, MAX_CHARS, MAX_DEPTH, TOO_DEEP, UNREADABLE
from bot.platforms.discord.markup import DiscordNames, readable
from bot.platforms.discord.message_content import COMPONENTS, EMBEDS, Content, content_of, is_card
from bot.platforms.discord.objects import READ_MESSAGE_TYPES
from bot.platforms.discord.reply_to import pages_at
from tests.fakes.alerts import ON_DISCORD, Alert
from tests.fakes.clock import FakeClock
from tests.fakes.discord_world import ANN, COMPONENTS_V2, GENERAL, OTHER_BOT, Payload, World

CLIENT: Final[Any] = discord.Client(intents=discord.Intents.none())


def message(author: str = OTHER_BOT, content: str = "", **more: Any) -> discord.Message:
    payload: Any = World(FakeClock()).message(GENERAL, author, content, **more)
    return discord.Message(state=CLIENT._connection, channel=CLIENT.get_partial_messageable(int(GENERAL)), data=payload)


def content(author: str = OTHER_BOT, words: str = "", **more: Any) -> Content:
    return content_of(message(author, words, **more))


def read(author: str = OTHER_BOT, words: str = "", **more: Any) -> str:
    """Return all that a message shows, as the model reads it."""
    return readable(content(author, words, **more).whole, DiscordNames(users={42: "Bo"}))


def by_app(*shown: Payload) -> str:
    return read(components=list(shown), flags=COMPONENTS_V2)


def subclasses(parent: type) -> Iterator[type]:
    for child in parent.__subclasses__():
        yield child
        yield from subclasses(child)


def test_every_component_of_the_library_is_read_or_named_as_one_without_words() -> None:
    known = {one for one in subclasses(discord.Component) if one.__module__ == components.__name__}
    assert len(known) > 12
    assert known == set(COMPONENTS)
    made = {type(made) for made in (_made(kind.value) for kind in discord.ComponentType) if made is not None}
    assert made <= set(COMPONENTS)


def _made(kind: int) -> object:
    """Return the library's component of a type, made from a payload with every field that any type needs."""
    text: Payload = {"type": 10, "content": "x"}
    media = {"url": "https://x.example/a.png"}
    fields: Payload = {"components": [], "accessory": text, "component": text, "media": media, "file": media}
    fields |= {"items": [], "style": 1, "label": "x", "custom_id": "x", "content": "x", "options": []}
    factory: Any = inspect.getattr_static(components, "_component_factory")
    return factory({"type": kind, "id": 1, **fields}, CLIENT._connection)


def test_every_type_of_embeds_and_messages_of_the_library_is_known() -> None:
    assert set(get_args(EmbedType)) == set(EMBEDS)
    notices = set(discord.MessageType) - READ_MESSAGE_TYPES
    assert {one.name for one in READ_MESSAGE_TYPES} == {
        *("default", "reply", "chat_input_command", "context_menu_command", "poll_result"),
    }
    assert len(notices) > 30


@pytest.mark.parametrize("alert", ON_DISCORD, ids=str)
@pytest.mark.parametrize("webhook", [{}, {"webhook_id": OTHER_BOT}])
def test_the_alert_of_a_service_is_read_with_its_fields(alert: Alert, webhook: Payload) -> None:
    payload = {**alert.payload, **webhook}
    shown = read(OTHER_BOT, payload.pop("content"), **payload)
    assert [words for words in alert.says if words not in shown] == []


def test_the_cards_of_an_app_are_its_own_words_and_those_of_a_user_are_not() -> None:
    card = {"type": "rich", "title": "Build 471 failed", "description": "linker error, <@42>"}
    assert read(OTHER_BOT, "look", embeds=[card]) == "look\nBuild 471 failed\nlinker error, @Bo"
    assert content(OTHER_BOT, "look", embeds=[card]).enclosed == ()
    assert content(ANN, "look", embeds=[card]).text == "look"
    assert read(ANN, "look", embeds=[card]) == f"look\n> ({CARD})\n> Build 471 failed\n> linker error, @Bo"


def test_what_a_link_in_a_users_text_unfolds_to_is_a_preview_of_whatever_type() -> None:
    unfolded = {"type": "rich", "url": "https://example.org/1", "description": "a post", "footer": {"text": "Site"}}
    assert read(ANN, "see https://example.org/1", embeds=[unfolded]) == "see https://example.org/1"
    assert "a post" in read(OTHER_BOT, "see https://example.org/1", embeds=[unfolded])


@pytest.mark.parametrize("kind", ["article", "link", "image", "video", "gifv"])
@pytest.mark.parametrize("author", [ANN, OTHER_BOT])
def test_previews_of_links_are_not_read(kind: str, author: str) -> None:
    preview = {"type": kind, "url": "https://example.org", "title": "secret", "description": "secret"}
    assert read(author, "see https://example.org", embeds=[preview]) == "see https://example.org"
    assert not is_card(discord.Embed.from_dict({"type": "link"}))


def text(words: str) -> Payload:
    return {"type": 10, "id": 1, "content": words}


BUTTON: Final[Payload] = {"type": 2, "id": 1, "style": 1, "label": "Retry", "custom_id": "r"}
PICTURE: Final[Payload] = {"media": {"url": "https://x.example/a.png"}, "description": "CPU", "spoiler": False}
MENU: Final[Payload] = {"type": 3, "id": 1, "custom_id": "m", "placeholder": "Pick", "options": []}


@pytest.mark.parametrize(
    ("component", "shown"),
    [
        (text("# Down\n<@42> <t:1790000000:R>"), "# Down\n@Bo 2026-09-21 14:13 UTC"),
        ({"type": 1, "id": 1, "components": [BUTTON, MENU]}, "(button: Retry) (menu: Pick)"),
        (
            {"type": 1, "id": 1, "components": [{**BUTTON, "style": 5, "url": "https://x.example"}]},
            "[Retry](https://x.example)",
        ),
        (
            {
                "type": 1,
                "id": 1,
                "components": [{**MENU, "options": [{"label": "prod", "value": "p", "default": True}]}],
            },
            "(menu: prod)",
        ),
        (
            {"type": 1, "id": 1, "components": [{"type": 5, "id": 1, "custom_id": "u", "placeholder": "Who"}]},
            "(menu: Who)",
        ),
        (
            {"type": 9, "id": 1, "components": [text("a"), text("b")], "accessory": {"type": 11, "id": 2, **PICTURE}},
            "a\nb\n(picture: CPU)",
        ),
        ({"type": 12, "id": 1, "items": [PICTURE, {**PICTURE, "description": None}]}, "(picture: CPU)\n(picture)"),
        ({"type": 13, "id": 1, "file": {"url": "attachment://a.log"}, "name": "a.log"}, "(file: a.log)"),
        (
            {
                "type": 17,
                "id": 1,
                "components": [text("in"), {"type": 14, "id": 2}, {"type": 1, "id": 3, "components": [BUTTON]}],
            },
            "in\n(button: Retry)",
        ),
        (
            {"type": 99, "id": 1},
            "(a part of this message that I cannot read: components that this version of the bot does not know)",
        ),
    ],
)
def test_a_component_is_read_as_a_person_sees_it(component: Payload, shown: str) -> None:
    assert by_app(component) == shown


POLL: Final[Payload] = {
    "question": {"text": "Which day?"},
    "answers": [
        {"answer_id": 1, "poll_media": {"text": "Monday"}},
        {"answer_id": 2, "poll_media": {"text": "Tuesday", "emoji": {"id": None, "name": "🦀"}}},
    ],
    "expiry": "2026-11-28T10:00:00+00:00",
    "allow_multiselect": False,
    "layout_type": 1,
    "results": {
        "is_finalized": False,
        "answer_counts": [{"id": 1, "count": 1, "me_voted": False}, {"id": 2, "count": 3, "me_voted": False}],
    },
}


def test_a_poll_is_read_with_its_answers_and_votes() -> None:
    shown = read(ANN, "please vote", poll=POLL).splitlines()
    assert shown == [
        "please vote",
        "(poll: Which day?, open until 2026-11-28 10:00 UTC)",
        "- Monday (1 vote)",
        "- 🦀 Tuesday (3 votes)",
    ]
    over = {**POLL, "results": {**POLL["results"], "is_finalized": True}}
    assert "(poll: Which day?, ended)" in read(ANN, "", poll=over)
    assert content(ANN, "", poll=POLL).enclosed == ()


def test_the_result_of_a_poll_is_read() -> None:
    fields = {
        "poll_question_text": "Which day?",
        "victor_answer_text": "Tuesday",
        "victor_answer_votes": "3",
        "total_votes": "4",
    }
    embed = {"type": "poll_result", "fields": [{"name": name, "value": value} for name, value in fields.items()]}
    assert "(poll ended: Which day?)\n> - Tuesday (3 of 4 votes)" in read(ANN, "", type=46, embeds=[embed])


def test_stickers_are_named() -> None:
    assert read(ANN, "", sticker_items=[{"id": "5", "name": "Wave", "format_type": 1}]) == "(sticker: #Wave)"


def snapshot(words: str = "", **more: Any) -> Payload:
    shown: Payload = {"type": 0, "content": words, "embeds": [], "attachments": [], "flags": 0, "components": []}
    return {"message": {**shown, "timestamp": "2026-11-28T10:00:00+00:00", "edited_timestamp": None, **more}}


FORWARD: Final[Payload] = {"message_reference": {"type": 1, "message_id": "5", "channel_id": "21", "guild_id": "10"}}
FILE: Final[Payload] = {"id": "1", "filename": "a.log", "size": 3, "url": "https://x/a.log", "proxy_url": "https://x"}


def test_a_forwarded_message_is_read_as_others_words_with_its_cards_and_files() -> None:
    card = {"type": "rich", "title": "Build 471 failed", "fields": [{"name": "branch", "value": "carts"}]}
    original = snapshot("look", embeds=[card], components=[text("more")], attachments=[FILE])
    shown = content(ANN, "what is this?", message_snapshots=[original], **FORWARD)
    assert shown.text == "what is this?"
    assert [(part.source, part.text, part.pages) for part in shown.enclosed] == [
        (
            FORWARDED,
            "look\nmore\nBuild 471 failed\nbranch: carts\n(attached file a.log)",
            pages_at(21, 5),
        )
    ]
    assert [file.filename for file in shown.files] == ["a.log"]
    assert read(ANN, "", message_snapshots=[snapshot("look")], **FORWARD) == f"> ({FORWARDED})\n> look"


@pytest.mark.parametrize("snapshots", [[], [snapshot()]])
def test_a_forwarded_message_that_cannot_be_read_is_named(snapshots: list[Payload]) -> None:
    shown = content(ANN, "what is this?", message_snapshots=snapshots, **FORWARD)
    assert [part.text for part in shown.enclosed] == [UNREADABLE]


def test_nesting_is_read_to_a_depth_and_a_message_to_a_length() -> None:
    nested = text("core")
    for _ in range(MAX_DEPTH * 3):
        nested = {"type": 17, "id": 1, "components": [nested]}
    assert by_app(nested) == TOO_DEEP
    cards = [{"type": "rich", "description": "word " * 800} for _ in range(100)]
    assert len(read(embeds=cards)) < MAX_CHARS + 5_000


WORDS = st.text(max_size=6)
UNKNOWN: st.SearchStrategy[Payload] = st.fixed_dictionaries({"type": st.integers(90, 99)})
PARTS: st.SearchStrategy[Payload] = st.recursive(
    st.builds(text, WORDS) | st.just(BUTTON) | st.just(MENU) | UNKNOWN,
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: {"type": 17, "id": 1, "components": parts}),
    max_leaves=30,
)
CARDS: st.SearchStrategy[Payload] = st.fixed_dictionaries(
    {"type": st.sampled_from(["rich", "poll_result", "link", "unheard of"])},
    optional={
        "title": WORDS,
        "description": WORDS,
        "url": WORDS,
        "author": st.fixed_dictionaries({"name": WORDS}),
        "fields": st.lists(st.fixed_dictionaries({"name": WORDS, "value": WORDS}), max_size=3),
        "footer": st.fixed_dictionaries({"text": WORDS}),
        "image": st.fixed_dictionaries({"url": WORDS}),
    },
)


@given(WORDS, st.lists(PARTS, max_size=4), st.lists(CARDS, max_size=4))
def test_every_word_of_a_message_is_read_once(words: str, parts: list[Payload], cards: list[Payload]) -> None:
    shown = content(OTHER_BOT, words, components=parts, embeds=cards)
    for piece in [words, *(card.get("description", "") for card in cards if card["type"] in ("rich", "unheard of"))]:
        assert piece.strip("\n") in shown.whole
    assert shown.enclosed == ()
