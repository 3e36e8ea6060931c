"""A graph as an ONNX model: the only place that imports onnx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from missfit.onnx_export.graph import (
    LEARNING,
    MICROSOFT,
    Body,
    Graph,
    Node,
    Value,
    needed,
)

# The oldest versions of operators that hold all that is used here: onnxruntime runs
# them from 1.21 on.
VERSIONS, IR_VERSION = {"": 18, LEARNING: 5, MICROSOFT: 1}, 10
INPUTS = {"float32": "FLOAT", "float64": "DOUBLE", "text": "STRING"}
KINDS = {"f": "DOUBLE", "i": "INT64", "u": "INT64", "b": "BOOL", "O": "STRING"}


class Input(NamedTuple):
    """An input of the model: its name, type ("float32", "float64", "text"), width."""

    name: str
    kind: str
    width: int


class Output(NamedTuple):
    """An output of the model: its name, the value, the kind of array, its width."""

    name: str
    value: Value
    kind: str = "f"  # of numpy: "f", "i", "b" or "O" for texts
    width: int = 0  # of (n, width); 0 for (n,)


def model_bytes(
    graph: Graph,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    metadata: dict[str, str],
) -> bytes:
    """Return the content of an ONNX file."""
    onnx = imported_onnx()
    helper = onnx.helper
    operators = needed(graph.operators, [one.value.name for one in outputs])
    nodes = [_proto(onnx, one) for one in operators]
    nodes += [helper.make_node("Identity", [o.value.name], [o.name]) for o in outputs]
    used = {o.value.name for o in outputs}.union(*(one.reads() for one in operators))
    constants = [
        _tensor(onnx, array, name)
        for name, array in graph.constants.items()
        if name in used
    ]
    ends = [
        helper.make_tensor_value_info(
            one.name,
            getattr(onnx.TensorProto, KINDS[one.kind]),
            ["rows", one.width] if one.width else ["rows"],
        )
        for one in outputs
    ]
    body = helper.make_graph(nodes, "missfit", _starts(onnx, inputs), ends, constants)
    versions = [
        helper.make_opsetid(domain, version)
        for domain, version in VERSIONS.items()
        if domain != MICROSOFT or any(MICROSOFT in one.domains() for one in operators)
    ]
    model = helper.make_model(body, opset_imports=versions, producer_name="missfit")
    model.ir_version = IR_VERSION
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def imported_onnx() -> Any:
    """Return the onnx package, or say how to install it."""
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError(
            "the export to ONNX needs the package onnx, which is not installed: "
            'pip install "missfit[onnx]"'
        ) from error
    return onnx


def _starts(onnx: Any, inputs: Sequence[Input]) -> list[Any]:
    return [
        onnx.helper.make_tensor_value_info(
            one.name,
            getattr(onnx.TensorProto, INPUTS[one.kind]),
            ["rows", one.width],
        )
        for one in inputs
    ]


def _proto(onnx: Any, node: Node) -> Any:
    """Return a node as onnx writes it, without attributes that are None."""
    attributes = {
        name: _attribute(onnx, value) for name, value in node.attributes.items()
    }
    return onnx.helper.make_node(
        node.op, node.inputs, node.outputs, domain=node.domain, **attributes
    )


def _attribute(onnx: Any, value: Any) -> Any:
    if isinstance(value, Body):
        return _body(onnx, value)
    if isinstance(value, np.dtype):
        return onnx.helper.np_dtype_to_tensor_dtype(value)
    if isinstance(value, np.ndarray):
        return onnx.numpy_helper.from_array(value)
    return value


def _body(onnx: Any, body: Body) -> Any:
    """Return what a loop repeats, given its count, whether to go on, and its values."""
    info, kind = onnx.helper.make_tensor_value_info, onnx.TensorProto
    first = [info(body.inputs[0], kind.INT64, []), info(body.inputs[1], kind.BOOL, [])]
    starts = [info(name, kind.DOUBLE, None) for name in body.inputs[2:]]
    go_on = info(body.outputs[0], kind.BOOL, [])
    ends = [info(name, kind.DOUBLE, None) for name in body.outputs[1:]]
    nodes = [_proto(onnx, one) for one in body.operators]
    return onnx.helper.make_graph(nodes, "step", first + starts, [go_on, *ends])


def _tensor(onnx: Any, array: np.ndarray, name: str) -> Any:
    """Return a constant as onnx writes it."""
    if array.dtype.kind in "OU":
        texts = [str(text).encode() for text in array.ravel()]
        kind = onnx.TensorProto.STRING
        return onnx.helper.make_tensor(name, kind, array.shape, texts)
    return onnx.numpy_helper.from_array(np.asarray(array, order="C"), name)
