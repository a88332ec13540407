"""What is remembered, for whom it may be used, and how it is forgotten. Pure."""
