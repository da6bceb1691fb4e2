#!/bin/sh
# The first process of a booted machine, inside its new namespaces: makes the file system and becomes systemd.
#
#   init.sh DIRECTORY NAME SOURCE HOSTS
#
# The file system is an overlay over that of this host; what the machine writes stays below DIRECTORY. SOURCE is
# mounted at the same path, read-only. HOSTS is what stands in /etc/hosts.
set -eu
directory=$1 name=$2 source=$3 hosts=$4
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=/,upperdir=$directory/up,workdir=$directory/work" "$directory/root"
cd "$directory/root"
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs tmpfs sys
mkdir -p sys/fs/cgroup
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mkdir -p "./$source"
mount --bind "$source" "./$source"
mount -o remount,bind,ro "./$source"

echo "$name" > etc/hostname
hostname "$name"
printf '%s\n' "$hosts" > etc/hosts
: > etc/fstab
tr -d - < proc/sys/kernel/random/uuid > etc/machine-id
# Of this host's services none starts, and nothing that only a whole machine needs.
find etc/systemd/system -maxdepth 2 -path '*.wants/*' -delete
find etc/rc?.d -name 'S*' -delete 2> /dev/null || true
for unit in systemd-udevd systemd-networkd systemd-timesyncd systemd-resolved systemd-logind systemd-remount-fs \
    systemd-modules-load systemd-sysctl systemd-journal-flush systemd-random-seed \
    getty@tty1 serial-getty@ttyS0 console-getty; do
    ln -sf /dev/null "etc/systemd/system/$unit.service"
done
ln -sf /lib/systemd/system/multi-user.target etc/systemd/system/default.target
# What an installation on this host may have left.
rm -rf etc/puppet/puppetserver/ca var/lib/puppet/ssl
rm -rf etc/tutti etc/puppetlabs/pxp-agent etc/puppetlabs/puppet/ssl etc/puppetlabs/code var/lib/tutti opt/puppetlabs/tutti

exec chroot . env -i container=machine \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    /lib/systemd/systemd --log-target=console --show-status=0
