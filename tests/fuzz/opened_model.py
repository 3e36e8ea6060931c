"""A model file taken apart, to be changed and packed again as an attacker would."""

import io
import json
import zipfile
from typing import NamedTuple

import numpy as np

from missfit.workflow.archive import HEADER, SCHEMA, signed_header, zipped


class Case(NamedTuple):
    """A file, and whether it may be loaded."""

    name: str
    content: bytes
    must_refuse: bool  # else it may also predict, as the good file does or not
    same: bool = False  # where it predicts, then as the good file


class Opened:
    """A model file taken apart, to be changed and packed again."""

    def __init__(self, content):
        self.content = content
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.header = json.loads(self.members[HEADER])
        self.schema = json.loads(self.members[SCHEMA])

    def arrays(self):
        return sorted(name for name in self.members if name.endswith(".npy"))

    def nodes(self, loader=None):
        """All objects of the schema, with the name that holds each."""
        found, stack = [], [(self.schema, "")]
        while stack:
            item, name = stack.pop()
            if isinstance(item, dict):
                if "__loader__" in item and loader in (None, item["__loader__"]):
                    found.append((name, item))
                stack += [(value, key) for key, value in item.items()]
            elif isinstance(item, list):
                stack += [(value, name) for value in item]
        return found

    def attributes(self, name):
        """The contents of attributes of one name."""
        dicts = [node["content"] for _, node in self.nodes("DictNode")]
        return [content[name] for content in dicts if name in content]

    def array(self, name):
        return np.load(io.BytesIO(self.members[name]))

    def put(self, name, array, allow_pickle=False):
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=allow_pickle)
        self.members[name] = buffer.getvalue()

    def packed(self, extra=(), compression=zipfile.ZIP_DEFLATED, signed=True):
        """Pack again, with the checksum that an attacker would put in."""
        members = {**self.members, SCHEMA: json.dumps(self.schema).encode()}
        members.pop(HEADER)
        if signed and isinstance(self.header, dict):
            members[HEADER] = signed_header(self.header, members)
        else:
            members[HEADER] = json.dumps(self.header).encode()
        return zipped([*members.items(), *extra], compression)
