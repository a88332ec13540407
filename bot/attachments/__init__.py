"""Files that come with a message: what they are, and what the model gets of them.

Rules.
- Nothing is believed that a file says of itself: its first bytes decide what it is, and its name is text by a stranger.
- Everything is bounded: bytes, files, time, memory, and what the model is given.
- A file that is not read becomes one honest line, so that the answer does not pretend that there had been none.
"""
