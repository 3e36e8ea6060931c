"""Boosted trees as flat arrays that hold no index: any content is safe to evaluate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAF = -1
MOST_LEAVES = 64  # of a tree: one bit each. HistGradientBoosting's default is 31
BLOCK_TREES = 128  # in one table: a table of 255 cuts then stays in the cache
FEW_ROWS = 64  # tables pay from 40 rows (3 features), 90 (10) or 200 (50) on
BLOCK_ROWS = 4096  # at a time: 4,096 rows x 128 trees of 4 bytes are 2 MB


class FlatTrees:
    """The sum of regression trees that `HistGradientBoostingRegressor` was fitted as.

    All trees are three arrays over their nodes, each tree in depth-first order: a node,
    its left subtree, its right subtree. A split sends a row to the left where
    ``x[feature] <= threshold``, or where the value is missing and ``missing_left``::

        f(x) = baseline + sum over trees of the value of the leaf that x reaches

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
    baseline : float
    n_features : int

    Attributes
    ----------
    right : ndarray of shape (n_nodes,)
        Where the right child of a split stands (the left one is the next node); 0 for
        a leaf.
    roots : ndarray of shape (n_trees,)

    Notes
    -----
    Rows are not sent down the trees. A test that fails rules out the leaves of its left
    subtree; of the leaves that no failed test rules out, the leftmost is the one that
    the row reaches (Lucchese et al., QuickScorer, SIGIR 2015). Leaves are bits of one
    integer for each tree, so this is a bitwise "and" over the failed tests. For many
    rows the "and" of all tests of one feature is read from a table, by how many of its
    thresholds lie below the value.

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
        baseline: float,
        n_features: int,
    ):
        self.feature = _array(feature, "i", "feature")
        self.number = _array(number, "f", "number")
        self.missing_left = _array(missing_left, "b", "missing_left")
        self.baseline = float(baseline)
        self.n_features = int(n_features)
        self._check()
        self.right, self.roots = _right_and_roots(self.feature)
        self._tests()

    @classmethod
    def from_boosting(cls, model: Any, rounds: int | None = None) -> FlatTrees:
        """Return the first rounds of a fitted `HistGradientBoostingRegressor`.

        Raises ValueError for what it does not hold: losses other than squared error,
        categorical splits, and trees of more than 64 leaves.
        """
        if model.loss != "squared_error":
            raise ValueError(f"loss={model.loss!r}; only squared_error is kept flat.")
        trees = [tree.nodes for (tree,) in model._predictors[:rounds]]
        nodes: Any = np.concatenate(trees) if trees else np.empty(0)
        if not trees or nodes["is_categorical"].any():
            raise ValueError("no trees, or splits by category; they are not kept flat.")
        leaf = nodes["is_leaf"].astype(bool)
        flat = cls(
            np.where(leaf, LEAF, nodes["feature_idx"]).astype(np.int32),
            np.where(leaf, nodes["value"], nodes["num_threshold"]),
            np.where(leaf, 0, nodes["missing_go_to_left"]).astype(bool),
            float(np.ravel(model._baseline_prediction)[0]),
            model.n_features_in_,
        )
        start = np.repeat(flat.roots, [len(tree) for tree in trees])
        if not np.array_equal(flat.right, np.where(leaf, 0, nodes["right"] + start)):
            raise ValueError("the trees are not in depth-first order.")
        return flat

    @property
    def n_rounds(self) -> int:
        """The number of trees."""
        return len(self.roots)

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return the predictions of rows (n, d), NaN where missing."""
        *_, last = self.staged_predict(X)
        return last

    def staged_predict(self, X: NDArray) -> Iterator[NDArray[np.float64]]:
        """Yield the predictions after each round.

        Trees are added one after another, as scikit-learn does: the same sums to the
        bit.
        """
        total = np.full(len(X), self.baseline)
        for block in self._blocks():
            for values in self._leaf_values(self._check_rows(X), block):
                total = total + values
                yield total

    def __getstate__(self) -> dict[str, Any]:
        names = ("feature", "number", "missing_left", "baseline", "n_features")
        return {name: getattr(self, name) for name in names}

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
        if not finite.all() or not np.isfinite(self.baseline):
            raise ValueError("trees hold a threshold or value that is no number.")

    def _tests(self) -> None:
        """Find the splits, and the leaves that stay possible where each test fails."""
        leaf = self.feature == LEAF
        tree = np.repeat(np.arange(self.n_rounds), self._sizes())
        before = np.cumsum(leaf) - leaf  # leaves before each node
        first = before[self.roots]
        n_leaves = np.diff(np.append(first, leaf.sum()))
        if n_leaves.max() > MOST_LEAVES:
            raise ValueError(
                f"a tree has {n_leaves.max()} leaves; at most {MOST_LEAVES} are kept "
                "flat."
            )
        self._bits = np.uint32 if n_leaves.max() <= 32 else np.uint64
        self._values = self.number[leaf]
        self._first_leaf = first
        self._split = np.flatnonzero(~leaf)
        self._tree = tree[self._split]
        low = before[self._split] - first[self._tree]
        high = before[self.right[self._split]] - first[self._tree]
        one = np.uint64(1)  # high < 64: the right subtree has a leaf too
        gone = (one << high.astype(np.uint64)) - (one << low.astype(np.uint64))
        self._left = (~gone).astype(self._bits)

    def _sizes(self) -> NDArray[np.intp]:
        """Return the number of nodes of each tree."""
        return np.diff(np.append(self.roots, len(self.feature)))

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, self.n_rounds, BLOCK_TREES):
            yield slice(start, min(start + BLOCK_TREES, self.n_rounds))

    def _check_rows(self, X: NDArray) -> NDArray[np.float64]:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X has shape {X.shape}; the trees take {self.n_features} columns."
            )
        return X

    def _leaf_values(self, X: NDArray, block: slice) -> NDArray[np.float64]:
        """Return the value of the leaf that each row reaches, (trees, rows)."""
        values = np.empty((block.stop - block.start, len(X)))
        possible_leaves = self._by_test if len(X) < FEW_ROWS else self._by_table
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            left = possible_leaves(X[rows], block)
            number = np.bitwise_count(left ^ (left - 1)) - 1  # of the lowest bit set
            values[:, rows] = self._values[self._first_leaf[block] + number].T
        return values

    def _of_block(self, block: slice) -> tuple[NDArray, NDArray, NDArray]:
        """Return nodes, trees within the block and masks of the splits of a block."""
        some = slice(*np.searchsorted(self._tree, (block.start, block.stop)))
        return self._split[some], self._tree[some] - block.start, self._left[some]

    def _by_test(self, X: NDArray, block: slice) -> NDArray[np.unsignedinteger]:
        """Return the leaves that no test rules out, (rows, trees), test by test."""
        split, tree, left = self._of_block(block)
        x = X[:, self.feature[split]]
        fails = ~((x <= self.number[split]) | (np.isnan(x) & self.missing_left[split]))
        possible = np.full((len(X), block.stop - block.start), ~self._bits(0))
        if len(split):
            starts = np.flatnonzero(np.diff(tree, prepend=-1))
            every = np.where(fails, left, ~self._bits(0))
            possible[:, tree[starts]] = np.bitwise_and.reduceat(every, starts, axis=1)
        return possible

    def _by_table(self, X: NDArray, block: slice) -> NDArray[np.unsignedinteger]:
        """Return the same by one table for each feature."""
        split, tree, left = self._of_block(block)
        possible = np.full((len(X), block.stop - block.start), ~self._bits(0))
        for j in np.unique(self.feature[split]):
            own = self.feature[split] == j
            cuts, rank = np.unique(self.number[split[own]], return_inverse=True)
            table = np.full((len(cuts) + 2, possible.shape[1]), ~self._bits(0))
            np.bitwise_and.at(table, (rank + 1, tree[own]), left[own])
            np.bitwise_and.accumulate(table[:-1], axis=0, out=table[:-1])
            table[-1] = ~self._bits(0)
            fails = ~self.missing_left[split[own]]
            np.bitwise_and.at(table[-1], tree[own][fails], left[own][fails])
            x = X[:, j]
            below = np.searchsorted(cuts, x)  # tests of a smaller threshold fail
            possible &= table[np.where(np.isnan(x), len(cuts) + 1, below)]
        return possible


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
