"""A turn: taken in, queued, answered, shown, stored."""
