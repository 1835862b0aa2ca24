"""Drop-ins on several processes: slices of the vocabulary, and an output layer that FSDP shards."""

import parallel_drop_in_jobs as jobs
import pytest
import torch
import torchtune_plan_jobs as plans
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


# ---- losses of torchtune under tensor parallel plans ---------------------------------------------


@pytest.fixture(scope="module")
def pair():
    made = Team(2)
    yield made
    made.close()


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize(
    ("plan", "output"), [("training", "bias"), ("inference", "plain"), ("training", "tied")]
)
def test_cross_entropy_of_torchtune_under_a_plan(team, plan, output):
    team.run(plans.cross_entropy, plan, output)


@pytest.mark.full
@pytest.mark.parametrize("plan", list(plans.PLANS))
@pytest.mark.parametrize("output", ["plain", "bias"])
def test_cross_entropy_of_torchtune_under_a_plan_of_two_processes(pair, plan, output):
    pair.run(plans.cross_entropy, plan, output)


@pytest.mark.contract("8 same results")
def test_grpo_of_torchtune_under_a_plan(team):
    team.run(plans.grpo, "training")


@pytest.mark.full
@pytest.mark.parametrize("plan", list(plans.PLANS))
def test_grpo_of_torchtune_under_a_plan_of_two_processes(pair, plan):
    pair.run(plans.grpo, plan)


@pytest.mark.full
@pytest.mark.parametrize("is_whole", [False, True])
def test_distillation_of_torchtune_under_a_plan(pair, is_whole):
    pair.run(plans.distillation, is_whole)


@pytest.mark.full
def test_torchtune_with_a_plan_on_one_axis_and_fsdp_on_another():
    team = Team(4)
    try:
        team.run(plans.with_fsdp, is_unit=True)
        team.run(plans.with_fsdp, is_unit=False)
    finally:
        team.close()


@pytest.mark.contract("8 refusals")
def test_plain_hidden_states_beside_a_tied_weight_in_slices(team):
    assert team.run(plans.without_a_placement)[0] == (
        "'hidden' is a plain tensor, but another input is a DTensor placed as S(0); under FSDP gather the "
        "weight first (call the head inside of the module's forward, or weight.full_tensor()); under tensor "
        "parallelism give hidden as a DTensor, such as DTensor.from_local(hidden, mesh, [Replicate()])"
    )
