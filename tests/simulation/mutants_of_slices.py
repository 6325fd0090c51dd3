"""Mutants of what owners do: have hosts rebooted, adopt TPUs, stop jobs that end already."""

from __future__ import annotations

from typing import Final

from tests.simulation.mutants import APP, CORE, Mutant, single

SLICES: Final[tuple[Mutant, ...]] = (
    single(
        "an ended gang ends the next one",
        "how far the end of a gang has come goes with its attempt",
        f"{CORE}.reacting",
        ", ending=None, finishing_since=None)",
        ")",
        case="tests/unit/core/test_work.py",
    ),
    single(
        "only what was started has an end",
        "the first mandate that is not its start ends a writer, told or not",
        f"{CORE}.telling",
        "    is_its = writer.generation == generation.number\n",
        "    is_its = writer.generation == generation.number"
        " and generation.mandate.action == 'start'\n",
        case="tests/unit/core/test_telling.py",
    ),
    single(
        "a host that cannot start is waited for",
        "who has read the start and cannot prepare again ends the gang",
        f"{CORE}.causes",
        " or failed(host, start)",
        "",
        case="tests/unit/core/test_half_gangs.py",
    ),
    single(
        "to read the start is to begin",
        "who speaks and has not begun two minutes after the start ends the gang",
        f"{CORE}.causes",
        "    return host.seen_sequence >= start.sequence and is_at_it",
        "    return host.seen_sequence >= start.sequence",
        case="tests/unit/core/test_half_gangs.py",
    ),
    single(
        "a boot that shall end is prepared",
        "after a restart nothing starts in a boot that was to end",
        f"{CORE}.work",
        "        and host.boot != current.restart.get(str(host.host))\n",
        "",
        case="tests/unit/core/test_restarting.py",
    ),
    single(
        "restarts are paid for",
        "what an owner orders costs no budget",
        f"{CORE}.gangs",
        "    if ending is not None and ending.is_ordered:\n        return go_on",
        "    if False:\n        return go_on",
        case="tests/unit/core/test_restarting.py",
    ),
    single(
        "what was adopted is deleted",
        "what others made is deleted only where it is disposable",
        f"{CORE}.letting_go",
        "    return bid.foreign and not slice_.disposable",
        "    return False",
    ),
    single(
        "what was adopted is made again",
        "what others made is made again only where it is disposable",
        f"{CORE}.slices",
        "        return self.kind is not Kind.ADOPTED or self.disposable",
        "        return True",
    ),
    single(
        "another one of its name is it",
        "an adopted TPU is its name, its id and the time of its creation",
        f"{CORE}.observe",
        "    if bid.foreign and bid.node_uid not in {node.uid for node in request.nodes}:\n",
        "    if False:\n",
    ),
    single(
        "what is adopted is adopted again",
        "a TPU is one slice at a time",
        f"{APP}.slice_orders",
        "if any(bid.foreign and bid.name == node.name for bid in _bids_in(other, node.zone)):",
        "if False:",
    ),
    single(
        "what is ours is adopted",
        "what an installation made is nobody's to adopt",
        f"{CORE}.slice_orders",
        "    if installation is not None:",
        "    if False:",
    ),
    single(
        "what is only watched has to boot",
        "an adopted TPU is only watched until its hosts speak",
        f"{CORE}.capacity",
        "        elif bid.foreign:\n            continue ",
        "        elif False:\n            continue ",
        case="tests/unit/app/test_adoption.py",
    ),
    single(
        "what is only watched cannot be lost",
        "an adopted TPU that is gone is lost, installed or not",
        f"{CORE}.capacity",
        "    bid = (current.claimed_bid or current.foreign_bid) if current else None",
        "    bid = current.claimed_bid if current else None",
    ),
    single(
        "bells ring on what was adopted",
        "the metadata of what others made stays as it is",
        f"{APP}.perform",
        "    if bid is not None and is_there and not bid.foreign:\n",
        "    if bid is not None and is_there:\n",
    ),
)
