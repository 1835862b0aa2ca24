"""logitile.integrations.liger.chunked_loss against its formulas on dense logits, in float64."""

import inspect

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import check, close
from logitile.integrations.liger import chunked_loss as mine

BATCH, LENGTH, HIDDEN, VOCAB = 6, 7, 16, 53
HALF = BATCH // 2


def arguments(biased=True):
    torch.manual_seed(0)
    target = torch.randint(VOCAB, (BATCH, LENGTH))
    target[:, -1], target[1, 3:] = -100, -100
    given = {
        "_input": torch.randn(BATCH, LENGTH, HIDDEN, requires_grad=True),
        "weight": (0.5 * torch.randn(VOCAB, HIDDEN)).requires_grad_(),
        "target": target,
    }
    return given | ({"bias": torch.randn(VOCAB, requires_grad=True)} if biased else {})


def reference():
    torch.manual_seed(1)
    return {
        "ref_input": torch.randn(BATCH, LENGTH, HIDDEN + 2),
        "ref_weight": 0.5 * torch.randn(VOCAB, HIDDEN + 2),
        "ref_bias": torch.randn(VOCAB),
    }


def logits(hidden, weight, bias=None):
    z = hidden @ weight.T
    return z if bias is None else z + bias


def token_logps(z, target):
    picked = z.log_softmax(-1).gather(-1, target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return torch.where(target == -100, 0.0, picked)


def sequence_logps(z, target, average):
    total = token_logps(z, target).sum(-1)
    return total / (target != -100).sum(-1) if average else total


def flat(result):
    """(loss, (outputs)) as one tuple."""
    return (result[0], *result[1])


def compare(function, formula, given, **options):
    check(lambda **g: flat(function(**g, **options)), formula, given)


# ---- pairs ---------------------------------------------------------------------------------------


def pairs(preference, average, alpha=1.0, has_nll=True, nll_target=None, has_reference=False):
    """A loss of pairs: `preference(chosen, rejected)` gives a loss per pair, and outputs."""

    def run(_input, weight, target, bias=None, ref_input=None, ref_weight=None, ref_bias=None):
        z = logits(_input, weight, bias)
        logps = sequence_logps(z, target, average)
        chosen, rejected = logps[:HALF], logps[HALF:]
        nll = torch.zeros((), dtype=torch.float64)
        if has_nll:
            wanted = target if nll_target is None else nll_target
            nll = F.cross_entropy(z[:HALF].flatten(0, 1), wanted[:HALF].flatten())
        before = (0.0, 0.0)
        if has_reference:
            other = sequence_logps(logits(ref_input, ref_weight, ref_bias), target, average)
            before = other[:HALF], other[HALF:]
        per_pair, *more = preference(chosen - before[0], rejected - before[1])
        outputs = (chosen, rejected, z[:HALF].mean(), z[HALF:].mean(), nll, *more)
        return alpha * nll + per_pair.mean(), *(output.detach() for output in outputs)

    return run


BETA, SMOOTHING, TAU = 0.25, 0.125, 0.5
SIGMOID, LOG = torch.sigmoid, F.logsigmoid
DPO = {
    "sigmoid": lambda c, r: -LOG(c - r),
    "hinge": lambda c, r: (1 - (c - r)).clamp(min=0),
    "exo_pair": lambda c, r: (
        SIGMOID(c - r) * (LOG(c - r) - torch.tensor(1 - SMOOTHING).log())
        + SIGMOID(r - c) * (LOG(r - c) - torch.tensor(SMOOTHING).log())
    ),
    "nca_pair": lambda c, r: -LOG(c) - 0.5 * LOG(-c) - 0.5 * LOG(-r),
    "robust": lambda c, r: ((SMOOTHING - 1) * LOG(c - r) + SMOOTHING * LOG(r - c)) / (1 - 2 * SMOOTHING),
    "bco_pair": lambda c, r: -LOG(c) - LOG(-r),
    "sppo_hard": lambda c, r: (c / BETA - 0.5 / BETA) ** 2 + (r / BETA + 0.5 / BETA) ** 2,
    "apo_zero": lambda c, r: 1 - SIGMOID(c) + SIGMOID(r),
    "apo_down": lambda c, r: SIGMOID(c) + 1 - SIGMOID(c - r),
    "discopop": lambda c, r: (
        -LOG(c - r) * (1 - SIGMOID((c - r) / TAU)) + (r - c).exp() * SIGMOID((c - r) / TAU)
    ),
}


def rewarded(kind):
    """A loss of DPO by its name, of log-ratios, and rewards."""
    return lambda c, r: (DPO[kind](BETA * c, BETA * r), BETA * c, BETA * r)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("kind", DPO)
def test_types_of_dpo(kind):
    options = {"loss_type": kind, "beta": BETA, "label_smoothing": SMOOTHING, "discopop_tau": TAU}
    formula = pairs(rewarded(kind), average=False, has_nll=False, has_reference=True)
    compare(mine.liger_fused_linear_dpo, formula, arguments() | reference(), **options)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_dpo_with_the_loss_of_text(average, biased):
    options = {"beta": BETA, "compute_nll_loss": True, "alpha": 0.5, "average_log_prob": average}
    formula = pairs(rewarded("sigmoid"), average, alpha=0.5)
    compare(
        mine.liger_fused_linear_dpo, formula, arguments(biased), use_ref_model=False, chunk_size=2, **options
    )


def margin(gamma):
    def run(c, r):
        m = BETA * (c - r) - gamma
        return -(1 - SMOOTHING) * LOG(m) - SMOOTHING * LOG(-m), BETA * c, BETA * r

    return run


def test_cpo():
    for average in (False, True):
        compare(
            mine.liger_fused_linear_cpo, pairs(margin(0.0), average, alpha=0.75), arguments(), beta=BETA,
            alpha=0.75, label_smoothing=SMOOTHING, average_log_prob=average,
        )  # fmt: skip


def test_simpo():
    for has_nll in (False, True):
        compare(
            mine.liger_fused_linear_simpo, pairs(margin(0.75), True, has_nll=has_nll), arguments(), beta=BETA,
            label_smoothing=SMOOTHING, gamma=0.75, compute_nll_loss=has_nll,
        )  # fmt: skip


@pytest.mark.parametrize("own_target", [False, True])
def test_orpo(own_target):
    nll_target = torch.randint(VOCAB, (BATCH, LENGTH)) if own_target else None

    def odds(c, r):
        log_odds = (c.exp() / (1 - c.exp())).log() - (r.exp() / (1 - r.exp())).log()
        ratio = LOG(log_odds)
        return -BETA * ratio, BETA * c, BETA * r, ratio.mean(), log_odds.mean()

    formula = pairs(odds, average=True, nll_target=nll_target)
    compare(mine.liger_fused_linear_orpo, formula, arguments(), beta=BETA, nll_target=nll_target)


# ---- answers by themselves -----------------------------------------------------------------------

GOOD = torch.tensor([True, False, False, True, True, False])


@pytest.mark.contract("8 corners")
@pytest.mark.parametrize("name", ["dpo", "cpo", "simpo", "orpo"])
def test_no_pairs(name):
    """As in Liger: the means are NaN, and gradients are 0."""
    given = arguments()
    empty = {key: item[:0] if key in ("_input", "target") else item for key, item in given.items()}
    before = {key: item[:0] if key == "ref_input" else item for key, item in reference().items()}
    empty |= before if name == "dpo" else {}
    loss, outputs = getattr(mine, f"liger_fused_linear_{name}")(**empty)
    assert loss.isnan() and outputs[0].shape == outputs[1].shape == (0,)
    assert outputs[2].isnan() and outputs[3].isnan()
    loss.backward()
    assert not given["weight"].grad.any() and not given["bias"].grad.any()


@pytest.mark.parametrize("name", ["dpo", "cpo", "simpo", "orpo"])
def test_an_odd_number_of_answers_is_refused(name):
    """Liger compares one chosen answer of three with both others."""
    given = arguments() | (reference() if name == "dpo" else {})
    odd = {key: item[:3] if item.shape[0] == BATCH else item for key, item in given.items()}
    with pytest.raises(lt.CallValueError) as caught:
        getattr(mine, f"liger_fused_linear_{name}")(**odd)
    assert str(caught.value) == (
        "'target' has 3 answers, an odd number; give the chosen ones, then as many rejected ones"
    )


@pytest.mark.parametrize("has_reference", [False, True])
@pytest.mark.parametrize("kl", [None, torch.tensor([0.5])])
@pytest.mark.parametrize("average", [False, True])
def test_kto(has_reference, kl, average):
    def formula(_input, weight, target, bias, ref_input=None, ref_weight=None, ref_bias=None):
        z = logits(_input, weight, bias)
        logps = sequence_logps(z, target, average)
        ratio = logps
        if has_reference:
            ratio = logps - sequence_logps(logits(ref_input, ref_weight, ref_bias), target, average)
        shifted = BETA * (ratio - (0 if kl is None else kl))
        loss = torch.where(GOOD, 1 - SIGMOID(shifted), 1 - SIGMOID(-shifted)).mean()
        values = (logps, z.sum((1, 2)), BETA * ratio)
        return loss, *(value[kept].sum().detach() for value in values for kept in (GOOD, ~GOOD))

    given = arguments() | (reference() if has_reference else {})
    options = {"beta": BETA, "use_ref_model": has_reference, "average_log_prob": average}
    compare(mine.liger_fused_linear_kto, formula, given, preference_labels=GOOD, kl=kl, **options)


# ---- distillation --------------------------------------------------------------------------------


def two_heads(extra=0, biased=True):
    torch.manual_seed(2)
    given = {
        "student_input": torch.randn(20, HIDDEN, requires_grad=True),
        "student_weight": (0.5 * torch.randn(VOCAB, HIDDEN)).requires_grad_(),
        "teacher_input": torch.randn(20, HIDDEN + 2),
        "teacher_weight": 0.5 * torch.randn(VOCAB + extra, HIDDEN + 2),
        "true_labels": torch.where(torch.rand(20) < 0.3, -100, torch.randint(VOCAB, (20,))),
    }
    if biased:
        given["student_bias"] = torch.randn(VOCAB, requires_grad=True)
        given["teacher_bias"] = torch.randn(VOCAB + extra)
    return given


def divergence(beta, z, t):
    q, p = t.log_softmax(-1), z.log_softmax(-1)
    if beta in (0, 1):
        return (q.exp() * (q - p)).sum(-1) if beta == 0 else (p.exp() * (p - q)).sum(-1)
    m = (beta * q.exp() + (1 - beta) * p.exp()).log()
    return (beta * q.exp() * (q - m) + (1 - beta) * p.exp() * (p - m)).sum(-1)


def distilled(distance, temperature, hard, soft, parts):
    def run(
        student_input, student_weight, teacher_input, teacher_weight, true_labels, student_bias=None,
        teacher_bias=None,
    ):  # fmt: skip
        z = logits(student_input, student_weight, student_bias)
        t = logits(teacher_input, teacher_weight, teacher_bias) / temperature
        nll = F.cross_entropy(z, true_labels)
        padded = F.pad(z / temperature, (0, t.shape[-1] - z.shape[-1]))
        far = distance(padded, t)[true_labels != -100].mean()
        return (hard * nll + soft * far, far.detach(), nll.detach()) if parts else hard * nll + soft * far

    return run


@pytest.mark.parametrize("beta", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("extra", [0, 5])
def test_jsd(beta, parts, extra):
    options = {"weight_hard_loss": 0.25, "weight_soft_loss": 0.75, "beta": beta, "temperature": 2.0}
    formula = distilled(lambda z, t: divergence(beta, z, t), 2.0, 0.25, 0.75, parts)
    module = mine.LigerFusedLinearJSDLoss(**options, chunk_size=9, return_soft_hard_loss=parts)
    check(lambda **given: module(**given), formula, two_heads(extra))


@pytest.mark.parametrize("parts", [False, True])
def test_cosine(parts):
    formula = distilled(lambda z, t: 0.25 * (1 - F.cosine_similarity(z, t, -1)), 1.0, 0.5, 0.5, parts)
    module = mine.LigerFusedLinearCosineSimilarityLoss(beta=0.25, return_soft_hard_loss=parts)
    check(lambda **given: module(**given), formula, two_heads(biased=False))


def test_distance_without_a_cross_entropy():
    formula = distilled(lambda z, t: divergence(0.5, z, t), 1.0, 0.0, 1.0, False)
    check(
        lambda **given: mine.liger_fused_linear_jsd(**given, weight_hard_loss=0.0, weight_soft_loss=1.0),
        formula,
        two_heads(),
    )


def test_distillation_where_no_token_counts():
    given = two_heads()
    given["true_labels"].fill_(-100)
    loss, soft, hard = mine.liger_fused_linear_jsd(**given, return_soft_hard_loss=True)
    loss.backward()
    assert loss == soft == hard == 0 and not given["student_weight"].grad.any()


# ---- policies ------------------------------------------------------------------------------------


def policy_inputs():
    torch.manual_seed(3)
    mask = torch.ones(BATCH, LENGTH)
    mask[0, 4:], mask[2, 2:] = 0, 0
    return {
        "_input": (0.3 * torch.randn(BATCH, LENGTH, HIDDEN)).requires_grad_(),
        "weight": torch.randn(VOCAB, HIDDEN, requires_grad=True),
        "bias": torch.randn(VOCAB, requires_grad=True),
    }, {
        "selected_token_ids": torch.randint(VOCAB, (BATCH, LENGTH)),
        "attention_mask": mask,
        "advantages": torch.tensor([1.0, -0.5, 0.25, -1.5, 0.75, 2.0]),
        "ref_per_token_logps": -3 - torch.rand(BATCH, LENGTH),
        "old_per_token_logps": -4 - torch.rand(BATCH, LENGTH),
    }


def vespo_weight(log_ratio, mask, advantages, correction):
    log_w = (log_ratio.clamp(-20, 20) * mask).sum(-1, keepdim=True)
    if correction is not None:
        log_w = log_w + correction.log().sum(-1, keepdim=True)
    w = log_w.clamp(torch.tensor(1e-8).log().item(), 20).exp()
    k = torch.where(advantages >= 0, 2.0, 3.0)
    rate = torch.where(advantages >= 0, 3.0, 2.0)
    return w**k * (rate * (1 - w)).exp()


def grpo_formula(
    data, loss_type="dapo", level="token", beta=0.04, delta=None, corrects=False, temperature=1.0,
    correction=None, high=0.2, reference=None,
):  # fmt: skip
    """The losses one by one, in the order of Liger's page about them."""

    def run(_input, weight, bias):
        mask, advantages = data["attention_mask"].double(), data["advantages"].double()[:, None]
        z = logits(_input, weight, bias) / temperature
        logp = z.log_softmax(-1).gather(-1, data["selected_token_ids"][..., None])[..., 0]
        old, ref = data["old_per_token_logps"].double(), data["ref_per_token_logps"].double()
        ref = ref if reference is None else reference.double()
        log_ratio = logp - old
        log_w = log_ratio
        if level == "sequence":
            log_w = (log_ratio * mask).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)
        ratio, clipped = log_w.exp(), torch.zeros_like(mask)
        if loss_type == "cispo":
            value = -ratio.clamp(max=high).detach() * advantages * logp
            clipped = ((ratio > high) & (advantages > 0)).double()
        elif loss_type == "sapo":
            heat = torch.where(advantages > 0, 1.0, 1.05)
            value = -4 / heat * SIGMOID(heat * (ratio - 1)) * advantages
        elif loss_type == "vespo":
            value = -vespo_weight(log_ratio, mask, advantages, correction).detach() * advantages * logp
        else:
            first = ratio if delta is None else ratio.clamp(max=delta)
            value = -torch.min(first * advantages, ratio.clamp(0.8, 1.2) * advantages)
            outside = (ratio < 0.8) & (advantages < 0) | (ratio > 1.2) & (advantages > 0)
            clipped = outside.double().expand_as(mask)
        if correction is not None and loss_type != "vespo":
            value = value * correction
        metrics = []
        if beta:
            kl = (ref - logp).exp() - (ref - logp) - 1
            kl = kl * ratio if corrects else kl
            value = value + beta * kl
            metrics.append((kl * mask).sum() / mask.sum())
        metrics.append((clipped * mask).sum() / mask.sum())
        total = (value * mask).sum()
        loss = {
            "grpo": lambda: ((value * mask).sum(-1) / mask.sum(-1)).mean(),
            "bnpo": lambda: total / mask.sum(),
            "dr_grpo": lambda: total / (BATCH * 9),
            "luspo": lambda: (value * mask.sum(-1, keepdim=True)).mean(),
        }
        loss |= {"sapo": loss["grpo"]} | dict.fromkeys(("dapo", "cispo", "vespo"), loss["bnpo"])
        return loss[loss_type](), *(metric.detach() for metric in metrics)

    return run


@pytest.mark.parametrize("loss_type", ["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"])
@pytest.mark.parametrize("beta", [0.0, 0.125])
def test_types_of_grpo(loss_type, beta):
    given, data = policy_inputs()
    options = {"loss_type": loss_type, "beta": beta, "max_completion_length": 9}
    formula = grpo_formula(data, loss_type, beta=beta)
    compare(mine.liger_fused_linear_grpo, formula, given, **data, **options)


@pytest.mark.parametrize("loss_type", ["grpo", "dapo", "luspo"])
def test_ratios_of_sequences(loss_type):
    given, data = policy_inputs()
    options = {
        "loss_type": loss_type,
        "importance_sampling_level": "sequence",
        "use_bias_correction_kl": True,
    }
    formula = grpo_formula(data, loss_type, "sequence", corrects=True)
    compare(mine.liger_fused_linear_grpo, formula, given, **data, **options)


@pytest.mark.parametrize("loss_type", ["dapo", "vespo"])
def test_corrections_and_bounds(loss_type):
    given, data = policy_inputs()
    correction = torch.rand(BATCH, LENGTH) + 0.5
    options = {"delta": 1.5, "use_bias_correction_kl": True, "temperature": 2.0, "chunk_size": 2}
    formula = grpo_formula(
        data, loss_type, delta=1.5, corrects=True, temperature=2.0, correction=correction.double()
    )
    compare(
        mine.liger_fused_linear_grpo, formula, given, **data, vllm_is_ratio=correction, loss_type=loss_type,
        **options,
    )  # fmt: skip


def test_a_reference_model():
    given, data = policy_inputs()
    other = reference()
    z = logits(other["ref_input"], other["ref_weight"], other["ref_bias"])
    logps = z.double().log_softmax(-1).gather(-1, data["selected_token_ids"][..., None])[..., 0]
    formula = grpo_formula(data, reference=logps)
    options = {**data, **other, "ref_per_token_logps": None}
    compare(mine.liger_fused_linear_grpo, formula, given, **options)


def test_tokens_of_a_whole_batch():
    given, data = policy_inputs()
    mine_loss, _ = mine.liger_fused_linear_grpo(**given, **data)
    other, _ = mine.liger_fused_linear_grpo(**given, **data, num_items_in_batch=100)
    assert close(other, mine_loss * data["attention_mask"].sum() / 100, 1e-6)


def test_without_references_gradients_remain():
    given, data = policy_inputs()
    del data["ref_per_token_logps"], data["old_per_token_logps"]
    loss, metrics = mine.liger_fused_linear_grpo(**given, **data, use_ref_model=False)
    loss.backward()
    advantages = data["advantages"][:, None] * data["attention_mask"]
    assert close(loss, -advantages.sum() / data["attention_mask"].sum(), 1e-5)
    assert metrics[0] == 0 and given["weight"].grad.any()


def test_functions_read_no_options_of_another_type_of_loss():
    """As in Liger: code that passes them by position may have anything there.
    Modules check them all.
    """
    given, data = policy_inputs()
    plain = mine.liger_fused_linear_grpo(**given, **data, loss_type="bnpo")[0]
    other = mine.liger_fused_linear_grpo(
        **given, **data, loss_type="bnpo", sapo_temperature_pos=0.0, sapo_temperature_neg=False
    )[0]
    assert torch.equal(plain, other)
    for name in ("sapo_temperature_pos", "sapo_temperature_neg", "delta"):
        with pytest.raises(lt.CallValueError, match=f"{name}=0.0 must be above 0"):
            mine.LigerFusedLinearGRPOLoss(loss_type="bnpo", **{name: 0.0})


# ---- names, modules, refusals --------------------------------------------------------------------

NAMES = {
    "DPO": "dpo", "CPO": "cpo", "ORPO": "orpo", "SimPO": "simpo", "KTO": "kto", "GRPO": "grpo", "JSD": "jsd",
    "CosineSimilarity": "cosine",
}  # fmt: skip


@pytest.mark.contract("8 same names")
@pytest.mark.parametrize("name", NAMES)
def test_functions_have_both_names_and_modules_their_options(name):
    function = getattr(mine, f"liger_fused_linear_{NAMES[name]}")
    assert getattr(mine, f"LigerFusedLinear{name}Function").apply is function
    module = getattr(mine, f"LigerFusedLinear{name}Loss")
    options = set(inspect.signature(module).parameters)
    given = set(inspect.signature(module.forward).parameters) - {"self", "lin_weight"}
    assert options | given | {"weight"} == set(inspect.signature(function).parameters) | {"weight"}


def test_modules_call_the_functions():
    given = arguments()
    options = {"beta": 0.5, "alpha": 0.25, "compute_nll_loss": True}
    module = mine.LigerFusedLinearDPOLoss(**options)
    inputs = (given["_input"], given["target"], given["bias"], *reference().values())
    by_module = flat(module(given["weight"], *inputs))
    by_function = flat(mine.liger_fused_linear_dpo(**given, **reference(), **options))
    assert all(torch.equal(a, b) for a, b in zip(by_module, by_function, strict=True))
    for kind in ("CPO", "SimPO", "ORPO"):
        module = getattr(mine, f"LigerFusedLinear{kind}Loss")(beta=0.5)
        loss, _ = module(given["weight"], given["_input"], given["target"], given["bias"])
        assert loss.isfinite()
    kto = mine.LigerFusedLinearKTOLoss()
    assert kto(given["_input"], given["weight"], given["target"], preference_labels=GOOD)[0].isfinite()
    tensors, data = policy_inputs()
    inputs = [tensors["_input"], tensors["weight"], *data.values()]
    inputs.insert(5, tensors["bias"])
    assert torch.equal(
        mine.LigerFusedLinearGRPOLoss(beta=0.5)(*inputs)[0],
        mine.liger_fused_linear_grpo(**tensors, **data, beta=0.5)[0],
    )


COMPILED = {
    "pairs": (mine.liger_fused_linear_dpo, lambda: arguments() | reference()),
    "answers": (mine.liger_fused_linear_kto, lambda: arguments() | reference() | {"preference_labels": GOOD}),
    "distillation": (mine.liger_fused_linear_jsd, two_heads),
    "policies": (mine.liger_fused_linear_grpo, lambda: policy_inputs()[0] | policy_inputs()[1]),
}


@pytest.mark.parametrize("name", COMPILED)
def test_a_graph_without_a_break(name):
    function, given = COMPILED[name][0], COMPILED[name][1]()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    result, wanted = (run(**given) for run in (compiled, function))
    loss, other = (r[0] if isinstance(r, tuple) else r for r in (result, wanted))
    leaves = [tensor for tensor in given.values() if tensor.requires_grad]
    assert close(loss, other, 1e-6)
    for mine_grad, right in zip(*(torch.autograd.grad(x, leaves) for x in (loss, other)), strict=True):
        assert close(mine_grad, right, 1e-5)


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("kind", "options", "message"), [
    ("dpo", {"loss_type": "ipo"},
     "Unsupported loss_type='ipo'; it is none of 'sigmoid', 'hinge', 'exo_pair', 'nca_pair', 'robust', "
     "'bco_pair', 'sppo_hard', 'apo_zero', 'apo_down' and 'discopop'"),
    ("dpo", {"loss_type": "exo_pair"},
     "label_smoothing must be > 0 for loss_type='exo_pair', and below 1, but is 0.0"),
    ("dpo", {"loss_type": "robust", "label_smoothing": 0.5},
     "label_smoothing must lie in [0.0, 0.5) for loss_type='robust', but is 0.5"),
    ("dpo", {}, "use_ref_model=True needs 'ref_input' and 'ref_weight'"),
    ("dpo", {"use_ref_model": False, "chunk_size": 0.5}, "chunk_size=1.0 must be a positive int"),
    ("kto", {"preference_labels": torch.ones(BATCH)},
     "preference_labels must be bools, one for each sequence"),
    ("kto", {"preference_labels": GOOD}, "use_ref_model=True needs 'ref_input' and 'ref_weight'"),
])  # fmt: skip
def test_options_that_are_refused(kind, options, message):
    with pytest.raises(lt.CallError) as caught:
        getattr(mine, f"liger_fused_linear_{kind}")(**arguments(), **options)
    assert str(caught.value) == message


@pytest.mark.parametrize(("options", "message"), [
    ({"loss_type": "ppo"},
     "loss_type='ppo' is none of 'grpo', 'bnpo', 'dr_grpo', 'dapo', 'cispo', 'sapo', 'luspo' and 'vespo'"),
    ({"importance_sampling_level": "batch"},
     "importance_sampling_level='batch' is none of 'token' and 'sequence'"),
    ({"importance_sampling_level": "sequence", "loss_type": "cispo"},
     "importance_sampling_level='sequence': Sequence-level importance sampling is not supported for "
     "loss_type='cispo'; give 'token'"),
    ({"loss_type": "dr_grpo"}, "loss_type='dr_grpo' needs 'max_completion_length'"),
    ({"delta": -1.0}, "delta=-1.0 must be above 0"),
    ({"loss_type": "sapo", "sapo_temperature_neg": 0.0}, "sapo_temperature_neg=0.0 must be above 0"),
    ({"vllm_is_ratio": torch.ones(3)}, "vllm_is_ratio has shape (3,); it must be (6,), (6, 1) or (6, 7)"),
    ({"advantages": torch.ones(BATCH, 1)}, "advantages has shape (6, 1); it must be (6,)"),
    ({"attention_mask": torch.ones(LENGTH)}, "attention_mask has shape (7,); it must be (6, 7)"),
    ({"ref_per_token_logps": torch.ones(BATCH, 1)},
     "ref_per_token_logps has shape (6, 1); it must be (6, 7)"),
    ({"old_per_token_logps": torch.ones(1, LENGTH)},
     "old_per_token_logps has shape (1, 7); it must be (6, 7)"),
    ({"ref_per_token_logps": None},
     "use_ref_model=True needs 'ref_per_token_logps', or 'ref_input' and 'ref_weight'"),
])  # fmt: skip
def test_options_of_policies_that_are_refused(options, message):
    given, data = policy_inputs()
    with pytest.raises(lt.CallError) as caught:
        mine.liger_fused_linear_grpo(**given, **{**data, **options})
    assert str(caught.value) == message


@pytest.mark.parametrize(("options", "message"), [
    ({"preference_labels": torch.ones(BATCH, 1) > 0}, "preference_labels has shape (6, 1); it must be (6,)"),
    ({"kl": torch.ones(BATCH, 1)}, "kl has shape (6, 1); it must be (), (1,) or (6,)"),
])  # fmt: skip
def test_shapes_that_kto_refuses(options, message):
    options = {"preference_labels": torch.ones(BATCH) > 0, "use_ref_model": False} | options
    with pytest.raises(lt.CallValueError) as caught:
        mine.liger_fused_linear_kto(**arguments(), **options)
    assert str(caught.value) == message


def test_a_teacher_with_fewer_entries_is_refused():
    given = two_heads(extra=-3)
    with pytest.raises(lt.CallValueError) as caught:
        mine.liger_fused_linear_jsd(**given)
    assert str(caught.value) == "the teacher has 50 vocabulary entries, fewer than the student's 53"
