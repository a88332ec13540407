"""The mouth and ears: platforms bring messages in, replies are shown by live edits.

Above: nothing. Below: `agent`; and, from `bot.app` alone, `store`.
"""
