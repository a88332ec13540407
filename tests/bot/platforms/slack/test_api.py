"""Whatever is answered in Slack's place is one of the errors that callers expect."""

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from bot.platforms.slack.api import SlackApi, SlackDown
from bot.platforms.slack.methods import Method
from bot.platforms.slack.web import web_client


@pytest.mark.parametrize("said", ["[1]", "null", '"ok"', "1", "{}", "<html>", ""])
async def test_an_answer_that_is_not_slacks_is_a_failure_of_slack(said: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=said, content_type="application/json")

    app = web.Application()
    app.router.add_route("*", "/{method}", answer)
    async with TestServer(app) as server, ClientSession() as session:
        api = SlackApi(web_client(str(server.make_url("")), session, "xoxb-token"), session)
        with pytest.raises(SlackDown):
            await api.call(Method.PUBLISH_VIEW, user_id="U1", view={})
