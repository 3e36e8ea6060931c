"""Hostile model files: made from good ones, one kind of attack each.

`pytest -m slow tests/fuzz/test_hostile_models.py` tries 324 of them.
"""

import functools
import json
import operator
import os
import pickle
import warnings
import zipfile
import zlib

import numpy as np
import skops.io
from hostile_model_arrays import (
    Payload,
    bomb,
    dtype,
    huge_header,
    nan_array,
    shape,
    swapped_arrays,
    trees,
)
from opened_model import Case, Opened
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.preprocessing import FunctionTransformer

from missfit.workflow.archive import HEADER, SCHEMA, packed, signed_header, zipped

HUGE = (10**9, 10**30, -1, 2**31 - 1, -(2**63), 1e308, float("nan"), float("inf"))


def replace_attribute(model, rng, new):
    """Put something else for an attribute; return its name."""
    dicts = [node["content"] for _, node in model.nodes("DictNode") if node["content"]]
    content = dicts[rng.integers(len(dicts))]
    name = sorted(content)[rng.integers(len(content))]
    content[name] = new
    return name


def flip_bits(model, rng):
    data = bytearray(model.content)
    for place in rng.integers(len(data), size=rng.integers(1, 4)):
        data[place] ^= 1 << rng.integers(8)
    return Case("bits flipped", bytes(data), False, same=True)


def cut(model, rng):
    end = int(rng.integers(len(model.content)))
    return Case(f"truncated at {end}", model.content[:end], True)


def add_garbage(model, rng):
    junk = rng.bytes(int(rng.integers(1, 3000)))
    data = junk + model.content if rng.random() < 0.5 else model.content + junk
    return Case("garbage added", data, False, same=True)


def unsigned(model, rng):
    name = model.arrays()[rng.integers(len(model.arrays()))]
    model.put(name, model.array(name)[::-1].copy() if model.array(name).ndim else 7)
    same = model.members[name] == Opened(model.content).members[name]
    return Case(f"{name} changed, not signed", model.packed(signed=False), not same)


def lying_sizes(model, rng):
    """The directory says fewer or more bytes than there are."""
    data = bytearray(model.packed())
    start = data.rfind(b"PK\x01\x02")
    size = int(rng.choice([0, 10, 2**31, 2**32 - 2]))
    data[start + 24 : start + 28] = size.to_bytes(4, "little")
    return Case(f"a member says {size} bytes", bytes(data), True)


@functools.cache
def sklearn_trees():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5)
    return model.fit(X, X[:, 0])


def tree_predictors(model, rng):
    """scikit-learn's own trees, whose indices nobody checks."""
    boosting = pickle.loads(pickle.dumps(sklearn_trees()))
    for (tree,) in boosting._predictors:
        if rng.random() < 0.5:
            tree.nodes["left"][0] = 2**31
        else:
            tree.nodes["left"][:] = 0  # a circle
            tree.nodes["right"][:] = 0
            tree.nodes["is_leaf"][:] = 0
    return with_object(model, boosting, "trees of scikit-learn")


def with_object(model, thing, name):
    """The file with another object for a predictor."""
    parts = {"encoder": 1, "regressor": thing}
    content = packed(skops.io.dumps(parts), model.header)
    return Case(name, content, True)


def shared_lists(model, rng):
    def node(depth):
        node = {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "__id__": depth,
            "content": [],
        }
        if depth:
            again = {**node, "__id__": depth - 1}
            node["content"] = [inner(depth - 1), again]
        return node

    inner = functools.cache(node)
    depth = int(rng.integers(10, 26))
    replace_attribute(model, rng, node(depth))
    return Case(f"{2**depth} lists in few", model.packed(), True)


def deep(model, rng):
    depth = int(rng.choice([100, 1_000, 30_000]))
    node = '{"__class__":"list","__module__":"builtins","__loader__":"ListNode"'
    text = f'{node},"content":[' * depth + "]}" * depth
    # put in as text: Python's writer does not go so deep
    schema = json.dumps(model.schema).replace('"protocol"', f'"a":{text},"protocol"')
    members = {**model.members, SCHEMA: schema.encode()}
    header = json.loads(members.pop(HEADER))
    members[HEADER] = signed_header(header, members)
    data = zipped(members.items(), zipfile.ZIP_DEFLATED)
    return Case(f"{depth} lists deep", data, True)


def unknown_types(model, rng):
    things = [
        FunctionTransformer(os.mkdir),
        os.mkdir,
        functools.partial(os.mkdir, "executed"),
        operator.methodcaller("predict", 0),
        np.random.default_rng(0),
        np.ma.masked_array([1, 2]),
        {1, 2},
        slice(0, 10**9),
        os.system,
        sklearn_trees(),
        np.add,
    ]
    kind = int(rng.integers(len(things)))
    return with_object(model, things[kind], f"an object of {type(things[kind])}")


def renamed_types(model, rng):
    """The names of types in the schema, replaced by others."""
    names = ["os.system", "builtins.eval", "builtins.exec", "subprocess.Popen"]
    names += ["missfit.cli.main", "numpy.load", "pathlib.Path", "builtins.open"]
    module, name = names[rng.integers(len(names))].rsplit(".", 1)
    nodes = model.nodes()
    node = nodes[rng.integers(len(nodes))][1]
    node["__module__"], node["__class__"] = module, name
    return Case(f"{module}.{name} for a type", model.packed(), True)


def renamed_loaders(model, rng):
    names = ["FunctionNode", "MethodNode", "PartialNode", "ConstructorFromReduceNode"]
    names += ["RandomStateNode", "TreeNode", "SetNode", "CachedNode", "ReduceNode"]
    nodes = model.nodes()
    node = nodes[rng.integers(len(nodes))][1]
    node["__loader__"] = names[rng.integers(len(names))]
    return Case(f"{node['__loader__']} for a loader", model.packed(), True)


def types_as_values(model, rng):
    name = replace_attribute(
        model,
        rng,
        {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"},
    )
    return Case(f"a type for {name}", model.packed(), True)


def pickles(model, rng):
    protocol = int(rng.integers(6))
    return Case(f"pickle {protocol}", pickle.dumps(Payload(), protocol), True)


def paths(model, rng):
    names = ["../../executed", "/tmp/executed", "..\\executed", "C:\\executed", "a/b"]
    name = names[rng.integers(len(names))]
    if rng.random() < 0.5:
        return Case(f"member {name}", model.packed(extra=[(name, b"x")]), True)
    files = [n for _, n in model.nodes("NdArrayNode") if n.get("type") == "numpy"]
    files[rng.integers(len(files))]["file"] = name
    return Case(f"array in {name}", model.packed(), True)


def twice(model, rng):
    name = [HEADER, SCHEMA, "0.npy"][rng.integers(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zipfile, about the name
        data = model.packed(extra=[(name, model.members[name])])
    return Case(f"{name} twice", data, True)


def packing(model, rng):
    kind = [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA][rng.integers(2)]
    if rng.random() < 0.5:
        return Case(f"packed by {kind}", model.packed(compression=kind), True)
    data = bytearray(model.packed())
    start = data.rfind(b"PK\x01\x02")
    data[start + 8] |= 1
    return Case("encrypted", bytes(data), True)


def header(model, rng):
    """A header that is not that of the model."""
    changes = [
        {"version": 1},
        {"version": 99},
        {"version": True},
        {"version": "2"},
        {"version": None},
        {"format": "other"},
        {"rows": 0},
        {"rows": -5},
        {"rows": "many"},
        {"rows": 1e400},
        {"columns": []},
        {"columns": {}},
        {"columns": None},
        {"columns": model.header["columns"][:-1]},
        {"columns": model.header["columns"][::-1]},
        {"columns": [{**c, "missing": 10**9} for c in model.header["columns"]]},
        {"columns": [{**c, "kind": "date"} for c in model.header["columns"]]},
        {"columns": [{**c, "levels": ["a"]} for c in model.header["columns"]]},
        {"patterns": ["zz"]},
        {"patterns": 3},
        {"patterns_seen_once": 10**12},
        {"target": ["y"]},
        {"predictor": {"a": 1}},
    ]
    change = changes[rng.integers(len(changes))]
    model.header = {**model.header, **change}
    if rng.random() < 0.1:
        model.header = [1, 2]
    if rng.random() < 0.1:
        model.header.pop(sorted(model.header)[0]) if change else None
    return Case(f"header {str(change)[:50]}", model.packed(), True)


def numbers(model, rng):
    """Numbers of the schema that count something, replaced."""
    nodes = model.nodes("JsonNode")
    nodes = [(name, node) for name, node in nodes if node["content"][:1] != '"']
    name, node = nodes[rng.integers(len(nodes))]
    value = HUGE[rng.integers(len(HUGE))]
    node["content"] = json.dumps(value)
    return Case(f"{name} = {value}", model.packed(), False)


def mutated_schema(model, rng):
    """A node removed, doubled, emptied, or replaced by something else."""
    nodes = model.nodes()
    name, node = nodes[rng.integers(len(nodes))]
    key = sorted(node)[rng.integers(len(node))]
    new = [None, [], {}, "text", 3, -1.5, [node.get("content")] * 3, True]
    kind = int(rng.integers(len(new) + 1))
    if kind == len(new):
        node.pop(key)
    else:
        node[key] = json.loads(json.dumps(new[kind]))
    return Case(f"schema {kind}: {key} of {name}", model.packed(), False)


def raw_deflate(model, rng):
    """No archive at all, but something that unpacks."""
    data = b"PK" + zlib.compress(bytes(50 << 20)) if rng.random() < 0.5 else b"PK"
    return Case("deflated zeros", data, True)


KINDS = [
    flip_bits,
    cut,
    trees,
    mutated_schema,
    numbers,
    bomb,
    shared_lists,
    tree_predictors,
    shape,
    dtype,
    deep,
    header,
    unknown_types,
    renamed_types,
    renamed_loaders,
    types_as_values,
    nan_array,
    huge_header,
    pickles,
    paths,
    twice,
    packing,
    lying_sizes,
    swapped_arrays,
    unsigned,
    add_garbage,
    raw_deflate,
]


def hostile_cases(models, n_cases, seed=0):
    """Yield cases with the good file that each was made from, kinds in turn."""
    rng = np.random.default_rng(seed)
    names = sorted(models)
    for k in range(n_cases):
        name = names[(k // len(KINDS) + k) % len(names)]
        case = KINDS[k % len(KINDS)](Opened(models[name]), rng)
        yield name, case._replace(name=f"{k} {name}: {case.name}")
