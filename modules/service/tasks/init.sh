#!/bin/sh
# One interface to the init systems. Prints {"status": "...", "enabled": "...", "manager": "..."}.

name=$PT_name
action=${PT_action:-status}

fail() { # kind, message
  message=$(printf '%s' "$2" | tr '\n\t' '  ' | sed 's/\\/\\\\/g; s/"/\\"/g' | cut -c1-2000)
  printf '{"_error":{"kind":"service/%s","msg":"%s","details":{"service":"%s"}}}\n' \
    "$1" "$message" "$name"
  exit 1
}

if [ -d /run/systemd/system ]; then
  manager=systemd
elif command -v rc-service >/dev/null 2>&1; then
  manager=openrc
elif [ -d /etc/init.d ]; then
  manager=sysv
else
  fail no-manager "no known service manager on this node"
fi

state() {
  case $manager in
    systemd) systemctl is-active "$name" 2>/dev/null ;;
    openrc) rc-service "$name" status >/dev/null 2>&1 && echo active || echo inactive ;;
    sysv)
      if [ ! -x "/etc/init.d/$name" ]; then
        echo absent
      elif "/etc/init.d/$name" status >/dev/null 2>&1; then
        echo active
      else
        echo inactive
      fi ;;
  esac
}

enabled() {
  case $manager in
    systemd) systemctl is-enabled "$name" 2>/dev/null || true ;;
    openrc) rc-update show default 2>/dev/null | grep -qw "$name" && echo enabled || echo disabled ;;
    sysv) if ls /etc/rc?.d/S??"$name" >/dev/null 2>&1; then echo enabled; else echo disabled; fi ;;
  esac
}

change() {
  case $manager:$action in
    systemd:*) systemctl "$action" "$name" ;;
    openrc:enable) rc-update add "$name" default ;;
    openrc:disable) rc-update del "$name" default ;;
    openrc:*) rc-service "$name" "$action" ;;
    sysv:enable | sysv:disable) update-rc.d "$name" "$action" ;;
    sysv:*) "/etc/init.d/$name" "$action" ;;
  esac
}

if [ "$action" != status ] && [ "${PT__noop:-false}" != true ]; then
  if ! said=$(change 2>&1); then
    fail "$action-failed" "$said"
  fi
fi

printf '{"status":"%s","enabled":"%s","manager":"%s"' "$(state)" "$(enabled | head -n 1)" "$manager"
if [ "$action" != status ] && [ "${PT__noop:-false}" = true ]; then
  printf ',"noop":"would %s %s"' "$action" "$name"
fi
printf '}\n'
