"""What a person asks to have forgotten, in few words."""

from agent.memory.forgetting_plans import OneThread


def one_thread(person: str, *conversations: str) -> OneThread:
    return OneThread(person, frozenset(conversations))
