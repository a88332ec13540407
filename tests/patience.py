"""How long tests wait."""

from typing import Final

PATIENCE_S: Final = 90.0
"""For what has to happen. Only a test that fails waits so long: it is longer than the busiest machine needs, and less
than pytest's own timeout.
"""

LOOK_S: Final = 0.05
"""How often a fake looks at what it cannot see happen."""
