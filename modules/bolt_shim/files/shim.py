"""What the tasks of bolt_shim share: Base64, and programs whose exit code is a result."""

import base64
import binascii
import os
import subprocess

from task_helper import TaskError


def decoded(text):
    """The bytes of a Base64 text; line breaks in it do not matter."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise TaskError(f"content: not Base64: {error}", "bolt_shim/invalid-content") from error


def ran(command, variables=None):
    """Runs a program to its end. Its failure is no failure of the task: Bolt makes one of it."""
    done = subprocess.run(
        command,
        env=dict(os.environ, **(variables or {})),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    # A program that a signal ended has the code that a shell would give.
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return {
        "stdout": done.stdout.decode("utf-8", "replace"),
        "stderr": done.stderr.decode("utf-8", "replace"),
        "exit_code": code,
    }
