"""Model files: a fitted model and the schema of its table, loaded without running code.

A file is a skops archive (a zip of JSON and numpy arrays) with one more member,
``missfit.json``: the version of the format and the schema. Only the types listed here
are ever made from a file.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import ConformalRegressor, TableEncoder
from missfit.files import whole_file
from missfit.patterns import group_rows, pattern_keys

FORMAT = "missfit model"
VERSION = 1
HEADER = "missfit.json"
TRUSTED = (
    "missfit.estimators.auto.AutoRegressor",
    "missfit.estimators.conditional_imputed_lr.ConditionalImputedLR",
    "missfit.estimators.conformal_regressor.ConformalRegressor",
    "missfit.estimators.constant_imputed_lr.ConstantImputedLR",
    "missfit.estimators.emlr.EMLR",
    "missfit.estimators.expanded_lr.ExpandedLR",
    "missfit.estimators.explanation.Explanation",
    "missfit.estimators.explanation.Mechanism",
    "missfit.estimators.explanation.Regime",
    "missfit.estimators.explanation.Relation",
    "missfit.estimators.explanation.Score",
    "missfit.estimators.factorized_lr.FactorizedLR",
    "missfit.estimators.flexible.FoldModel",
    "missfit.estimators.flexible.Part",
    "missfit.estimators.micelr.MICELR",
    "missfit.estimators.partial_pooling.PartialPooling",
    "missfit.estimators.pattern_mixture_lr.PatternMixtureLR",
    "missfit.estimators.self_masked_lr.SelfMaskedLR",
    "missfit.estimators.table_encoder.TableEncoder",
    "missfit.gaussian.ScaledGaussian",
    "missfit.maps.AffineMaps",
    "missfit.networks.units.Units",
    "missfit.networks.mlp.MLP",
    "missfit.networks.neumiss.NeuMiss",
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.impute._iterative.IterativeImputer",
    "sklearn.impute._iterative._ImputerTriplet",
)


class ModelFileError(ValueError):
    """Why a model file is not loaded."""


@dataclass(frozen=True)
class Missingness:
    """What was missing at fit, to compare new rows with.

    Attributes
    ----------
    n_rows : int
    count : int ndarray of shape (d,)
        Rows in which each variable was missing.
    keys : set of bytes
        The patterns seen.
    n_single : int
        Patterns seen in one row; over ``n_rows`` it estimates the share of new rows
        with a pattern never seen (Good and Turing).
    """

    n_rows: int
    count: NDArray[np.int64]
    keys: frozenset[bytes]
    n_single: int

    @classmethod
    def of(cls, mask: NDArray[np.bool_]) -> Missingness:
        """Return that of a mask (n, d)."""
        groups = group_rows(mask)
        return cls(
            len(mask),
            mask.sum(axis=0),
            frozenset(pattern_keys(groups.patterns).tolist()),
            int((groups.n_rows == 1).sum()),
        )


@dataclass(frozen=True)
class TableModel:
    """A fitted model of a table: what `missfit fit` writes and `missfit predict` reads.

    Attributes
    ----------
    encoder : TableEncoder
    regressor : ConformalRegressor
        Fitted to the encoder's output.
    predictor : str
        Name of the candidate inside.
    target : str
    missingness : Missingness
        Of the variables at fit.
    """

    encoder: TableEncoder
    regressor: ConformalRegressor
    predictor: str
    target: str
    missingness: Missingness

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the model reads, in order."""
        return [str(name) for name in self.encoder.feature_names_in_]

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
            "patterns": sorted(key.hex() for key in seen.keys),
            "patterns_seen_once": seen.n_single,
        }


def save_model(path: str | Path, model: TableModel) -> None:
    """Write a model file, whole or not at all."""
    sio = _skops()
    import missfit

    parts = {"encoder": model.encoder, "regressor": model.regressor}
    buffer = io.BytesIO(sio.dumps(parts))
    header = {
        "format": FORMAT,
        "version": VERSION,
        "missfit": missfit.__version__,
        **model.schema(),
    }
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEADER, json.dumps(header, indent=1))
    refused = set(sio.get_untrusted_types(data=buffer.getvalue())) - set(TRUSTED)
    if refused:
        raise ModelFileError(
            f"a model with {min(refused)} inside could not be loaded again, so it is "
            "not written."
        )
    with whole_file(path) as part:
        part.write_bytes(buffer.getvalue())


def load_model(path: str | Path) -> TableModel:
    """Read a model file; raise `ModelFileError` for anything else. No code runs."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"{path} does not exist or is no file.")
    content = path.read_bytes()
    header = _header(path, content)
    sio = _skops()
    try:
        refused = set(sio.get_untrusted_types(data=content)) - set(TRUSTED)
        if not refused:
            parts: Any = sio.loads(content, trusted=list(TRUSTED))
            return _model(parts, header)
    except Exception as error:  # whatever a strange file makes the reader raise
        text = " ".join(str(error).split())[:200]
        raise ModelFileError(
            f"{path} is damaged ({type(error).__name__}: {text}); write it again with "
            "missfit fit."
        ) from error
    raise ModelFileError(
        f"{path} asks for the type {min(refused)!r}, which model files may not hold; "
        "it was not loaded. Write it again with missfit fit."
    )


def _header(path: Path, content: bytes) -> dict[str, Any]:
    """Return the header of a file that is a model file of a version known here."""
    if content[:1] == b"\x80" or content[:2] == b"c_":
        raise ModelFileError(
            f"{path} is a pickle, which can run code and is never loaded; write a "
            "model file with missfit fit."
        )
    if content[:2] != b"PK":
        raise ModelFileError(
            f"{path} is no missfit model file; write one with missfit fit."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if archive.testzip() is not None:
                raise zipfile.BadZipFile("a member has a wrong checksum")
            header = json.loads(archive.read(HEADER))
    except KeyError as error:
        raise ModelFileError(
            f"{path} is an archive, but no missfit model file; write one with missfit "
            "fit."
        ) from error
    except Exception as error:  # zlib, struct, unicode and other errors
        raise ModelFileError(
            f"{path} is truncated or damaged ({error}); copy it again."
        ) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is no missfit model file.")
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ModelFileError(
            f"{path} has format version {version}, written by missfit "
            f"{header.get('missfit')}; this missfit reads up to version {VERSION}. "
            "Upgrade missfit, or fit again."
        )
    return header


def _model(parts: Any, header: dict[str, Any]) -> TableModel:
    encoder, regressor = parts["encoder"], parts["regressor"]
    if not isinstance(encoder, TableEncoder):
        raise TypeError("the encoder is of another type")
    if not isinstance(regressor, ConformalRegressor):
        raise TypeError("the regressor is of another type")
    columns = header["columns"]
    missingness = Missingness(
        int(header["rows"]),
        np.array([int(column["missing"]) for column in columns]),
        frozenset(bytes.fromhex(key).rstrip(b"\0") for key in header["patterns"]),
        int(header["patterns_seen_once"]),
    )
    target, predictor = str(header["target"]), str(header["predictor"])
    model = TableModel(encoder, regressor, predictor, target, missingness)
    if model.columns != [column["name"] for column in columns]:
        raise ValueError("the schema and the model name different columns")
    return model


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'model files need skops: pip install "missfit[table]"'
        ) from error
    return skops.io
