"""The catalogue: what people read, by area, so that it can be read through, corrected and translated at once.

Rules: short, polite, exact British English that says what to do; dates as 2026-11-21; what people wrote is shown
literally, so that a "*" in a fact stays a "*"; nothing is claimed that a receipt does not prove.
"""
