"""Boosted trees as flat arrays that hold no index: any content is safe to evaluate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.tree_tables import BLOCK_ROWS, Cuts, LeafTable, Tests
from missfit.moments.blocks import n_threads

LEAF = -1
LOSSES = ("squared_error", "log_loss")
ARRAYS = ("feature", "number", "missing_left", "n_trees", "baseline")
NUMBERS = ("n_features", "n_outputs")
MOST_LEAVES = 64  # of a tree: one bit each. HistGradientBoosting's default is 31
BLOCK_TREES = (
    128  # in one table: 128 trees of 30 tests take 2 MB, which the cache holds
)


class FlatTrees:
    """Sums of trees, as scikit-learn's HistGradientBoosting is fitted, flat.

    All trees of one model or more are three arrays over their nodes, each tree in
    depth-first order: a node, its left subtree, its right subtree. A split sends a row
    to the left where ``x[feature] <= threshold``, or where the value is missing and
    ``missing_left``. With the trees of model k::

        f_k(x) = baseline_k + sum over its trees of the value of the leaf that x reaches

    and the prediction is the mean of f_k over the models. Where there are several
    outputs, one logit for each of more than two classes, every fit is as many models in
    a row, and the mean is over those of the same output.

    Where a subtree ends follows from the order: with S_i = (splits - leaves) before
    node i, the right child of a split i is the next j > i + 1 with S_j = S_i, and tree
    t begins where S first reaches -t. So nothing in the arrays points anywhere, and no
    content of them can lead out of bounds or in a circle.

    Parameters
    ----------
    feature : int ndarray of shape (n_nodes,)
        Of a split; -1 for a leaf.
    number : float64 ndarray of shape (n_nodes,)
        The threshold of a split, or the value of a leaf.
    missing_left : bool ndarray of shape (n_nodes,)
    n_trees : int ndarray of shape (n_models,)
        Of each model, one after another.
    baseline : float64 ndarray of shape (n_models,)
    n_features : int
    n_outputs : int

    Attributes
    ----------
    right : ndarray of shape (n_nodes,)
        Where the right child of a split stands (the left one is the next node); 0 for
        a leaf.
    roots : ndarray of shape (sum of n_trees,)

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> X = np.arange(100.0)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=9).fit(X, X[:, 0] > 30)
    >>> trees = FlatTrees.from_boosting(model)
    >>> bool((trees.predict(X) == model.predict(X)).all())
    True
    """

    def __init__(
        self,
        feature: NDArray[np.integer],
        number: NDArray[np.float64],
        missing_left: NDArray[np.bool_],
        n_trees: NDArray[np.integer],
        baseline: NDArray[np.float64],
        n_features: int,
        n_outputs: int = 1,
    ):
        self.feature = _array(feature, "i", "feature")
        self.number = _array(number, "f", "number")
        self.missing_left = _array(missing_left, "b", "missing_left")
        self.n_trees = _array(n_trees, "i", "n_trees")
        self.baseline = _array(baseline, "f", "baseline")
        self.n_features = int(n_features)
        self.n_outputs = int(n_outputs)
        self._check()
        self.right, self.roots = _right_and_roots(self.feature)
        self._check_models()

    @classmethod
    def from_boosting(
        cls,
        model: Any,
        rounds: int | None = None,
        columns: NDArray[np.intp] | None = None,
        n_features: int | None = None,
    ) -> FlatTrees:
        """Return the first rounds of a fitted model.

        Raises ValueError for what it does not hold: losses other than squared error and
        log-loss, categorical splits, and trees of more than 64 leaves.

        Parameters
        ----------
        model : HistGradientBoostingRegressor or HistGradientBoostingClassifier
        rounds : int, optional
            By default all.
        columns, n_features : optional
            The columns that the model was fitted to, of so many; by default all.
        """
        if model.loss not in LOSSES:
            raise ValueError(f"loss={model.loss!r}; only {LOSSES} are kept flat.")
        by_output = zip(*model._predictors[:rounds], strict=True)
        trees = [tree.nodes for output in by_output for tree in output]
        baseline = np.ravel(model._baseline_prediction).astype(np.float64)
        nodes: Any = np.concatenate(trees) if trees else np.empty(0)
        if not trees or nodes["is_categorical"].any():
            raise ValueError("no trees, or splits by category; they are not kept flat.")
        if columns is None or n_features is None:
            n_features = int(model.n_features_in_)
            columns = np.arange(n_features)
        leaf = nodes["is_leaf"].astype(bool)
        feature = np.full(len(nodes), LEAF, dtype=np.min_scalar_type(-n_features - 1))
        feature[~leaf] = columns[nodes["feature_idx"][~leaf]]
        flat = cls(
            feature,
            np.where(leaf, nodes["value"], nodes["num_threshold"]),
            np.where(leaf, 0, nodes["missing_go_to_left"]).astype(bool),
            np.full(len(baseline), len(trees) // len(baseline)),
            baseline,
            n_features,
            len(baseline),
        )
        start = np.repeat(flat.roots, [len(tree) for tree in trees])
        if not np.array_equal(flat.right, np.where(leaf, 0, nodes["right"] + start)):
            raise ValueError("the trees are not in depth-first order.")
        return flat

    @classmethod
    def constant(cls, value: float, n_features: int) -> FlatTrees:
        """Return a tree of one leaf that predicts the same for every row."""
        return cls(
            np.array([LEAF]),
            np.zeros(1),
            np.zeros(1, dtype=bool),
            np.ones(1, dtype=int),
            np.array([value]),
            n_features,
        )

    @classmethod
    def joined(
        cls, models: Sequence[FlatTrees], n_outputs: int | None = None
    ) -> FlatTrees:
        """Return the models of all, one after another.

        They are fits of the same outputs, unless their number is given: then each is
        one output.
        """
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(model, name) for model in models])
            for name in ARRAYS
        }
        n_outputs = models[0].n_outputs if n_outputs is None else n_outputs
        return cls(**arrays, n_features=models[0].n_features, n_outputs=n_outputs)

    @property
    def n_models(self) -> int:
        """The number of fits, each with all its outputs."""
        return len(self.n_trees) // self.n_outputs

    def model(self, k: int) -> FlatTrees:
        """Return one fit alone, with all its outputs."""
        return self._some(k * self.n_outputs, self.n_outputs)

    def output(self, k: int) -> FlatTrees:
        """Return one output of the first fit alone."""
        return self._some(k, 1)

    def _some(self, first: int, n_models: int) -> FlatTrees:
        """Return some of the models, as one fit of as many outputs."""
        kept = slice(first, first + n_models)
        ends = np.append(self.roots, len(self.feature))
        before = int(self.n_trees[:first].sum())
        nodes = slice(ends[before], ends[before + self.n_trees[kept].sum()])
        return FlatTrees(
            self.feature[nodes],
            self.number[nodes],
            self.missing_left[nodes],
            self.n_trees[kept],
            self.baseline[kept],
            self.n_features,
            n_models,
        )

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return the predictions of rows (n, d), NaN where missing.

        Of shape (n,), or (n, n_outputs) where there is more than one output.
        """
        every = self.each(X)
        if self.n_outputs == 1:
            return every.mean(axis=0)
        return every.reshape(-1, self.n_outputs, len(X)).mean(axis=0).T

    def each(self, X: NDArray) -> NDArray[np.float64]:
        """Return the predictions of each model, (n_models, n).

        Trees are added one after another, as scikit-learn does: the same sums to the
        bit, whatever the number of rows and threads.
        """
        X = self._check_rows(X)
        parts = [X[i : i + BLOCK_ROWS] for i in range(0, len(X), BLOCK_ROWS)]
        if len(parts) > 2 and n_threads() > 1 and self._lookup:  # made before threads
            with ThreadPoolExecutor(n_threads()) as pool:
                sums = list(pool.map(self._sums, parts))
        else:
            sums = [self._sums(part) for part in parts]
        return np.concatenate([np.empty((len(self.n_trees), 0)), *sums], axis=1)

    def _sums(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of each model for some rows, (n_models, n)."""
        cuts, blocks = self._lookup
        places = cuts.places(X)
        total = np.tile(self.baseline[:, None], len(X))
        for block in blocks:
            terms = np.concatenate([total[[block.model]], block.leaf_values(places)])
            if len(X) == 1:  # numpy would add them in pairs
                total[block.model] = terms.cumsum(axis=0)[-1]
            else:
                total[block.model] = terms.sum(axis=0)
        return total

    def staged_predict(self, X: NDArray) -> Iterator[NDArray[np.float64]]:
        """Yield the predictions of the first fit after each of its rounds.

        An output with fewer trees than rounds stays as it is after the last of them.
        """
        one = self.model(0)
        stages = [one.output(k)._staged(X) for k in range(self.n_outputs)]
        if self.n_outputs == 1:
            yield from stages[0]
            return
        rounds, last = int(one.n_trees.max()), [np.empty(0)] * self.n_outputs
        for _ in range(rounds):
            last = [next(*pair) for pair in zip(stages, last, strict=True)]
            yield np.column_stack(last)

    def _staged(self, X: NDArray) -> Iterator[NDArray[np.float64]]:
        """Yield the predictions of one output after each of its rounds."""
        X = self._check_rows(X)
        cuts, blocks = self._lookup
        places = [
            cuts.places(X[i : i + BLOCK_ROWS]) for i in range(0, len(X), BLOCK_ROWS)
        ]
        total = np.full(len(X), self.baseline[0])
        for block in blocks:
            if places:
                for values in np.hstack([block.leaf_values(part) for part in places]):
                    total = total + values
                    yield total

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*ARRAYS, *NUMBERS)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    def _check(self) -> None:
        """Raise where the arrays are no trees."""
        split = self.feature != LEAF
        if not len(split) == len(self.number) == len(self.missing_left):
            raise ValueError("arrays of trees have different lengths.")
        found = self.feature[split]
        if found.size and not 0 <= found.min() <= found.max() < self.n_features:
            raise ValueError(
                f"trees split features {found.min()} to {found.max()} of "
                f"{self.n_features}."
            )
        finite = np.isfinite(self.number) | (split & (self.number == np.inf))
        if not finite.all() or not np.isfinite(self.baseline).all():
            raise ValueError("trees hold a threshold or value that is no number.")

    def _check_models(self) -> None:
        """Raise where the numbers of trees or of leaves are not those of the nodes."""
        n_trees, n_roots = self.n_trees, len(self.roots)
        is_sum = n_trees.min() > 0 and n_trees.max() <= n_roots
        if not is_sum or n_trees.sum() != n_roots or len(n_trees) != len(self.baseline):
            raise ValueError(
                f"{n_roots} trees are not those of {len(self.baseline)} models with "
                f"{n_trees[:5]} trees."
            )
        if not 1 <= self.n_outputs <= len(n_trees) or len(n_trees) % self.n_outputs:
            raise ValueError(
                f"{len(n_trees)} models are not those of {self.n_outputs} outputs."
            )
        most = np.add.reduceat(self.feature == LEAF, self.roots).max()
        if most > MOST_LEAVES:
            raise ValueError(
                f"a tree has {most} leaves; at most {MOST_LEAVES} are kept flat."
            )

    def _check_rows(self, X: NDArray) -> NDArray[np.float64]:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X has shape {X.shape}; the trees take {self.n_features} columns."
            )
        return X

    @cached_property
    def _lookup(self) -> tuple[Cuts, list[_Block]]:
        """The tables that predictions are read from; no file holds them."""
        tests, first_leaf = self._tests()
        cuts = Cuts(tests)
        values = self.number[self.feature == LEAF]
        blocks = []
        for model, trees in self._blocks():
            some = slice(*np.searchsorted(tests.tree, (trees.start, trees.stop)))
            own = tests.of_trees(some, trees.start)
            table = LeafTable(cuts, own, cuts.of_test[some], len(first_leaf[trees]))
            blocks.append(_Block(model, table, first_leaf[trees], values))
        return cuts, blocks

    def _tests(self) -> tuple[Tests, NDArray[np.intp]]:
        """Return all splits, and the number of each tree's first leaf."""
        leaf = self.feature == LEAF
        sizes = np.diff(np.append(self.roots, len(leaf)))
        split = np.flatnonzero(~leaf)
        tree = np.repeat(np.arange(len(sizes)), sizes)[split]
        before = np.cumsum(leaf) - leaf  # leaves before each node
        first = before[self.roots]
        low = (before[split] - first[tree]).astype(np.uint64)
        high = (before[self.right[split]] - first[tree]).astype(np.uint64)
        one = np.uint64(1)  # high < 64: the right subtree has a leaf too
        left = ~((one << high) - (one << low))
        most = np.add.reduceat(leaf, self.roots).max()
        tests = Tests(
            self.feature[split].astype(np.intp),
            self.number[split],
            self.missing_left[split],
            tree,
            left.astype(np.uint32 if most <= 32 else np.uint64),
        )
        return tests, first

    def _blocks(self) -> Iterator[tuple[int, slice]]:
        """Yield blocks of the trees, each of one model."""
        end = np.cumsum(self.n_trees)
        for model, (n_trees, stop) in enumerate(zip(self.n_trees, end, strict=True)):
            for start in range(stop - n_trees, stop, BLOCK_TREES):
                yield model, slice(start, min(start + BLOCK_TREES, stop))


class _Block(NamedTuple):
    """Some trees of one model."""

    model: int
    table: LeafTable
    first_leaf: NDArray[np.intp]  # of each tree
    values: NDArray[np.float64]  # of all leaves

    def leaf_values(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the value of the leaf that each row reaches, (trees, rows)."""
        return self.values.take(self.table.leaves(places) + self.first_leaf[:, None])


def _array(values: Any, kind: str, name: str) -> NDArray[Any]:
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        raise ValueError(f"{name} of trees is no array of one dimension.")
    if values.dtype.kind != kind or not len(values):
        raise ValueError(f"{name} of trees has {len(values)} items of {values.dtype}.")
    return values


def _right_and_roots(feature: NDArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the right child of each split, and the roots, of trees in order.

    >>> right, roots = _right_and_roots(np.array([0, -1, 1, -1, -1, -1]))
    >>> right.tolist(), roots.tolist()  # a tree of three leaves, and one of one
    ([2, 0, 4, 0, 0, 0], [0, 5])
    """
    step = np.where(feature == LEAF, -1, 1)
    end = step.sum()
    level = np.cumsum(step) - step
    lowest = np.minimum.accumulate(level)
    roots = np.flatnonzero(np.diff(lowest, prepend=1))
    if end != -len(roots):
        raise ValueError("trees end in the middle of one.")
    order = np.argsort(level, kind="stable")  # equal levels side by side, in order
    right = np.zeros(len(feature), dtype=np.intp)
    right[order[:-1]] = order[1:]
    right[feature == LEAF] = 0
    return right, roots
