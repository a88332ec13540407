"""Hooks: an operator's own functions that see questions, calls, answers, and what goes to models."""
