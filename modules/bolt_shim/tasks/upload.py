#!/usr/bin/env python3
"""A file or a directory, written to the node."""

import os
import sys

_MODULES = os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.append(os.path.join(_MODULES, "python_task_helper", "files"))
sys.path.append(os.path.join(_MODULES, "bolt_shim", "files"))
import io  # noqa: E402
import tarfile  # noqa: E402
import tempfile  # noqa: E402

from shim import decoded  # noqa: E402
from task_helper import Task, TaskError  # noqa: E402


class Upload(Task):
    def run(self, params):
        path, content = params["path"], decoded(params["content"])
        if not os.path.isabs(path):
            raise TaskError(f"path: {path} is not absolute", "bolt_shim/invalid-path")
        mode = params.get("mode")
        try:
            if params.get("directory"):
                unpack(path, content, mode)
            else:
                write(path, content, mode)
        except (OSError, tarfile.TarError) as error:
            raise TaskError(f"cannot write {path}: {error}", "bolt_shim/not-written") from error
        return {"path": path}


def write(path, content, mode):
    """Whole or not at all: a file beside it takes its place."""
    if os.path.isdir(path):
        raise TaskError(f"{path} is a directory", "bolt_shim/not-written")
    descriptor, beside = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".bolt_shim-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(beside, permissions(mode, 0o644))
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def unpack(path, content, mode):
    """Regular files and directories only, and none outside of `path`."""
    os.makedirs(path, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        for member in archive:
            parts = member.name.split("/")
            if member.name.startswith("/") or ".." in parts:
                raise TaskError(f"{member.name} is outside", "bolt_shim/invalid-content")
            place = os.path.join(path, member.name)
            if member.isdir():
                os.makedirs(place, exist_ok=True)
            elif member.isfile():
                os.makedirs(os.path.dirname(place), exist_ok=True)
                write(place, archive.extractfile(member).read(), member.mode)
            else:
                raise TaskError(f"{member.name} is no file", "bolt_shim/invalid-content")
    os.chmod(path, permissions(mode, 0o755))


def permissions(mode, default):
    return default if mode is None else mode & 0o777


if __name__ == "__main__":
    Upload.main()
