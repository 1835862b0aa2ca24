"""Models of Transformers under tensor parallel plans,
whose output layer is in slices of the vocabulary.
"""

import pytest
import tensor_parallel_jobs as jobs
from teams import Team


@pytest.fixture(scope="module")
def pair():
    made = Team(2)
    made.run(jobs.ready)
    yield made
    made.close()


@pytest.fixture(scope="module")
def three():
    made = Team(3)
    made.run(jobs.ready)
    yield made
    made.close()


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_a_plan_of_transformers(three, kind):
    """Untied and tied."""
    three.run(jobs.own_plan, kind)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["llama", "qwen2", "gemma2", "phi", "cohere", "mixtral"])
def test_a_plan_of_transformers_on_two_processes(pair, kind):
    pair.run(jobs.own_plan, kind)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("name", ["output layer", "split tokens"])
def test_a_plan_of_pytorch(three, name):
    three.run(jobs.torch_plan, name)


@pytest.mark.full
@pytest.mark.parametrize("name", list(jobs.PLANS))
def test_a_plan_of_pytorch_on_two_processes(pair, name):
    pair.run(jobs.torch_plan, name)


@pytest.mark.full
@pytest.mark.parametrize("name", ["output layer", "split tokens"])
def test_inputs_of_a_loss(pair, name):
    pair.run(jobs.inputs_of_a_loss, name)


@pytest.mark.full
@pytest.mark.parametrize("is_whole", [False, True])
def test_a_teacher(pair, is_whole):
    pair.run(jobs.teacher, is_whole)


@pytest.mark.full
@pytest.mark.parametrize("name", ["", *jobs.PLANS])
def test_logits_that_are_used_beside_the_loss(pair, name):
    pair.run(jobs.used_logits, name)


JOBS = (
    jobs.generated,
    jobs.adapted,
    jobs.without_the_output_layer,
    jobs.low_precision,
    jobs.compiled,
    jobs.copied,
    jobs.tokens_that_do_not_divide,
    jobs.frozen,
    jobs.saved,
    jobs.with_trainer,
)


@pytest.mark.full
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
def test_models_with_plans(pair, job):
    pair.run(job)


@pytest.mark.full
def test_fsdp_on_another_axis():
    team = Team(4)
    try:
        team.run(jobs.with_fsdp)
    finally:
        team.close()


REMEDY = (
    "use 'colwise_gather_output' in a plan of Transformers, or "
    "ColwiseParallel(output_layouts=Replicate()) of torch.distributed.tensor.parallel"
)
PLAN = "the tensor parallel plan of LlamaForCausalLM"
LAYER = "the output layer of LlamaForCausalLM"
LOGITS = (
    f"{PLAN} gives the logits of its output layer as plain tensors placed as {{}}, but evaluation takes "
    f"those of the whole vocabulary and of all tokens; {REMEDY}"
)
REFUSED = {
    "rows": f"{PLAN} has the style RowwiseParallel for its output layer, but a head takes slices of the "
    f"vocabulary, which ColwiseParallel makes; {REMEDY}",
    "logits": LOGITS.format("S(-1)"),
    "style": LOGITS.format("S(-1)"),
    "logits of tokens": LOGITS.format("S(1)"),
    "features": f"{PLAN} gives its output layer hidden states placed as S(-1), but a head takes "
    "Replicate(), or Shard of an axis of tokens; set input_layouts of the layer so",
    "weight": f"the weight of {LAYER} is placed as [Shard(dim=1)], but a head takes slices of the "
    f"vocabulary, [Shard(dim=0)]; {REMEDY}; for a tied embedding use 'embedding_rowwise', or "
    "RowwiseParallel",
    "plain weight": f"{LAYER} is under a tensor parallel plan, but its weight is a plain tensor; give the "
    "weight a rule in the plan, too",
    "no plan": f"the weight of {LAYER} is sharded over processes (a DTensor placed as [Shard(dim=0)]), but "
    "no tensor parallel plan says where its hidden states are; patch the model before FSDP, and name the "
    "output layer in a tensor parallel plan",
    "few entries": f"{LAYER} has 4 vocabulary entries, of which the last of 3 processes gets none; use "
    "fewer processes for the slices",
    "teacher": "the output layer of 'teacher' is under a tensor parallel plan on DeviceMesh((3,), 'cpu', "
    "stride=(1,)), but that of LlamaForCausalLM is under none; load both models with a plan on one mesh",
    "copied": f"{LAYER} was copied under its tensor parallel plan, and its forward is still that of the "
    "other layer; leave it out of what is copied, such as modules_to_save",
    "adapter": f"{LAYER} is a Linear around a layer under a tensor parallel plan, but its adapter has no "
    "plan; leave the output layer out of target_modules",
    "fsdp": "the weight of the output layer of FSDPLlamaForCausalLM is on DeviceMesh((data=1, tensor=3), "
    "'cpu', stride=((), 1)), but its tensor parallel plan is on DeviceMesh((tensor=3), 'cpu', "
    "stride=(1,)); patch the model before FSDP shards it",
}


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize("case", list(REFUSED))
def test_plans_that_cannot_be(three, case):
    assert three.run(jobs.refused, case)[0] == REFUSED[case]
