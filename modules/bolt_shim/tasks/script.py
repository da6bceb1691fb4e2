#!/usr/bin/env python3
"""A script, run from a directory of its own that is removed afterwards."""

import os
import sys

_MODULES = os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.append(os.path.join(_MODULES, "python_task_helper", "files"))
sys.path.append(os.path.join(_MODULES, "bolt_shim", "files"))
import tempfile  # noqa: E402

from shim import decoded, ran  # noqa: E402
from task_helper import Task  # noqa: E402


class Script(Task):
    def run(self, params):
        # Only the last part: the name comes from another machine.
        name = os.path.basename(params.get("name") or "").lstrip(".") or "script"
        arguments = [text(argument) for argument in params.get("arguments") or []]
        with tempfile.TemporaryDirectory(prefix="bolt_shim-") as directory:
            path = os.path.join(directory, name)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
            with os.fdopen(descriptor, "wb") as script:
                script.write(decoded(params["content"]))
            return ran([path, *arguments], params.get("env_vars"))


def text(argument):
    if isinstance(argument, bool):
        return "true" if argument else "false"
    return str(argument)


if __name__ == "__main__":
    Script.main()
