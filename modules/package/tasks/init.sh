#!/bin/sh
# One interface to the package managers of the common distributions. Prints a JSON object:
# {"status": "installed|uninstalled", "version": "...", "old_version": "...", "manager": "..."}.

name=$PT_name
action=${PT_action:-status}
wanted=${PT_version:-}

fail() { # kind, message
  message=$(printf '%s' "$2" | tr '\n\t' '  ' | sed 's/\\/\\\\/g; s/"/\\"/g' | cut -c1-2000)
  printf '{"_error":{"kind":"package/%s","msg":"%s","details":{"package":"%s"}}}\n' \
    "$1" "$message" "$name"
  exit 1
}

manager=
for candidate in apt-get dnf yum zypper apk pacman; do
  if command -v "$candidate" >/dev/null 2>&1; then
    manager=$candidate
    break
  fi
done
[ -n "$manager" ] || fail no-manager "no known package manager on this node"

installed_version() {
  case $manager in
    apt-get)
      # shellcheck disable=SC2016 # dpkg-query expands these, not the shell
      dpkg-query -W -f '${db:Status-Abbrev} ${Version}' "$name" 2>/dev/null |
        sed -n 's/^.i. *//p' ;;
    dnf | yum | zypper) rpm -q --qf '%{VERSION}-%{RELEASE}' "$name" 2>/dev/null || true ;;
    apk) apk list --installed "$name" 2>/dev/null | sed -n "s/^$name-\([0-9][^ ]*\) .*/\1/p" ;;
    pacman) pacman -Q "$name" 2>/dev/null | cut -d' ' -f2 ;;
  esac | case $manager in dnf | yum | zypper) grep -v 'not installed' ;; *) cat ;; esac
}

change() {
  case $manager:$action in
    apt-get:install) apt-get -qy install "$name${wanted:+=$wanted}" ;;
    apt-get:upgrade) apt-get -qy install --only-upgrade "$name${wanted:+=$wanted}" ;;
    apt-get:uninstall) apt-get -qy remove "$name" ;;
    dnf:install | yum:install) "$manager" -qy install "$name${wanted:+-$wanted}" ;;
    dnf:upgrade | yum:upgrade) "$manager" -qy upgrade "$name${wanted:+-$wanted}" ;;
    dnf:uninstall | yum:uninstall) "$manager" -qy remove "$name" ;;
    zypper:install) zypper -qn install "$name${wanted:+=$wanted}" ;;
    zypper:upgrade) zypper -qn update "$name" ;;
    zypper:uninstall) zypper -qn remove "$name" ;;
    apk:install) apk -q add "$name${wanted:+=$wanted}" ;;
    apk:upgrade) apk -q add --upgrade "$name" ;;
    apk:uninstall) apk -q del "$name" ;;
    pacman:install | pacman:upgrade) pacman -Sq --noconfirm "$name" ;;
    pacman:uninstall) pacman -Rq --noconfirm "$name" ;;
  esac
}

before=$(installed_version)
if [ "$action" != status ] && [ "${PT__noop:-false}" != true ]; then
  export DEBIAN_FRONTEND=noninteractive
  if ! said=$(change 2>&1); then
    fail "$action-failed" "$said"
  fi
fi
after=$(installed_version)

status=uninstalled
[ -n "$after" ] && status=installed
printf '{"status":"%s","version":"%s","old_version":"%s","manager":"%s"' \
  "$status" "$after" "$before" "$manager"
if [ "$action" != status ] && [ "${PT__noop:-false}" = true ]; then
  printf ',"noop":"would %s %s"' "$action" "$name${wanted:+ $wanted}"
fi
printf '}\n'
