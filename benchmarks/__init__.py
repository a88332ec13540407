"""Benchmarks: each runs by one command, with a baseline in the same run.

python -m benchmarks.parser [--quick] [--json]
"""
