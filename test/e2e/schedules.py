"""Schedules of heads: how a test asks for one, what a plan does,
and that its memory is what it says.
"""

from __future__ import annotations

import contextlib
import dataclasses

import logitile as lt
import pytest
from logitile.calls import demands
from logitile.runtime import engine

# Everything kept in one piece or in three; as little memory as possible, so that logits are made
# again; and gradients in a phase of their own with all, some or none of the logits stored from the
# first.
KINDS = ("kept", "chunks", "recompute", "split kept", "split hybrid", "split recompute", "statistics")


def kind_of_loss(index, target):
    """The schedule that the suite of a target runs the loss of this index under by default."""
    return KINDS[index // 3 % len(KINDS) if target == "sm_80" else index % len(KINDS)]


def other_kind(index, target):
    """One more schedule of a loss, which the suites of no target run it under by default.

    That of sm_80 is another than that of sm_90a. On both, a loss adds the same to a kernel, and the
    suite of the CPU has every schedule.
    """
    done = [kind_of_loss(index, "sm_80"), kind_of_loss(index, "sm_90a")]
    rest = [kind for kind in KINDS if kind not in done]
    return rest[(index + 2 * (target == "sm_90a")) % len(rest)]


def smallest_workspace(sample):
    """The least budget that the call of a sample can have, in bytes."""
    starved = dataclasses.replace(sample, options=sample.options | {"workspace": 1})
    with pytest.raises(lt.CallValueError, match="need at least") as caught:
        starved.run()
    return caught.value.minimum_workspace


@contextlib.contextmanager
def gradients_apart(wanted):
    """Programs that make gradients do so in a phase of their own, as they do under autograd."""
    usual = demands.in_one_call
    if wanted:
        demands.in_one_call = lambda *given: dataclasses.replace(usual(*given), mode="split")
    try:
        yield
    finally:
        demands.in_one_call = usual


@contextlib.contextmanager
def scheduled(sample, kind):
    """The sample with a schedule of a kind, inside the context."""
    if kind in ("kept", "chunks"):
        yield dataclasses.replace(sample, options=sample.options | {"chunks": 1 if kind == "kept" else 3})
        return
    if kind == "statistics":
        yield dataclasses.replace(sample, wrt=())
        return
    with gradients_apart(kind.startswith("split")):
        least = smallest_workspace(sample)
        logits = 4 * sample.tokens * sample.spec.vocab * len(sample.pairs)
        more = {"recompute": 0, "split recompute": 0, "split hybrid": 0.375, "split kept": 4}[kind]
        budget = least + int(more * logits)
        yield dataclasses.replace(sample, options=sample.options | {"workspace": budget})


def plans(sample):
    """What the programs of a sample's head that ran do:
    launches with their vocabulary splits, kernels.
    """
    return [
        program.plan(sample.tokens).describe(sample.tokens, program.threads)
        for program in sample.head._programs.made.values()
    ]


def records(head):
    """What the programs of a head did lately, oldest first."""
    keys = {program.key for program in head._programs.made.values()}
    return [record for record in engine.history() if record["key"] in keys]


def check_memory(sample):
    """No call took more memory than was predicted, or than its budget."""
    budget = sample.options.get("workspace")
    for record in records(sample.head):
        assert record["measured_bytes"] <= record["predicted_bytes"], record
        assert budget is None or record["predicted_bytes"] <= budget, (budget, record)
