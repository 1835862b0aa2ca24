"""Coefficients of drop-ins in tensors without axes: the values of numbers, gradients,
and no compiling.
"""

import logitile as lt
import pytest
import torch
from logitile.integrations import cut_cross_entropy, pytorch, torchtune, trl
from logitile.integrations.liger import chunked_loss, ops, transformers

BATCH, LENGTH, HIDDEN, VOCAB = 4, 6, 16, 61
TOKENS = BATCH * LENGTH


def drawn(*shape, seed=0, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


HIDDEN_STATES, WEIGHT = drawn(BATCH, LENGTH, HIDDEN), drawn(VOCAB, HIDDEN, seed=1, scale=0.5)
TEACHER = drawn(BATCH, LENGTH, HIDDEN, seed=2), drawn(VOCAB, HIDDEN, seed=3, scale=0.5)
LABELS = torch.randint(VOCAB, (BATCH, LENGTH), generator=torch.Generator().manual_seed(4))
LABELS[0, :2] = -100
ANSWERS = LABELS.clamp(min=0)
FLAT, FLAT_TEACHER, FLAT_LABELS = HIDDEN_STATES.flatten(0, 1), TEACHER[0].flatten(0, 1), LABELS.flatten()
MASK, ADVANTAGES = torch.ones(BATCH, LENGTH), drawn(BATCH, seed=5)
OLD, REFERENCE = (drawn(BATCH, LENGTH, seed=seed, scale=0.3) - 4.5 for seed in (6, 7))
STORED = drawn(TOKENS, VOCAB, seed=8).softmax(-1)


def cross_entropy(weight, **options):
    options = {"reduction": "sum"} | options
    return transformers.liger_fused_linear_cross_entropy(FLAT, weight, FLAT_LABELS, **options)


def weighted(weight, **options):
    class_weight = drawn(VOCAB, seed=9).abs() + 0.1
    return cross_entropy(weight, ce_weight=class_weight, reduction="mean", **options)


def divergence(weight, **options):
    return transformers.liger_fused_linear_jsd(FLAT, weight, FLAT_TEACHER, TEACHER[1], FLAT_LABELS, **options)


def stored(weight, **options):
    return transformers.liger_fused_linear_kl_div(FLAT, weight, STORED, FLAT_LABELS, **options)


def scaled(weight, **options):
    results = ops.LigerFusedLinearScaledCrossEntropyFunction.apply(
        FLAT, weight, FLAT_LABELS, return_entropy=True, selected_token_ids=torch.tensor([5, 9]), **options
    )
    return sum(result.sum() for result in results)


def distilled(weight, **options):
    return chunked_loss.liger_fused_linear_jsd(FLAT, weight, FLAT_TEACHER, TEACHER[1], FLAT_LABELS, **options)


def cosine(weight, **options):
    return chunked_loss.liger_fused_linear_cosine(
        FLAT, weight, FLAT_TEACHER, TEACHER[1], FLAT_LABELS, **options
    )


def dpo(loss_type):
    def run(weight, **options):
        return chunked_loss.liger_fused_linear_dpo(
            HIDDEN_STATES,
            weight,
            ANSWERS,
            None,
            *TEACHER,
            loss_type=loss_type,
            compute_nll_loss=True,
            **options,
        )[0]

    return run


def pairs(name):
    return lambda weight, **options: getattr(chunked_loss, f"liger_fused_linear_{name}")(
        HIDDEN_STATES, weight, ANSWERS, **options
    )[0]


def kto(weight, **options):
    good = torch.tensor([True, False, True, True])
    return chunked_loss.liger_fused_linear_kto(
        HIDDEN_STATES, weight, ANSWERS, good, None, *TEACHER, average_log_prob=True, **options
    )[0]


def grpo(loss_type):
    def run(weight, **options):
        return chunked_loss.liger_fused_linear_grpo(
            HIDDEN_STATES, weight, ANSWERS, MASK, ADVANTAGES, ref_per_token_logps=REFERENCE,
            old_per_token_logps=OLD, loss_type=loss_type, **options,
        )[0]  # fmt: skip

    return run


def of_pytorch(weight, **options):
    return pytorch.linear_cross_entropy(FLAT, weight, FLAT_LABELS, **options)


def soft_of_pytorch(weight, **options):
    return pytorch.linear_cross_entropy(FLAT, weight, STORED, **options)


def symmetric(weight, **options):
    loss = torchtune.SymmetricKLLoss(**options)
    return loss((HIDDEN_STATES, weight), TEACHER, LABELS)


def grpo_of_torchtune(weight, **options):
    model = torch.nn.Module()
    model.output = torch.nn.Linear(HIDDEN, VOCAB, bias=False)
    del model.output.weight
    model.output.weight = weight
    loss = torchtune.LinearGRPOLoss(**options)
    loss.set_model_output(model)
    return loss(HIDDEN_STATES, ANSWERS, REFERENCE, ADVANTAGES)[0]


def logprobs_of_trl(weight, **options):
    log_probs, entropy, *_ = trl.ChunkedLogProbFunction.apply(
        FLAT, weight, None, ANSWERS.flatten(), chunk_size=256, **options
    )
    return log_probs.mean() + entropy.mean()


def divergence_of_trl(weight, **options):
    options = {"beta": 0.3} | options
    return trl.ChunkedDivergenceFunction.apply(
        FLAT, weight, None, FLAT_TEACHER, TEACHER[1], None, **options
    )[0].mean()  # fmt: skip


CASES = {
    "liger, smoothing": (cross_entropy, "label_smoothing", (0.1, 0.2, 0.4)),
    "liger, z-loss": (cross_entropy, "lse_square_scale", (0.1, 0.01, 0.2)),
    "liger, z-loss beside weights": (weighted, "lse_square_scale", (0.1, 0.01, 0.2)),
    "liger, share": (divergence, "jsd_beta", (0.2, 0.5, 0.9)),
    "liger, temperature of the divergence": (divergence, "temperature", (0.8, 1.5, 2.0)),
    "liger, stored targets": (stored, "temperature", (0.8, 1.5, 2.0)),
    "liger, least probability": (stored, "eps", (0.05, 0.1, 0.2)),
    "liger, scaled": (scaled, "temperature", (0.8, 1.5, 2.0)),
    "liger, distillation, share": (distilled, "beta", (0.5, 0.2, 0.9)),
    "liger, distillation, temperature": (distilled, "temperature", (0.8, 1.5, 2.0)),
    "liger, distillation, hard": (distilled, "weight_hard_loss", (0.2, 0.5, 0.9)),
    "liger, distillation, soft": (distilled, "weight_soft_loss", (0.2, 0.5, 0.9)),
    "liger, cosine": (cosine, "beta", (0.2, 0.5, 0.9)),
    "liger, DPO": (dpo("sigmoid"), "beta", (0.1, 0.2, 0.3)),
    "liger, DPO, alpha": (dpo("sigmoid"), "alpha", (0.5, 1.0, 2.0)),
    "liger, DPO, exo": (dpo("exo_pair"), "label_smoothing", (0.1, 0.2, 0.3)),
    "liger, DPO, robust": (dpo("robust"), "label_smoothing", (0.1, 0.2, 0.3)),
    "liger, DPO, sppo": (dpo("sppo_hard"), "beta", (0.5, 0.7, 0.9)),
    "liger, DPO, discopop": (dpo("discopop"), "discopop_tau", (0.5, 0.7, 0.9)),
    "liger, CPO": (pairs("cpo"), "label_smoothing", (0.1, 0.2, 0.3)),
    "liger, CPO, alpha": (pairs("cpo"), "alpha", (0.1, 0.2, 0.3)),
    "liger, SimPO": (pairs("simpo"), "gamma", (0.1, 0.2, 0.3)),
    "liger, ORPO": (pairs("orpo"), "beta", (0.1, 0.2, 0.3)),
    "liger, KTO": (kto, "beta", (0.1, 0.2, 0.3)),
    "liger, GRPO, temperature": (grpo("dapo"), "temperature", (0.8, 1.0, 1.2)),
    "liger, GRPO, penalty": (grpo("dapo"), "beta", (0.1, 0.2, 0.3)),
    "liger, GRPO, lower bound": (grpo("grpo"), "epsilon_low", (0.1, 0.2, 0.3)),
    "liger, GRPO, upper bound": (grpo("bnpo"), "epsilon_high", (0.1, 0.2, 0.3)),
    "liger, GRPO, delta": (grpo("bnpo"), "delta", (1.3, 1.5, 1.7)),
    "liger, SAPO": (grpo("sapo"), "sapo_temperature_pos", (1.0, 1.1, 1.2)),
    "pytorch": (of_pytorch, "label_smoothing", (0.1, 0.2, 0.4)),
    "pytorch, probabilities": (soft_of_pytorch, "label_smoothing", (0.1, 0.2, 0.4)),
    "torchtune": (symmetric, "sym_kd_ratio", (0.2, 0.5, 0.9)),
    "torchtune, GRPO": (grpo_of_torchtune, "kl_coeff", (0.1, 0.2, 0.3)),
    "TRL": (logprobs_of_trl, "temperature", (0.8, 1.5, 2.0)),
    "TRL, share": (divergence_of_trl, "beta", (0.2, 0.5, 0.9)),
    "TRL, temperature": (divergence_of_trl, "temperature", (0.8, 1.5, 2.0)),
}  # fmt: skip
CONSTANT = {
    "liger, CISPO": (grpo("cispo"), "epsilon_high", (1.5, 2.0, 2.5)),
    "liger, VESPO": (grpo("vespo"), "vespo_k_pos", (1.5, 2.0, 2.5)),
    "liger, VESPO, rate": (grpo("vespo"), "vespo_lambda_neg", (1.5, 2.0, 2.5)),
}
every = pytest.mark.parametrize("name", CASES)


def outcome(run, option, value):
    """The loss, and the gradient of the weight."""
    weight = torch.nn.Parameter(WEIGHT.clone())
    loss = run(weight, **{option: value})
    loss.backward()
    return loss.detach(), weight.grad


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("name", CASES | CONSTANT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_tensor_is_its_number_and_compiles_nothing(name, dtype):
    run, option, values = (CASES | CONSTANT)[name]
    for step, value in enumerate(values):
        before = len(lt.history())
        found = outcome(run, option, torch.tensor(value, dtype=dtype))
        compiled = [record for record in lt.history()[before:] if record["event"] == "compile"]
        assert not (step and compiled)
        wanted = outcome(run, option, value)
        assert found[0].dtype == wanted[0].dtype == torch.float32
        torch.testing.assert_close(found, wanted, rtol=2e-5, atol=1e-6)


@every
def test_a_tensor_that_requires_a_gradient_gets_one(name):
    """The difference of two calls with numbers, from which a kink is far enough."""
    run, option, values = CASES[name]
    coefficient = torch.tensor(values[1], requires_grad=True)
    loss, _ = outcome(run, option, coefficient)
    step = 4e-3
    above, below = (run(WEIGHT, **{option: values[1] + sign * step}) for sign in (1, -1))
    slope = (above.double() - below.double()) / (2 * step)
    assert loss.isfinite()
    torch.testing.assert_close(coefficient.grad.double(), slope, rtol=1e-2, atol=1e-3)
    assert abs(slope) > 3e-3  # else this test says nothing


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("name", "why"), [
    ("liger, CISPO", "the bounded ratio of loss_type='cispo' is a constant"),
    ("liger, VESPO", "the weights of loss_type='vespo' are constants"),
    ("liger, VESPO, rate", "the weights of loss_type='vespo' are constants"),
])  # fmt: skip
def test_gradients_that_cannot_be_made(name, why):
    run, option, values = CONSTANT[name]
    coefficient = torch.tensor(values[0], requires_grad=True)
    with pytest.raises(lt.CallValueError) as caught:
        run(WEIGHT, **{option: coefficient})
    assert str(caught.value) == f"{option} requires a gradient, but {why}; give {option}.detach()"
    with torch.no_grad():
        assert run(WEIGHT, **{option: coefficient}).isfinite()


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize(("run", "option"), [
    (divergence, "jsd_beta"), (distilled, "beta"), (divergence_of_trl, "beta"),
])  # fmt: skip
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_share_of_the_teacher_that_reaches_an_end(run, option, value):
    """At 0 and 1 numbers mean the two divergences themselves, and so do tensors."""
    share = torch.tensor(value, requires_grad=True)
    torch.testing.assert_close(outcome(run, option, share), outcome(run, option, value), rtol=2e-5, atol=1e-6)
    assert share.grad == 0


@pytest.mark.parametrize("name", [
    "liger, smoothing", "liger, z-loss", "liger, share", "liger, distillation, hard", "pytorch", "TRL, share",
])  # fmt: skip
def test_a_coefficient_of_zero_has_a_gradient(name):
    """Its term is there, though a number of 0 would leave it out."""
    run, option, _ = CASES[name]
    coefficient = torch.tensor(0.0, requires_grad=True)
    found, wanted = outcome(run, option, coefficient), outcome(run, option, 0.0)
    torch.testing.assert_close(found, wanted, rtol=2e-5, atol=1e-6)
    assert coefficient.grad is not None


@pytest.mark.parametrize("name", ["liger, smoothing", "liger, share", "pytorch", "TRL, temperature"])
def test_one_graph_serves_all_tensors(name):
    run, option, values = CASES[name]
    torch._dynamo.reset()
    weight = torch.nn.Parameter(WEIGHT.clone())
    compiled = torch.compile(
        lambda value: run(weight, **{option: value}), fullgraph=True, backend="aot_eager"
    )
    with torch._dynamo.config.patch(error_on_recompile=True):
        for value in values:
            coefficient = torch.tensor(value, requires_grad=True)
            plain = torch.tensor(value, requires_grad=True)
            compiled(coefficient).backward()
            run(weight, **{option: plain}).backward()
            torch.testing.assert_close(coefficient.grad, plain.grad)


def test_a_transformation_of_torch_func():
    def loss(value):
        return cross_entropy(WEIGHT, label_smoothing=value)

    found = torch.func.grad(loss)(torch.tensor(0.2))
    coefficient = torch.tensor(0.2, requires_grad=True)
    loss(coefficient).backward()
    torch.testing.assert_close(found, coefficient.grad)


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("run", "option", "value", "message"), [
    (cross_entropy, "label_smoothing", torch.tensor(1.5), "label_smoothing=1.5 must be a number from 0 to 1"),
    (cross_entropy, "label_smoothing", torch.tensor([0.1]),
     "label_smoothing has shape (1,); it must be a number, or a tensor without axes"),
    (cross_entropy, "label_smoothing", torch.tensor(True),
     "label_smoothing is a tensor of bool; it must be a number, or a tensor of numbers"),
    (cross_entropy, "lse_square_scale", torch.tensor(float("nan")),
     "lse_square_scale=nan must be a finite number"),
    (divergence, "jsd_beta", torch.tensor(-0.5), "jsd_beta=-0.5 must be a number from 0 to 1"),
    (divergence, "temperature", torch.tensor(0.0),
     "temperature=0 is no temperature; give a number other than 0"),
    (stored, "eps", torch.zeros(2), "eps has shape (2,); it must be a number, or a tensor without axes"),
    (scaled, "temperature", torch.tensor(-2.0), "temperature=-2.0 must be a finite number above 0"),
    (distilled, "weight_hard_loss", torch.ones(1),
     "weight_hard_loss has shape (1,); it must be a number, or a tensor without axes"),
    (cosine, "beta", torch.ones(1), "beta has shape (1,); it must be a number, or a tensor without axes"),
    (dpo("exo_pair"), "label_smoothing", torch.tensor(0.0),
     "label_smoothing must be > 0 for loss_type='exo_pair', and below 1, but is 0.0"),
    (grpo("bnpo"), "delta", torch.tensor(-1.0), "delta=-1.0 must be above 0"),
    (of_pytorch, "label_smoothing", torch.tensor(2.0), "label_smoothing=2.0 must be a number from 0 to 1"),
    (symmetric, "sym_kd_ratio", torch.tensor(2.0), "sym_kd_ratio=2.0 must be a number from 0 to 1"),
    (divergence_of_trl, "beta", torch.tensor(2.0), "beta=2.0 must be a number from 0 to 1"),
    (divergence_of_trl, "temperature", torch.ones(1),
     "temperature has shape (1,); it must be a number, or a tensor without axes"),
])  # fmt: skip
def test_tensors_that_are_refused(run, option, value, message):
    with pytest.raises(lt.CallError) as caught:
        run(WEIGHT, **{option: value})
    assert str(caught.value) == message


def test_what_is_returned_beside_the_loss_has_no_gradient():
    scale = torch.tensor(0.1, requires_grad=True)
    result = cross_entropy(WEIGHT, lse_square_scale=scale, return_z_loss=True)
    assert result.loss.requires_grad and not result.z_loss.requires_grad


# ---- numbers that are compiled into the kernels --------------------------------------------------


def capped(weight, **options):
    return cut_cross_entropy.linear_cross_entropy(FLAT, weight, FLAT_LABELS, **options)


BOUND = (
    (cross_entropy, "softcap"),
    (capped, "softcap"),
    (logprobs_of_trl, "final_logit_softcapping"),
    (logprobs_of_trl, "logit_scale"),
    (divergence_of_trl, "student_final_logit_softcapping"),
    (divergence_of_trl, "teacher_logit_scale"),
)


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("run", "option"), BOUND)
def test_tensors_for_constants(run, option):
    """They are taken as the numbers that they are, and refused where a gradient would be lost."""
    options = {"temperature": 1.0} if run is logprobs_of_trl else {}
    wanted = run(WEIGHT, **{option: 2.5}, **options)
    assert torch.equal(run(WEIGHT, **{option: torch.tensor(2.5)}, **options), wanted)
    with pytest.raises(lt.CallValueError) as caught:
        run(WEIGHT, **{option: torch.tensor(2.5, requires_grad=True)}, **options)
    assert str(caught.value) == (
        f"{option} requires a gradient, but it is a constant of the kernels; give {option}.detach()"
    )
    with pytest.raises(lt.CallValueError, match="requires a gradient"):
        torch.func.grad(lambda value: run(WEIGHT, **{option: value}, **options))(torch.tensor(2.5))
