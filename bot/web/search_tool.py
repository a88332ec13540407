"""The tool `web_search`: asks the configured search engine.

Results are data written by others, which everybody at the place may read. Each can be cited by the number that it
shows. An error is one sentence with its remedy.
"""

from dataclasses import dataclass
from typing import Final

from agent.errors import ToolError
from agent.messages import Json, JsonObject, Reference
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from bot.chat.network.guard import WebRefused
from bot.web.search_engines import MAX_QUERY_CHARS, Recency, SearchEngine

SEARCH: Final = "web_search"
SEARCH_ABOUT: Final = (
    "Search the web, for what is new or you do not know. It finds titles, links and snippets: read a page before you "
    "rely on it. Cite as [1], by the numbers of its results."
)
FOUND: Final = "Found by {engine} for “{query}”:"
NOTHING_FOUND: Final = "{engine} found nothing for “{query}”. Other words may help."


_SEARCH_PROPERTIES: Final[dict[str, Json]] = {
    "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARS},
    "recent": {"enum": [*Recency], "description": "only what is newer than that"},
}


@dataclass(frozen=True, slots=True)
class WebSearchTool:
    engine: SearchEngine
    timeout_s: float
    name: str = SEARCH
    description: str = SEARCH_ABOUT
    effect: ToolEffect = ToolEffect.READS

    @property
    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "properties": _SEARCH_PROPERTIES,
            "required": ["query"],
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        query, recent = " ".join(str(args["query"]).split()), args.get("recent")
        try:
            results = await self.engine.search(query, Recency(str(recent)) if recent else None)
        except WebRefused as refused:
            raise ToolError(str(refused), ours=True) from None
        references, lines = list[Reference](), list[str]()
        for result in results:
            number = context.numbers.number(result.address)
            references += [] if number is None else [Reference(number, result.address, result.title, is_read=False)]
            title = result.title if number is None else f"[{number}] {result.title}"
            lines.append("\n".join(filter(None, [title.strip(), result.address, result.date, result.snippet])))
        head = (FOUND if results else NOTHING_FOUND).format(engine=self.engine.name, query=query)
        text = "\n\n".join([head, *lines])
        return ToolOutput(text, audience=context.place.audience, references=tuple(references))
