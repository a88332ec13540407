"""Full-text search: the index of both engines, its words, the ranking of what it finds."""
