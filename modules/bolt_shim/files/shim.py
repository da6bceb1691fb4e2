"""What the tasks of bolt_shim share: Base64, and programs whose exit code is a result."""

import base64
import binascii
import errno
import os
import shutil
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
    environment = dict(os.environ, **(variables or {}))
    try:
        done = _done(command, environment)
    except OSError as error:
        if error.errno == errno.ENOEXEC and _is_shell_text(command[0]):
            done = _done(["/bin/sh", *command], environment)
        else:
            return _not_run(command[0], error)
    explanation = _afterthought(command[0], done.returncode, environment)
    # A program that a signal ended has the code that a shell would give.
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return {
        "stdout": done.stdout.decode("utf-8", "replace"),
        "stderr": done.stderr.decode("utf-8", "replace") + explanation,
        "exit_code": code,
    }


def _done(command, environment):
    return subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )


def _head(path):
    """The first bytes of a file: the kernel takes no longer first lines."""
    with open(path, "rb") as file:
        return file.read(256)


def _is_shell_text(path):
    """A text that names no interpreter is a script for sh, as shells and Bolt have it."""
    head = _head(path)
    line = head.split(b"\n", 1)[0]
    names_none = not head.startswith(b"#!") or not line[2:].strip()
    is_marked = head.startswith((b"\xef\xbb\xbf#!", b"\xff\xfe", b"\xfe\xff"))
    return names_none and not is_marked and b"\0" not in head


def _interpreter(path):
    """The program that runs a script, whether `env` looks for it, and whether the line ends with a carriage
    return; None where the first line names none."""
    head = _head(path)
    if not head.startswith(b"#!"):
        return None
    line = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace")
    words = line.split()
    if not words:
        return None
    by_env = False
    name = words[0]
    if os.path.basename(name) == "env":
        others = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if others:
            by_env, name = True, others[0]
    return name, by_env, line.endswith("\r")


def _missing(path):
    name, by_env, has_carriage_return = _interpreter(path)
    if has_carriage_return:
        return (
            "the first line ends with a carriage return, as editors on Windows write it, so the node does not "
            f"find its interpreter {name}; save the file with Unix line ends (`sed -i 's/\\r$//' FILE`)"
        )
    place = "in the PATH of" if by_env else "on"
    return (
        f"its interpreter {name} is not {place} this node; install it there, or name another one in the first "
        "line of the file"
    )


def _not_run(path, error):
    """The result of a program that the node cannot start, with a shell's exit code."""
    reason = error.strerror
    if error.errno == errno.ENOENT and _interpreter(path):
        reason = _missing(path)
    elif error.errno == errno.ENOEXEC:
        reason = (
            "it is no program that this node can execute: it is built for another kind of machine, or a byte "
            "order mark stands in front of its first line"
        )
    elif error.errno == errno.EACCES:
        reason = (
            "its interpreter is not executable, or the directory for temporary files is mounted with `noexec` "
            "(TMPDIR names another one)"
        )
    return {
        "stdout": "",
        "stderr": f"cannot run {os.path.basename(path)}: {reason}\n",
        "exit_code": 127 if error.errno == errno.ENOENT else 126,
    }


def _afterthought(path, code, environment):
    """What is added to standard error where `env` did not find the interpreter."""
    if code != 127 or not os.path.isfile(path):
        return ""
    found = _interpreter(path)
    if not found or not found[1]:
        return ""
    name = found[0] + ("\r" if found[2] else "")
    if shutil.which(name, path=environment.get("PATH")):
        return ""
    return f"cannot run {os.path.basename(path)}: {_missing(path)}\n"
