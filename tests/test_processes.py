"""What joblib says of the processes that work side by side."""

import subprocess
import sys
import warnings

import pytest

from missfit.processes import quiet_restarts

# joblib looks at the memory of a process after each second of work. One that has grown
# by 400 MB is replaced, while others wait for a process.
GROWS = """
import sys, time
from contextlib import nullcontext
from joblib import Parallel, delayed
from missfit.processes import quiet_restarts

def work(megabytes):
    sys.modules.setdefault("kept", []).append(b"x" * (megabytes * 10**6))
    time.sleep(1.2)
    return megabytes

if __name__ == "__main__":
    with quiet_restarts() if sys.argv[1] == "quiet" else nullcontext():
        sizes = [1, 1, 400, 400, 400, 400, 1, 1]
        print(Parallel(n_jobs=2)(delayed(work)(size) for size in sizes))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["quiet", "as joblib does"])
def test_a_process_that_is_replaced_is_no_warning(how, tmp_path):
    pytest.importorskip("psutil", reason="joblib looks at the memory by psutil")
    script = tmp_path / "grows.py"
    script.write_text(GROWS)
    line = [sys.executable, str(script), how]
    run = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "[1, 1, 400, 400, 400, 400, 1, 1]"
    assert ("A worker stopped" in run.stderr) == (how != "quiet"), run.stderr


def test_other_warnings_are_told():  # as errors, as everywhere in these tests
    with pytest.raises(UserWarning, match="something else"), quiet_restarts():
        warnings.warn("something else", UserWarning, stacklevel=1)
