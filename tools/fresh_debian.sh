#!/usr/bin/env bash
# Proves that README's two commands work on an empty Debian 12: makes a root with debootstrap, puts nothing into it but git and
# a clone of this checkout's HEAD, runs './dev demo' and './dev test' there, and says how long each took.
# Usage (as root): tools/fresh_debian.sh DIRECTORY [demo|test ...]      DIRECTORY is made, or used again when it is there.
set -euo pipefail
if [ $# -lt 1 ] || [ "$(id -u)" -ne 0 ]; then
  sed -n '2,4s/^# //p' "$0" >&2
  exit 2
fi
root=$1
shift
source=$(cd "$(dirname "$0")/.." && pwd)
commands=("$@")
[ ${#commands[@]} -gt 0 ] || commands=(demo test)

[ -d "$root/usr" ] || debootstrap --variant=minbase bookworm "$root" >/dev/null
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
trap 'umount "$root/dev" "$root/proc"' EXIT

chroot "$root" bash -c 'command -v git >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends git ca-certificates >/dev/null; }'
rm -rf "$root/root/ridgeline" "$root/root/ridgeline.git"
git clone -q --bare "$source" "$root/root/ridgeline.git"
chroot "$root" git clone -q /root/ridgeline.git /root/ridgeline
for command in "${commands[@]}"; do
  start=$SECONDS
  chroot "$root" bash -c "cd /root/ridgeline && ./dev $command"
  echo "fresh Debian: './dev $command' took $((SECONDS - start)) s"
done
