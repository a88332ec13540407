"""Erasing: what falls, how it is wiped, and the search that proves it."""
