#!/bin/sh
# Runs a program of another Debian release, inside its new mount namespace.
#
#   in_root.sh ROOT DIRECTORY PROGRAM ARGUMENT…
#
# The program sees the packages that are unpacked in ROOT, and of this host only DIRECTORY at the same path, /proc and /dev.
# It keeps the process id of this script, and the mounts end with it.
set -eu
root=$1 directory=$2
shift 2
mount --make-rprivate /
cd "$root"
mount --rbind /proc proc
mount --rbind /dev dev
mount -t tmpfs tmpfs tmp
mkdir -p "./$directory"
mount --bind "$directory" "./$directory"
# names of this host, so that localhost is one
[ -e etc/hosts ] || : > etc/hosts
mount --bind /etc/hosts etc/hosts
exec chroot . "$@"
