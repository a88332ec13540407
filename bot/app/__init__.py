"""The composition root: the one place where settings, store, models, tools and surfaces meet.

Nothing else imports `store`. Importing the package itself loads nothing: each command takes the module that it needs.
"""
