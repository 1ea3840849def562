"""Rules about a catalogue's own columns; whoever keeps the catalogue applies them."""

from __future__ import annotations

from kictl.verify.registry import declare

BOUNDS = declare(
    "catalogue/bounds",
    "error",
    "The digest of bounds is recomputed from their cases.",
    "a sol_ms changed in place",
    needs="catalogue",
)
ROW = declare(
    "catalogue/row",
    "error",
    "What tables repeat of a run is what its manifest says.",
    "a latency_ns changed in place",
    needs="catalogue",
)
