"""Drop-ins on several processes: slices of the vocabulary, and an output layer that FSDP shards."""

import parallel_drop_in_jobs as jobs
import pytest
import torch
from teams import Team


@pytest.fixture(scope="module")
def team():
    made = Team(3)
    yield made
    made.close()


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_megatron(team, sequence_parallel, reduction):
    team.run(jobs.megatron_step, sequence_parallel, reduction)


@pytest.mark.contract("8 same results")
def test_cut_cross_entropy(team):
    team.run(jobs.cut_cross_entropy_step)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("annealed", [False, True])
def test_liger(team, dtype, annealed):
    team.run(jobs.liger_step, dtype, annealed)


@pytest.mark.contract("8 corners")
@pytest.mark.parametrize("tokens", [0, 5])
def test_liger_without_tokens(team, tokens):
    team.run(jobs.liger_without_tokens, tokens)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("formula", ["pytorch", "megatron"])
def test_the_vocab_parallel_cross_entropy_of_liger(team, formula):
    team.run(jobs.liger_vocab_parallel, formula)


@pytest.mark.contract("8 refusals")
def test_a_target_outside_of_all_slices_of_liger(team):
    outcomes = team.attempted(jobs.liger_target_outside)
    message = (
        "'target'[0] is 53, outside the vocabulary of 53 entries: it must be 0 to 52 or ignore_index -100"
    )
    assert [outcome.text for outcome in outcomes] == [message, *[f"process 0: {message}"] * 2]


def test_an_output_layer_of_torchtune_that_fsdp_shards(team):
    team.run(jobs.torchtune_step)
