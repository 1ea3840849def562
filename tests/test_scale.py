"""Imports of many submissions: memory does not grow with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from processes import ROOT

MEASURED = """
import sys
from kictl.__main__ import main
code = main()
with open("/proc/self/status") as status:
    peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(peak, file=sys.stderr)
sys.exit(code)
"""


def peak_of_import(folder: Path, submissions: int) -> float:
    """The most memory, in MiB, that importing so many made-up submissions to 235 definitions takes."""
    subprocess.run([sys.executable, ROOT / "bench/synthetic.py", folder, str(submissions)], check=True)
    arguments = ["import", "sol-execbench", "--from", str(folder), "--catalog", str(folder / "catalogue.sqlite")]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done
    assert f"235 definitions, {submissions} submissions received of {submissions} listed" in done.stdout
    return int(done.stderr) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell how much was used")
def test_ten_times_the_submissions_take_hardly_more_memory(tmp_path: Path) -> None:
    few, many = (peak_of_import(tmp_path / str(number), number) for number in (6_000, 60_000))
    assert many < 250
    assert many < 1.2 * few, (few, many)
