"""Models: one pure wire module a vendor, transports that know no vendor, and two models without a network."""
