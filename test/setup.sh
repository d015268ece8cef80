#!/bin/sh
# Installs the system programs that tests use. Where one is missing, its tests are skipped and say so. With apt (Debian,
# Ubuntu); on other systems it prints what is missing. Installs nothing where all of them are there.
#
#   npm run setup:tests
set -u

# Each program, and its package in Debian.
programs='redis-server:redis-server nginx:nginx-light haproxy:haproxy named:bind9 chromium:chromium zsh:zsh fish:fish
  mandoc:mandoc pass:pass gpg:gnupg secret-tool:libsecret-tools gnome-keyring-daemon:gnome-keyring
  dbus-run-session:dbus-x11 curl:curl python3:python3 flock:util-linux systemd-notify:systemd'

missing='' packages='bash-completion'
for each in $programs; do
  PATH=$PATH:/usr/sbin command -v "${each%:*}" >/dev/null || missing="$missing ${each%:*}"
  packages="$packages ${each#*:}"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  printf 'Missing, and their tests are skipped:%s\nInstall them with the package manager of this system.\n' "$missing" >&2
  exit 1
fi
as_root=''
[ "$(id -u)" -eq 0 ] || as_root='sudo -n'
# RUNLEVEL: a server of the system's own is neither needed nor wanted, and nothing here knows its port.
# shellcheck disable=SC2086 -- lists of words
$as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive sh -c \
  'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' sh $packages >/dev/null
