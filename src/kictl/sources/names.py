"""What the sources are called and where they are, without anything that reads them."""

from __future__ import annotations

SOL_EXECBENCH = "sol-execbench"
SOL_EXECBENCH_URL = "https://research.nvidia.com/benchmarks/sol-execbench/api"
KERNELINDEX = "kernelindex"

DISPLAY = {SOL_EXECBENCH: ("leaderboard", "NVIDIA SOL-ExecBench")}
"""The kind of a source and its name for people, where no export says them."""
