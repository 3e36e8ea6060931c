"""Attacks on the arrays of a model file."""

import functools
import io
import os

import numpy as np
from opened_model import Case


@functools.cache
def bomb_of(megabytes):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(megabytes << 17))
    return buffer.getvalue()


def bomb(model, rng):
    size = int(rng.choice([70, 150]))
    kind = rng.integers(3)
    if kind == 0:
        model.members[model.arrays()[0]] = bomb_of(size)
    elif kind == 1:  # what the header holds
        model.header["target"] = "y" * (size << 20)
    else:  # one array, used again and again
        for _, node in model.nodes("NdArrayNode"):
            if node.get("type") == "numpy":
                node["file"] = "0.npy"
        model.members = {n: d for n, d in model.members.items() if n[0] in "0ms"}
        model.members["0.npy"] = bomb_of(60)
    return Case(f"bomb {kind} of {size} MB", model.packed(), True)


def with_number(array, place, number):
    """Return integers with another one, which may need more bytes."""
    wide = array.astype(np.result_type(array, np.min_scalar_type(int(number))))
    wide[place] = number
    return wide


def trees(model, rng):
    """Indices, thresholds, shapes and lengths of trees."""
    places = [a["file"] for a in model.attributes("missing_left")]
    features = [a["file"] for a in model.attributes("feature")]
    numbers = [a["file"] for a in model.attributes("number")]
    if not features:
        return nan_array(model, rng)
    k = int(rng.integers(len(features)))
    feature, number = model.array(features[k]), model.array(numbers[k])
    node = int(rng.integers(len(feature)))
    kind = int(rng.integers(10))
    if kind == 0:
        feature = with_number(feature, node, rng.choice([10**9, 2**31 - 1, 100, 7]))
    elif kind == 1:
        feature = with_number(feature, node, rng.choice([-2, -(2**31)]))
    elif kind == 2:  # splits without an end
        feature[:] = 0
    elif kind == 3:  # a leaf more or less
        feature[node] = 0 if feature[node] < 0 else -1
    elif kind == 4:
        number[node] = rng.choice([np.nan, -np.inf])
    elif kind == 5:
        feature = feature[:-1]
    elif kind == 6:
        number = number[:, None]
    elif kind == 7:
        feature = feature.astype(float)
    elif kind == 8:
        feature, number = feature[:0], number[:0]
    else:  # one path of a thousand splits
        feature = np.r_[np.zeros(1000), np.full(1001, -1)].astype(np.int32)
        number = np.zeros(2001)
        model.put(places[k], np.zeros(2001, bool))
    model.put(features[k], feature)
    model.put(numbers[k], number)
    return Case(f"trees {kind}", model.packed(), True)


def nan_array(model, rng):
    floats = [n for n in model.arrays() if model.array(n).dtype.kind == "f"]
    name = floats[rng.integers(len(floats))]
    array = model.array(name)
    value = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308])
    model.put(name, np.full(array.shape, value))
    return Case(f"{value} in {name}", model.packed(), False)


def dtype(model, rng):
    name = model.arrays()[rng.integers(len(model.arrays()))]
    array = model.array(name)
    kind = int(rng.integers(6))
    refuse = True
    if kind == 0:  # numpy would unpickle it
        model.put(name, np.array([Payload()], dtype=object), allow_pickle=True)
    elif kind == 1:
        model.put(name, np.zeros(array.shape, "c16"))
    elif kind == 2:
        model.put(name, np.zeros(array.shape, [("a", "f8"), ("b", "i4")]))
    elif kind == 3:
        model.put(name, np.zeros(array.shape, "M8[s]"))
    elif kind == 4:
        model.put(name, np.full(array.shape, "text"))
        refuse = False  # a name may be another name
    else:
        model.put(name, np.zeros(array.shape, "V8"))
    return Case(f"dtype {kind} of {name}", model.packed(), refuse)


def shape(model, rng):
    name = model.arrays()[rng.integers(len(model.arrays()))]
    array = model.array(name)
    new = [array.ravel(), array[None], array.T[..., None], array.ravel()[:0]]
    new += [np.zeros((0, 10**18), array.dtype), np.resize(array, 3 * array.size + 1)]
    kind = int(rng.integers(len(new)))
    model.put(name, new[kind])
    return Case(f"shape {kind} of {name}", model.packed(), False)


def huge_header(model, rng):
    name = model.arrays()[rng.integers(len(model.arrays()))]
    n = int(rng.choice([10**6, 10**9, 10**15]))
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {n}), }}"
    data = b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little")
    model.members[name] = data + text.encode() + b"\n" + bytes(80)
    return Case(f"{name} says {n} x {n}", model.packed(), True)


def swapped_arrays(model, rng):
    some = rng.permutation(model.arrays())[:2]
    if len(some) == 2:
        a, b = map(str, some)
        model.members[a], model.members[b] = model.members[b], model.members[a]
    return Case("arrays swapped", model.packed(), False)


class Payload:
    """Would leave a trace where it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("executed",)
