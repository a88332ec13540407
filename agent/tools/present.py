"""`present`: show a part of the answer as cards, a table, pictures and buttons.

Rule. The call itself changes nothing. It is stored with the turn, and what its last call describes is shown below the
answer, as a part of it (`agent.presentations`). So a repeated call, or a turn that another process takes over, shows it
once.
"""

from dataclasses import dataclass, field
from typing import Final

from agent import texts
from agent.errors import ToolError
from agent.messages import Json, JsonObject, Provenance, ResultStatus, ToolCall
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.presentations import (
    MAX_COLUMNS,
    MAX_FIELDS,
    MAX_PICTURES,
    MAX_QUESTION_CHARS,
    MAX_QUESTIONS,
    MAX_ROWS,
    MAX_SECTIONS,
    Presentation,
    presentation_of,
)
from agent.progress import Progress

NAME: Final = "present"

# Words of questions whose answers people want to see arranged: the tool costs tokens in each turn that has it.
_WORDS: Final = frozenset(
    {
        *("present", "presentation", "card", "cards", "gallery", "pictures", "images", "photos", "overview", "compare"),
        *("comparison", "options", "menu", "buttons", "dashboard", "table"),
        *("übersicht", "vergleich", "vergleiche", "bilder", "tabelle", "karten", "optionen", "galerie"),
        *("aperçu", "comparaison", "tableau", "cartes", "resumen", "comparación", "compara", "tabla", "imágenes"),
        *("opciones", "visão", "comparação", "tabela", "imagens", "opções", "panoramica", "confronto", "tabella"),
    }
)


def _text(most: int = 0) -> dict[str, Json]:
    return {"type": "string", "maxLength": most} if most else {"type": "string"}


def _many(items: Json, most: int) -> dict[str, Json]:
    return {"type": "array", "items": items, "maxItems": most}


def _object(properties: dict[str, Json], *required: str) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


_TABLE: Final = _object(
    {"columns": _many(_text(), MAX_COLUMNS), "rows": _many(_many(_text(), MAX_COLUMNS), MAX_ROWS)}, "columns", "rows"
)
_SECTION: Final = _object(
    {
        "heading": _text(),
        "text": _text(),
        "fields": _many(_object({"name": _text(), "value": _text()}, "name", "value"), MAX_FIELDS),
        "table": _TABLE,
        "pictures": _many(_object({"address": _text(), "alt": _text()}, "address", "alt"), MAX_PICTURES),
    }
)
_SCHEMA: Final[JsonObject] = _object(
    {
        "title": _text(),
        "sections": _many(_SECTION, MAX_SECTIONS),
        "questions": {
            **_many(_text(MAX_QUESTION_CHARS), MAX_QUESTIONS),
            "description": texts.PRESENT_QUESTIONS,
        },
    },
    "sections",
)


@dataclass(frozen=True, slots=True)
class PresentTool:
    timeout_s: float = 10.0
    name: str = NAME
    description: str = texts.PRESENT
    effect: ToolEffect = ToolEffect.READS
    schema: JsonObject = field(default_factory=lambda: _SCHEMA)
    beside: frozenset[str] = _WORDS
    on_platform: bool = True

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        try:
            presentation_of(args)
        except ValueError as error:
            raise ToolError(str(error), ours=True) from error
        return ToolOutput(texts.PRESENTED, audience=context.place.audience, read=(), words=Provenance.OWN)


def presented(progress: Progress) -> Presentation | None:
    """Return what the last valid call of a turn describes; None for a turn that presents nothing."""
    for step in reversed(progress.steps):
        made = [*zip(step.calls, step.results, strict=True), *((each.call, each.result) for each in step.inner)]
        for call, result in reversed(made):
            if call.name == NAME and result is not None and result.status is ResultStatus.SUCCESS:
                return called(call)
    return None


def called(call: ToolCall) -> Presentation | None:
    """Return what this call describes; None if it describes nothing that can be shown."""
    try:
        return presentation_of(call.args)
    except ValueError:
        return None
