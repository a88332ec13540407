"""Memory on disk: implements the ports that `agent.ports` declares.

Above: only `bot.app` imports it. Below: `agent`. Pure parts: rows, columns, search (text, stem, forms, ranking,
meaning), forgetting.erased.
"""
