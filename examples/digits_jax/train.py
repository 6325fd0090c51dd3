"""Train a small network on handwritten digits, data-parallel over all hosts of a slice.

The same file runs on CPU processes and on a TPU slice. What makes it survive preemption is
ordinary JAX and Orbax, nothing of tpuctl's:

* it restores the newest complete checkpoint and goes on from there;
* the data of a step is a function of the step's number, so a restart sees what it would have seen;
* when any one host gets SIGTERM, all hosts save the same step and exit with 0.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from etils import epath
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SEED = 0
HIDDEN = 128
BATCH = 256
LEARNING_RATE = 0.2
TEST_SHARE = 5  # every fifth digit is kept for the test

Parameters = dict[str, jax.Array]


class Digits(NamedTuple):
    """Images with 64 values from 0 to 1, and which digit each shows."""

    images: np.ndarray
    labels: np.ndarray


def main() -> None:
    """Train until the last step, or until somebody says stop."""
    options = parse_options()
    join_gang()
    training, test = load_digits()
    mesh = Mesh(np.array(jax.devices()), ("data",))
    checkpoints = open_checkpoints(options)
    parameters, step = restore(checkpoints, initial_parameters(mesh))
    worth_a_line = {step + 1, options.steps}
    say(f"{jax.process_count()} hosts, {jax.device_count()} devices, starting at step {step}")
    while step < options.steps:
        loss, parameters = train_step(parameters, batch_of(step, training, mesh))
        step += 1
        time.sleep(options.step_delay_ms / 1000)
        if step % options.log_every == 0 or step in worth_a_line:
            accuracy = score(parameters, test)
            say(f"step {step}/{options.steps} loss={loss:.4f} accuracy={accuracy:.4f}")
        is_told_to_go = multihost_utils.reached_preemption_sync_point(step)
        is_last = step == options.steps
        checkpoints.save(
            step, args=ocp.args.StandardSave(parameters), force=is_told_to_go or is_last
        )
        if is_told_to_go and not is_last:
            checkpoints.wait_until_finished()
            say(f"told to go: saved step {step}")
            return
    checkpoints.wait_until_finished()
    write_result(options, parameters, step, score(parameters, test))


def parse_options() -> argparse.Namespace:
    """Read the command line; tpuctl's environment says where things belong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--log-every", type=int, default=5)
    parser.add_argument("--step-delay-ms", type=float, default=0.0, help="make a step slower")
    parser.add_argument("--workdir", default="run", help="used outside of tpuctl")
    options = parser.parse_args()
    workdir = str(Path(options.workdir).resolve())
    options.checkpoint_dir = os.environ.get("TPUCTL_CHECKPOINT_DIR", f"{workdir}/checkpoints")
    options.output_dir = os.environ.get("TPUCTL_OUTPUT_DIR", f"{workdir}/output")
    return options


def join_gang() -> None:
    """Meet the other hosts; one host alone joins as well, so that it hears SIGTERM the same way.

    On a TPU slice JAX finds out by itself where the others are.
    """
    if importlib.util.find_spec("libtpu") is not None:
        jax.distributed.initialize()
        return
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        coordinator_address=os.environ.get("TPUCTL_COORDINATOR", "127.0.0.1:29999"),
        num_processes=int(os.environ.get("TPUCTL_HOSTS", "1")),
        process_id=int(os.environ.get("TPUCTL_HOST", "0")),
    )


def load_digits() -> tuple[Digits, Digits]:
    """Read scikit-learn's digits, split into training and test.

    ``sklearn.datasets.load_digits`` reads the same file, after importing half of SciPy.
    """
    found = importlib.util.find_spec("sklearn")
    assert found is not None, "scikit-learn is installed"
    assert found.submodule_search_locations, "it is a package with files in it"
    path = Path(found.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
    with gzip.open(path) as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    digits = Digits(rows[:, :-1] / 16, rows[:, -1].astype(np.int32))
    is_test = np.arange(len(rows)) % TEST_SHARE == 0
    return (
        Digits(digits.images[~is_test], digits.labels[~is_test]),
        Digits(digits.images[is_test], digits.labels[is_test]),
    )


def initial_parameters(mesh: Mesh) -> Parameters:
    """Make the same first parameters on every host."""
    random = np.random.default_rng(SEED)
    values = {
        "hidden_bias": np.zeros(HIDDEN),
        "hidden_weights": random.normal(0, 64**-0.5, (64, HIDDEN)),
        "output_bias": np.zeros(10),
        "output_weights": random.normal(0, HIDDEN**-0.5, (HIDDEN, 10)),
    }
    everywhere = NamedSharding(mesh, PartitionSpec())
    return {
        name: jax.make_array_from_process_local_data(everywhere, value.astype(np.float32))
        for name, value in values.items()
    }


def batch_of(step: int, digits: Digits, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    """Return the batch of a step: the same in every life of the job; each host brings its part."""
    chosen = np.random.default_rng((SEED, step)).choice(len(digits.labels), BATCH, replace=False)
    mine = np.array_split(chosen, jax.process_count())[jax.process_index()]
    images, labels = digits.images[mine], digits.labels[mine]
    split = NamedSharding(mesh, PartitionSpec("data"))
    return (
        jax.make_array_from_process_local_data(split, images),
        jax.make_array_from_process_local_data(split, labels),
    )


def logits(parameters: Parameters, images: jax.Array) -> jax.Array:
    """Apply the network."""
    hidden = jax.nn.relu(images @ parameters["hidden_weights"] + parameters["hidden_bias"])
    return hidden @ parameters["output_weights"] + parameters["output_bias"]


@jax.jit
def train_step(
    parameters: Parameters, batch: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, Parameters]:
    """Take one step of gradient descent; JAX sums the gradients over all hosts."""

    def loss_of(parameters: Parameters) -> jax.Array:
        images, labels = batch
        likelihoods = jax.nn.log_softmax(logits(parameters, images))
        return -jnp.take_along_axis(likelihoods, labels[:, None], axis=1).mean()

    loss, gradients = jax.value_and_grad(loss_of)(parameters)
    moved = jax.tree.map(lambda value, slope: value - LEARNING_RATE * slope, parameters, gradients)
    return loss, moved


def score(parameters: Parameters, digits: Digits) -> float:
    """Return the share of digits that are recognised; every host does this on its own."""
    local = {name: np.asarray(value) for name, value in parameters.items()}
    hidden = np.maximum(digits.images @ local["hidden_weights"] + local["hidden_bias"], 0)
    guesses = (hidden @ local["output_weights"] + local["output_bias"]).argmax(axis=1)
    return float((guesses == digits.labels).mean())


def open_checkpoints(options: argparse.Namespace) -> ocp.CheckpointManager:
    """Open the job's checkpoints, one directory a step."""
    return ocp.CheckpointManager(
        epath.Path(options.checkpoint_dir),
        options=ocp.CheckpointManagerOptions(save_interval_steps=options.save_every, create=True),
    )


def restore(checkpoints: ocp.CheckpointManager, parameters: Parameters) -> tuple[Parameters, int]:
    """Return the parameters of the newest complete checkpoint, or of the step asked for."""
    asked = os.environ.get("TPUCTL_FROM_STEP")
    if asked is not None:
        # What came after the chosen step is given up: two histories in one directory are none.
        for later in [step for step in checkpoints.all_steps() if step > int(asked)]:
            checkpoints.delete(later)
    step = checkpoints.latest_step() if asked is None else int(asked)
    if step is None:
        return parameters, 0
    return checkpoints.restore(step, args=ocp.args.StandardRestore(parameters)), step


def write_result(
    options: argparse.Namespace, parameters: Parameters, step: int, accuracy: float
) -> None:
    """Write what came out, once for the whole gang."""
    if jax.process_index() != 0:
        return
    digest = hashlib.sha256()
    for name in sorted(parameters):
        digest.update(name.encode() + np.asarray(parameters[name]).tobytes())
    result = {"steps": step, "accuracy": accuracy, "parameters_sha256": digest.hexdigest()}
    directory = epath.Path(options.output_dir)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "result.json").write_text(json.dumps(result))
    say(f"finished: {json.dumps(result)}")


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
