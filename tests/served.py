"""Tables, model files and commands that several files of tests use."""

import io

import numpy as np
import pandas as pd

from missfit.cli import main


def make_table(n=600, seed=0):
    """Rows of every kind of column, with holes, and a target that uses them."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Paris", "Lyon", "Nice"], n)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(2),
            "smokes": rng.random(n) < 0.3,
            "born": np.datetime64("1990-01-01") + rng.integers(0, 3000, n),
            "city": city,
            "dose": rng.normal(0, 1, n).round(3),
        }
    )
    y = frame["age"] / 10 + 2 * frame["smokes"] + 3 * (city == "Nice") + frame["dose"]
    y = y + rng.normal(0, 0.3, n)
    frame = frame.astype({"smokes": "boolean"}).mask(rng.random(frame.shape) < 0.15)
    return frame.assign(y=y.round(4))


def fitted_folder(folder):
    """Write a table, a model of it and new rows to a folder; return the folder."""
    make_table().to_csv(folder / "train.csv", index=False)
    make_table(300, seed=1).to_csv(folder / "new.csv", index=False)
    code = main(
        f"fit {folder}/train.csv --target y --model {folder}/model.skops "
        "--predictor EMLR".split()
    )
    assert code == 0
    return folder


def run(capsys, *arguments):
    """Run a command; return its exit code, stdout and stderr."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys, *arguments):
    """Run a command that must fail as agreed: one line, exit code 2; return it."""
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("missfit: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert len(err) < 700
    return err


def predictions(text):
    assert text.startswith("prediction,lower,upper\n")
    return pd.read_csv(io.StringIO(text))
