"""A poll that the bot counts, as Markdown. Pure."""

from typing import Final

from agent.ports.acts import Poll
from bot.chat.texts.formatting import counted
from bot.platforms import texts as platforms_texts

BAR: Final = 10  # Of the option with the most votes, in signs


def poll_text(poll: Poll) -> str:
    """Return the poll with its votes, in Markdown."""
    counts = poll.counts or tuple(0 for _ in poll.options)
    most = max(counts, default=0)
    lines = [
        f"{number}. {option}: **{votes}** {'▇' * round(BAR * votes / most) if votes else ''}".rstrip()
        for number, (option, votes) in enumerate(zip(poll.options, counts, strict=True), 1)
    ]
    total = counted(sum(counts), "vote", "votes")
    end = platforms_texts.POLL_CLOSED.format(total=total) if poll.closed else total
    return "\n".join([f"**{poll.question}**", "", *lines, "", end])
