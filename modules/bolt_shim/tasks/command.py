#!/usr/bin/env python3
"""A command line, run by the shell."""

import os
import sys

_MODULES = os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.append(os.path.join(_MODULES, "python_task_helper", "files"))
sys.path.append(os.path.join(_MODULES, "bolt_shim", "files"))
from shim import ran  # noqa: E402
from task_helper import Task  # noqa: E402


class Command(Task):
    def run(self, params):
        # Everybody on the node sees the words of a program, and nobody else its environment.
        line = '_line="$_TUTTI_LINE"; unset _TUTTI_LINE; eval "$_line"'
        return ran(["/bin/sh", "-c", line], {"_TUTTI_LINE": params["command"]})


if __name__ == "__main__":
    Command.main()
