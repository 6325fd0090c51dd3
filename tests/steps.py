"""A workload for tests: counts steps, saves them as checkpoints, and keeps a diary.

Run it as ``python steps.py FOLDER``. Files in the folder steer it while it runs: ``finish`` lets
all hosts exit with 0, ``finish-1`` host 1 alone, ``fail-0`` makes host 0 exit with 3, ``mute``
prints nothing, and who starts while ``deaf`` is there ignores SIGTERM. Each line of
``diary.jsonl`` is one write, made at once: the last line of a killed process says how long it
lived.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType

STEP_S = 0.05
SAVE_EVERY = 2
KEPT = 3
FAILED = 3
MARK = "commit_success.txt"


class Steps:
    """One host's part of one attempt."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._host = int(os.environ["TPUCTL_HOST"])
        self._checkpoints = Path(os.environ["TPUCTL_CHECKPOINT_DIR"])
        self._step = max(self._saved(), default=0)

    def run(self) -> int:
        """Count until told to end; return the exit code."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN if self._is_asked("deaf") else self._go)
        self._note("start")
        while not self._is_asked("finish"):
            if self._is_asked("fail"):
                return FAILED
            time.sleep(STEP_S)
            self._step += 1
            if not self._is_asked("mute"):
                print(f"step {self._step}")  # noqa: T201 - so a workload reports progress
            self._note("step")
            if self._step % SAVE_EVERY == 0:
                self._save()
        self._note("finish")
        return 0

    def _go(self, number: int, _frame: FrameType | None) -> None:
        """Save and leave, as docs ask of a workload."""
        self._note("told")
        self._save()
        os._exit(128 + number)

    def _save(self) -> None:
        """Leave a checkpoint that is complete once its mark is there; host 0 alone writes."""
        if self._host != 0:
            return
        path = self._checkpoints / str(self._step)
        path.mkdir(parents=True, exist_ok=True)
        (path / MARK).touch()
        for old in sorted(self._saved())[:-KEPT]:
            shutil.rmtree(self._checkpoints / str(old), ignore_errors=True)

    def _saved(self) -> list[int]:
        return [int(mark.parent.name) for mark in self._checkpoints.glob(f"*/{MARK}")]

    def _is_asked(self, what: str) -> bool:
        return any((self._folder / name).exists() for name in (what, f"{what}-{self._host}"))

    def _note(self, what: str) -> None:
        fields = {
            "what": what,
            "host": self._host,
            "attempt": int(os.environ["TPUCTL_ATTEMPT"]),
            "step": self._step,
            "pid": os.getpid(),
            "checkpoints": str(self._checkpoints),
            "at": time.time(),
        }
        diary = os.open(self._folder / "diary.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(diary, json.dumps(fields).encode() + b"\n")
        os.close(diary)


if __name__ == "__main__":
    sys.exit(Steps(Path(sys.argv[1])).run())
