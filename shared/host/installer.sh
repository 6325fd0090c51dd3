#!/usr/bin/env bash
# Makes a TPU VM that others made a host of one slice: run it as root on each host, once. It
# brings the agent with it, and leaves the VM's own startup script and metadata as they are.
# What comes from elsewhere is packed as letters and digits: none of it is ever shell code.
set -Eeuo pipefail

root="${TPUCTL_ROOT:-/opt/tpuctl}"
if [[ -z "${TPUCTL_ROOT:-}" && "$(id -u)" != 0 ]]; then
  echo "tpuctl: run the installer as root: sudo bash" >&2
  exit 1
fi
mkdir -p "$root"

unpack() {
  base64 -d | gunzip >"$root/$1.part"
  mv -f "$root/$1.part" "$root/$1"
}
unpack agent.py <<<'@AGENT@'
unpack config.json <<<'@CONFIG@'
unpack startup.sh <<<'@STARTUP@'

python3 "$root/agent.py" check
if [[ -n "${TPUCTL_ROOT:-}" || "$(cat /proc/1/comm)" != systemd ]]; then
  setsid bash "$root/startup.sh" >/dev/null 2>&1 </dev/null &
else
  bash "$root/startup.sh"
fi
echo "tpuctl: the agent runs on $(hostname)"
