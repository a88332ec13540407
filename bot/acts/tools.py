"""The tools with which a model acts for the person who asks: `bot.acts.service` does what they say."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent.incoming import person_source
from agent.messages import Json, JsonObject
from agent.ports.acting import Hands
from agent.ports.api_tokens import is_service
from agent.ports.tools import Asker, Tool, ToolContext, ToolEffect, ToolOutput
from bot.acts import texts
from bot.acts.service import ActService

ACT_TOOLS: Final = (
    "post_message",
    "add_reaction",
    "pin_message",
    "edit_post",
    "delete_post",
    "create_poll",
    "close_poll",
    "create_thread",
    "set_topic",
    "add_bookmark",
    "remove_bookmark",
    "create_canvas",
    "edit_canvas",
    "create_event",
    "edit_event",
)
MAX_TEXT: Final = 12_000
MAX_LINK: Final = 500
MAX_POLL_HOURS: Final = 24 * 30
MAX_TITLE: Final = 100
MAX_TOPIC: Final = 1_024
_WHERE: Final[dict[str, Json]] = {"type": "string", "maxLength": MAX_LINK, "description": texts.WHERE}
_LINK: Final[dict[str, Json]] = {"type": "string", "maxLength": MAX_LINK, "description": texts.ITS_LINK}
_TITLE: Final[dict[str, Json]] = {"type": "string", "maxLength": MAX_TITLE}
_EVENT: Final[dict[str, Json]] = {
    "title": _TITLE,
    "start": {"type": "string", "maxLength": 40, "description": texts.TIME},
    "end": {"type": "string", "maxLength": 40, "description": texts.END},
    "zone": {"type": "string", "maxLength": 60, "description": texts.ZONE},
    "location": {"type": "string", "maxLength": 100, "description": texts.LOCATION},
    "description": {"type": "string", "maxLength": 1_000},
}
_TEXT: Final[dict[str, Json]] = {"type": "string", "maxLength": MAX_TEXT, "description": texts.MARKDOWN}


@dataclass(frozen=True, slots=True)
class ActTool:
    """A tool that acts. Its arguments reach only the platform of the question."""

    name: str
    description: str
    schema: JsonObject
    act: Callable[[JsonObject, ToolContext], Awaitable[ToolOutput]]
    effect: ToolEffect = ToolEffect.ACTS_OUTWARD
    timeout_s: float = 120.0
    """Platforms may make a post wait for a minute."""
    on_platform: bool = True
    offered: Callable[[Hands], bool] = lambda _: True
    """Whether these hands can do it."""

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        return await self.act(args, context)


def act_tools(service: ActService) -> tuple[ActTool, ...]:
    return (
        ActTool(
            "post_message",
            texts.POST,
            _schema(
                text=_TEXT,
                where=_WHERE,
                reply_to=_LINK | {"description": texts.REPLIED_LINK},
                required=["text"],
            ),
            service.post,
        ),
        ActTool(
            "add_reaction",
            texts.REACT,
            _schema(message=_LINK, emoji={"type": "string", "maxLength": 100}, required=["message", "emoji"]),
            service.react,
        ),
        ActTool(
            "pin_message",
            texts.PIN,
            _schema(message=_LINK, unpin={"type": "boolean"}, required=["message"]),
            service.pin,
        ),
        ActTool(
            "edit_post", texts.EDIT, _schema(message=_LINK, text=_TEXT, required=["message", "text"]), service.edit
        ),
        ActTool(
            "create_poll",
            texts.POLL,
            _schema(
                question={"type": "string", "maxLength": 300},
                options={"type": "array", "items": {"type": "string", "maxLength": 100}, "minItems": 2, "maxItems": 10},
                where=_WHERE,
                hours={"type": "integer", "minimum": 1, "maximum": MAX_POLL_HOURS},
                required=["question", "options"],
            ),
            service.create_poll,
        ),
        ActTool("close_poll", texts.END_POLL, _schema(message=_LINK, required=["message"]), service.close_poll),
        ActTool(
            "create_thread",
            texts.THREAD,
            _schema(
                title=_TITLE,
                text=_TEXT,
                where=_WHERE,
                message=_LINK | {"description": texts.UNDER_LINK},
                tag={"type": "string", "maxLength": 50, "description": texts.TAG},
                required=["title", "text"],
            ),
            service.start_thread,
            offered=lambda hands: hands.threads is not None,
        ),
        ActTool(
            "set_topic",
            texts.TOPIC,
            _schema(
                topic={"type": "string", "maxLength": MAX_TOPIC},
                where=_WHERE,
                description={"type": "boolean", "description": texts.DESCRIPTION},
                required=["topic"],
            ),
            service.set_topic,
            offered=lambda hands: hands.topics is not None,
        ),
        ActTool(
            "add_bookmark",
            texts.ADD_BOOKMARK,
            _schema(
                title=_TITLE,
                link={"type": "string", "maxLength": 2_000},
                where=_WHERE,
                required=["title", "link"],
            ),
            service.add_bookmark,
            offered=lambda hands: hands.bookmarks is not None,
        ),
        ActTool(
            "remove_bookmark",
            texts.REMOVE_BOOKMARK,
            _schema(
                bookmark={"type": "string", "maxLength": 2_000, "description": texts.BOOKMARK_NAMED},
                where=_WHERE,
                required=["bookmark"],
            ),
            service.remove_bookmark,
            offered=lambda hands: hands.bookmarks is not None,
        ),
        ActTool(
            "create_canvas",
            texts.CREATE_CANVAS,
            _schema(title=_TITLE, text=_TEXT, where=_WHERE, required=["title", "text"]),
            service.create_canvas,
            offered=lambda hands: hands.canvases is not None,
        ),
        ActTool(
            "edit_canvas",
            texts.EDIT_CANVAS,
            _schema(
                canvas=_LINK,
                text=_TEXT,
                replaces={"type": "string", "maxLength": 300, "description": texts.SECTION},
                required=["canvas", "text"],
            ),
            service.edit_canvas,
            offered=lambda hands: hands.canvases is not None,
        ),
        ActTool(
            "create_event",
            texts.CREATE_EVENT,
            _schema(**_EVENT, where=_WHERE | {"description": texts.EVENT_WHERE}, required=["title", "start"]),
            service.create_event,
            offered=lambda hands: hands.events is not None,
        ),
        ActTool(
            "edit_event",
            texts.EDIT_EVENT,
            _schema(event=_LINK, **_EVENT, required=["event"]),
            service.edit_event,
            offered=lambda hands: hands.events is not None,
        ),
        ActTool(
            "delete_post",
            texts.DELETE,
            _schema(message=_LINK, required=["message"]),
            service.delete,
            ToolEffect.IRREVERSIBLE,
        ),
    )


def _schema(*, required: Sequence[Json], **properties: Json) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class ActTools:
    """A source of tools: for the people of the platforms on which the bot can act now."""

    all: tuple[ActTool, ...]
    hands: Mapping[str, Hands]

    def tools(self, asker: Asker) -> Sequence[Tool]:
        hands = self.hands.get(person_source(asker.person.id))
        if hands is None or is_service(asker.person.id):
            return ()
        return tuple(tool for tool in self.all if tool.offered(hands))
