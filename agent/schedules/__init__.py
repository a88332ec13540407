"""Schedules: reminders, scheduled questions and long work."""
