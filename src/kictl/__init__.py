"""kictl: import GPU-kernel leaderboard results, verify them, compare only what may be compared."""

__version__ = "0.1.0"
PROJECT_URL = "https://github.com/kernelindex/kictl"
