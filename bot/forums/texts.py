"""What people read about solved and unanswered posts of forums."""

from typing import Final

NO_POST: Final = "This is not a forum post. Use `/solved` in the post that you mean."
NOT_YOUR_POST: Final = "Only the author of this post or someone who can manage posts here can do that."
POST_CLOSED: Final = "This post is locked, so only someone who can manage posts here can change it."
TURNED_OFF: Final = "The managers of this forum turned this off (`/channel solved off`)."
NO_TAG: Final = (
    "This forum has no tag for solved posts. Its managers can add a tag named “Solved”, or choose one of its tags with "
    "`/channel solved`."
)
ONLY_MANAGERS: Final = (
    "Only moderators can set the tag “{tag}”. A channel manager can allow it for authors with `/channel solved {tag}`."
)
BOT_LACKS: Final = "I need the “{permission}” permission in this forum to change a post's tags."
MANY_TAGS: Final = "This post already has {most} tags, which is the maximum. Remove one, and try again."
LAST_TAG: Final = "Posts in this forum need a tag, and this post has only “{tag}”. Add another one, and try again."
SOLVED: Final = (
    "This post is now marked with “{tag}”. If its author writes anything other than thanks in it, I will remove the "
    "tag."
)
SOLVED_ALREADY: Final = "This post is already marked with “{tag}”."
OPEN: Final = "This post is open again."
OPEN_ALREADY: Final = "This post is not marked as solved."
SOLVED_USAGE: Final = "Use `/solved` to mark your post as solved, or `/solved reopen` to remove the mark."
FORUM_AWAY: Final = "The platform of this forum is not connected."
REOPEN_BUTTON: Final = "Reopen"

NO_FORUM: Final = "This is not a forum. Use `/unanswered` in a forum post, or `/unanswered #forum` elsewhere."
NOT_YOUR_FORUM: Final = "Only operators and the managers of this forum can see this list."
UNANSWERED_USAGE: Final = "Use `/unanswered` in a forum post, or `/unanswered #forum`."
UNANSWERED: Final = "**Unanswered posts in {forum}** ({count}, oldest first)"
ALL_ANSWERED: Final = "There are no unanswered posts in {forum}."
POST: Final = "- [{title}]({link}), {day}: {state}"
NO_REPLY: Final = "no reply"
NOT_SOLVED: Final = "{replies}, not solved"
ANSWERED_BY_BOT: Final = "{replies}, I answered, not solved"
REPLIED: Final = "{replies}"
REPLIED_BY_BOT: Final = "{replies}, I answered"
NO_SOLVED_TAG: Final = (
    "No tag marks solved posts in this forum, so this list contains only posts without a reply. To see the others too, "
    "add a tag named “Solved”, or choose one with `/channel solved`."
)
NOT_ALL: Final = "Older archived posts are not in this list."
