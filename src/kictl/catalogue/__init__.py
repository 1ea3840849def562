"""The catalogue: one SQLite file that holds manifests, submissions, bounds and imports, and never forgets."""
