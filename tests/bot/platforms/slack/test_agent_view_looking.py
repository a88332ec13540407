"""What people view is remembered for a while, for a bounded number of people, and for one question."""

from bot.platforms.slack.agent_view import MAX_PEOPLE, ViewedEntities
from bot.platforms.slack.api import SlackApi
from bot.platforms.slack.inbound import Entity, EntityKind, SlackBot, SlackMessage
from bot.platforms.slack.members import Groups, Guests, People
from bot.platforms.slack.places import Places, SlackMembership, group_place
from bot.platforms.slack.surroundings import Threads
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_ID, BOT_USER, TEAM

ME = SlackBot(TEAM, BOT_USER, BOT_ID)
DM = "D0ANN"
CANVAS = (Entity(EntityKind.CANVAS, "F1"),)


def looking(slack: FakeSlack, api: SlackApi) -> ViewedEntities:
    places = Places(recording_host(), api, ME, slack.clock, Guests(api, ME, slack.clock))
    threads = Threads(api, ME, People(api, ME, slack.clock, Groups(api, slack.clock)), places, SlackMembership(api, ME))
    return ViewedEntities(ME, places, threads, slack.clock)


async def noted(looking: ViewedEntities, user: str, sees: tuple[Entity, ...] | None = None) -> list[str]:
    """Return the notes beside a direct message of this user."""
    heard = SlackMessage(
        "Ev1", DM, "1.1", "", user, "what is this?", direct=True, mentioned=False, outside=False, sees=sees
    )
    return [quoted.text for quoted in await looking.quotes_for(heard, "ann", group_place(ME, DM))]


async def test_it_is_taken_once_and_replaced_by_what_comes_later(slack: FakeSlack, api: SlackApi) -> None:
    view = looking(slack, api)
    view.record("U1", (Entity(EntityKind.LIST, "F2"),))
    view.record("U1", CANVAS)
    view.record("U2", CANVAS)
    view.record("U2", ())
    assert [await noted(view, user) for user in ("U1", "U1", "U2")] == [["a canvas"], [], []]


async def test_what_slack_says_with_the_message_holds(slack: FakeSlack, api: SlackApi) -> None:
    view = looking(slack, api)
    view.record("U1", CANVAS)
    assert await noted(view, "U1", ()) == []
    assert await noted(view, "U1") == []


async def test_of_too_many_people_those_who_looked_last_are_remembered(slack: FakeSlack, api: SlackApi) -> None:
    view = looking(slack, api)
    for number in range(MAX_PEOPLE + 1):
        view.record(f"U{number}", CANVAS)
    assert await noted(view, "U0") == []
    assert await noted(view, f"U{MAX_PEOPLE}") == ["a canvas"]
