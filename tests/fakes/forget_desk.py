"""A host's desk for forgetting, once the host has its turns.

Above: hosts of the tests. Below: `bot.memory.forgetting`.
"""

from agent.ports import Jobs
from bot.hosting import BotHost
from bot.memory.forgetting import ForgetDesk


def forget_desk(host: BotHost, jobs: Jobs) -> ForgetDesk:
    return ForgetDesk(
        forgetting=host.forgetting,
        ledger=host.ledger,
        jobs=jobs,
        clock=host.clock,
        take_back=host.turns.take_back,
        withdraw=host.turns.withdraw,
    )
