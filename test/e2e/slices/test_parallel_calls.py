"""Heads whose vocabulary is in slices on several processes, in the ways in which training programs
call them, and what becomes of all processes where one fails.
"""

import contextlib

import logitile as lt
import parallel_call_jobs as jobs
import pytest
import torch
from teams import Team
from test_parallel_losses import team


@pytest.mark.contract("7 torch")
@pytest.mark.parametrize(
    "job",
    [jobs.keeping_the_graph, jobs.adding_to_a_buffer, jobs.casting, jobs.without_gradients],
    ids=lambda job: job.__name__,
)
def test_a_way_to_call(job):
    team(2).run(job)


@pytest.mark.contract("7 torch")
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints(use_reentrant):
    team(2).run(jobs.checkpointing, use_reentrant)


@pytest.mark.contract("7 torch")
@pytest.mark.parametrize(
    "job",
    [
        jobs.compiling,
        pytest.param(jobs.compiling_a_shared_weight, marks=pytest.mark.full),
        pytest.param(jobs.compiling_split_tokens, marks=pytest.mark.full),
    ],
    ids=lambda job: job.__name__,
)
def test_compiled_without_a_break(job):
    team(2).run(job)


@pytest.mark.contract("7 collectives")
def test_what_is_sent():
    """Row states once for each sweep, and the sum of one gradient of hidden states; no logits."""
    for forward, all_passes in team(2).run(jobs.counting_collectives, "total_variation", False):
        assert len(forward["gathered"]) == 2 and max(forward["gathered"]) <= 6 * 8 * jobs.TOKENS
        assert all_passes == forward | {"summed": [4 * jobs.TOKENS * jobs.HIDDEN]}


@pytest.mark.contract("7 collectives")
def test_what_is_sent_of_split_tokens():
    """Hidden states are gathered in each pass, and their gradient is scattered."""
    longest = 13
    for forward, all_passes in team(2).run(jobs.counting_collectives, "total_variation", True):
        assert sorted(forward["gathered"])[2:] == 2 * [4 * longest * jobs.HIDDEN]
        assert all_passes["summed"] == []
        assert all_passes["scattered"] == [4 * 2 * longest * jobs.HIDDEN]


@pytest.mark.full
def test_operators_pass_the_checks_of_torch():
    team(2).run(jobs.checking_operators)


def test_outputs_that_nothing_reaches_and_second_derivatives():
    for text in team(2).run(jobs.some_outputs):
        assert text.startswith("a head has no second derivatives")


@pytest.mark.contract("7 dX in float32")
def test_gradients_of_hidden_states_are_rounded_once():
    (found, wide), (other, _) = team(2).run(jobs.rounding_once)
    assert torch.equal(found, other)
    rounded_once = wide.to(torch.bfloat16).float()
    assert (found - wide).norm() <= 1.1 * (
        rounded_once - wide
    ).norm()  # sums in bfloat16 have 1.5 times as much


@pytest.mark.contract("7 data parallel")
@pytest.mark.full
@pytest.mark.parametrize("wrap", ["ddp", "fsdp"])
def test_under_data_parallel_modules(wrap):
    team(4).run(jobs.under_data_parallel, wrap)


@pytest.mark.contract("7 token count")
def test_counts_of_tokens():
    for all_tokens, few, error in team(2).run(jobs.counting):
        assert all_tokens == 12 and few == 9
        assert error == "'target' is torch.float32; it must be a tensor of integers"


# ---- failures ------------------------------------------------------------------------------------

ERRORS = {
    "index": ("CallIndexError", "'target'[5] is 57, outside the vocabulary of 57 entries: it must be 0 to "
              "56 or ignore_index -100"),
    "shape": ("CallValueError", "hidden size 16 of 'hidden' [hidden.shape[0], 16] must equal hidden size 8 "
              "of 'weight' [30, 8], which is [vocabulary, hidden]"),
    "name": ("CallTypeError", "'cross_entropy' has no input 'targets'; did you mean 'target'?"),
    "bool": ("CallTypeError", "'1' is the bool True, but a graph takes tensors and numbers; pass a tensor"),
    "workspace": ("CallValueError", "'workspace' is 1 bytes, but 3 tokens need at least 1."),
}  # fmt: skip


@pytest.mark.contract("7 failures")
@pytest.mark.parametrize("what", ERRORS)
def test_what_one_process_raises_all_raise(what):
    kind, text = ERRORS[what]
    first, last = team(2).attempted(jobs.failing, what)
    assert (first.error, last.error) == (kind, kind), first.trace + last.trace
    assert last.text.startswith(text) and first.text == f"process 1: {last.text}"
    assert max(first.seconds, last.seconds) < 10
    team(2).run(jobs.keeping_the_graph)  # and go on


@pytest.mark.contract("7 failures")
def test_different_calls_are_named():
    for outcome in team(2).attempted(jobs.failing, "other call"):
        assert outcome.error == "CallValueError"
        assert outcome.text.startswith(
            "process 0 calls 'cross_entropy' of hidden float32[24, 16], weight float32[*, 16], target "
            "int64[24], "
        )
        assert "but process 1 calls 'cross_entropy' of hidden float32[6, 16], " in outcome.text


@pytest.mark.contract("7 failures")
def test_a_failure_of_the_backward_pass():
    first, last = team(2).attempted(jobs.failing_backward)
    assert (last.error, last.text) == ("MemoryError", "no bytes are left")
    assert (first.error, first.text) == ("LogitileError", "process 1: no bytes are left (MemoryError)")


@pytest.mark.contract("7 failures")
def test_a_failure_in_a_graph():
    first, last = team(2).attempted(jobs.failing_graph)
    assert first.error == last.error == "CallIndexError" and first.text == f"process 1: {last.text}"


@pytest.mark.contract("7 failures")
def test_a_dead_process_ends_in_the_error_of_the_group():
    with contextlib.closing(Team(2, timeout=8)) as pair:
        first, last = pair.attempted(jobs.dying)
    assert last is None and first.error, first
    assert not hasattr(lt.errors, first.error) and first.seconds < 30


@pytest.mark.full
def test_a_graph_takes_equal_parts_of_tokens():
    for outcome in team(2).attempted(jobs.uneven_parts_in_a_graph):
        assert outcome.text.startswith(
            "the processes have [11, 13] tokens of the first axis, but a traced graph has outputs for equal "
            "parts"
        ), outcome.trace


# ---- without processes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"outputs": "some"}, "outputs='some' is none of 'all' and 'local'"),
        (
            {"outputs": "local"},
            "outputs='local' is for sequence_parallel=True: else every process has all tokens",
        ),
        ({"sequence_parallel": 1}, "sequence_parallel=1 must be True or False"),
        ({}, "torch.distributed has no processes yet; call torch.distributed.init_process_group first"),
    ],
)
def test_options(options, text):
    with pytest.raises(lt.CallError) as caught:
        lt.parallel.vocab_parallel(lt.jit(lt.losses.cross_entropy), **options)
    assert str(caught.value) == text


def test_what_is_no_head():
    with pytest.raises(lt.CallTypeError, match="takes a head of lt.jit, not Loss"):
        lt.parallel.vocab_parallel(lt.losses.cross_entropy)
