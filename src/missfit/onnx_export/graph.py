"""A graph of ONNX operators, written down by arithmetic on its values.

Nothing here imports onnx: `missfit.onnx_export.model_bytes` writes the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEARNING = "ai.onnx.ml"  # the domain of trees and of tables of keys
MICROSOFT = "com.microsoft"  # of operators of onnxruntime beside the standard


class Node(NamedTuple):
    """One operator of the graph."""

    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    def reads(self) -> set[str]:
        """Return the names that the operator needs, also inside of a loop."""
        return set(self.inputs).union(*(body.captured() for body in self.bodies()))

    def domains(self) -> set[str]:
        """Return the domain of the operator and of those inside of a loop."""
        inside = [one for body in self.bodies() for one in body.operators]
        return {self.domain}.union(*(one.domains() for one in inside))

    def bodies(self) -> list[Body]:
        """Return what a loop repeats."""
        return [one for one in self.attributes.values() if isinstance(one, Body)]


class Body(NamedTuple):
    """What a loop repeats: the names it is given, its operators, the names it gives."""

    inputs: tuple[str, ...]
    operators: list[Node]
    outputs: tuple[str, ...]

    def captured(self) -> set[str]:
        """Return the names that it takes from the graph around it."""
        made = {name for node in self.operators for name in node.outputs}
        read = set(self.outputs).union(*(node.reads() for node in self.operators))
        return read - made - set(self.inputs)


@dataclass(frozen=True, eq=False)
class Value:
    """What a node of a graph computes; arithmetic on it makes further nodes.

    Numbers and arrays that it meets become constants. They are float64: all arithmetic
    of a graph is.
    """

    graph: Graph
    name: str
    __array_ufunc__ = None  # an array on the left leaves the arithmetic to the value

    def __add__(self, other: Any) -> Value:
        return self.graph.node("Add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.graph.node("Add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.graph.node("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.node("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.node("Mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.graph.node("Mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.node("Div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.node("Div", other, self)

    def __matmul__(self, other: Any) -> Value:
        return self.graph.node("MatMul", self, other)

    def __rmatmul__(self, other: Any) -> Value:
        return self.graph.node("MatMul", other, self)

    def __neg__(self) -> Value:
        return self.graph.node("Neg", self)

    def as_type(self, name: str) -> Value:
        """Return the value as "float64", "int64" or "bool"."""
        return self.graph.node("Cast", self, to=np.dtype(name))

    def reshaped(self, *shape: int) -> Value:
        """Return the value in another shape: 0 keeps a dimension, -1 is the rest."""
        return self.graph.node("Reshape", self, np.array(shape, dtype=np.int64))

    def columns(self, index: Sequence[int] | NDArray[np.intp]) -> Value:
        """Return some of the last axis."""
        return self.graph.node("Gather", self, np.asarray(index, np.int64), axis=-1)

    def split(self, *sizes: int, axis: int = -1) -> list[Value]:
        """Return the parts of so many items each along an axis."""
        parts = np.array(sizes, dtype=np.int64)
        return self.graph.nodes("Split", self, parts, n_outputs=len(sizes), axis=axis)

    def summed(self, n_items: int) -> Value:
        """Return the sum over the last axis, of so many items, without that axis."""
        return self.weighed(np.ones(n_items))

    def inverse(self) -> Value:
        """Return the inverses of square matrices, (..., d, d).

        An operator of onnxruntime alone: the standard has none. Eliminating d features
        by standard operators takes 7 times as long (26 features: 50 microseconds, not
        7), which counts where it is repeated.
        """
        return self.graph.node("Inverse", self, domain=MICROSOFT)

    def weighed(self, weights: NDArray[np.float64]) -> Value:
        """Return the sum over the last axis with weights, without that axis.

        A product with a column: ReduceSum, and a product with a vector, give an array
        of no rows a wrong shape or fail in onnxruntime.
        """
        total = self @ weights[:, None]
        return self.graph.node("Squeeze", total, np.array([-1], dtype=np.int64))


class Graph:
    """Nodes and constants, each of them once: what is asked for again is at hand.

    Their names begin with a slash, so that no column of a table has one of them.

    Attributes
    ----------
    operators : list of Node
        In the order in which they can be computed.
    constants : dict of str to ndarray
    """

    def __init__(self, around: Graph | None = None) -> None:
        self.operators: list[Node] = []
        self.constants: dict[str, NDArray[Any]] = around.constants if around else {}
        # a body may use what the graph around it has made, and not the other way round
        self._known: dict[Any, Any] = dict(around._known) if around else {}
        self._counter: Iterator[int] = around._counter if around else count()

    def input(self, name: str) -> Value:
        """Return an input of the graph."""
        return Value(self, name)

    def constant(self, value: Any) -> Value:
        """Return a constant; numbers are float64 unless they come as other arrays."""
        array = value if isinstance(value, np.ndarray) else np.asarray(value, float)
        array = array.astype(float) if array.dtype == np.float32 else array
        content = tuple(array.ravel()) if array.dtype.kind in "OU" else array.tobytes()
        key = "constant", array.dtype.str, array.shape, content
        if key not in self._known:
            name = f"/c{next(self._counter)}"
            self.constants[name] = array
            self._known[key] = Value(self, name)
        return self._known[key]

    def node(self, op: str, *inputs: Any, domain: str = "", **attributes: Any) -> Value:
        """Return what an operator of one output makes of values, numbers or arrays."""
        return self.nodes(op, *inputs, n_outputs=1, domain=domain, **attributes)[0]

    def nodes(
        self,
        op: str,
        *inputs: Any,
        n_outputs: int,
        domain: str = "",
        **attributes: Any,
    ) -> list[Value]:
        """Return the outputs of an operator."""
        names = tuple(
            one.name if isinstance(one, Value) else self.constant(one).name
            for one in inputs
        )
        key = op, names, n_outputs, _frozen(attributes)
        if key not in self._known:
            outputs = tuple(f"/v{next(self._counter)}" for _ in range(n_outputs))
            self.operators.append(Node(op, domain, names, outputs, attributes))
            self._known[key] = [Value(self, name) for name in outputs]
        return self._known[key]

    # --- what formulas need beside arithmetic ---

    def where(self, condition: Value, yes: Any, no: Any) -> Value:
        """Return one value or the other, item by item."""
        return self.node("Where", condition, yes, no)

    def joined(self, values: Sequence[Value], axis: int = -1) -> Value:
        """Return values side by side along an axis."""
        if len(values) == 1:
            return values[0]
        return self.node("Concat", *values, axis=axis)

    def repeated(
        self,
        most: int,
        start: Sequence[Value],
        step: Callable[[list[Value]], tuple[Value, Sequence[Value]]],
    ) -> list[Value]:
        """Return what is left of some values when a step has been repeated.

        Parameters
        ----------
        most : int
            How often at most.
        start : sequence of Value
            The values before the first step.
        step : callable
            Returns whether to go on, and the values after one step.
        """
        inner = Graph(around=self)
        names = tuple(f"/v{next(self._counter)}" for _ in range(len(start) + 2))
        go_on, after = step([inner.input(name) for name in names[2:]])
        ends = tuple(value.name for value in (go_on, *after))
        body = Body(names, needed(inner.operators, ends), ends)
        begin = np.array(most, dtype=np.int64), np.array(True)
        return self.nodes("Loop", *begin, *start, n_outputs=len(start), body=body)

    def table(self, keys: Value, found: dict[Any, int], otherwise: int) -> Value:
        """Return what a table says of keys (texts or integers), as integers."""
        kind = "strings" if any(isinstance(key, str) for key in found) else "int64s"
        options: dict[str, Any] = {
            f"keys_{kind}": list(found),
            "values_int64s": list(found.values()),
            "default_int64": otherwise,
        }
        return self.node("LabelEncoder", keys, domain=LEARNING, **options)


def needed(operators: Sequence[Node], ends: Sequence[str]) -> list[Node]:
    """Return the operators that some values follow from, in order."""
    names, found = set(ends), []
    for node in reversed(operators):
        if names & set(node.outputs):
            names |= node.reads()
            found.append(node)
    return found[::-1]


def _frozen(attributes: dict[str, Any]) -> Any:
    """Return attributes as something that can be looked up."""
    return tuple(
        (name, value.tobytes() if isinstance(value, np.ndarray) else repr(value))
        for name, value in sorted(attributes.items())
    )
