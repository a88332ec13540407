"""What links, pictures and references in Markdown are made of, for texts that are put together at random."""

from typing import Final

LINK_PIECES: Final = ("[", "]", "(", ")", "](", "]:", "<", ">", "!", "\\", "/", " ", "\n", "`", ":", "words", "\n\n")
