"""The forums of a platform: their posts, and the tags that mark posts.

Ids of people and conversations have the forms of `agent.incoming`; ids of forums, posts and tags are the platform's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ForumTag:
    """`moderated`: the platform lets only people who manage posts set it."""

    id: str
    name: str
    moderated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForumPost:
    """A post, which is a conversation of its own. `person`: who began it. `tags`: the ids of its tags, in their order.
    `replies`: the number of messages below the first one. `closed`: it takes no more messages. `pinned`: it stays on
    top, as guidelines do.
    """

    id: str
    forum: str
    conversation: str
    person: str
    title: str
    link: str
    time: datetime
    replies: int = 0
    tags: tuple[str, ...] = ()
    closed: bool = False
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class PostAccess:
    """A post, and what a person may do there now. `writes`: they may write in it; `manages`: they may change each post
    of the forum. `lacking`: the permission that the bot lacks to set tags there, "" for none. `needs_tag`: the forum
    takes no posts without a tag.
    """

    post: ForumPost
    tags: Sequence[ForumTag]
    writes: bool
    manages: bool
    lacking: str = ""
    needs_tag: bool = False


@dataclass(frozen=True, slots=True)
class ForumAccess:
    """A forum, and what a person may do there now. `manages`: they decide for everyone there."""

    name: str
    tags: Sequence[ForumTag]
    manages: bool


@dataclass(frozen=True, slots=True)
class ForumPosts:
    """`complete`: there are no others."""

    posts: Sequence[ForumPost]
    complete: bool = True


class ForumPlatform(Protocol):
    """Knows the forums of a platform. Async methods raise CogencyError if the platform does not answer now."""

    def tags(self, forum: str) -> Sequence[ForumTag] | None:
        """Return the tags of a forum as they are known now; None for what is no forum."""
        ...

    def known_post(self, conversation: str) -> ForumPost | None:
        """Return a post as it is known now, without a request, if the bot may set its tags."""
        ...

    async def post(self, conversation: str, person: str) -> PostAccess | None:
        """Return a post and what the person may do there, both asked for now; None if there is none that they read."""
        ...

    async def set_tag(self, post: ForumPost, tag: ForumTag, *, on: bool) -> None:
        """Add a tag to a post, or remove it. Raises Refused if the platform does not allow it."""
        ...

    async def forum(self, forum: str, person: str) -> ForumAccess | None:
        """Return a forum and what the person may do there, asked for now; None if there is none that they read."""
        ...

    async def posts(self, forum: str) -> ForumPosts:
        """Return the posts of a forum, in a few requests however many there are: the open ones, and the newest of those
        that were archived.
        """
        ...
