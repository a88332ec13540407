"""A forum that holds its posts, as `bot.chat.forums.ForumPlatform`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from bot.chat.forums import ForumAccess, ForumPost, ForumPosts, ForumTag, PostAccess

FIRST = datetime(2026, 11, 1, tzinfo=UTC)
SOLVED = ForumTag("1", "Solved")


@dataclass
class FakeForums:
    """`managers`: who decides for everyone there; `readers`: who reads it."""

    managers: set[str] = field(default_factory=set[str])
    readers: set[str] = field(default_factory=set[str])
    open_posts: dict[str, ForumPost] = field(default_factory=dict[str, ForumPost])
    given_tags: Sequence[ForumTag] = (SOLVED,)
    complete: bool = True

    def add(self, person: str, title: str, replies: int = 0) -> ForumPost:
        number = len(self.open_posts) + 1
        added = ForumPost(
            id=str(number),
            forum="60",
            conversation=f"slack:T1:{number}",
            person=person,
            title=title,
            link=f"https://forum.example/{number}",
            time=FIRST + timedelta(days=number),
            replies=replies,
        )
        self.open_posts[added.conversation] = added
        return added

    def tags(self, forum: str) -> Sequence[ForumTag] | None:
        return self.given_tags if forum == "60" else None

    def known_post(self, conversation: str) -> ForumPost | None:
        return self.open_posts.get(conversation)

    async def post(self, conversation: str, person: str) -> PostAccess | None:
        found = self.open_posts.get(conversation)
        if found is None or person not in self.readers:
            return None
        return PostAccess(found, self.given_tags, writes=True, manages=person in self.managers)

    async def set_tag(self, post: ForumPost, tag: ForumTag, *, on: bool) -> None:
        tags = tuple(one for one in post.tags if one != tag.id)
        self.open_posts[post.conversation] = replace(post, tags=(*tags, tag.id) if on else tags)

    async def forum(self, forum: str, person: str) -> ForumAccess | None:
        if forum != "60" or person not in self.readers:
            return None
        return ForumAccess("#help", self.given_tags, manages=person in self.managers)

    async def posts(self, forum: str) -> ForumPosts:
        return ForumPosts(tuple(one for one in self.open_posts.values() if one.forum == forum), self.complete)
