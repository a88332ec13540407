"""Acts for the person who asks: posts, reactions and pins, never more than they could do themselves.

Rules
  The platform says at the time of each act whether the asker and the bot may do it there (`agent.ports.acting`). The
  policy and the consent of the asker come before that (`agent.tool_policy`), and do not replace it: rights may change
  while a call waits for consent.
  The bot acts only in channels that are open for it: by the operator's setting, and by the channel's managers.
  A text goes to no readers who may not see what it may hold (`bot.acts.words`).
  A post notifies those whom the asker's question mentions, if it mentions them, too, and nobody else.
  Each act is counted before it happens. One that may have happened is not repeated: the loop does not run such a call
  again, and a post is found by its key where a platform did not answer.
  A post is stored as a reply of the bot to its asker, in one conversation for each channel or thread: the thread in
  which it stands becomes no conversation with the bot. Only its asker can have it changed or deleted.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar
from urllib.parse import urlsplit

from agent.errors import StoreError, ToolError
from agent.incoming import Incoming, person_source
from agent.jobs import Job
from agent.memory.audience import WIDE, GroupAudience, Place, TeamAudience, may_flow, may_flow_from
from agent.memory.forgetting_plans import Deleted
from agent.messages import JsonObject, Provenance
from agent.ports.acting import (
    ActRight,
    ActTarget,
    EventDetails,
    Hands,
    NewPoll,
    NewThread,
    Posted,
    ScheduledEvents,
    Threads,
)
from agent.ports.acts import ActLimit, Acts, Poll
from agent.ports.clock import Clock
from agent.ports.forgetting import Forgetting
from agent.ports.jobs import Jobs
from agent.ports.preferences import Preferences
from agent.ports.replies import Replies
from agent.ports.tools import ToolContext, ToolOutput
from agent.protocol.render import excerpt
from agent.schedules.times import MAX_AHEAD, moment_of, zone_of
from agent.shown_replies import Answered
from agent.turn_kinds import TurnKind
from bot.acts import texts
from bot.acts.settings import ActMode, ActSettings
from bot.acts.words import is_said_by_asker
from bot.chat.access.place_rules import ACT, OFF, ON, rules_at
from bot.chat.background_tasks import BackgroundTasks
from bot.chat.reply.link_addresses import show_addresses

log = logging.getLogger(__name__)

MAX_MESSAGES: Final = 4  # For one post: more would fill a channel
MIN_OPTIONS: Final = 2
POLL_HOURS: Final = 24
USUAL_EVENT: Final = timedelta(hours=1)
CLOSE_POLL: Final = "close_poll"  # The kind of job that closes a poll; its payload is its source, channel and page
NOWHERE: Final = Place(GroupAudience("none"))  # Into which nothing may flow
_Part = TypeVar("_Part")
_NOBODY: Final[Mapping[str, str]] = {}
_FOR_PEOPLE: Final = frozenset({TurnKind.SCHEDULED, TurnKind.WORK, TurnKind.API})  # Besides those who wait


@dataclass(frozen=True, slots=True, kw_only=True)
class ActService:
    """`hands`: those of the connected platforms, by the source of their messages."""

    settings: ActSettings
    hands: Mapping[str, Hands]
    acts: Acts
    replies: Replies
    forgetting: Forgetting
    preferences: Preferences
    jobs: Jobs
    clock: Clock
    _underway: BackgroundTasks = field(default_factory=BackgroundTasks)

    async def post(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, text = self._hands(context), _text(args, "text")
        where, replied = str(args.get("where", "")).strip(), str(args.get("reply_to", "")).strip()
        if where and replied:
            raise ToolError(texts.TWO_PLACES, ours=True)
        if replied:
            target = await hands.find_message(replied, ActRight.POST, context)
        else:
            target = await hands.find(where, ActRight.POST, context)
        text = await self._checked(text, target, context)
        messages = hands.split(text)
        if len(messages) > MAX_MESSAGES:
            raise ToolError(texts.TOO_LONG.format(count=len(messages), most=MAX_MESSAGES), ours=True)
        mentioned = await _mentioned(hands, text, context)
        await self._charge(target, context)
        return await self._carried_through(self._post(hands, target, text, messages, mentioned, context))

    async def _post(
        self,
        hands: Hands,
        target: ActTarget,
        text: str,
        messages: Sequence[str],
        mentioned: Mapping[str, str],
        context: ToolContext,
    ) -> ToolOutput:
        posted = await hands.post(target, messages, mentioned, _key(context), context)
        done = texts.POSTED.format(link=posted.link)
        if posted.missing:
            done = texts.PARTLY.format(
                count=len(posted.pages), total=len(messages), link=posted.link, why=posted.missing
            )
        shown = text if not posted.missing else "\n\n".join(messages[: len(posted.pages)])
        return _output(await self._store(target, shown, posted.pages, context, done), context)

    async def _carried_through(self, act: Coroutine[object, object, ToolOutput]) -> ToolOutput:
        """Wait for an act that has begun. It ends and is stored also if the turn is stopped meanwhile."""
        task = asyncio.ensure_future(act)
        self._underway.add(task)
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return await asyncio.shield(task)

    async def start_thread(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, title, text = self._hands(context), " ".join(_text(args, "title").split()), _text(args, "text")
        threads, thread = _offered(hands.threads), NewThread(_shown(title), str(args.get("tag", "")).strip())
        where, message = str(args.get("where", "")).strip(), str(args.get("message", "")).strip()
        if where and message:
            raise ToolError(texts.TWO_PLACES, ours=True)
        if message:
            target = await hands.find_message(message, ActRight.THREAD, context)
        else:
            target = await hands.find(where, ActRight.THREAD, context)
        whole = await self._checked(f"**{title}**\n\n{text}", target, context)
        messages = hands.split(_shown(text))
        if len(messages) > MAX_MESSAGES:
            raise ToolError(texts.TOO_LONG.format(count=len(messages), most=MAX_MESSAGES), ours=True)
        mentioned = await _mentioned(hands, text, context)
        await self._charge(target, context)
        return await self._carried_through(
            self._start_thread(threads, target, thread, whole, messages, mentioned, context)
        )

    async def _start_thread(
        self,
        threads: Threads,
        target: ActTarget,
        thread: NewThread,
        whole: str,
        messages: Sequence[str],
        mentioned: Mapping[str, str],
        context: ToolContext,
    ) -> ToolOutput:
        started = await threads.start_thread(target, thread, messages, mentioned, _key(context), context)
        done = texts.STARTED.format(link=started.link)
        if started.missing:
            done = texts.PARTLY_STARTED.format(link=started.link, why=started.missing)
        if started.pages:
            target = replace(target, conversation=started.conversation or target.conversation)
            done = await self._store(target, whole, started.pages, context, done)
        return _output(done, context)

    async def set_topic(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, topic, description = self._hands(context), _text(args, "topic"), args.get("description") is True
        topics = _offered(hands.topics)
        target = await hands.find(str(args.get("where", "")).strip(), ActRight.TOPIC, context)
        topic = await self._checked(topic, target, context)
        await self._charge(target, context)
        await topics.set_topic(target, topic, description=description)
        return _output(texts.TOPIC_SET, context)

    async def add_bookmark(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, title, link = self._hands(context), _text(args, "title"), _text(args, "link")
        bookmarks = _offered(hands.bookmarks)
        if not (host := host_of(link)):
            raise ToolError(texts.NO_ADDRESS, ours=True)
        if not names_host(title, host):
            title = f"{title} ({host})"  # as everywhere, a link shows where it leads
        target = await hands.find(str(args.get("where", "")).strip(), ActRight.BOOKMARK, context)
        title = await self._checked(title, target, context, also=link)
        await self._charge(target, context)
        await bookmarks.add_bookmark(target, title, link)
        return _output(texts.BOOKMARKED.format(title=title), context)

    async def remove_bookmark(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, named = self._hands(context), _text(args, "bookmark")
        bookmarks = _offered(hands.bookmarks)
        target = await hands.find(str(args.get("where", "")).strip(), ActRight.BOOKMARK, context)
        await self._check_open(target, context)
        await self._charge(target, context)
        await bookmarks.remove_bookmark(target, named)
        return _output(texts.UNBOOKMARKED, context)

    async def create_canvas(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, title, text = self._hands(context), " ".join(_text(args, "title").split()), _text(args, "text")
        canvases = _offered(hands.canvases)
        target = await hands.find(str(args.get("where", "")).strip(), ActRight.CANVAS, context)
        whole = await self._checked(f"# {title}\n\n{text}", target, context)
        await self._charge(target, context)
        created = canvases.create_canvas(target, _shown(title), _shown(text))
        return await self._carried_through(self._created(created, target, whole, texts.CREATED, context))

    async def _created(
        self, created: Awaitable[Posted], target: ActTarget, text: str, done: str, context: ToolContext
    ) -> ToolOutput:
        made = await created
        return _output(await self._store(target, text, made.pages, context, done.format(link=made.link)), context)

    async def edit_canvas(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, text, section = self._hands(context), _text(args, "text"), str(args.get("replaces", "")).strip()
        canvases = _offered(hands.canvases)
        target, _ = await self._made(hands, str(args["canvas"]), ActRight.CANVAS, context)
        if not isinstance(target.place.audience, TeamAudience):
            target = replace(target, place=NOWHERE)  # with whom people have shared it since is not known
        text = await self._checked(text, target, context)
        await self._charge(target, context)
        if section:
            await canvases.replace(target, section, text)
        else:
            await canvases.append(target, text)
        return _output(texts.CANVAS_EDITED, context)

    async def create_event(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands = self._hands(context)
        events, event = _offered(hands.events), _event(args, context)
        _text(args, "title")
        if event.start is None:
            raise ToolError(texts.NO_TIME.format(text="that"), ours=True)
        event = replace(event, end=event.end or event.start + USUAL_EVENT)
        _check_times(event, context)
        target = await hands.find(str(args.get("where", "")).strip(), ActRight.EVENT, context)
        text = await self._checked(event.words, target, context)
        await self._charge(target, context)
        created = events.create_event(target, _as_shown(event))
        return await self._carried_through(self._created(created, target, text, texts.SCHEDULED, context))

    async def edit_event(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands = self._hands(context)
        events, event = _offered(hands.events), _event(args, context)
        if event == EventDetails():
            raise ToolError(texts.NO_CHANGE, ours=True)
        _check_times(event, context)
        target, post = await self._made(hands, str(args["event"]), ActRight.EVENT, context)
        await self._checked(event.words, target, context)
        await self._charge(target, context)
        return await self._carried_through(self._edited(events, target, post, _as_shown(event), context))

    async def _edited(
        self, events: ScheduledEvents, target: ActTarget, post: Answered, event: EventDetails, context: ToolContext
    ) -> ToolOutput:
        now = await events.edit_event(target, event)
        await self._forget(post)
        return _output(await self._store(target, now.words, post.pages, context, texts.EVENT_EDITED), context)

    async def create_poll(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, question = self._hands(context), _text(args, "question")
        listed = args["options"]
        options = tuple(dict.fromkeys(str(each).strip() for each in listed)) if isinstance(listed, list) else ()
        if len(options) < MIN_OPTIONS or not all(options):
            raise ToolError(texts.FEW_OPTIONS, ours=True)
        target = await hands.find(str(args.get("where", "")).strip(), ActRight.POLL, context)
        text = await self._checked("\n".join([question, *(f"- {option}" for option in options)]), target, context)
        hours = args.get("hours")
        poll = NewPoll(_shown(question), tuple(map(_shown, options)), hours if isinstance(hours, int) else POLL_HOURS)
        await self._charge(target, context)
        return await self._carried_through(self._post_poll(hands, target, text, poll, context))

    async def _post_poll(
        self, hands: Hands, target: ActTarget, text: str, poll: NewPoll, context: ToolContext
    ) -> ToolOutput:
        posted = await hands.post_poll(target, poll, _key(context), context)
        done = texts.POLL_POSTED.format(link=posted.link, hours=poll.hours)
        counted = None if hands.counts_polls else Poll(poll.question, poll.options)
        told = await self._store(target, text, posted.pages, context, done, counted)
        if counted is not None:
            end = json.dumps([person_source(context.person.id), target.channel, posted.pages[0]])
            closes = self.clock.now() + timedelta(hours=poll.hours)
            await self.jobs.schedule(CLOSE_POLL, end, end, closes, person=context.person.id)
        return _output(told, context)

    async def close_poll(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands = self._hands(context)
        target = await hands.find_message(str(args["message"]), ActRight.CHANGE, context)
        post = await self._own_post(target, context)
        poll = await self.acts.close_poll(post.source, post.channel, target.page)
        if poll is None and not hands.counts_polls:
            raise ToolError(texts.NO_POLL, ours=True)
        await hands.end_poll(target, poll)
        return _output(texts.POLL_CLOSED, context)

    async def close_due(self, job: Job) -> None:
        """Close the poll of a job. Raises StoreError, and ToolError where its platform is not there now."""
        source, channel, page = json.loads(job.payload)
        poll = await self.acts.close_poll(source, channel, page)
        if poll is None:
            return  # it was forgotten
        if (hands := self.hands.get(source)) is None:
            raise ToolError(texts.NO_PLATFORM)
        await hands.end_poll(ActTarget(channel, NOWHERE, "", "", message=page, page=page), poll)

    async def edit(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, text = self._hands(context), _text(args, "text")
        target = await hands.find_message(str(args["message"]), ActRight.CHANGE, context)
        post = await self._own_post(target, context)
        if len(post.pages) > 1:
            raise ToolError(texts.SEVERAL, ours=True)
        if await self.acts.poll(post.source, post.channel, target.page) is not None:
            raise ToolError(texts.POLL_STAYS, ours=True)
        text = await self._checked(text, target, context)
        messages = hands.split(text)
        if len(messages) > 1:
            raise ToolError(texts.TOO_LONG.format(count=len(messages), most=1), ours=True)
        await self._charge(target, context)
        await hands.edit(target, messages[0])
        await self._forget(post)
        return _output(await self._store(target, text, post.pages, context, texts.EDITED), context)

    async def delete(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, link = self._hands(context), str(args["message"])
        if (made := hands.page_of(link)) is not None:
            target, post = await self._made(hands, link, made[0], context)
        else:
            target = await hands.find_message(link, ActRight.CHANGE, context)
            post = await self._own_post(target, context)
        await hands.delete(target, post.pages)
        await self._forget(post)
        return _output(texts.DELETED, context)

    async def react(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands = self._hands(context)
        target = await hands.find_message(str(args["message"]), ActRight.REACT, context)
        await self._check_open(target, context)
        await self._charge(target, context)
        await hands.react(target, str(args["emoji"]))
        return _output(texts.REACTED, context)

    async def pin(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        hands, on = self._hands(context), args.get("unpin") is not True
        target = await hands.find_message(str(args["message"]), ActRight.PIN, context)
        await self._check_open(target, context)
        await self._charge(target, context)
        await hands.pin(target, on=on)
        return _output(texts.PINNED if on else texts.UNPINNED, context)

    # What comes before an act

    def _hands(self, context: ToolContext) -> Hands:
        if not (context.kind.is_asked or context.kind in _FOR_PEOPLE):
            raise ToolError(texts.NOT_ASKED, ours=True)
        hands = self.hands.get(person_source(context.person.id))
        if hands is None:
            raise ToolError(texts.NO_PLATFORM, ours=True)
        return hands

    async def _checked(self, text: str, target: ActTarget, context: ToolContext, *, also: str = "") -> str:
        """Return the text as it may be posted there. Raises ToolError if it, or what is shown with it, may not."""
        await self._check_open(target, context)
        if not await self._may_be_read(f"{text} {also}".rstrip(), target, context):
            raise ToolError(texts.OTHER_READERS.format(name=target.name), ours=True)
        return _shown(text)

    async def _check_open(self, target: ActTarget, context: ToolContext) -> None:
        chosen = (await rules_at(self.preferences, person_source(context.person.id), target.channel)).text(ACT)
        if chosen == OFF:
            raise ToolError(texts.TURNED_OFF.format(name=target.name), ours=True)
        if chosen != ON and self.settings.mode is not ActMode.ON:
            raise ToolError(texts.CLOSED.format(name=target.name), ours=True)

    async def _may_be_read(self, text: str, target: ActTarget, context: ToolContext) -> bool:
        """Return whether the readers of the target may see what the text may hold."""
        is_question = context.kind in {TurnKind.QUESTION, TurnKind.POSTED}
        if is_question and context.asker_texts and is_said_by_asker(text, context.asker_texts[-1]):
            return True
        if not may_flow(context.place.audience, target.place):
            return False
        drawn = {context.drawn_from, *await self.acts.sources(context.turn, text, context.sources)}
        return drawn <= {WIDE, *may_flow_from(target.place)}

    async def _charge(self, target: ActTarget, context: ToolContext) -> None:
        place, limits = f"{person_source(context.person.id)}:{target.channel}", self.settings.limits
        match await self.acts.charge(context.person.id, place, limits, self.clock.now()):
            case ActLimit.PERSON:
                raise ToolError(texts.PERSON_LIMIT.format(most=limits.person), ours=True)
            case ActLimit.PLACE:
                raise ToolError(texts.PLACE_LIMIT.format(name=target.name, most=limits.place), ours=True)
            case None:
                return

    async def _own_post(self, target: ActTarget, context: ToolContext) -> Answered:
        """Return the post that the bot made for this person by a tool. Raises ToolError if the message is none."""
        await self._check_open(target, context)
        return await self._post_at(target.page, context, target.channel)

    async def _made(self, hands: Hands, link: str, right: ActRight, context: ToolContext) -> tuple[ActTarget, Answered]:
        """Return the canvas or event that the bot made for this person, if they may change it now. Raises ToolError."""
        if (named := hands.page_of(link)) is None or named[0] is not right:
            raise ToolError(texts.NOT_ITS_POST, ours=True)
        post = await self._post_at(named[1], context)
        target = await hands.find(post.channel, right, context)
        await self._check_open(target, context)
        return replace(target, page=named[1]), post

    async def _post_at(self, page: str, context: ToolContext, channel: str = "") -> Answered:
        post = await self.replies.by_page(person_source(context.person.id), page, channel)
        if post is None or post.kind is not TurnKind.ACT or post.person != context.person.id:
            raise ToolError(texts.NOT_ITS_POST, ours=True)
        return post

    # What is stored

    async def _store(
        self,
        target: ActTarget,
        text: str,
        pages: Collection[str],
        context: ToolContext,
        done: str,
        poll: Poll | None = None,
    ) -> str:
        """Store a post as it is shown now; return what to tell about it."""
        name, now = _key(context), self.clock.now()
        posted = Incoming(
            source=person_source(context.person.id),
            event_id=name,
            channel=target.channel,
            message_id=name,
            conversation=target.conversation,
            person=context.person,
            place=target.place,
            text=texts.REQUEST,
            time=now,
            authority=context.authority,
            own=False,
            kind=TurnKind.ACT,
        )
        try:
            await self.acts.record(posted, text, [*pages], now, poll)
        except StoreError as error:
            log.warning("a post that a tool made could not be stored: %s", error)
            return texts.UNSTORED.format(done=done)
        return done

    async def _forget(self, post: Answered) -> None:
        """Erase the words of a post, with what was derived from them."""
        plan = Deleted(post.source, post.channel, frozenset({post.message_id}))
        await self.forgetting.forget(plan, self.clock.now(), replies=False)


def _event(args: JsonObject, context: ToolContext) -> EventDetails:
    """Return what the arguments say about an event. Raises ToolError."""
    zone = str(args.get("zone") or context.person.time_zone)
    given = {name: str(args.get(name, "")).strip() for name in ("title", "start", "end", "location", "description")}
    return EventDetails(
        title=given["title"],
        start=moment(given["start"], zone) if given["start"] else None,
        end=moment(given["end"], zone) if given["end"] else None,
        location=given["location"],
        description=given["description"],
    )


def moment(text: str, zone: str) -> datetime:
    """Return a time, aware; one without an offset is on the clock of the zone. Raises ToolError. Pure."""
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ToolError(texts.NO_TIME.format(text=excerpt(text, 40)), ours=True) from None
    if not zone:
        raise ToolError(texts.NO_ZONE, ours=True)
    try:
        return moment_of(found, zone_of(zone))
    except (ValueError, OverflowError) as error:
        raise ToolError(str(error), ours=True) from None


def _check_times(event: EventDetails, context: ToolContext) -> None:
    """Raises ToolError for an event that would not be in the future."""
    times = [time for time in (event.start, event.end) if time is not None]
    is_in_order = event.start is None or event.end is None or event.start < event.end
    if not is_in_order or not all(context.now < time <= context.now + MAX_AHEAD for time in times):
        raise ToolError(texts.PAST, ours=True)


def _as_shown(event: EventDetails) -> EventDetails:
    """Return the event with the address shown of each link."""
    return replace(
        event,
        title=_shown(event.title),
        location=_shown(event.location),
        description=_shown(event.description),
    )


def _shown(text: str) -> str:
    return show_addresses(text, lambda _: False, complete=True)


def host_of(link: str) -> str:
    """Return the host of the address of a web page, in lower case; "" for any other text. Pure."""
    try:
        parts = urlsplit(link)
        host = parts.hostname or ""
    except ValueError:
        return ""
    is_page = parts.scheme in {"http", "https"} and not parts.username and link.isprintable() and " " not in link
    return host if is_page else ""


def names_host(title: str, host: str) -> bool:
    """Return whether a title names a host as a whole, and not as a part of another one. Pure."""
    return re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w.-])", title.casefold()) is not None


def _offered(part: _Part | None) -> _Part:
    """Return this part of the hands. Raises ToolError where the platform has none."""
    if part is None:
        raise ToolError(texts.NOT_OFFERED, ours=True)
    return part


async def _mentioned(hands: Hands, text: str, context: ToolContext) -> Mapping[str, str]:
    """Return those whom both the text and the question mention: ids by names."""
    named = await hands.named(context) if "@" in text else _NOBODY
    return {name: id_ for name, id_ in named.items() if f"@{name}".casefold() in text.casefold()}


def _key(context: ToolContext) -> str:
    """The name of a call's act, the same if the call runs again."""
    return f"act:{context.turn}:{context.call}"


def _text(args: JsonObject, name: str) -> str:
    text = str(args.get(name, "")).strip()
    if not text:
        raise ToolError(texts.EMPTY, ours=True)
    return text


def _output(text: str, context: ToolContext) -> ToolOutput:
    """What the bot did, in its own words: everyone who reads the reply may know it."""
    return ToolOutput(text, audience=context.place.audience, words=Provenance.OWN, read=())
