"""`cogency doctor`: what is wrong with the settings, the database, the model and the platforms' side of things.

Above: `bot.app.doctor` gathers everything and `bot.__main__` shows it. Below: nothing.

An adapter's `doctor` module has `async def examine(settings, clock) -> list[Finding]`, with its own settings: it
gathers facts, and hands them to pure checks. It raises nothing that its platform can cause.
"""

from bot.doctor.findings import Finding, Level, healthy, lines

__all__ = ["Finding", "Level", "healthy", "lines"]
