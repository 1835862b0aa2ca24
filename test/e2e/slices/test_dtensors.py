"""Heads on DTensors: meshes of one and two axes, every kind of input,
placements of results and gradients.
"""

import dtensor_jobs as jobs
import pytest
from test_parallel_losses import team

ONE_AXIS = [name for name, (weights, _) in jobs.PLACES.items() if len(weights) == 1]
TWO_AXES = [name for name in jobs.PLACES if name not in ONE_AXIS]


@pytest.mark.contract("7 DTensors")
@pytest.mark.parametrize("place", ONE_AXIS)
def test_on_one_axis(place):
    team(2).run(jobs.every_kind, place, False, {})


@pytest.mark.contract("7 DTensors")
@pytest.mark.full
@pytest.mark.parametrize("options", [{}, {"reduction": "none"}], ids=["mean", "none"])
@pytest.mark.parametrize("place", TWO_AXES)
def test_on_two_axes(place, options):
    team(4).run(jobs.every_kind, place, False, options)


@pytest.mark.full
@pytest.mark.parametrize("place", ["slices", "slices, split tokens", "tokens x slices"])
def test_compiled_without_a_break(place):
    team(2 if place in ONE_AXIS else 4).run(jobs.every_kind, place, True, {})


@pytest.mark.full
@pytest.mark.parametrize("kind", ["sum", "divisor", "ignored"])
@pytest.mark.parametrize("all_ignored", ["nan", "zero"])
def test_reductions(kind, all_ignored):
    team(4).run(jobs.reducing, all_ignored, kind)


@pytest.mark.contract("5 lists of slices", "7 DTensors")
@pytest.mark.parametrize("place", ONE_AXIS)
def test_lists(place):
    team(2).run(jobs.listing, place)


@pytest.mark.contract("1 random numbers", "7 DTensors")
@pytest.mark.parametrize("place", ["slices", "slices, split tokens"])
def test_random_numbers_are_those_of_one_process(place):
    team(2).run(jobs.drawing, place)


@pytest.mark.contract("1 random numbers", "7 DTensors")
def test_random_numbers_of_tokens_without_an_index_are_refused():
    for outcome in team(2).attempted(jobs.drawing, "copies"):
        assert outcome.error == "CallValueError", outcome.trace
        assert outcome.text.removeprefix("process 0: ").startswith(
            "'sample' draws random numbers by the index of each token in the call, but hidden is a DTensor "
            "whose tokens are on several processes; redistribute it to Replicate"
        ), outcome.trace


def test_axes_of_tokens_that_are_split_and_other_layouts():
    team(2).run(jobs.leading_axes)


@pytest.mark.contract("7 data parallel")
@pytest.mark.full
def test_fsdp_around_a_sharded_weight():
    team(4).run(jobs.under_fsdp)


PLAIN = "is a plain tensor, but another input is a DTensor placed as"
OTHER = "but a head takes weights that are Shard(0) on one axis of the mesh"
REFUSED = {
    "hidden": f"'hidden' {PLAIN} R, S(0); under FSDP gather the weight first",
    "weight": f"'weight' {PLAIN} S(0), R; give the weight as a DTensor that is Shard(0) over the vocabulary",
    "target": f"'target' {PLAIN} S(0), R; give it as a DTensor",
    "twice": f"'weight' is a DTensor placed as S(0), S(0), {OTHER}",
    "inner": f"'weight' is a DTensor placed as R, S(1), {OTHER}",
    "cut": "hidden is a DTensor placed as R, S(1), which cuts the hidden size",
    "meshes": "'target' is on DeviceMesh",
    "buffer": "'weight_grad_out' is for plain tensors: see lt.parallel.vocab_parallel",
}


@pytest.mark.contract("7 DTensors")
@pytest.mark.full
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what):
    for outcome in team(4).attempted(jobs.refusing, what):
        assert outcome.text.startswith(REFUSED[what]), outcome.trace


@pytest.mark.contract("7 failures")
@pytest.mark.full
def test_all_processes_of_a_mesh_fail_together():
    """The wrong index is among the tokens of two of four processes."""
    outcomes = team(4).attempted(jobs.refusing, "index")
    assert {outcome.error for outcome in outcomes} == {"CallIndexError"}
    texts = [outcome.text for outcome in outcomes]
    assert texts[0].startswith("'target'[1] is 57, outside the vocabulary")
    assert texts[2] == texts[3] == f"process 0: {texts[0]}"
    assert max(outcome.seconds for outcome in outcomes) < 10
