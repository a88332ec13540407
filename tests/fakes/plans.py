"""Short functions for forgetting plans."""

from agent.memory.forgetting_plans import OneThread


def one_thread(person: str, *conversations: str) -> OneThread:
    return OneThread(person, frozenset(conversations))
