"""The mind: one turn from a question to an answer.

Above it: `store` implements the ports declared in `agent.ports`; `bot` brings messages in and shows replies.
Below it: nothing. The agent knows no platform and no database.

Pure by default. The world gets in only through `agent.loop` (the driver), `agent.tools` and `agent.providers`.
"""
