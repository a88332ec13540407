"""The model that work in the background uses."""

from dataclasses import dataclass

from agent.ports.model import Provider


@dataclass(frozen=True, slots=True)
class LearningModel:
    """`is_local`: it runs on this machine, and answers may need it, too. `can_learn`: False for a rehearsal."""

    provider: Provider
    is_local: bool = False
    can_learn: bool = True
