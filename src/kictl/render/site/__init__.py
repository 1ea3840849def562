"""The static site: pages of definitions and runs, an index, and the same numbers as JSON beside each."""
