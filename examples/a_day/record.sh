#!/usr/bin/env bash
# A researcher's day on a simulated TPU, from an empty folder, as it is printed.
# usage: examples/a_day/record.sh > docs/a-day.txt
# In PATH: tpuctl, and for the adopted slice gcloud, ssh and sshd.
set -Eeuo pipefail

example="$(cd "$(dirname "${BASH_SOURCE[0]}")/../digits_jax" && pwd)"
work="$(mktemp -d)"
export TPUCTL_HOME="$work/home" HOME="$work" COLUMNS=100
trap 'tpuctl local down > "$work/down" 2>&1 || true; rm -rf "$work"' EXIT

say() { printf '\n# %s\n' "$*"; }

# Shows a command, runs it, and goes on whatever it answers: a failed job is part of the day.
run() {
  printf '$ %s\n' "$*"
  eval "$*" 2>&1 | sed "s#$work#~#g" || printf '(exit %s)\n' "${PIPESTATUS[0]}"
}

# Waits until the newest job has taken a step after a number of attempts.
until_step() {
  for _ in $(seq 600); do
    tpuctl ps --json | python3 -c '
import json, sys
job = json.load(sys.stdin)["jobs"][0]
step = (job.get("progress") or {}).get("step") or 0
sys.exit(not (job["attempt"] >= int(sys.argv[1]) and job["stage"] == "running" and step >= int(sys.argv[2])))
' "$1" "$2" && return
    sleep 0.2
  done
  echo "no step $2 in attempt $1" >&2
  return 1
}

# Who uses gcloud's ssh has a key.
mkdir "$work/.ssh"
ssh-keygen -q -t ed25519 -N "" -f "$work/.ssh/google_compute_engine"
mkdir "$work/digits" && cd "$work/digits"
cp "$example/train.py" .
sed -i 's/^import numpy.*/&\nimport mytools/' train.py
cat > tpuctl.toml << 'TOML'
[run]
name = "digits"
command = ["python", "train.py", "--steps", "300", "--save-every", "20", "--step-delay-ms", "40"]
type = "v4-16"
progress = 'step (?P<step>\d+)/(?P<total>\d+)'
TOML

say "A cloud and a control plane on this machine"
run tpuctl sandbox up --ssh
run tpuctl local up
say "The command stands in tpuctl.toml; one import is wrong"
run tpuctl run
run tpuctl wait @last
run tpuctl why @last
say "The slice was kept: mend the code, and go on with the same job on it"
sed -i '/mytools/d' train.py
run tpuctl resume @last --code .
until_step 1 60
run tpuctl ps
say "The slice is taken away without a word"
node="$(tpuctl sandbox status | awk '/^node/ { print $2; exit }')"
run tpuctl sandbox preempt "$node" --silent
until_step 2 1
run tpuctl why @last
run timeout 4 tpuctl watch
run tpuctl wait @last
run tpuctl show @last
say "Its checkpoints; go on from an earlier one"
run tpuctl ckpt ls @last
run tpuctl resume @last --from-step 200
run tpuctl wait @last
say "A slice that somebody else made"
eval "$(tpuctl sandbox env)"
run gcloud compute tpus tpu-vm create mine --zone us-central2-b --accelerator-type v4-16 \
  --version tpu-ubuntu2204-base
run tpuctl slice ls --all
run tpuctl slice adopt mine --zone us-central2-b
# shellcheck disable=SC2016 # expanded when it runs, as typed
run 'gcloud compute tpus tpu-vm ssh mine --zone=us-central2-b --worker=all --command="$(tpuctl slice installer mine)"'
run tpuctl run --on mine --name guest -- python -c "'print(\"here, too\")'"
run tpuctl wait @last
run tpuctl logs @last
run tpuctl slice rm mine
say "A slice of my own, and a second run on it while it is warm"
run tpuctl slice create warm --type v4-16 --zone us-central2-b --wait
printf 'import time\n\nprint(time.time())\n' > clock.py
run tpuctl run --on warm --name first -- python clock.py
run tpuctl wait @last
begun="$(date +%s.%N)"
run tpuctl run --on warm --name second -- python clock.py
run tpuctl wait @last
python3 -c '
import subprocess, sys
lines = subprocess.run(["tpuctl", "logs", "@last"], capture_output=True, text=True, check=True).stdout
started = max(float(line.split()[-1]) for line in lines.splitlines() if line.strip())
print(f"from Enter to the new process: {started - float(sys.argv[1]):.1f} s")
' "$begun"
say "What happened today"
run tpuctl history
