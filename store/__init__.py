"""Memory on disk: implements the ports that `agent.ports` declares.

Above: only `bot.app` imports it. Below: `agent`. Pure parts: rows, text, stem, ranking, erased (values only),
columns, reach (conditions).
"""
