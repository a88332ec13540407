"""A question of the model by the real command and the real service: whatever happens to processes while it waits, it is
answered once, and the reply goes on with the answer. The model is the rehearsal.
"""

import json
from pathlib import Path

from agent.machine import CLOCK
from bot.chat.exit_codes import Exit
from bot.chat.texts import replies as reply_texts
from bot.tools import texts as tool_texts
from tests.fakes.discord_bot import by_the_bot
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BOT, Payload
from tests.fakes.discord_world import labels as below
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.flows.test_service import on_discord, on_slack, service
from tests.flows.test_terminal import cogency
from tests.patience import until

ASK = f"use ask_user {json.dumps({'question': 'Where to?', 'options': ['Staging', 'Production']})}"
ANSWERED = "You answered:"
MODEL = {"COGENCY_MODEL": "rehearsal"}


async def test_killed_while_it_waits_the_next_start_goes_on_with_the_answer(tmp_path: Path) -> None:
    async with FakeSlack(CLOCK) as slack:
        ann, bob, general = slack.state.user("ann"), slack.state.user("bob"), slack.state.channel("general")
        async with service(tmp_path, **on_slack(slack), **MODEL) as first:
            await slack.connected(2)
            await slack.say(ann, general, f"<@{BOT_USER}> {ASK}")
            await until(lambda: slack.state.ephemerals)
            first.kill()
            await first.wait()
        (page,), (shown,) = slack.state.answers(general), slack.state.ephemerals
        assert reply_texts.WAITS_FOR_PERSON in page.text
        assert (shown.user, "Where to?" in shown.text) == (ann, True)
        async with service(tmp_path, **on_slack(slack), **MODEL):
            await slack.connected(2)
            await slack.click(bob, page, reply_texts.ANSWER_BUTTON)
            await until(lambda: len(slack.state.ephemerals) == 2)
            assert (slack.state.ephemerals[1].user, slack.state.ephemerals[1].text) == (bob, tool_texts.NOTHING_ASKED)
            await slack.click(ann, shown, "Production")
            await until(lambda: ANSWERED in page.text)
        assert slack.state.answers(general) == [page]
    assert page.text.startswith("Where to?")
    assert "Production" in page.text.partition(ANSWERED)[2]


def page_of(discord: FakeDiscord) -> Payload | None:
    """The reply below which somebody may answer."""
    return next((one for one in by_the_bot(discord) if reply_texts.ANSWER_BUTTON in below(one)), None)


async def test_killed_while_it_waits_on_discord_the_next_start_goes_on_with_the_answer(tmp_path: Path) -> None:
    async with running_discord(CLOCK) as discord:
        async with service(tmp_path, **on_discord(discord), **MODEL) as first:
            await discord.until(lambda: discord.identified and discord.rest.commands)
            await discord.say(ANN, f"<@{BOT}> {ASK}")
            await until(lambda: page_of(discord))
            first.kill()
            await first.wait()
        page = page_of(discord)
        assert page is not None
        async with service(tmp_path, **on_discord(discord), **MODEL):
            await discord.until(lambda: discord.identified == 2)
            await until(lambda: page_of(discord) is page)
            await discord.press(ANN, page, reply_texts.ANSWER_BUTTON)
            await until(lambda: any("Production" in below(one) for one in by_the_bot(discord)))
            panel = next(one for one in by_the_bot(discord) if "Production" in below(one))
            await discord.press(ANN, panel, "Production")
            await until(lambda: ANSWERED in page["content"])
        assert not any(ANSWERED in one["content"] for one in by_the_bot(discord) if one["id"] != page["id"])
    assert "Production" in page["content"].partition(ANSWERED)[2]


def test_in_the_terminal_it_is_answered_by_number_in_words_or_not_at_all(tmp_path: Path) -> None:
    ran = cogency(tmp_path, "chat", **MODEL, typed=f"{ASK}\n2\n{ASK}\nto the moon\n{ASK}\nskip\n")
    assert ran.returncode == Exit.OK, ran.stderr
    assert ran.stdout.count(ANSWERED) == 2
    assert tool_texts.REPLIED.format(answer="Production") in ran.stdout
    assert tool_texts.REPLIED.format(answer="to the moon") in ran.stdout
    assert tool_texts.SKIPPED in ran.stdout
    assert "chose not to answer" in ran.stdout


def test_nobody_is_asked_where_a_program_reads(tmp_path: Path) -> None:
    ran = cogency(tmp_path, "ask", "--json", ASK, **MODEL)
    assert ran.returncode == Exit.OK, ran.stderr
    assert "unknown tool" in ran.stdout
