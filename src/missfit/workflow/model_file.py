"""Model files: a fitted model and the schema of its table, loaded without running code.

A file is a skops archive (a zip of JSON and numpy arrays) with one more member,
``missfit.json``: the version of the format, the schema and a checksum. Only the types
listed here are ever made from a file, and `missfit.workflow.archive` checks names,
sizes and arrays before that. Trees are stored as `missfit.auto.trees.FlatTrees`.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import (
    ConformalClassifier,
    ConformalRegressor,
    TableEncoder,
)
from missfit.tables.columns import count_of
from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems
from missfit.tables.reading import Reading
from missfit.workflow.archive import (
    HEADER,
    RefusedError,
    check_content,
    checked_header,
    packed,
    short_reason,
    skops_io,
)
from missfit.workflow.missingness import Missingness
from missfit.workflow.model_checks import (
    FORMAT,
    VERSION,
    check_counts,
    check_predictions,
    check_version,
    checked_reading,
)
from missfit.workflow.model_types import TRUSTED, portable
from missfit.workflow.new_rows import new_rows
from missfit.workflow.profile import Profile
from missfit.writing import whole_file

__all__ = [
    "HEADER",
    "ModelFileError",
    "TableModel",
    "load_model",
    "save_model",
]


class ModelFileError(ValueError):
    """The reason why a model file is not loaded."""


@dataclass(frozen=True)
class TableModel:
    """A fitted model of a table, as a model file holds it.

    `missfit.fit_table` makes one, and `missfit.load_model` reads one from a file.

    Attributes
    ----------
    encoder : TableEncoder
    regressor : ConformalRegressor or ConformalClassifier
        Fitted to the encoder's output.
    predictor : str
        The name of the candidate inside.
    target : str
        The name of the column that is predicted.
    missingness : Missingness
        Which variables were missing when the model was fitted.
    profile : Profile, optional
        What else is known of the table, for `missfit.workflow.watch`.
    """

    encoder: TableEncoder
    regressor: Any
    predictor: str
    target: str
    missingness: Missingness
    profile: Profile | None = None

    def __repr__(self) -> str:
        n = count_of(len(self.columns), "column")
        return f"TableModel({self.predictor}, {self.target!r} from {n})"

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns that the model reads, in order."""
        return [str(name) for name in self.encoder.feature_names_in_]

    @property
    def classes(self) -> NDArray | None:
        """Return the labels of the classes that are predicted, None for numbers."""
        return getattr(self.regressor, "classes_", None)

    @property
    def reading(self) -> Reading:
        """Return how the columns are read, at fit and in new rows."""
        return self.encoder.reading_

    def predict(self, data: Any) -> NDArray:
        """Predict the rows of a frame, a file or an array.

        Where the target is a class, this is the most probable one.

        Parameters
        ----------
        data : str, Path, DataFrame or array-like of shape (n, d)
            A file or a frame with the columns of the model, in any order and beside
            others, or an array of just these columns in the order of `columns`.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.concatenate([self.regressor.predict(X) for X in self._numbers(data)])

    def predict_proba(self, data: Any) -> NDArray[np.float64]:
        """Return the probability of each class for the rows of a table.

        Parameters
        ----------
        data : str, Path, DataFrame or array-like of shape (n, d)
            As for `predict`.

        Returns
        -------
        ndarray of shape (n, K)
            In the order of `classes`.
        """
        self._refuse_task("number", "no probabilities; predict_interval says how sure")
        return np.concatenate(
            [self.regressor.predict_proba(X) for X in self._numbers(data)]
        )

    def predict_set(self, data: Any, coverage: float | None = None) -> NDArray:
        """Return which classes are in the set of each row, see `ConformalClassifier`.

        Parameters
        ----------
        data : str, Path, DataFrame or array-like of shape (n, d)
            As for `predict`.
        coverage : float, optional
            The share of new rows whose set should hold their class; by default that of
            the fit.

        Returns
        -------
        bool ndarray of shape (n, K)
            In the order of `classes`.
        """
        self._refuse_task(
            "number", "no sets of classes; predict_interval says how sure"
        )
        alphas = [self._alpha(coverage)]
        sets = [self.regressor.predict_sets(X, alphas) for X in self._numbers(data)]
        return np.concatenate(sets, axis=1)[0]

    def _refuse_task(self, task: str, instead: str) -> None:
        """Raise where the target is of this kind."""
        found = "number" if self.classes is None else "class"
        if found == task:
            raise ValueError(
                f"the target {self.target!r} is a {task}, which has {instead} a "
                "prediction is."
            )

    def _alpha(self, coverage: float | None) -> float:
        alpha = self.regressor.alpha if coverage is None else 1 - coverage
        if not 0 < alpha < 1:
            raise ValueError(f"coverage={coverage!r}; it must be between 0 and 1.")
        return alpha

    def predict_interval(
        self, data: Any, coverage: float | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and upper ends of the prediction intervals of rows.

        Parameters
        ----------
        data : str, Path, DataFrame or array-like of shape (n, d)
            As for `predict`.
        coverage : float, optional
            The share of new rows that the intervals should cover; by default that of
            the fit.

        Returns
        -------
        lower, upper : ndarray of shape (n,)
        """
        self._refuse_task("class", "no intervals; predict_proba says how sure")
        alpha = self._alpha(coverage)
        ends = [
            np.concatenate(self.regressor.predict_intervals(X, [alpha]))
            for X in self._numbers(data)
        ]
        lower, upper = np.concatenate(ends, axis=1)
        return lower, upper

    def explain(self) -> Any:
        """Return what the predictor chose and why, by the names of the columns."""
        estimator = self.regressor.estimator_
        if not hasattr(estimator, "explain"):
            auto = "AutoRegressor" if self.classes is None else "AutoClassifier"
            raise ValueError(
                f"{self.predictor} makes no choice that could be explained; the "
                f"default predictor, {auto}, does."
            )
        return estimator.explain(np.array(self.columns)[self.encoder.variables_])

    def save(self, path: str | Path) -> None:
        """Write a model file, see `missfit.workflow.model_file.save_model`."""
        save_model(path, self)

    def rows(
        self,
        data: Any,
        options: ReadOptions | None = None,
        *,
        keep: Sequence[str] = (),
        problems: Problems | None = None,
    ) -> Generator[Any]:
        """Yield the rows of a table to predict as frames, a file in chunks."""
        options = self.reading.options_for(options)
        copied = [name for name in keep if name not in self.columns]
        return new_rows(
            data,
            self.columns,
            self.target,
            options,
            text=[*self.reading.text_columns, *copied],
            keep=keep,
            problems=problems,
        )

    def _numbers(self, data: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the rows of a table to predict as numbers."""
        for frame in self.rows(data):
            yield self.encoder.transform(frame[self.columns])

    def schema(self) -> dict[str, Any]:
        """Return the schema as plain data, as the file holds it."""
        seen = self.missingness
        return {
            "target": self.target,
            "predictor": self.predictor,
            "rows": seen.n_rows,
            "columns": [
                {"name": name, "kind": kind, "levels": levels, "missing": int(missing)}
                for name, kind, levels, missing in zip(
                    self.columns,
                    self.encoder.kinds_,
                    self.encoder.categories_,
                    seen.count,
                    strict=True,
                )
            ],
            "reading": self.reading.as_json(),
            "patterns": sorted(key.hex() for key in seen.keys),
            "patterns_seen_once": seen.n_single,
            "profile": None if self.profile is None else self.profile.as_json(),
        }


def save_model(path: str | Path, model: TableModel) -> None:
    """Write a model file, whole or not at all.

    It is read back first: a model that could not be loaded again is not written.
    """
    from missfit import __version__

    header = {
        "format": FORMAT,
        "version": VERSION,
        "missfit": __version__,
        **model.schema(),
    }
    try:
        encoder = _without_reading(model.encoder)
        parts = {"encoder": encoder, "regressor": portable(model.regressor)}
        content = packed(skops_io().dumps(parts), header)
        _read(io.BytesIO(content))
    except ImportError:
        raise
    except Exception as error:  # of skops, or of a model that is not as it should be
        raise ModelFileError(
            "this model could not be loaded again, so it is not written: "
            f"{' '.join(str(error).split())[:300]}"
        ) from error
    with whole_file(path) as part:
        part.write_bytes(content)


def _without_reading(encoder: TableEncoder) -> TableEncoder:
    """Return a copy of an encoder without its reading, which the header holds."""
    other = copy.copy(encoder)
    other.reading = None
    del other.reading_
    return other


def load_model(path: str | Path) -> TableModel:
    """Read a model file; raise `ModelFileError` for anything else. No code runs."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"{path} does not exist or is not a file.")
    with path.open("rb") as file:
        _check_kind(path, file.read(2))
        try:
            return _read(file)
        except ImportError:
            raise
        except Exception as error:  # whatever a strange file makes a reader raise
            raise ModelFileError(
                f"{path} is not loaded: {short_reason(error)}. Copy it again, or "
                "write it again with missfit fit."
            ) from error


def _check_kind(path: Path, start: bytes) -> None:
    """Raise where the first bytes are not those of an archive."""
    if start[:1] == b"\x80" or start == b"c_":
        raise ModelFileError(
            f"{path} is a pickle, which can run code and is never loaded; write a "
            "model file with missfit fit."
        )
    if start != b"PK":
        raise ModelFileError(
            f"{path} is no missfit model file; write one with missfit fit."
        )


def _read(file: BinaryIO) -> TableModel:
    """Return the model of an archive, after every check."""
    header = checked_header(file)
    check_version(header)
    check_content(file, header, set(TRUSTED))
    file.seek(0)
    parts = skops_io().load(file, trusted=list(TRUSTED))
    model = _model(parts, header)
    check_predictions(model.regressor)
    return model


def _model(parts: Any, header: dict[str, Any]) -> TableModel:
    """Return the model, whose schema must be that of the header."""
    encoder, regressor = parts["encoder"], parts["regressor"]
    if not isinstance(encoder, TableEncoder):
        raise RefusedError("its encoder is of another type")
    if not isinstance(regressor, (ConformalRegressor, ConformalClassifier)):
        raise RefusedError("its regressor is of another type")
    encoder.reading_ = checked_reading(encoder, header["reading"])
    missingness = Missingness(
        int(header["rows"]),
        np.array([int(column["missing"]) for column in header["columns"]]),
        frozenset(bytes.fromhex(key).rstrip(b"\0") for key in header["patterns"]),
        int(header["patterns_seen_once"]),
    )
    predictor, target = str(header["predictor"]), str(header["target"])
    profile = header.get("profile")
    if profile is not None:
        profile = Profile.from_json(profile, len(encoder.kinds_), missingness.n_rows)
    model = TableModel(encoder, regressor, predictor, target, missingness, profile)
    for name, value in model.schema().items():
        if header.get(name) != value and name != "patterns":
            raise RefusedError(f"the {name} of the header are not those of the model")
    check_counts(model)
    return model
