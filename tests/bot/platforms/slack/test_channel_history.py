"""Which channel a question means, and who may read it: in workspaces of every kind, asked from every place."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, cast

import pytest
from aiohttp import ClientSession
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from agent.errors import ToolError
from agent.ports.tools import ToolContext
from agent.tools.read_channel import ReadChannelTool
from bot.platforms.slack.api import SlackApi
from bot.platforms.slack.channel_history import ChannelRef, SlackChannelReader, parse_channel
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.members import Groups, Guests, People
from bot.platforms.slack.places import Places, SlackMembership, person_place
from bot.platforms.slack.reply_to import ReplyTo
from tests.examples import examples
from tests.fakes.clock import FakeClock
from tests.fakes.recording_host import recording_host
from tests.fakes.slack_state import RateLimited, Refusal, Workspace
from tests.fakes.slack_things import BOT_ID, BOT_TOKEN, BOT_USER, TEAM, FakeChannel, Object

LINK: Final = "https://acme.slack.com/archives/C0PIER/p1700000000000100"


@pytest.mark.parametrize(
    ("where", "is_meant"),
    [
        ("", ChannelRef("C0HERE")),
        ("this channel", ChannelRef("C0HERE")),
        ("thread", ChannelRef("C0HERE", root="1.2")),
        ("#Pier", ChannelRef(name="pier")),
        ("pier", ChannelRef(name="pier")),
        ("PIER", ChannelRef(name="pier")),
        ("C0PIER", ChannelRef("C0PIER")),
        ("#C0PIER", ChannelRef("C0PIER")),
        ("<#C0PIER|pier>", ChannelRef("C0PIER")),
        ("<#C0PIER>", ChannelRef("C0PIER")),
        ("https://acme.slack.com/archives/C0PIER", ChannelRef("C0PIER")),
        (LINK, ChannelRef("C0PIER", root="1700000000.000100")),
        (f"<{LINK}?thread_ts=1600000000.000001&amp;cid=C0PIER>", ChannelRef("C0PIER", root="1600000000.000001")),
    ],
)
def test_a_channel_or_thread_is_meant_as_people_and_slack_write_it(where: str, is_meant: ChannelRef) -> None:
    assert parse_channel(where, "C0HERE", "1.2") == is_meant


def test_a_thread_is_none_where_nobody_asks_in_one() -> None:
    with pytest.raises(ToolError, match="is not in a thread"):
        parse_channel("thread", "C0HERE", "")


@dataclass
class Direct:
    """A client that calls the fake workspace without a network."""

    workspace: Workspace
    token: str = BOT_TOKEN
    proxy: str | None = None
    base_url: str = "https://slack.test/api/"

    async def api_call(
        self, api_method: str, *, params: Object | None = None, json: Object | None = None, **_: object
    ) -> AsyncSlackResponse:
        def answer(data: Object, status: int = 200, **headers: str) -> AsyncSlackResponse:
            return AsyncSlackResponse(
                client=self, http_verb="", api_url="", req_args={}, data=data, headers=headers, status_code=status
            )

        try:
            told = self.workspace.perform(str(api_method), dict(params or json or {}), BOT_TOKEN)
        except Refusal as refusal:
            raise SlackApiError("refused", answer({"ok": False, "error": str(refusal)})) from refusal
        except RateLimited as limit:
            raise SlackApiError("limited", answer({"error": "ratelimited"}, 429)) from limit
        return answer({"ok": True, **told})


PEOPLE: Final = {"ann": {}, "bob": {}, "gus": {"is_restricted": True}, "oli": {"team_id": "T0OTHER"}}
FULL: Final = frozenset({"U0ANN", "U0BOB"})
ME: Final = SlackBot(TEAM, BOT_USER, BOT_ID, "https://acme.slack.com/")
SOURCE: Final = f"slack:{TEAM}"


@dataclass(frozen=True)
class Kind:
    """A channel: its kind, its members, and whether it is shared with another workspace."""

    kind: str
    members: frozenset[str]
    shared: bool


def readers_of(channel: FakeChannel) -> frozenset[str]:
    """Return the people who can in fact read it."""
    return frozenset(channel.members - {BOT_USER}) | (FULL if channel.kind == "public" else frozenset[str]())


CHANNELS = st.builds(
    Kind,
    st.sampled_from(["public", "private", "mpim"]),
    st.frozensets(st.sampled_from([*(f"U0{name.upper()}" for name in PEOPLE), BOT_USER])),
    st.booleans(),
)


@dataclass(frozen=True)
class Question:
    """A question: its asker, its place (None: direct messages), the channel that it is about, and how that is written.
    `leaves`: the asker leaves the channel first.
    """

    asker: str
    here: int | None
    about: int
    written: str
    leaves: bool


QUESTIONS = st.builds(
    Question,
    st.sampled_from([f"U0{name.upper()}" for name in PEOPLE]),
    st.none() | st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from(["{id}", "#{name}", "<#{id}|{name}>", "https://acme.slack.com/archives/{id}", "{link}"]),
    st.booleans(),
)


@pytest.mark.slow
@given(st.lists(CHANNELS, min_size=4, max_size=4), st.lists(QUESTIONS, min_size=1, max_size=4))
@settings(max_examples=examples(200), deadline=None)
def test_nothing_reaches_the_model_that_its_asker_and_all_who_read_the_answer_cannot_read(
    kinds: list[Kind], questions: list[Question]
) -> None:
    asyncio.run(_ask_all(kinds, questions))


async def _ask_all(kinds: list[Kind], questions: list[Question]) -> None:
    clock = FakeClock()
    workspace = Workspace(clock)
    for name, facts in PEOPLE.items():
        workspace.user(name, **facts)
    ids = [
        workspace.channel(f"room{number}", kind.kind, is_ext_shared=kind.shared) for number, kind in enumerate(kinds)
    ]
    links = list[str]()
    for number, (kind, id_) in enumerate(zip(kinds, ids, strict=True)):
        workspace.channels[id_].members = {*kind.members}
        ts = workspace.write(next(iter(kind.members), BOT_USER), id_, f"secret{number}").ts
        links.append(f"https://acme.slack.com/archives/{id_}/p{ts.replace('.', '')}")
    async with ClientSession() as session:
        api, host = SlackApi(cast("AsyncWebClient", Direct(workspace)), session), recording_host()
        guests = Guests(api, ME, clock)
        people = People(api, ME, clock, Groups(api, clock))
        places = Places(cast("Any", host), api, ME, clock, guests)
        tool = ReadChannelTool(SlackChannelReader(api, ME, people, places, SlackMembership(api, ME), clock))
        listing = asyncio.create_task(guests.keep())
        try:
            for question in questions:
                await _ask(question, kinds, ids, links, tool, people, places, workspace)
        finally:
            listing.cancel()
            with suppress(asyncio.CancelledError):
                await listing


async def _ask(
    question: Question,
    kinds: list[Kind],
    ids: list[str],
    links: list[str],
    tool: ReadChannelTool,
    people: People,
    places: Places,
    workspace: Workspace,
) -> None:
    here = None if question.here is None else ids[question.here]
    if here is not None and not {question.asker, BOT_USER} <= workspace.channels[here].members:
        return  # nobody asks where they, or the bot, are not
    member = await people.member(question.asker)
    place = person_place(ME, member) if here is None else await places.asked_in(here, member)
    reading = frozenset({question.asker}) if here is None else readers_of(workspace.channels[here])
    about = workspace.channels[ids[question.about]]
    if question.leaves:
        about.members.discard(question.asker)
    readers = readers_of(about)
    channel = here or f"D0{question.asker}"
    written = question.written.format(id=about.id, name=about.info["name"], link=links[question.about])
    to = ReplyTo(channel, question.asker).encode()
    now, conversation = workspace.clock.now() + timedelta(minutes=1), f"{SOURCE}:{channel}:1.1"
    context = ToolContext(member.person, place, conversation, 1, now, channel=channel, reply_to=to)
    try:
        told = str((await tool.run({"where": written}, context)).parts)
    except ToolError as refused:
        told = f"{refused.ours} {refused}"
    assert not told.startswith("False")
    assert f"secret{question.about}" not in told or {question.asker} | reading <= readers
    assert not any(f"secret{other}" in told for other in range(len(ids)) if other != question.about)
    surely = FULL & (frozenset(about.members) if kinds[question.about].shared else readers)
    if {question.asker} | reading <= surely and BOT_USER in about.members and here in (None, about.id):
        assert f"secret{question.about}" in told  # whoever may have it read out has it
