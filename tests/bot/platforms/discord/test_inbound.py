"""The conversion of messages and commands to `Incoming`."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.admission_terms import Authority
from agent.incoming import Incoming
from agent.memory.audience import PersonAudience, Place, TeamAudience
from bot.platforms.discord.inbound import (
    NO_TEXT,
    STRANGER,
    AskedQuestion,
    ChannelFactsForConversation,
    DiscordAuthor,
    DiscordBot,
    DiscordPost,
    ServerStanding,
    plausible,
    read_post,
    read_question,
    thread_name,
)
from bot.platforms.discord.places import private_place
from bot.platforms.discord.reply_to import decode_address
from bot.platforms.discord.settings import ReplyMode
from tests.fakes.clock import NOON

ANN = DiscordAuthor(41, "Ann")
PUBLIC = Place(TeamAudience("discord:10"), "discord:10")
CHANNEL = ChannelFactsForConversation(20, PUBLIC, has_threads=True)
VOICE = ChannelFactsForConversation(22, PUBLIC)
THREAD = ChannelFactsForConversation(30, PUBLIC, parent=20)
DM = ChannelFactsForConversation(71, private_place("discord:41"), direct=True)
ME = DiscordBot(900, frozenset({31}), frozenset({"901"}))
POST = DiscordPost(
    7, CHANNEL, ANN, "<@900> hello", NOON, "https://discord.com/channels/10/20/7", mentions=frozenset({900})
)
QUESTION = AskedQuestion(8, 900, "token", CHANNEL, ANN, "hello", False, NOON, private_place("discord:41", 10))


def taken(post: DiscordPost, mode: ReplyMode = ReplyMode.THREAD) -> Incoming:
    incoming = read_post(post, ME, mode)
    assert incoming is not None
    return incoming


@pytest.mark.parametrize(
    ("where", "mode", "conversation", "channel"),
    [
        (CHANNEL, ReplyMode.THREAD, "discord:7", "20"),
        (CHANNEL, ReplyMode.IN_PLACE, "discord:20", "20"),
        (VOICE, ReplyMode.THREAD, "discord:22", "22"),
        (THREAD, ReplyMode.THREAD, "discord:30", "20"),
        (THREAD, ReplyMode.IN_PLACE, "discord:30", "20"),
        (DM, ReplyMode.THREAD, "discord:71", "71"),
    ],
)
def test_where_it_is_said_names_the_conversation(
    where: ChannelFactsForConversation, mode: ReplyMode, conversation: str, channel: str
) -> None:
    incoming = taken(replace(POST, where=where), mode)
    assert (incoming.conversation, incoming.channel) == (conversation, channel)


@pytest.mark.parametrize(
    ("where", "mode", "message", "thread"),
    [
        (CHANNEL, ReplyMode.THREAD, "7", "hello"),
        (CHANNEL, ReplyMode.IN_PLACE, "7", ""),
        (VOICE, ReplyMode.THREAD, "7", ""),
        (THREAD, ReplyMode.THREAD, "", ""),
        (DM, ReplyMode.THREAD, "", ""),
    ],
)
def test_the_answer_knows_its_way(
    where: ChannelFactsForConversation, mode: ReplyMode, message: str, thread: str
) -> None:
    address = decode_address(taken(replace(POST, where=where), mode).reply_to)
    assert (address.channel, address.message, address.thread) == (str(where.channel), message, thread)


def test_a_thread_has_a_name_that_fits_even_without_words() -> None:
    assert decode_address(taken(replace(POST, content="<@900>")).reply_to).thread == "Ann asked"
    assert len(decode_address(taken(replace(POST, content="boat " * 400)).reply_to).thread) <= 80


@pytest.mark.parametrize(
    "post",
    [
        replace(POST, author=DiscordAuthor(900, "Cogency", automatic=True)),
        replace(POST, author=DiscordAuthor(902, "A bot", automatic=True)),
        replace(POST, by_user=False),
        replace(POST, content="", mentions=frozenset(), where=THREAD),
    ],
)
def test_what_is_the_bots_own_or_another_bots_or_discords_or_empty_is_passed_over(post: DiscordPost) -> None:
    assert read_post(post, ME, ReplyMode.THREAD) is None


def test_an_allowed_bot_is_heard() -> None:
    assert taken(replace(POST, author=DiscordAuthor(901, "Herald", automatic=True))).person.id == "discord:901"


@pytest.mark.parametrize("post", [replace(POST, content="<@900>"), replace(POST, content="", where=DM)])
def test_a_message_for_the_bot_without_words_still_counts(post: DiscordPost) -> None:
    assert taken(post).text == NO_TEXT


def test_a_picture_in_a_thread_still_counts() -> None:
    assert taken(replace(POST, content="", mentions=frozenset(), where=THREAD, carries=True)).text == NO_TEXT


@pytest.mark.parametrize(
    ("where", "private", "mode", "conversation"),
    [
        (CHANNEL, False, ReplyMode.THREAD, "discord:8"),
        (CHANNEL, False, ReplyMode.IN_PLACE, "discord:20"),
        (CHANNEL, True, ReplyMode.THREAD, "discord:20:41"),
        (CHANNEL, True, ReplyMode.IN_PLACE, "discord:20:41"),
        (THREAD, False, ReplyMode.THREAD, "discord:30"),
        (THREAD, True, ReplyMode.THREAD, "discord:30:41"),
        (DM, False, ReplyMode.THREAD, "discord:71"),
        (DM, True, ReplyMode.THREAD, "discord:71"),
    ],
)
def test_where_it_is_asked_names_the_conversation(
    where: ChannelFactsForConversation, private: bool, mode: ReplyMode, conversation: str
) -> None:
    incoming = read_question(replace(QUESTION, where=where, private=private), mode)
    assert incoming.conversation == conversation
    hidden = private and not where.direct
    assert incoming.place == (QUESTION.private_place if hidden else where.place)
    assert decode_address(incoming.reply_to).private == hidden


def test_a_time_that_an_id_cannot_mean_is_now() -> None:
    late = NOON - timedelta(minutes=3)
    assert plausible(late, NOON) == late
    assert plausible(NOON - timedelta(days=4000), NOON) == NOON


@pytest.mark.parametrize(
    ("standing", "within"),
    [
        (ServerStanding(Authority.EMPLOYEE, team="10"), "discord:10"),
        (ServerStanding(Authority.ADMIN, team="10"), "discord:10"),
        (ServerStanding(Authority.GUEST, team="10"), None),
        (STRANGER, None),
    ],
)
def test_a_dm_lies_within_the_server_of_a_full_member(standing: ServerStanding, within: str | None) -> None:
    incoming = taken(replace(POST, where=DM, author=replace(POST.author, standing=standing)))
    assert incoming.place == Place(PersonAudience("discord:41"), within_team=within)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("which\nboat?", "which boat?"),
        ("\u202egnp.exe\u200b", "gnp.exe"),
        ("\u200b\u2060\u200d", ""),
        ("a 👨\u200d👩\u200d👧 boat", "a 👨\u200d👩\u200d👧 boat"),
        ("@everyone " * 20, f"{'@everyone ' * 7}@everyone…"),
    ],
)
def test_a_threads_name_is_one_line_of_what_can_be_seen(question: str, name: str) -> None:
    assert thread_name(question) == name
