"""A picture of the report of `missfit compare`, for the documentation.

Simulates a table, compares predictors on it with --quick, and opens the report in
chromium without a window: the one that the environment variable CHROMIUM names, or
/usr/bin/chromium (`make browser` installs it). The picture is the top of the page.

    python benchmarks/report_picture.py [--out docs/figures/report.png]
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
WIDTH, HEIGHT = 1_000, 1_200  # pixels
N_COLOURS = 256  # of a palette: the page has few, and the file is a third as large
MOST_BYTES = 200_000
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
COMMANDS = [
    "simulate selfmasked --d 6 --n 3000 --out table.csv",
    "compare table.csv --target y --quick --out missfit-report",
]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


def write_report(folder):
    """Run the commands of the page in a folder; return the report."""
    for command in COMMANDS:
        words = [sys.executable, "-m", "missfit", *command.split()]
        subprocess.run(words, cwd=folder, check=True)
    return folder / "missfit-report" / "report.html"


def take_picture(page, out, profile):
    """Write what a window of chromium shows of a page to a PNG file."""
    places = [f"--user-data-dir={profile}", f"--screenshot={out}"]
    size = f"--window-size={WIDTH},{HEIGHT}"
    subprocess.run(
        [CHROMIUM, *FLAGS, *places, size, page.as_uri()],
        check=True,
        stderr=subprocess.DEVNULL,  # it tells of services that are not needed
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    figure = ROOT / "docs" / "figures" / "report.png"
    parser.add_argument("--out", type=Path, default=figure)
    out = parser.parse_args().out
    with TemporaryDirectory() as name:
        folder = Path(name)
        shot = folder / "shot.png"
        take_picture(write_report(folder), shot, folder / "profile")
        with Image.open(shot) as picture:
            # by octree: the median cut turns lines of few pixels into other colours
            small = picture.convert("RGB").quantize(
                N_COLOURS, Image.Quantize.FASTOCTREE
            )
            small.save(out, optimize=True)
    size = out.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{out} has {size:,} bytes, more than {MOST_BYTES:,}.")
    print(f"{out}: {WIDTH} x {HEIGHT} pixels, {size:,} bytes")


if __name__ == "__main__":
    main()
