"""logitile.integrations.trl against its formulas on dense logits, in float64."""

import sys
import types

import logitile as lt
import pytest
import torch
from dense import check
from logitile.integrations import transformers, trl
from tiny_models import batch, build

TOKENS, HIDDEN, VOCAB = 37, 16, 70
OUTPUTS = ("entropy", "log_sum_sq_probs", "mean_logits", "is_top1")


def drawn(seed, *shape, dtype=torch.float32, scale=1.0):
    made = scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return made.to(dtype).requires_grad_()


def arguments(dtype=torch.float32, biased=False):
    targets = torch.randint(VOCAB, (TOKENS,), generator=torch.Generator().manual_seed(3))
    return {
        "hidden": drawn(0, TOKENS, HIDDEN, dtype=dtype),
        "weight": drawn(1, VOCAB, HIDDEN, dtype=dtype),
        "bias": drawn(2, VOCAB, dtype=dtype) if biased else None,
        "targets": targets,
    }


log_probabilities = trl.ChunkedLogProbFunction.apply


def logits(hidden, weight, bias, scale, softcap, temperature):
    z = hidden @ weight.T
    z = (z if bias is None else z + bias) * scale
    return (z if softcap is None else softcap * torch.tanh(z / softcap)) / temperature


def dense_log_probs(
    hidden, weight, bias, targets, temperature, chunk_size, final_logit_softcapping=None, logit_scale=1.0,
    outputs=OUTPUTS,
):  # fmt: skip
    z = logits(hidden, weight, bias, logit_scale, final_logit_softcapping, temperature)
    log_p = z.log_softmax(-1)
    found = {
        "entropy": -(log_p.exp() * log_p).sum(-1),
        "log_sum_sq_probs": (2 * log_p).logsumexp(-1).detach(),
        "mean_logits": z.mean(-1).detach(),
        "is_top1": z.argmax(-1) == targets,
    }
    others = (found[name] if name in outputs else None for name in OUTPUTS)
    return (log_p.gather(-1, targets[:, None])[:, 0], *others)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("options", [
    {"temperature": 1.0}, {"temperature": 0.7, "logit_scale": 0.25, "final_logit_softcapping": 3.0},
    {"temperature": 1.0, "outputs": ("log_probs",)}, {"temperature": 2.0, "outputs": ("is_top1",)},
])  # fmt: skip
def test_log_probabilities(biased, options):
    check(log_probabilities, dense_log_probs, arguments(biased=biased), chunk_size=8, **options)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_results_are_float32(dtype):
    given = arguments(dtype, biased=True)
    check(log_probabilities, dense_log_probs, given, tolerance=2e-2, temperature=1.0, chunk_size=8)
    results = trl.ChunkedLogProbFunction.apply(*given.values(), 1.0, 8)
    assert [result.dtype for result in results] == [torch.float32] * 4 + [torch.bool]


def test_the_weight_is_converted_to_the_type_of_hidden_states():
    given = arguments()
    given["weight"] = given["weight"].detach().bfloat16().requires_grad_()
    check(log_probabilities, dense_log_probs, given, tolerance=1e-2, temperature=1.0, chunk_size=8)


def test_another_temperature_compiles_nothing():
    given = arguments()
    for temperature in (1.0, 0.9, 0.8):
        trl.ChunkedLogProbFunction.apply(*given.values(), temperature, 8)[0].sum().backward()
    assert [record["event"] for record in lt.history()[-4:]] == ["hit"] * 4


# ---- divergences ---------------------------------------------------------------------------------


def pair_of_models(biased=False, rows=VOCAB):
    given = {
        "student_hidden": drawn(0, TOKENS, HIDDEN),
        "student_weight": drawn(1, VOCAB, HIDDEN),
        "student_bias": drawn(2, VOCAB) if biased else None,
        "teacher_hidden": drawn(4, TOKENS, 24).detach(),
        "teacher_weight": drawn(5, rows, 24).detach(),
        "teacher_bias": drawn(6, rows).detach() if biased else None,
    }
    return given


def dense_divergence(
    student_hidden, student_weight, student_bias, teacher_hidden, teacher_weight, teacher_bias, beta,
    temperature=1.0, student_logit_scale=1.0, student_final_logit_softcapping=None, teacher_logit_scale=1.0,
    teacher_final_logit_softcapping=None,
):  # fmt: skip
    taught = teacher_weight[:VOCAB], None if teacher_bias is None else teacher_bias[:VOCAB]
    ways = (
        (student_hidden, student_weight, student_bias, student_logit_scale, student_final_logit_softcapping),
        (teacher_hidden, *taught, teacher_logit_scale, teacher_final_logit_softcapping),
    )
    log_p, log_q = (logits(*way, temperature).log_softmax(-1) for way in ways)
    entropy = -(log_p.exp() * log_p).sum(-1).detach()
    if beta in (0, 1):
        first, second = (log_q, log_p) if beta == 0 else (log_p, log_q)
        return (first.exp() * (first - second)).sum(-1), entropy
    log_m = ((1 - beta) * log_p.exp() + beta * log_q.exp()).log()
    mixed = beta * log_q.exp() * (log_q - log_m) + (1 - beta) * log_p.exp() * (log_p - log_m)
    return mixed.sum(-1), entropy


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("biased", "options"), [
    (False, {}),
    (True, {"temperature": 2.0, "student_logit_scale": 0.5, "teacher_final_logit_softcapping": 4.0}),
    (True, {"student_final_logit_softcapping": 3.0, "teacher_logit_scale": 0.25}),
])  # fmt: skip
def test_divergences(beta, biased, options):
    given = pair_of_models(biased)
    check(trl.ChunkedDivergenceFunction.apply, dense_divergence, given, beta=beta, **options)


def test_rows_of_padding_of_a_teacher_are_left_out():
    check(trl.ChunkedDivergenceFunction.apply, dense_divergence, pair_of_models(True, VOCAB + 10), beta=0.5)


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.contract("8 refusals")
def test_values_that_cannot_be():
    given = pair_of_models()
    with pytest.raises(lt.CallValueError, match=r"beta=1.5 must be a number from 0 to 1"):
        trl.ChunkedDivergenceFunction.apply(*given.values(), 1.5)
    with pytest.raises(lt.CallValueError, match="final_logit_softcapping=0 must be a number above 0"):
        trl.ChunkedLogProbFunction.apply(*arguments().values(), 1.0, 8, 0)
    partitioned = arguments()
    partitioned["weight"].ds_id = 0
    with pytest.raises(lt.CallTypeError, match="partitioned by DeepSpeed ZeRO-3"):
        trl.ChunkedLogProbFunction.apply(*partitioned.values(), 1.0, 8)


def test_a_patched_model_refuses_the_call_of_a_trainer_of_trl():
    with pytest.raises(lt.CallTypeError, match="call logitile.integrations.trl.patch"):
        transformers.patch(build())(**batch(), fused_lm_head=True)


def test_another_version_of_trl_is_refused(monkeypatch):
    names = ("trl", "trl.trainer", "trl.trainer.utils", "trl.trainer.distillation_trainer")
    for name in names:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["trl"].__version__ = "1.2.0"
    with pytest.raises(lt.CallTypeError, match=r"TRL 1\.2\.0 has no trl\.trainer\.utils\._ChunkedLogProb"):
        trl.patch()
