#!/usr/bin/env python3
"""A file or a directory, told as the agents' own `file collect` tells it."""

import os
import sys

_MODULES = os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.append(os.path.join(_MODULES, "python_task_helper", "files"))
sys.path.append(os.path.join(_MODULES, "bolt_shim", "files"))
import base64  # noqa: E402
import stat  # noqa: E402

from task_helper import Task, TaskError  # noqa: E402

# As COLLECT_BYTES and COLLECT_ITEMS of the server.
MAX_BYTES = 5 << 20
MAX_ITEMS = 1000


class Download(Task):
    def run(self, params):
        path = params["path"]
        if not os.path.isabs(path):
            raise TaskError(f"path: {path} is not absolute", "bolt_shim/invalid-path")
        self.left, self.items, self.left_out = MAX_BYTES, [], 0
        try:
            is_directory = os.path.isdir(path)
            if is_directory:
                self.directory(path, "")
            else:
                self.file(path, "", 0)
        except OSError as error:
            raise TaskError(f"cannot read {path}: {error}", "tutti/download-error") from error
        return {"is_directory": is_directory, "items": self.items, "left_out": self.left_out}

    def directory(self, place, relative):
        for name in sorted(os.listdir(place)):
            path, below = os.path.join(place, name), f"{relative}/{name}".lstrip("/")
            mode = os.lstat(path).st_mode
            if not is_text(name):
                self.left_out += 1
            elif stat.S_ISDIR(mode):
                self.item({"path": below})
                self.directory(path, below)
            elif stat.S_ISREG(mode):
                self.file(path, below, os.O_NOFOLLOW)
            else:
                self.left_out += 1

    def file(self, place, relative, flags):
        # Opening a pipe must not wait for its other end.
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | flags)
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise TaskError(f"{place} is neither a file nor a directory", "tutti/download-error")
            content = file.read(self.left + 1)
        if len(content) > self.left:
            raise TaskError(
                f"more than {MAX_BYTES} bytes, which is too much for one download", "tutti/download-error"
            )
        self.left -= len(content)
        text = base64.b64encode(content).decode("ascii")
        self.item({"path": relative, "content": text, "is_executable": bool(mode & 0o100)})

    def item(self, item):
        if len(self.items) == MAX_ITEMS:
            raise TaskError(
                f"more than {MAX_ITEMS} files and directories, which is too much for one download",
                "tutti/download-error",
            )
        self.items.append(item)


def is_text(name):
    """Whether it can be told; other names are bytes that Python has hidden in surrogates."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


if __name__ == "__main__":
    Download.main()
