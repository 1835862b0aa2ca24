"""Drop-ins on several processes: slices of the vocabulary, and an output layer that FSDP shards."""

import parallel_drop_in_jobs as jobs
import pytest
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


def test_an_output_layer_of_torchtune_that_fsdp_shards(team):
    team.run(jobs.torchtune_step)
