#!/bin/sh
# Runs PT_command; its exit code is the task's unless PT_failonfail is false.

if [ "${PT__noop:-false}" = true ]; then
  printf 'would run: %s\n' "$PT_command"
  exit 0
fi

if [ "${PT_interleave:-false}" = true ]; then
  /bin/sh -c "$PT_command" 2>&1
else
  /bin/sh -c "$PT_command"
fi
code=$?

if [ "${PT_failonfail:-true}" = true ]; then
  exit "$code"
fi
exit 0
