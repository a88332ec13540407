"""The mind: one turn from a question to an answer.

Pure by default. The world gets in only through `agent.loop` (the driver), `agent.tools` and `agent.providers`.
"""
