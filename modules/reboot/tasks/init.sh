#!/bin/sh
# Schedules a reboot (or power-off) and answers before it happens:
# {"status": "queued", "timeout": 3, "boot_id": "..."}. The boot id changes with the reboot, so
# whoever waits for the node can tell the new boot from the old one.

timeout=${PT_timeout:-3}
flag=-r
verb=reboot
if [ "${PT_shutdown_only:-false}" = true ]; then
  flag=-P
  verb='power off'
fi
boot_id=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo unknown)

if [ "${PT__noop:-false}" = true ]; then
  printf '{"status":"noop","noop":"would %s in %s s","timeout":%s,"boot_id":"%s"}\n' \
    "$verb" "$timeout" "$timeout" "$boot_id"
  exit 0
fi

shutdown=$(command -v shutdown) || {
  printf '{"_error":{"kind":"reboot/no-shutdown","msg":"no shutdown command on this node","details":{}}}\n'
  exit 1
}

# In a session of its own and with no file held open: it must outlive this task.
DELAY=$timeout SHUTDOWN=$shutdown FLAG=$flag MESSAGE=${PT_message:-} setsid sh -c '
  sleep "$DELAY"
  exec "$SHUTDOWN" "$FLAG" now ${MESSAGE:+"$MESSAGE"}
' </dev/null >/dev/null 2>&1 &

printf '{"status":"queued","timeout":%s,"boot_id":"%s"}\n' "$timeout" "$boot_id"
