"""A press of "Continue" or "Regenerate" is a question of its presser."""

from dataclasses import replace

import pytest

from agent.errors import Refused
from agent.repeats import repeats_of
from agent.shown_replies import Answered
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.places import private_place
from bot.platforms.discord.pressing import Press, continue_pressed, regenerate_pressed
from bot.platforms.discord.reply_to import decode_address
from tests.bot.platforms.discord.test_inbound import ANN, CHANNEL, PUBLIC, THREAD
from tests.fakes.clock import NOON

REPLY = Answered(7, "discord", "discord:7", "20", "70", "discord:41", "Which colour?", "team:discord:10", ("20/77",))
PRESS = Press(9, 900, "token", CHANNEL, ANN, 77, "discord:7", False, True, NOON, private_place("discord:41", 10))


def test_a_press_of_continue_is_a_question_of_the_presser_in_that_conversation_once_for_each_page() -> None:
    incoming = continue_pressed(PRESS)
    assert (incoming.text, incoming.conversation, incoming.person.id) == (
        platforms_texts.GO_ON,
        "discord:7",
        "discord:41",
    )
    assert (incoming.channel, incoming.message_id, incoming.place) == ("20", "continue:77", PUBLIC)
    assert continue_pressed(replace(PRESS, id=10)).message_id == incoming.message_id
    assert decode_address(incoming.reply_to).message == "77"
    assert decode_address(incoming.reply_to).token == ""


def test_in_a_thread_the_answer_to_a_press_stands_at_its_end() -> None:
    incoming = continue_pressed(replace(PRESS, where=THREAD))
    assert incoming.channel == "20"
    assert (decode_address(incoming.reply_to).channel, decode_address(incoming.reply_to).message) == ("30", "")


def test_what_only_the_presser_sees_goes_on_where_only_they_see_it() -> None:
    incoming = continue_pressed(replace(PRESS, private=True, conversation="discord:20:41"))
    address = decode_address(incoming.reply_to)
    assert incoming.place == private_place("discord:41", 10)
    assert (address.private, address.follows, address.token) == (True, True, "token")


def test_where_the_bot_is_no_member_the_answer_follows_the_interaction() -> None:
    address = decode_address(continue_pressed(replace(PRESS, member=False)).reply_to)
    assert (address.private, address.follows, address.token) == (False, True, "token")


def test_a_press_of_regenerate_asks_the_same_again_beside_a_press_of_continue() -> None:
    incoming = regenerate_pressed(PRESS, REPLY)
    assert (incoming.text, incoming.conversation, incoming.place) == ("Which colour?", "discord:7", PUBLIC)
    assert incoming.message_id in repeats_of(REPLY.message_id)
    assert incoming.message_id != continue_pressed(PRESS).message_id


def test_what_was_asked_where_fewer_read_is_not_asked_again_where_the_whole_server_reads_now() -> None:
    with pytest.raises(Refused, match=reply_texts.MORE_PUBLIC):
        regenerate_pressed(PRESS, replace(REPLY, audience="group:discord:20"))
    assert (
        regenerate_pressed(replace(PRESS, private=True), replace(REPLY, audience="group:discord:20")).text
        == "Which colour?"
    )


def test_a_question_is_asked_again_only_so_often() -> None:
    with pytest.raises(Refused, match=reply_texts.OFTEN_ENOUGH):
        regenerate_pressed(PRESS, replace(REPLY, message_id=repeats_of(REPLY.message_id)[-1]))


def test_where_only_the_presser_has_installed_the_bot_few_messages_may_follow() -> None:
    assert decode_address(regenerate_pressed(replace(PRESS, member=False, by_person=True), REPLY).reply_to).by_person
