"""Who somebody is, and who reads along where."""
