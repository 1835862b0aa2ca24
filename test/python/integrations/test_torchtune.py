"""logitile.integrations.torchtune against its formulas on dense logits, in float64."""

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import check, close
from logitile.integrations import torchtune as mine

BATCH, SEQUENCE, HIDDEN, VOCAB = 2, 8, 16, 100


class Model(torch.nn.Module):
    """The part of a model that the loss touches."""

    def __init__(self, output):
        super().__init__()
        self.output = output
        self.skip_output_layer = False


class Tied:
    """An output layer that is no module and has the weight of an embedding."""

    def __init__(self, embedding):
        self.tied_module = embedding


def labels(ignored=0.2):
    torch.manual_seed(1)
    drawn = torch.randint(VOCAB, (BATCH, SEQUENCE))
    return torch.where(torch.rand(BATCH, SEQUENCE) < ignored, -100, drawn)


def fused(output, kind=mine.LinearCrossEntropyLoss, **options):
    loss = kind(**options)
    model = Model(output)
    loss.set_model_output(model)
    assert model.skip_output_layer
    return loss


# ---- LinearCrossEntropyLoss ----------------------------------------------------------------------


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("options", [
    {}, {"num_output_chunks": 3}, {"num_output_chunks": 40}, {"mask_ignored_tokens": False},
])  # fmt: skip
def test_the_mean_over_tokens_that_count(bias, options):
    torch.manual_seed(0)
    layer = torch.nn.Linear(HIDDEN, VOCAB, bias=bias)
    loss = fused(layer, **options)
    hidden, targets = torch.randn(BATCH, SEQUENCE, HIDDEN, requires_grad=True), labels()
    value = loss(hidden, targets)
    assert value.dtype == torch.float32 and value.shape == ()
    value.backward()
    exact = torch.nn.Linear(HIDDEN, VOCAB, bias=bias, dtype=torch.float64)
    exact.load_state_dict(layer.state_dict())
    other = hidden.detach().double().requires_grad_()
    wanted = F.cross_entropy(exact(other).flatten(0, 1), targets.flatten())
    wanted.backward()
    assert close(value, wanted, 1e-6) and close(hidden.grad, other.grad, 1e-5)
    for ours, theirs in zip(layer.parameters(), exact.parameters(), strict=True):
        assert close(ours.grad, theirs.grad, 1e-5)


def test_bfloat16():
    torch.manual_seed(0)
    layer = torch.nn.Linear(HIDDEN, VOCAB, bias=False, dtype=torch.bfloat16)
    hidden = torch.randn(BATCH, SEQUENCE, HIDDEN, dtype=torch.bfloat16)
    value = fused(layer)(hidden, labels())
    logits = hidden.double() @ layer.weight.double().T
    assert value.dtype == torch.float32
    assert close(value, F.cross_entropy(logits.flatten(0, 1), labels().flatten()), 1e-4)


def test_no_token_counts():
    layer = torch.nn.Linear(HIDDEN, VOCAB)
    hidden = torch.randn(BATCH, SEQUENCE, HIDDEN, requires_grad=True)
    value = fused(layer)(hidden, torch.full((BATCH, SEQUENCE), -100))
    value.backward()
    assert value == 0 and not hidden.grad.any() and not layer.weight.grad.any()


def test_another_index_is_ignored():
    layer = torch.nn.Linear(HIDDEN, VOCAB)
    hidden, targets = torch.randn(BATCH, SEQUENCE, HIDDEN), labels(0) % 10
    assert (targets == 5).any() and (targets != 5).any()
    value = fused(layer, ignore_index=5)(hidden, targets)
    wanted = F.cross_entropy(layer(hidden).flatten(0, 1), targets.flatten(), ignore_index=5)
    assert close(value, wanted, 1e-5)


def test_the_sum_of_a_chunk():
    layer = torch.nn.Linear(HIDDEN, VOCAB)
    hidden, targets = torch.randn(5, HIDDEN), torch.tensor([3, -100, 4, 5, 99])
    value = fused(layer).compute_cross_entropy(hidden, targets)
    assert close(value, F.cross_entropy(layer(hidden), targets, reduction="sum"), 1e-5)


def test_the_weight_of_an_embedding():
    embedding = torch.nn.Embedding(VOCAB, HIDDEN)
    hidden = torch.randn(BATCH, SEQUENCE, HIDDEN)
    value = fused(Tied(embedding))(hidden, labels())
    value.backward()
    logits = hidden @ embedding.weight.detach().T
    assert close(value, F.cross_entropy(logits.flatten(0, 1), labels().flatten()), 1e-5)
    assert embedding.weight.grad.any()


def test_hooks_of_the_output_layer_run_before_its_weight_is_read():
    layer = torch.nn.Linear(HIDDEN, VOCAB, bias=False)
    gathered = layer.weight.detach().clone()
    hidden = torch.randn(BATCH, SEQUENCE, HIDDEN)
    wanted = fused(layer)(hidden, labels()).item()
    layer.weight.data.zero_()  # a shard that is filled when the layer is called

    def gather(module, inputs):
        module.weight.data.copy_(gathered)

    layer.register_forward_pre_hook(gather)
    assert fused(layer)(hidden, labels()).item() == wanted
    assert "forward" not in vars(layer)


def test_compiling_returns_the_loss():
    loss = mine.LinearCrossEntropyLoss()
    assert loss.apply_compile_strategy(backend="inductor") is loss
    assert loss.tp_requires_loss_parallel_ctx_manager is False


def test_a_graph_without_a_break():
    layer = torch.nn.Linear(HIDDEN, VOCAB)
    loss, hidden = fused(layer), torch.randn(BATCH, SEQUENCE, HIDDEN)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    assert close(compiled(hidden, labels()), loss(hidden, labels()), 1e-6)


def test_the_module_can_be_moved_and_converted():
    layer = torch.nn.Linear(HIDDEN, VOCAB)
    loss = fused(layer).to("cpu").to(torch.bfloat16)
    assert layer.weight.dtype == torch.bfloat16
    assert loss(torch.randn(BATCH, SEQUENCE, HIDDEN).bfloat16(), labels()).isfinite()


def test_a_loss_without_a_model():
    with pytest.raises(AttributeError, match=r"call set_model_output\(model\) first"):
        mine.LinearCrossEntropyLoss()(torch.zeros(1, 2, 3), torch.zeros(1, 2).long())


def test_layers_with_a_forward_of_their_own_are_refused():
    class Adapted(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) + 1

    replaced = torch.nn.Linear(2, 3)
    replaced.forward = lambda x: x
    for layer, name in ((Adapted(2, 3), "Adapted"), (replaced, "Linear"), (torch.nn.Identity(), "Identity")):
        with pytest.raises(lt.CallTypeError) as caught:
            mine.LinearCrossEntropyLoss().set_model_output(Model(layer))
        assert str(caught.value) == (
            f"the output layer is a {name}, whose forward is not that of torch.nn.Linear; only a plain or "
            "tied linear layer can be fused with the loss"
        )


@pytest.mark.contract("8 refusals")
def test_a_tensor_parallel_plan_names_the_output_layer():
    """Tests with processes are in e2e/test_parallel_drop_ins.py."""
    loss, plan = mine.LinearCrossEntropyLoss(tp_enabled=True), {"norm": None, "output": None}
    assert loss.patch_tp_plan(plan) is plan
    with pytest.raises(lt.CallValueError) as caught:
        loss.patch_tp_plan({"norm": None, "tok_embeddings": None})
    assert str(caught.value) == (
        "the tensor parallel plan has rules for 'norm' and 'tok_embeddings', but none for the output layer; "
        "add 'output', such as ColwiseParallel(input_layouts=Shard(1))"
    )


# ---- LinearGRPOLoss ------------------------------------------------------------------------------


def answers():
    """What the loss is called with, beside the mask."""
    torch.manual_seed(3)
    hidden = torch.randn(BATCH, SEQUENCE, HIDDEN, requires_grad=True)
    reference = (-4 - torch.rand(BATCH, SEQUENCE)).requires_grad_()
    return hidden, labels(0), reference, torch.tensor([0.5, -1.25])


def dense_grpo(hidden, weight, bias, tokens, reference, advantages, counts, kl_coeff):
    """The formula in float64; a token whose target is -100 has log p = 0."""
    log_p = (hidden.double() @ weight.double().T + bias.double()).log_softmax(-1)
    log_p = log_p.gather(-1, tokens.clamp(0)[..., None])[..., 0] * (tokens != -100)
    gap = reference.detach().double() - log_p
    divergence, policy = gap.exp() - gap - 1, (log_p - log_p.detach()).exp() * advantages[:, None]

    def mean(values):
        return ((values * counts).sum(1) / counts.sum(1).clamp(min=1e-9)).mean()

    return mean(kl_coeff * divergence - policy), mean(policy).detach(), mean(divergence).detach(), log_p


MASKS = {
    "none": None,
    "some": torch.tensor([[1, 1, 0, 1, 1, 1, 0, 0], [0, 1, 1, 1, 0, 1, 1, 1]]) == 1,
    "an empty answer": torch.tensor([[1] * SEQUENCE, [0] * SEQUENCE]) == 1,
    "weights": torch.linspace(0, 2, BATCH * SEQUENCE).reshape(BATCH, SEQUENCE),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("options", [{}, {"num_output_chunks": 3, "kl_coeff": 0.75}, {"kl_coeff": 0.0}])
@pytest.mark.parametrize("ignored", [False, True])
def test_grpo(mask, options, ignored):
    layer = torch.nn.Linear(HIDDEN, VOCAB)
    hidden, tokens, reference, advantages = answers()
    tokens = labels(0.3) if ignored else tokens
    loss = fused(layer, mine.LinearGRPOLoss, **options)
    given = () if MASKS[mask] is None else (MASKS[mask],)
    value, policy, divergence, ratio, clipped, log_p = loss(hidden, tokens, reference, advantages, *given)
    assert (ratio, clipped) == (1, 0) and not policy.requires_grad and not divergence.requires_grad
    assert all(number.dtype == torch.float32 and number.shape == () for number in (value, policy, ratio))
    exact = [hidden, layer.weight, layer.bias]
    counts = torch.ones(BATCH, SEQUENCE) if MASKS[mask] is None else MASKS[mask].double()
    wanted = dense_grpo(*exact, tokens, reference, advantages, counts, options.get("kl_coeff", 0.1))
    for found, other in zip((value, policy, divergence, log_p), wanted, strict=True):
        assert found.shape == other.shape and close(found, other, 1e-5)
    scale = torch.rand(BATCH, SEQUENCE)  # the log-probabilities have gradients as well
    gradients = torch.autograd.grad(value + (scale * log_p).sum(), exact)
    expected = torch.autograd.grad(wanted[0] + (scale * wanted[3]).sum(), exact)
    for found, other in zip(gradients, expected, strict=True):
        assert close(found, other, 1e-5)


def test_grpo_without_a_gradient_of_the_reference():
    hidden, tokens, reference, advantages = answers()
    loss = fused(torch.nn.Linear(HIDDEN, VOCAB), mine.LinearGRPOLoss)
    loss(hidden, tokens, reference.bfloat16(), advantages)[0].backward()
    assert reference.grad is None and hidden.grad.any()


@pytest.mark.parametrize(("name", "shape", "wanted"), [
    ("ref_outputs", (BATCH, 1), "(2, 8)"), ("advantages", (BATCH, 1), "(2,)"),
    ("padding_masks", (SEQUENCE,), "(2, 8)"),
])  # fmt: skip
def test_shapes_that_grpo_refuses(name, shape, wanted):
    hidden, tokens, reference, advantages = answers()
    given = {"ref_outputs": reference, "advantages": advantages, "padding_masks": None}
    loss = fused(torch.nn.Linear(HIDDEN, VOCAB), mine.LinearGRPOLoss)
    with pytest.raises(lt.CallValueError) as caught:
        loss(hidden, tokens, **given | {name: torch.ones(shape)})
    assert str(caught.value) == f"{name} has shape {shape}; it must be {wanted}"


def test_grpo_in_a_graph_and_without_a_model():
    hidden, tokens, reference, advantages = answers()
    loss = mine.LinearGRPOLoss(4, 0.3, 0.2, 7, False)
    assert (loss.num_output_chunks, loss.epsilon, loss.kl_coeff, loss.ignore_index) == (4, 0.3, 0.2, 7)
    with pytest.raises(AttributeError, match=r"call set_model_output\(model\) first"):
        loss(hidden, tokens, reference, advantages)
    loss = fused(torch.nn.Linear(HIDDEN, VOCAB), mine.LinearGRPOLoss).apply_compile_strategy()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    given = hidden, tokens, reference, advantages
    for found, wanted in zip(compiled(*given), loss(*given), strict=True):
        assert close(found, wanted, 1e-6)


# ---- distillation --------------------------------------------------------------------------------


def forward_kl(z, t):
    return -(t.softmax(-1) * z.log_softmax(-1).masked_fill(z.isinf(), 0)).sum(-1)


def reverse_kl(z, t):
    masked = z.isinf() | t.isinf()
    log_p, log_q = (logits.log_softmax(-1).masked_fill(masked, 0) for logits in (z, t))
    return (z.softmax(-1) * (log_p - log_q)).sum(-1)


RATIO = 0.25  # exact in both precisions
LOSSES = {
    "ForwardKL": ({}, forward_kl),
    "ReverseKL": ({}, reverse_kl),
    "SymmetricKL": (
        {"sym_kd_ratio": RATIO},
        lambda z, t: RATIO * forward_kl(z, t) + (1 - RATIO) * reverse_kl(z, t),
    ),
}


def projections(biased=False):
    torch.manual_seed(2)
    given = {
        "x": torch.randn(BATCH, SEQUENCE, HIDDEN, requires_grad=True),
        "w": torch.randn(VOCAB, HIDDEN, requires_grad=True),
        "y": torch.randn(BATCH, SEQUENCE, HIDDEN + 3),
        "v": torch.randn(VOCAB, HIDDEN + 3),
    }
    if biased:
        given |= {"b": torch.randn(VOCAB, requires_grad=True), "c": torch.randn(VOCAB)}
    return given


def compare(loss, per_token, given, normalize, targets):
    def ours(x, w, y, v, b=None, c=None):
        student, teacher = ((x, w), (y, v)) if b is None else ((x, w, b), (y, v, c))
        return loss(student, teacher, targets, *normalize)

    def dense(x, w, y, v, b=0.0, c=0.0):
        value = per_token(x @ w.T + b, y @ v.T + c)[targets != -100].sum()
        return value if normalize == (False,) else value / (targets != -100).sum()

    check(ours, dense, given)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("normalize", [(), (True,), (False,)])
@pytest.mark.parametrize("biased", [False, True])
def test_distillation(name, normalize, biased):
    options, per_token = LOSSES[name]
    loss = getattr(mine, f"{name}Loss")(**options)
    compare(loss, per_token, projections(biased), normalize, labels())


@pytest.mark.parametrize("name", LOSSES)
def test_distillation_in_chunks(name):
    options, per_token = LOSSES[name]
    loss = getattr(mine, f"{name}WithChunkedOutputLoss")(num_output_chunks=3, **options)
    assert loss.apply_compile_strategy() is loss
    compare(loss, per_token, projections(), (), labels())


@pytest.mark.parametrize("name", LOSSES)
def test_masked_entries_count_nothing(name):
    options, per_token = LOSSES[name]
    given = projections(biased=True)
    with torch.no_grad():
        given["b"][4:9] = float("-inf")
        given["c"][7:12] = float("-inf")
    compare(getattr(mine, f"{name}Loss")(**options), per_token, given, (), labels())


@pytest.mark.contract("8 corners")
@pytest.mark.parametrize(("name", "wanted"), [
    ("ForwardKLLoss", 0.0), ("ReverseKLLoss", 0.0), ("SymmetricKLLoss", 0.0),
    ("ForwardKLWithChunkedOutputLoss", 0.0), ("ReverseKLWithChunkedOutputLoss", float("nan")),
    ("SymmetricKLWithChunkedOutputLoss", float("nan")),
])  # fmt: skip
def test_distillation_where_no_token_counts(name, wanted):
    given = projections()
    value = getattr(mine, name)()((given["x"], given["w"]), (given["y"], given["v"]), labels(ignored=2))
    value.backward()
    torch.testing.assert_close(value, torch.tensor(wanted), equal_nan=True)
    assert not given["x"].grad.any()


def test_labels_without_the_batch_axis():
    given = projections()
    pairs = (given["x"], given["w"]), (given["y"], given["v"])
    loss = mine.ForwardKLLoss()
    assert torch.equal(loss(*pairs, labels().flatten()), loss(*pairs, labels()))


def test_labels_of_another_number_of_tokens():
    given = projections()
    with pytest.raises(lt.CallValueError) as caught:
        mine.ForwardKLLoss()((given["x"], given["w"]), (given["y"], given["v"]), labels()[:1])
    assert str(caught.value) == (
        "labels of shape (1, 8) are not one for each of the 16 tokens of student_logits, (2, 8)"
    )


def test_positional_order_of_options():
    assert mine.SymmetricKLLoss(0.75, 3).ignore_index == 3
    chunked = mine.SymmetricKLWithChunkedOutputLoss(4, 0.75, 3)
    assert (chunked.num_output_chunks, chunked.sym_kd_ratio, chunked.ignore_index) == (4, 0.75, 3)
    loss = mine.LinearCrossEntropyLoss(4, 3, False, False)
    assert (loss.num_output_chunks, loss.ignore_index, loss.mask_ignored_tokens) == (4, 3, False)


# ---- distillation of logits ----------------------------------------------------------------------


def logits(dtype=torch.float32, masked=False):
    """Logits of a student, which get a gradient, and of a teacher."""
    torch.manual_seed(4)
    student, teacher = (2 * torch.randn(BATCH, SEQUENCE, VOCAB).to(dtype) for _ in "st")
    if masked:
        student[..., 4:9] = float("-inf")
        teacher[..., 7:12] = float("-inf")
    return {"student": student.requires_grad_(), "teacher": teacher}


def compare_logits(run, per_token, given, sum_only=False, tolerance=1e-5):
    counts = labels() != -100

    def dense(student, teacher):
        value = torch.where(counts, per_token(student, teacher), 0).sum()
        return value if sum_only else value / counts.sum()

    check(run, dense, given, tolerance)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_distillation_of_logits(name, normalize, dtype):
    options, per_token = LOSSES[name]
    loss = getattr(mine, f"{name}Loss")(**options)

    def run(student, teacher):  # torchtune's recipes flatten them
        return loss(student.flatten(0, 1), teacher.flatten(0, 1), labels().flatten(), normalize)

    compare_logits(run, per_token, logits(dtype), not normalize, 1e-5 if dtype == torch.float32 else 4e-3)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("count", [1, 3, 8])
def test_distillation_of_chunks_of_logits(name, count):
    options, per_token = LOSSES[name]
    loss = getattr(mine, f"{name}WithChunkedOutputLoss")(num_output_chunks=count, **options)
    compare_logits(
        lambda student, teacher: loss(*(list(z.chunk(count, 1)) for z in (student, teacher)), labels()),
        per_token, logits(),
    )  # fmt: skip
    flat = [[chunk.flatten(0, 1) for chunk in z.chunk(count, 1)] for z in logits().values()]
    chunks = [list(z.chunk(count, 1)) for z in logits().values()]
    assert torch.equal(loss(*flat, labels()), loss(*chunks, labels()))
    assert close(loss(**{f"{side}_logits": z for side, z in logits().items()}, labels=labels()),
                 loss(*chunks, labels()), 1e-6)  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_infinite_logits_count_nothing(name):
    options, per_token = LOSSES[name]
    given = logits(masked=True)
    value = getattr(mine, f"{name}Loss")(**options)(*given.values(), labels())
    value.backward()
    counts = labels() != -100
    wanted = per_token(*(z.detach().double() for z in given.values()))[counts].sum() / counts.sum()
    assert close(value, wanted, 1e-5)
    assert given["student"].grad.isfinite().all() and not given["student"].grad[..., 4:9].any()


@pytest.mark.parametrize("name", LOSSES)
def test_logits_of_a_teacher_beside_a_projection(name):
    options, per_token = LOSSES[name]
    given = {name: tensor for name, tensor in projections().items() if name in "xw"}
    given["z"] = logits()["teacher"]
    loss, counts = getattr(mine, f"{name}Loss")(**options), labels() != -100

    def dense(x, w, z):
        return per_token(x @ w.T, z)[counts].sum() / counts.sum()

    check(lambda x, w, z: loss((x, w), z, labels()), dense, given)


@pytest.mark.contract("8 corners")
@pytest.mark.parametrize(("name", "wanted"), [
    ("ForwardKLWithChunkedOutputLoss", 0.0), ("ReverseKLWithChunkedOutputLoss", float("nan")),
    ("SymmetricKLWithChunkedOutputLoss", float("nan")),
])  # fmt: skip
def test_chunks_of_logits_where_no_token_counts(name, wanted):
    given = logits()
    value = getattr(mine, name)(2)(*(list(z.chunk(2, 1)) for z in given.values()), labels(ignored=2))
    torch.testing.assert_close(value.detach(), torch.tensor(wanted), equal_nan=True)


def test_chunks_of_logits_in_a_graph():
    loss = mine.SymmetricKLWithChunkedOutputLoss(2)
    given = [list(z.chunk(2, 1)) for z in logits().values()]
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    assert close(compiled(*given, labels()), loss(*given, labels()), 1e-6)


CHUNKS = [torch.zeros(BATCH, 4, VOCAB)] * 2


@pytest.mark.parametrize(("kind", "student", "teacher", "message"), [
    (mine.ForwardKLLoss, CHUNKS, CHUNKS,
     "student_logits is a list of 2; give logits [..., V], or (hidden, weight) or (hidden, weight, bias), "
     "from which logits are made inside the kernels"),
    (mine.ForwardKLWithChunkedOutputLoss, CHUNKS, (CHUNKS[0], torch.zeros(VOCAB, VOCAB)),
     "student_logits is a list and teacher_logits a tuple; give both as lists of chunks, or both whole"),
    (mine.ReverseKLWithChunkedOutputLoss, CHUNKS, CHUNKS[:1],
     "student_logits has 2 chunks and teacher_logits 1; both must have the same number, at least one"),
    (mine.SymmetricKLWithChunkedOutputLoss, CHUNKS[:1], CHUNKS[:1],
     "labels have the shape (2, 8), but the chunks of student_logits have [4] tokens of each of 2 sequences"),
])  # fmt: skip
def test_logits_that_are_refused(kind, student, teacher, message):
    with pytest.raises(lt.CallError) as caught:
        kind()(student, teacher, labels())
    assert str(caught.value) == message


def test_a_ratio_out_of_range():
    with pytest.raises(ValueError, match="sym_kd_ratio=1.5 must be a number from 0 to 1"):
        mine.SymmetricKLLoss(1.5)
