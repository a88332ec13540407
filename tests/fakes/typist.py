"""A model's answer as it arrives: piece by piece, at the pace of a fast typist."""

from agent.providers.scripted import Answer, ScriptPause

CHARS_PER_S = 300


def typed(text: str, chars_per_s: float = CHARS_PER_S, chunk: int = 30) -> Answer:
    """Return the text in pieces of `chunk` characters, for a `ScriptedProvider`."""
    pieces = [text[at : at + chunk] for at in range(0, len(text), chunk)]
    return [part for piece in pieces for part in (piece, ScriptPause(chunk / chars_per_s))]
