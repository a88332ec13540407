"""Posts of forums as a help desk: solved ones, and those that nobody has answered.

Rules
  A post is marked as solved by a tag of its forum, so its state is the platform's, no matter who changes it there.
  The tag is set when the author says so, and removed when they write on; the platform is asked at that moment who may.
  Only the managers of a forum see which posts are unanswered, and only as far as they read it themselves.
  What the author wrote is a job of its own, so that a post is opened again also after a restart.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent.errors import CogencyError, Refused
from agent.incoming import Incoming, person_source
from agent.jobs import Job
from agent.ports.clock import Clock
from agent.ports.jobs import Jobs
from agent.ports.preferences import Preferences
from agent.ports.replies import Replies
from agent.ports.tools import Asker
from bot.chat.access.place_rules import OFF, SOLVED, rules_at
from bot.chat.forums import ForumAccess, ForumPlatform, ForumPost, ForumTag, PostAccess
from bot.chat.message_events import MessageEvents
from bot.chat.panels import Panel, PanelAction, PanelPart, page_part
from bot.chat.texts.formatting import counted, literal, shortened
from bot.forums import texts
from bot.forums.tags import asks_further, refusal, solved_tag

log = logging.getLogger(__name__)

REOPEN: Final = "reopen_post"  # The kind of job that opens a post again; its payload is its source and conversation
ON_PAGE: Final = 10
TITLE_CHARS: Final = 80


class ForumsAway(CogencyError):
    def __init__(self) -> None:
        super().__init__(texts.FORUM_AWAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForumService(MessageEvents):
    """`forums`: those of the connected platforms, by the source of their messages. `operates`: whether a person is one
    of the bot's operators.
    """

    forums: Mapping[str, ForumPlatform]
    preferences: Preferences
    replies: Replies
    jobs: Jobs
    clock: Clock
    operates: Callable[[str], bool]

    # Solved posts

    async def mark(self, asker: Asker, *, solved: bool) -> Panel:
        """Mark the post in which this person is, or open it again. Raises Refused, and CogencyError if that is not
        known now.
        """
        source = person_source(asker.person.id)
        platform = self._platform(asker.person.id)
        found = [await platform.post(conversation, asker.person.id) for conversation in sorted(asker.thread)]
        access = next((one for one in found if one is not None), None)
        if access is None:
            raise Refused(texts.NO_POST)
        tag, chosen = await self._tag(source, access)
        if (tag.id in access.post.tags) == solved:
            return _marked(texts.SOLVED_ALREADY.format(tag=literal(tag.name))) if solved else Panel(texts.OPEN_ALREADY)
        await self._set(platform, access, asker.person.id, tag, chosen, on=solved)
        if solved:  # what the author wrote before no longer counts
            await self.jobs.cancel(REOPEN, _key(source, access.post.conversation))
        return _marked(texts.SOLVED.format(tag=literal(tag.name))) if solved else Panel(texts.OPEN)

    async def offers(self, question: Incoming) -> bool:
        """Return whether the answer to this question has a button for its author to mark their post as solved."""
        platform = self.forums.get(question.source)
        post = None if platform is None else platform.known_post(question.conversation)
        if platform is None or post is None or post.person != question.person.id or post.closed:
            return False
        chosen = (await rules_at(self.preferences, question.source, post.forum)).text(SOLVED)
        tag = solved_tag(platform.tags(post.forum) or (), chosen)
        return tag is not None and tag.id not in post.tags

    async def wrote_on(self, source: str, conversation: str, person: str, text: str) -> None:
        if asks_further(text):
            key = _key(source, conversation)
            await self.jobs.schedule(REOPEN, key, key, self.clock.now(), person=person, conversation=conversation)

    async def reopen(self, job: Job) -> None:
        """Open the post of a job again, if it is marked as solved and its author may do that."""
        source, _, conversation = job.payload.partition(" ")
        if (platform := self.forums.get(source)) is None:
            raise ForumsAway
        access = await platform.post(conversation, job.person)
        if access is None or access.post.person != job.person:
            return
        try:
            tag, chosen = await self._tag(source, access)
            if tag.id in access.post.tags:
                await self._set(platform, access, job.person, tag, chosen, on=False)
        except Refused as refused:
            log.info("a forum post stays marked as solved: %s", refused)

    async def _set(
        self, platform: ForumPlatform, access: PostAccess, person: str, tag: ForumTag, chosen: str, *, on: bool
    ) -> None:
        if why := refusal(access, person, tag, chosen, on=on):
            raise Refused(why)
        await platform.set_tag(access.post, tag, on=on)

    async def _tag(self, source: str, access: PostAccess) -> tuple[ForumTag, str]:
        """Return the tag that marks solved posts, and what the managers chose. Raises Refused."""
        chosen = (await rules_at(self.preferences, source, access.post.forum)).text(SOLVED)
        if chosen == OFF:
            raise Refused(texts.TURNED_OFF)
        if (tag := solved_tag(access.tags, chosen)) is None:
            raise Refused(texts.NO_TAG)
        return tag, chosen

    # Unanswered posts

    async def unanswered(self, asker: Asker, forum: str, page: int) -> Panel:
        """Return a page of the list of unanswered posts of a forum, "" for the one where this person is. Raises
        Refused, and CogencyError if that is not known now.
        """
        person, platform = asker.person.id, self._platform(asker.person.id)
        number = forum or asker.channel
        access = await platform.forum(number, person)
        if access is None:
            raise Refused(texts.NO_FORUM)
        if not (access.manages or self.operates(person)):
            raise Refused(texts.NOT_YOUR_FORUM)
        source = person_source(person)
        chosen = (await rules_at(self.preferences, source, number)).text(SOLVED)
        tag, found = solved_tag(access.tags, chosen), await platform.posts(number)
        posts = unanswered_posts(found.posts, tag)
        pages = max(1, -(-len(posts) // ON_PAGE))
        page = min(page, pages)
        shown = posts[(page - 1) * ON_PAGE : page * ON_PAGE]
        answered = await self.replies.answered(source, [post.conversation for post in shown])
        lines = [_line(post, has_tag=tag is not None, by_bot=post.conversation in answered) for post in shown]
        notes = [texts.NO_SOLVED_TAG if tag is None else "", "" if found.complete else texts.NOT_ALL]
        text = "\n\n".join(filter(None, [_heading(access, len(posts)), "\n".join(lines), *notes]))
        return Panel(text, parts=(_pages(page, pages, number),) if pages > 1 else (), page=page)

    def _platform(self, person: str) -> ForumPlatform:
        platform = self.forums.get(person_source(person))
        if platform is None:
            raise Refused(texts.NO_POST)
        return platform


def unanswered_posts(posts: Sequence[ForumPost], tag: ForumTag | None) -> list[ForumPost]:
    """Return the posts that wait for an answer, the oldest first: without the tag or, in a forum that has none, without
    a reply. What is closed or pinned waits for none. Pure.
    """
    waiting = [post for post in posts if not (post.closed or post.pinned)]
    unsolved = [post for post in waiting if (not post.replies if tag is None else tag.id not in post.tags)]
    return sorted(unsolved, key=lambda post: (post.time, post.id))


def _heading(access: ForumAccess, count: int) -> str:
    name = literal(access.name)
    return texts.UNANSWERED.format(forum=name, count=f"{count:,}") if count else texts.ALL_ANSWERED.format(forum=name)


def _line(post: ForumPost, *, has_tag: bool, by_bot: bool) -> str:
    states = {
        (True, True): texts.ANSWERED_BY_BOT,
        (True, False): texts.NOT_SOLVED,
        (False, True): texts.REPLIED_BY_BOT,
        (False, False): texts.REPLIED,
    }
    replies = counted(post.replies, "reply", "replies")
    state = states[has_tag, by_bot].format(replies=replies) if post.replies else texts.NO_REPLY
    title = literal(shortened(post.title, TITLE_CHARS)) or post.id
    return texts.POST.format(title=title, link=post.link, day=f"{post.time:%Y-%m-%d}", state=state)


def _pages(page: int, pages: int, forum: str) -> PanelPart:
    """Return the buttons for the other pages, which name the forum: the panel may be opened elsewhere."""
    part = page_part(page, pages)
    actions = [PanelAction(action.label, f"channel:{forum} {action.words}") for action in part.actions]
    return PanelPart(part.text, tuple(actions))


def _marked(text: str) -> Panel:
    return Panel(text, (PanelAction(texts.REOPEN_BUTTON, "reopen"),))


def _key(source: str, conversation: str) -> str:
    return f"{source} {conversation}"
