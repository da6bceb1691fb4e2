#!/usr/bin/env python3
"""Facts of a node, as structured data."""

import json
import os
import platform
import shutil
import socket
import subprocess
import sys

sys.path.append(
    os.path.join(os.path.dirname(__file__), "..", "..", "python_task_helper", "files")
)
from task_helper import Task  # noqa: E402

FACTER_SECONDS = 60


class Facts(Task):
    def run(self, params):
        only = params.get("only") or []
        facts = from_facter(only) or native()
        return {name: facts[name] for name in only if name in facts} if only else facts


def from_facter(only):
    """What facter says; nothing where it is missing or broken. It exits with 1 when only one of
    many facts could not be resolved, so what counts is what it printed."""
    program = shutil.which("facter", path=os.environ.get("PATH", "") + ":/opt/puppetlabs/bin")
    if not program:
        return None
    try:
        done = subprocess.run(
            [program, "--json", *only],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=FACTER_SECONDS,
            check=False,
        )
        return json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None


def native():
    return {
        "kernel": platform.system(),
        "kernelrelease": platform.release(),
        "os": operating_system(),
        "processors": {"count": os.cpu_count(), "isa": platform.machine()},
        "memory": memory(),
        "networking": {"hostname": socket.gethostname().split(".")[0], "fqdn": socket.getfqdn()},
        "system_uptime": {"seconds": uptime_seconds()},
        "mountpoints": {"/": disk("/")},
    }


def operating_system():
    fields = {}
    try:
        with open("/etc/os-release", encoding="utf-8") as release:
            for line in release:
                key, separator, value = line.strip().partition("=")
                if separator:
                    fields[key] = value.strip('"')
    except OSError:
        pass
    return {
        "name": fields.get("NAME", platform.system()),
        "id": fields.get("ID", ""),
        "release": {"full": fields.get("VERSION_ID", platform.release())},
        "architecture": platform.machine(),
    }


def memory():
    amounts = {}
    try:
        with open("/proc/meminfo", encoding="ascii") as meminfo:
            for line in meminfo:
                key, _, value = line.partition(":")
                amounts[key] = int(value.split()[0]) * 1024
    except OSError:
        return {}
    return {
        "system": {
            "total_bytes": amounts.get("MemTotal"),
            "available_bytes": amounts.get("MemAvailable"),
        }
    }


def uptime_seconds():
    try:
        with open("/proc/uptime", encoding="ascii") as uptime:
            return int(float(uptime.read().split()[0]))
    except OSError:
        return None


def disk(path):
    usage = shutil.disk_usage(path)
    return {"size_bytes": usage.total, "available_bytes": usage.free}


if __name__ == "__main__":
    Facts.main()
