#!/usr/bin/env bash
# Runs as root at every boot of every host. It brings the agent from this node's metadata and
# starts it under a supervisor that leaves no workload behind a dead agent. The text is the same
# for everybody: nothing that a user wrote is ever part of it.
set -Eeuo pipefail

root="${TPUCTL_ROOT:-/opt/tpuctl}"
mkdir -p "$root"

# Where somebody ran the installer, the agent is here already, and the metadata is not ours.
if [[ ! -e "$root/config.json" ]]; then
# Fetch the agent; while the metadata server is not ready yet, try again for about five minutes.
# An agent of an earlier boot is better than none.
python3 - "$root/agent.py" <<'PYTHON'
import os, sys, tempfile, time, urllib.request

target = sys.argv[1]
host = os.environ.get("GCE_METADATA_HOST", "metadata.google.internal")
request = urllib.request.Request(
    "http://%s/computeMetadata/v1/instance/attributes/tpuctl-agent" % host,
    headers={"Metadata-Flavor": "Google"},
)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch():
    pause_s = 0.2
    for _ in range(25):
        try:
            with opener.open(request, timeout=10) as answer:
                return answer.read()
        except OSError as error:
            print("tpuctl: no agent in the metadata yet: %s" % error, file=sys.stderr)
            time.sleep(pause_s)
            pause_s = min(15.0, pause_s * 1.7)
    return b""


source = fetch()
if source:
    handle, part = tempfile.mkstemp(dir=os.path.dirname(target))
    with os.fdopen(handle, "wb") as file:
        file.write(source)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, target)
elif not os.path.exists(target):
    sys.exit("tpuctl: no agent, giving up")
PYTHON
fi

if [[ -n "${TPUCTL_ROOT:-}" || "$(cat /proc/1/comm)" != systemd ]]; then
  exec python3 "$root/agent.py" supervise
fi

# libtpu pins memory, opens many files and starts many threads: no limits of that kind.
cat >/etc/systemd/system/tpuctl-agent.service <<'UNIT'
[Unit]
Description=tpuctl agent: runs what this slice's mandate says
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart=/usr/bin/env python3 /opt/tpuctl/agent.py run
WatchdogSec=60
WatchdogSignal=SIGKILL
KillMode=control-group
TimeoutStopSec=90
Restart=always
RestartSec=1
Environment=HOME=/root
LimitMEMLOCK=infinity
LimitNOFILE=1048576
TasksMax=infinity

[Install]
WantedBy=multi-user.target
UNIT

systemctl daemon-reload
if [[ -e "$root/config.json" ]]; then
  systemctl enable tpuctl-agent.service
fi
# Else it is not enabled: each boot comes through here first, so that the newest agent is started.
systemctl restart --no-block tpuctl-agent.service
