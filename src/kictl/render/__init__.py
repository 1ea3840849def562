"""Renderers: results in, finished text out; none of them prints."""
