"""A workload whose output is a function of its arguments alone, however often it is killed.

Run it as ``python counting.py FOLDER NAME STEPS PAUSE_S LINGER_S``; told to go, it saves at once
and counts on for the time it lingers. Every host counts the same chain of
hashes; host 0 saves the chain as checkpoints, and every host writes its end as its output. The
diary in the folder says what each process did and when; a lock a host proves that no two
attempts of a job ever lived at once. Standard library only.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sys
import time
from hashlib import sha256
from pathlib import Path
from types import FrameType

SAVE_EVERY = 5
KEPT = 3
NOTED_EVERY = 2
TORN, OVERLAPPED, LEFT = 3, 4, 143
MARK = "commit_success.txt"
DIARY = "diary.jsonl"


class Counting:
    """One host's part of one attempt."""

    def __init__(self, folder: Path, name: str, steps: int, *times_s: float) -> None:
        self._folder, self._name, self._steps = folder, name, steps
        self._pause_s, self._linger_s = times_s
        self._leave_at: float | None = None
        self._host = int(os.environ["TPUCTL_HOST"])
        self._attempt = int(os.environ["TPUCTL_ATTEMPT"])
        self._checkpoints = Path(os.environ["TPUCTL_CHECKPOINT_DIR"])
        self._output = Path(os.environ["TPUCTL_OUTPUT_DIR"])
        self._step, self._chain = 0, sha256(name.encode()).hexdigest()
        self._is_saving = False
        # Held until the process is gone, by whatever it is ended.
        self._lock = (folder / f"host-{self._host}.lock").open("w")

    def run(self) -> int:
        """Count to the end; return the exit code."""
        signal.signal(signal.SIGTERM, self._go)
        if not self._is_alone():
            self._note("overlap")
            return OVERLAPPED
        if not self._restore():
            self._note("torn")
            return TORN
        self._note("start")
        while self._step < self._steps:
            if self._leave_at is not None and time.monotonic() >= self._leave_at:
                return LEFT
            time.sleep(self._pause_s)
            self._step += 1
            self._chain = sha256(f"{self._chain} {self._step}".encode()).hexdigest()
            if self._step % NOTED_EVERY == 0:
                print(f"step {self._step}/{self._steps}", flush=True)  # noqa: T201 - its progress
                self._note("step")
            if self._step % SAVE_EVERY == 0:
                self._save()
        self._write(self._output / f"result-{self._host}.txt", self._result())
        self._note("finish")
        return 0

    def _is_alone(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _restore(self) -> bool:
        """Go on from the newest complete checkpoint; tell whether it is one of ours, and whole."""
        newest = max(self._saved(), default=0)
        if newest:
            found = json.loads((self._checkpoints / str(newest) / "state").read_bytes())
            self._step, self._chain = found["step"], found["chain"]
            return bool(newest == self._step and self._name == found["name"])
        return True

    def _go(self, _number: int, _frame: FrameType | None) -> None:
        """Save and leave, as docs ask of a workload; some take their time."""
        self._note("told")
        if not self._is_saving:
            self._save()
        if self._linger_s == 0:
            os._exit(LEFT)
        self._leave_at = self._leave_at or time.monotonic() + self._linger_s

    def _save(self) -> None:
        """Leave a checkpoint that is complete once its mark is there; host 0 alone writes."""
        if self._host != 0:
            return
        self._is_saving = True
        path = self._checkpoints / str(self._step)
        path.mkdir(parents=True, exist_ok=True)
        state = {"name": self._name, "step": self._step, "chain": self._chain}
        self._note("save")
        self._write(path / "state", json.dumps(state))
        (path / MARK).touch()
        self._note("saved")
        for old in sorted(self._saved())[:-KEPT]:
            shutil.rmtree(self._checkpoints / str(old), ignore_errors=True)
        self._is_saving = False

    def _saved(self) -> list[int]:
        return [int(mark.parent.name) for mark in self._checkpoints.glob(f"*/{MARK}")]

    def _result(self) -> str:
        return f"{self._name} counted {self._steps} steps\n{self._chain}\n"

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{self._attempt}")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)

    def _note(self, what: str) -> None:
        fields = {
            "what": what,
            "host": self._host,
            "attempt": self._attempt,
            "step": self._step,
            "pid": os.getpid(),
            "checkpoints": str(self._checkpoints),
            "at": time.time(),
        }
        diary = os.open(self._folder / DIARY, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(diary, json.dumps(fields).encode() + b"\n")
        os.close(diary)


if __name__ == "__main__":
    folder_, name_, steps_, pause_, linger_ = sys.argv[1:]
    sys.exit(Counting(Path(folder_), name_, int(steps_), float(pause_), float(linger_)).run())
