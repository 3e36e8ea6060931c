"""Every table of the pages that a benchmark prints, in one run of one commit.

    python benchmarks/every.py [NAME ...] [--jobs N] [--tables CSV ...]
        [--classes CSV ...] [--out FOLDER]

Without a name, all are run, one after another: some hours on two cores. What each
prints is shown and kept in FOLDER/NAME.txt, below the day, the commit of the package
and the machine; what is there is not run again, so that a run can be stopped and
resumed. `--jobs` is for those that fit many models side by side; those that measure
time run alone. Real tables are CSV files of numbers with the target in the last column.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from header import header

HERE = Path(__file__).resolve().parent


def commands(jobs, tables, classes, out):
    """Return the script and its arguments for each name."""
    many = ["--jobs", str(jobs)]
    tables, classes = list(map(str, tables)), list(map(str, classes))
    fits = {name: ["--out", str(out / f"{name}.csv")] for name in RESUMED}
    times = ["--only", "times", "--tables", *classes]
    rare = ["--sets", "--replications", "400"]
    shares = ["--only", "simulated", "tables", "--tables", *classes]
    return {
        # time
        "moments": ["moments"],
        "linear": ["linear"],
        "networks": ["networks"],
        "auto": ["auto", "--markdown", *(["--tables", *tables] if tables else [])],
        "auto_large": ["auto", "--only", "wider", "million"],
        "class_times": ["classes", *times, "--out", str(out / "none.csv")],
        "wide": ["wide"],
        "deadline": ["deadline"],
        "serve": ["serve"],
        "scale": ["scale", "--rows", "1e6", "1e8", "--runs", "1"],
        "export": ["export", "--rows", "4000", *tables, *classes],
        # how well it predicts, and what it says
        "at_a_glance": ["at_a_glance"],
        "which_when": ["which_when", "--out", "docs/figures/which_when.png"],
        "beyond_the_paper": ["beyond_the_paper", *tables],
        "tables": ["tables", *tables],
        "peers": ["peers", *tables],
        "imputers": ["imputers", *tables],
        "suspicions": ["suspicions"],
        "published": ["published", *many, *fits["published"]],
        "robustness": ["robustness", *many, *fits["robustness"]],
        "classes": ["classes", *shares, *many, *fits["classes"]],
        "coverage": ["coverage", *many],
        # rare rows are known to a standard error of .7 points by 400 fits
        "coverage_sets": ["coverage", *rare, *many],
        "levels": ["levels", *many],
        "generated": ["generated", *many, *fits["generated"]],
    }


RESUMED = ("classes", "robustness", "published", "generated")


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tables", nargs="+", type=Path, default=[], metavar="CSV")
    parser.add_argument("--classes", nargs="+", type=Path, default=[], metavar="CSV")
    parser.add_argument(
        "--out", type=Path, default=Path("results/bench"), metavar="FOLDER"
    )
    return parser.parse_args()


def run(name, command, out):
    """Run one script, and keep what it prints once it has ended well."""
    print(f"\n## {name}: python benchmarks/{' '.join(command)}", flush=True)
    start, lines = time.perf_counter(), []
    script = [sys.executable, str(HERE / f"{command[0]}.py"), *command[1:]]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if not lines and not line.startswith("Measured on"):
                lines.append(header() + "\n")  # most scripts print it themselves
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        return f"{name} ended with {process.returncode}"
    minutes = (time.perf_counter() - start) / 60
    lines.append(f"\n{minutes:.1f} minutes\n")
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.txt").write_text("".join(lines))
    return ""


def main():
    args = options()
    every = commands(args.jobs, args.tables, args.classes, args.out)
    unknown = [name for name in args.names if name not in every]
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: choose of {', '.join(every)}.")
    left = [n for n in args.names or every if not (args.out / f"{n}.txt").exists()]
    failed = [run(name, every[name], args.out) for name in left]
    if any(failed):
        raise SystemExit("; ".join(filter(None, failed)))


if __name__ == "__main__":
    main()
