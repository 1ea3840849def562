"""Measures kictl against its peers and against what is possible."""
