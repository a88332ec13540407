"""One folder a platform, with the same file names in each. Platforms never import each other."""
