"""What every Python task needs: parameters from stdin, one JSON object to stdout.

A task subclasses ``Task`` and defines ``run(params)``; what it returns is printed. An exception
becomes the ``_error`` object that Puppet's task specification describes, with exit code 1.
"""

import json
import sys


class TaskError(Exception):
    """A failure with a kind, so that callers can tell causes apart."""

    def __init__(self, message, kind="task/error", details=None):
        super().__init__(message)
        self.kind = kind
        self.details = details or {}


class Task:
    """Subclass and define ``run``."""

    def run(self, params):
        raise NotImplementedError

    @classmethod
    def main(cls):
        try:
            text = sys.stdin.read()
            result = cls().run(json.loads(text) if text.strip() else {})
            print(json.dumps(result, sort_keys=True))
        except TaskError as error:
            cls._fail(str(error), error.kind, error.details)
        except Exception as error:  # the task's author did not foresee it: say which it was
            cls._fail(str(error), "task/exception", {"class": type(error).__name__})

    @staticmethod
    def _fail(message, kind, details):
        print(json.dumps({"_error": {"msg": message, "kind": kind, "details": details}}))
        sys.exit(1)
