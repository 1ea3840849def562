"""Use-cases: what the commands do, without their options and their output."""
