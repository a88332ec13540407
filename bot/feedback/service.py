"""Takes what people say about answers, and shows it to those who look into it.

Rules
  Who may see what is decided in two places: here, which view a person has (`agent.feedback.FeedbackView`), and in the
  store, what a view contains. A manager has the view of the channel in which they ask, and nothing else; an operator
  also has, outside of channels, what was shared with operators.
  Who rated is shown only with what they shared.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, assert_never

from agent.errors import Refused
from agent.feedback import (
    MAX_COMMENT,
    MAX_CORRECTION,
    ChannelFeedback,
    CountedBy,
    FeedbackItem,
    FeedbackState,
    FeedbackView,
    SharedFeedback,
    StateChange,
)
from agent.memory.audience import AudienceKind
from agent.ports.clock import Clock
from agent.ports.explanations import Explanations
from agent.ports.feedback import Feedback
from agent.ports.replies import Replies
from agent.ports.tools import Asker
from agent.shown_replies import Answered, ReplyVerdict
from bot.chat.audiences import channel_view
from bot.chat.panels import (
    TYPED_YES,
    FieldKind,
    Filled,
    FormField,
    Panel,
    PanelAction,
    PanelForm,
    PanelPart,
    PanelSelect,
    page_part,
)
from bot.chat.texts.formatting import literal, shortened
from bot.feedback import orders, texts

PAGE: Final = 5  # Ratings in a list: each has up to six lines and two buttons
TEXT_CHARS: Final = 300  # Of a question, an answer or a text in a list; the page of operators shows more
DAYS: Final = 30  # Of the counts above a list


FORM: Final = PanelForm(
    name="feedback",
    label=texts.WINDOW_BUTTON,
    title=texts.WINDOW,
    submit=texts.SEND,
    fields=(
        FormField(
            "reason",
            texts.REASON,
            FieldKind.PICK,
            choices={reason.value: label for reason, label in texts.REASONS.items()},
        ),
        FormField(
            "comment",
            texts.COMMENT,
            FieldKind.LINES,
            texts.COMMENT_HINT,
            optional=True,
            max_chars=MAX_COMMENT,
        ),
        FormField("correction", texts.CORRECTION, FieldKind.LINES, optional=True, max_chars=MAX_CORRECTION),
        FormField(orders.SHARE, texts.SHARE, FieldKind.BOX, hint=texts.SHARE_HINT, optional=True),
    ),
    words=orders.form_words,
)


@dataclass(frozen=True, slots=True)
class FeedbackService:
    """Answers `/feedback`. `operates`: whether a person is one of the bot's operators. Methods raise StoreError."""

    feedback: Feedback
    explanations: Explanations
    replies: Replies
    clock: Clock
    operates: Callable[[str], bool]

    async def answer(self, asker: Asker, words: str, *, share: bool = False, buttons: bool = True) -> Panel:
        """Return the answer to these words. `buttons`: whether the platform has them.

        Raises Refused for what the person may not see or rate.
        """
        order = orders.read_order(words, share=share)
        match order:
            case orders.ShowFeedback():
                return await self._overview(asker, order.turn, buttons=buttons)
            case orders.RateGood():
                reply = await self._last(asker)
                await self.replies.judge(reply.turn, asker.person.id, ReplyVerdict.GOOD, self.clock.now())
                return Panel(texts.THANKS_GOOD)
            case orders.KeepRating():
                return Panel(texts.NOT_CHANGED)
            case orders.Explain():
                return await self._explain(asker, order)
            case orders.ListFeedback():
                return await self._list(asker, order, buttons=buttons)
            case orders.ChangeState():
                return await self._change(asker, order, buttons=buttons)
            case orders.Unclear():
                return Panel(order.sentence, refused=True)
            case _:
                assert_never(order)

    async def filled(self, person: str, words: str) -> Filled:
        """Return what the person said about the answer that the form's button names."""
        order = orders.read_order(words)
        turn = order.turn if isinstance(order, orders.ShowFeedback) else None
        details = None if turn is None else await self.feedback.details(turn, person)
        if details is None:
            return {}
        return {"reason": details.reason, "comment": details.comment, "correction": details.correction}

    async def _last(self, asker: Asker) -> Answered:
        reply = await self.explanations.newest(asker.person.id, asker.channel)
        if reply is None:
            raise Refused(texts.NO_ANSWER)
        return reply

    async def _overview(self, asker: Asker, turn: int | None, *, buttons: bool) -> Panel:
        """Offer to say what was wrong. `turn`: of the answer that was rated with a button."""
        if turn is None:
            reply = await self.explanations.newest(asker.person.id, asker.channel)
            turn, text = None if reply is None else reply.turn, orders.how()
        else:
            text = texts.ASK_WHY
        actions = list[PanelAction]()
        if turn is not None:
            form = FORM.button(f"{orders.ON} {turn}")
            actions.append(replace(form, typed=() if buttons else TYPED_YES))
            if not buttons:
                actions.append(PanelAction(texts.CANCEL, orders.CANCEL, typed=("",)))
        if buttons and self._view(asker) is not None:
            actions.append(PanelAction(texts.LIST_BUTTON, orders.LIST))
        return Panel(text, tuple(actions))

    async def _explain(self, asker: Asker, order: orders.Explain) -> Panel:
        turn = (await self._last(asker)).turn if order.turn is None else order.turn
        person, details = asker.person.id, order.details
        if not await self.feedback.explain(turn, person, details, self.clock.now()):
            raise Refused(texts.NOT_RATED)
        reply = await self.replies.by_turn(turn)
        is_direct = reply is None or reply.audience.partition(":")[0] == AudienceKind.PERSON
        if details.shared:
            seen = texts.SEEN_SHARED if is_direct else f"{texts.SEEN_SHARED} {texts.SEEN_BY_MANAGERS_TOO}"
        else:
            seen = texts.SEEN_COUNT if is_direct else texts.SEEN_IN_CHANNEL
        return Panel(f"{texts.THANKS} {seen}")

    def _view(self, asker: Asker) -> FeedbackView | None:
        """Return what this person may see here; None for nothing."""
        operates, channel = self.operates(asker.person.id), channel_view(asker)
        if channel is None:
            return SharedFeedback() if operates else None
        return channel if asker.manages or operates else None

    def _allowed(self, asker: Asker) -> FeedbackView:
        view = self._view(asker)
        if view is None:
            raise Refused(texts.NOT_FOR_YOU)
        return view

    async def _list(self, asker: Asker, order: orders.ListFeedback, *, buttons: bool, news: str = "") -> Panel:
        view = self._allowed(asker)
        count = await self.feedback.count(view, order.chosen)
        pages = max(1, -(-count // PAGE))
        page = min(order.page, pages)
        items = await self.feedback.listed(view, order.chosen, limit=PAGE, offset=PAGE * (page - 1))
        head = texts.LIST_SHARED if isinstance(view, SharedFeedback) else texts.LIST_HERE
        counts = await self._counts(view)
        text = "\n".join(filter(None, [news, head, counts, "" if items else texts.LIST_EMPTY]))
        parts = [PanelPart(item_text(item), _actions(item)) for item in items]
        if not buttons:
            parts.append(PanelPart(texts.LIST_USAGE))
        else:
            options = {f"{orders.LIST} {name}": label for name, label in texts.FILTERS.items()}
            chosen = f"{orders.LIST} {order.words}"
            parts.append(PanelPart(select=PanelSelect(texts.SHOW, options, chosen if chosen in options else "")))
        if pages > 1:
            below = page_part(page, pages, "" if buttons else texts.PAGE_OF)
            others = (replace(one, words=f"{orders.LIST} {order.words} {one.words}") for one in below.actions)
            parts.append(replace(below, actions=tuple(others)))
        return Panel(text, parts=tuple(parts), page=page)

    async def _counts(self, view: FeedbackView) -> str:
        since = self.clock.now() - timedelta(days=DAYS)
        within = view if isinstance(view, ChannelFeedback) else None
        places = (await self.feedback.counts(since, within))[CountedBy.PLACE]
        good, bad = sum(one.good for one in places), sum(one.bad for one in places)
        return texts.LIST_COUNTS.format(days=DAYS, good=good, bad=bad)

    async def _change(self, asker: Asker, order: orders.ChangeState, *, buttons: bool) -> Panel:
        view = self._allowed(asker)
        change = StateChange(order.state, asker.person.id, asker.channel, self.clock.now())
        item = await self.feedback.change_state(view, order.id, change)
        if item is None:
            raise Refused(texts.NOT_THERE.format(id=order.id))
        news = texts.CHANGED.format(id=item.id, state=texts.STATES[item.state])
        return await self._list(asker, orders.ListFeedback(), buttons=buttons, news=news)


def item_text(item: FeedbackItem, chars: int = TEXT_CHARS) -> str:
    """Return a rating as Markdown, for people who may see it. Pure."""
    owner = texts.BY_OWNER.format(name=literal(item.owner_name or item.owner)) if item.owner else ""
    reason = texts.NO_REASON if item.reason is None else texts.REASONS[item.reason]
    lines = [
        texts.ITEM.format(
            id=item.id, reason=reason, day=f"{item.time:%Y-%m-%d}", state=texts.STATES[item.state], owner=owner
        )
    ]
    if item.shared:
        is_direct = item.audience.partition(":")[0] == AudienceKind.PERSON
        place = texts.DIRECT_MESSAGES if is_direct else literal(item.place)
        lines.append(texts.ITEM_PLACE.format(place=place, person=literal(item.person_name or item.person)))
    for words, text in ((texts.ITEM_QUESTION, item.question), (texts.ITEM_ANSWER, item.answer)):
        lines.append(words.format(text=texts.NOT_STORED if text is None else _short(text, chars)))
    said = ((texts.ITEM_COMMENT, item.comment), (texts.ITEM_CORRECTION, item.correction))
    lines += [words.format(text=_short(text, chars)) for words, text in said if text]
    if item.link.startswith(("https://", "http://")):
        lines.append(texts.ITEM_LINK.format(link=item.link))
    return "\n".join(lines)


def _short(text: str, chars: int) -> str:
    return literal(shortened(" ".join(text.split()), chars))


def _actions(item: FeedbackItem) -> tuple[PanelAction, ...]:
    words = {FeedbackState.NEW: ("take", "fixed"), FeedbackState.IN_WORK: ("fixed", "reopen")}
    labels = {"take": texts.TAKE, "fixed": texts.FIX, "reopen": texts.REOPEN}
    return tuple(PanelAction(labels[word], f"{word} {item.id}") for word in words.get(item.state, ("reopen",)))
