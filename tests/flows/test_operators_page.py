"""The operators' page of the real service: an operator gets a link at the shell, and sees how the bot does."""

from pathlib import Path
from urllib.parse import urlsplit

import httpx

from agent.machine import CLOCK
from bot.app.settings import load_settings
from bot.setup.operator import operator_link, operator_sessions, sign_operators_out
from tests.fakes.model_server import ModelServer
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.fakes.sign_in_world import free_port
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.flows.test_metrics import answering
from tests.flows.test_service import by_model, environment, on_slack, service
from tests.patience import PATIENCE_S, until

SAME = {"Sec-Fetch-Site": "same-origin"}


async def test_an_operator_signs_in_by_a_link_from_the_shell_and_sees_what_was_answered(tmp_path: Path) -> None:
    page = {"COGENCY_OPERATOR_PAGE": f"127.0.0.1:{free_port()}"}
    async with FakeSlack(CLOCK) as slack, ModelServer([answering("At the pier.")]) as model:
        everything = page | on_slack(slack) | by_model(model)
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **everything):
            await slack.connected(2)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> where is my boat?")
            await until(lambda: "At the pier." in "".join(one.text for one in slack.state.answers(general, asked.ts)))
            settings = load_settings(environment(tmp_path, everything))
            _, link, _ = (await operator_link(settings)).split("\n")
            async with httpx.AsyncClient(timeout=PATIENCE_S, follow_redirects=True, verify=NO_AUTHORITIES) as browser:
                here = f"http://{urlsplit(link).netloc}"
                assert (await browser.get(here)).status_code == 403
                form = {"Content-Type": "application/x-www-form-urlencoded"}
                now = await browser.post(link, headers=SAME | form)
                while "1 in the last hour" not in now.text:  # its end is told a moment after it is shown
                    now = await browser.get(here)
                assert "Slack" in now.text
                assert ">connected<" in now.text
                assert "boat" not in now.text
                assert "pier" not in now.text
                spent, slow = [await browser.get(f"{here}/{page}") for page in ("spending", "slow")]
                assert "By day" in spent.text
                turn = await browser.get(f"{here}/turn?id={slow.text.partition('/turn?id=')[2].partition(chr(34))[0]}")
                assert "first output after" in turn.text
                assert "Waiting and preparing" not in turn.text, "it is known when it was begun"
                assert "pier" not in spent.text + slow.text + turn.text
                assert "signed in" in await operator_sessions(settings)
                assert "1 session" in await sign_operators_out(settings)
                assert (await browser.get(here)).status_code == 403
