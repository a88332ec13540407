"""httpx without its command line, which takes three quarters of the time and of the memory of the import."""

from agent.lean_imports import not_installed

with not_installed("httpx._main"):
    import httpx as httpx  # noqa: PLC0414 -- exported
