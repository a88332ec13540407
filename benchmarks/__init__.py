"""What it must be fast at: each benchmark runs by one command, against a baseline in the same run.

python -m benchmarks.parser [--quick] [--json]
"""
