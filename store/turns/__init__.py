"""The ledger of turns, and what can happen to a question while it waits."""
