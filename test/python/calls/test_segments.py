"""`segments=`: sums and means over sequences, with NumPy and torch.
test_segments_jax.py is about JAX.
"""

import re

import logitile as lt
import numpy as np
import pytest
import torch

LEADING, VOCAB, HIDDEN = (4, 8), 61, 16
COUNT = 6  # by ids; the last sequence has no token
LENGTHS = [8, 5, 0, 11, 8]


@lt.loss
def weighted(z: lt.Logits, target: lt.Token[int], class_weight: lt.Vocab[float]):
    """A loss with a weight, and an output of each type."""
    log_p, share = lt.log_softmax(z), lt.stop_gradient(class_weight[target])
    return lt.Outputs(
        loss=-share * log_p[target], weight=share, entropy=-lt.sum(lt.exp(log_p) * log_p),
        correct=lt.argmax(z) == target, larger=lt.count(z > z[target]),
    )  # fmt: skip


@lt.loss
def leaking(z: lt.Logits, target: lt.Token[int]):
    log_p = lt.log_softmax(z)[target]
    return lt.Outputs(loss=-log_p, weight=lt.exp(log_p))


def arguments(loss=lt.losses.cross_entropy):
    """Hidden states, weight, and the other inputs; the third row is ignored,
    and so are some more tokens.
    """
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((*LEADING, HIDDEN), dtype=np.float32)
    weight = rng.standard_normal((VOCAB, HIDDEN), dtype=np.float32)
    target = rng.integers(0, VOCAB, LEADING)
    target[0, :3] = target[2] = -100
    inputs = {"target": target}
    if loss is weighted:
        inputs["class_weight"] = rng.uniform(0.5, 2, VOCAB).astype(np.float32)
    return (hidden, weight), inputs


def ids():
    return np.random.default_rng(1).integers(-1, COUNT - 1, LEADING)


KINDS = {"ids": lambda: lt.Segments(ids(), COUNT), "lengths": lambda: lt.Segments.from_lengths(LENGTHS)}
SEGMENTS = pytest.mark.parametrize("kind", KINDS)
REDUCTION = pytest.mark.parametrize("reduction", ["sum", "mean"])


def tensors(items):
    """Arrays as tensors, floats with a gradient."""
    made = [torch.from_numpy(np.array(item)) for item in items]
    return [tensor.requires_grad_() if tensor.is_floating_point() else tensor for tensor in made]


def close(found, wanted, tolerance=1e-5):
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def members(kind):
    """For each sequence the positions of its tokens, by hand."""
    if kind == "ids":
        return [[i for i, number in enumerate(ids().flat) if number == s] for s in range(COUNT)]
    ends = np.cumsum(LENGTHS)
    return [list(range(end - size, end)) for end, size in zip(ends, LENGTHS, strict=True)]


def by_hand(kind, reduction, values, target, over=None):
    """The sum or mean of each sequence, token by token in Python."""
    made = []
    for tokens in members(kind):
        kept = [i for i in tokens if target.flat[i] != -100]
        total = sum(float(values.flat[i]) for i in kept)
        count = len(kept) if over is None else sum(float(over.flat[i]) for i in kept)
        made.append(total if reduction == "sum" else total / count if kept else np.nan)
    return np.array(made)


# ---- what is computed ----------------------------------------------------------------------------


@pytest.mark.contract("2 segments")
@SEGMENTS
@REDUCTION
def test_every_output_is_that_of_its_sequences(kind, reduction):
    operands, inputs = arguments(weighted)
    found = lt.jit(weighted, reduction=reduction)(*operands, **inputs, segments=KINDS[kind]())
    each = lt.jit(weighted, reduction="none").reference(*operands, **inputs)
    for name, values in found._asdict().items():
        over = each.weight if name == "loss" else None
        close(values, by_hand(kind, reduction, getattr(each, name), inputs["target"], over))
    whole = np.int64 if reduction == "sum" else np.float32
    assert [values.dtype for values in found] == [np.float32, np.float32, np.float32, whole, whole]


@pytest.mark.contract("2 segments")
@SEGMENTS
@REDUCTION
@pytest.mark.parametrize("loss", [lt.losses.cross_entropy, weighted, lt.losses.logprob], ids=lambda f: f.name)
def test_outputs_and_gradients_are_those_of_the_reference(loss, reduction, kind):
    operands, inputs = arguments(loss)
    segments = KINDS[kind]()
    head = lt.jit(loss, reduction=reduction)
    reaching = np.arange(1, segments.count + 1, dtype=np.float32)
    given = {"cross_entropy": reaching, "weighted": {"loss": reaching, "entropy": 0.5}}.get(
        loss.name, {"logprob": reaching}
    )
    value, gradients = head.value_and_grad(*operands, **inputs, segments=segments, grad_output=given)
    wanted, exact = head.reference_grad(*operands, **inputs, segments=segments, grad_output=given)
    close(np.array(value, np.float64), np.array(wanted, np.float64))
    assert set(gradients) == {"hidden", "weight"}
    for name, gradient in gradients.items():
        assert np.isfinite(exact[name]).all() and np.abs(exact[name]).max() > 0.01
        close(gradient, exact[name], 2e-5)
    again = head(*operands, **inputs, segments=segments)
    close(np.array(again, np.float64), np.array(wanted, np.float64))


def test_the_reference_is_the_sum_of_its_tokens():
    """The gradient of the reference, by a difference of its outputs along it."""
    operands, inputs = arguments(weighted)
    head, segments = lt.jit(weighted, all_ignored="zero"), KINDS["ids"]()
    reaching = np.linspace(-1, 2, COUNT)

    def value(step):
        moved = operands[0].astype(np.float64) + step * direction
        out = head.reference(moved.astype(np.float32), operands[1], **inputs, segments=segments)
        return (out.loss * reaching).sum()

    _, exact = head.reference_grad(*operands, **inputs, segments=segments, grad_output={"loss": reaching})
    direction = exact["hidden"] / np.linalg.norm(exact["hidden"])
    slope = (value(1e-2) - value(-1e-2)) / 2e-2
    assert slope == pytest.approx((exact["hidden"] * direction).sum(), rel=2e-3)


@pytest.mark.parametrize("given", ["nan", "zero"])
def test_a_sequence_without_tokens(given):
    operands, inputs = arguments()
    segments = KINDS["lengths"]()
    mean = lt.jit(lt.losses.cross_entropy, all_ignored=given)
    total = lt.jit(lt.losses.cross_entropy, reduction="sum")
    value, gradients = mean.value_and_grad(*operands, **inputs, segments=segments)
    np.testing.assert_equal(value[2], np.nan if given == "nan" else 0)
    assert total(*operands, **inputs, segments=segments)[2] == 0
    assert all(np.isfinite(gradient).all() for gradient in gradients.values())
    assert np.isfinite(np.delete(value, 2)).all()


def test_no_tokens_and_no_sequences():
    hidden, weight = np.zeros((0, HIDDEN), np.float32), np.zeros((VOCAB, HIDDEN), np.float32)
    head, target = lt.jit(lt.losses.cross_entropy, reduction="sum"), np.zeros(0, np.int64)
    assert head(hidden, weight, target=target, segments=lt.Segments.from_lengths([])).shape == (0,)
    assert (head(hidden, weight, target=target, segments=lt.Segments.from_lengths([0, 0])) == 0).all()
    made = head(*tensors([hidden, weight]), target=torch.zeros(0, dtype=torch.int64),
                segments=lt.Segments(torch.zeros(0, dtype=torch.int32), 3))  # fmt: skip
    made.sum().backward()
    assert made.tolist() == [0, 0, 0]


def test_a_divisor_takes_the_place_of_the_count():
    operands, inputs = arguments(weighted)
    segments = KINDS["ids"]()
    found = lt.jit(weighted)(*operands, **inputs, segments=segments, divisor=7)
    mean = lt.jit(weighted)(*operands, **inputs, segments=segments)
    total = lt.jit(weighted, reduction="sum")(*operands, **inputs, segments=segments)
    close(found.loss, total.loss / 7)
    close(found.entropy, mean.entropy)
    _, gradients = lt.jit(weighted).value_and_grad(*operands, **inputs, segments=segments, divisor=7)
    _, exact = lt.jit(weighted).reference_grad(*operands, **inputs, segments=segments, divisor=7)
    close(gradients["hidden"], exact["hidden"])


def test_several_entries_tell_ignored_tokens():
    """A token is ignored where all of its entries are, as without segments."""
    (hidden, weight), _ = arguments()
    target = np.random.default_rng(3).integers(0, VOCAB, (*LEADING, 2))
    target[0, 0], target[0, 1, 0] = -100, -100
    head = lt.jit(lt.losses.multi_token)
    close(head(hidden, weight, target=target, segments=KINDS["lengths"]()),
          head.reference(hidden, weight, target=target, segments=KINDS["lengths"]()))  # fmt: skip


@pytest.mark.parametrize("options", [{"chunks": 3}, {"workspace": "2MiB"}, {"weight_layout": "dv"}], ids=str)
def test_schedules_and_layouts(options):
    (hidden, weight), inputs = arguments()
    operands = hidden, weight.T if "weight_layout" in options else weight
    head = lt.jit(lt.losses.cross_entropy, reduction="sum", **options)
    value, gradients = head.value_and_grad(*operands, **inputs, segments=KINDS["ids"]())
    wanted, exact = head.reference_grad(*operands, **inputs, segments=KINDS["ids"]())
    close(value, wanted)
    for name, gradient in gradients.items():
        close(gradient, exact[name])


@SEGMENTS
def test_given_logits(kind):
    """Logits in the place of hidden states and weight, with their gradient."""
    (hidden, weight), inputs = arguments()
    head, segments = lt.jit(lt.losses.cross_entropy), KINDS[kind]()
    logits = hidden @ weight.T
    value, gradients = head.value_and_grad(z=logits, **inputs, segments=segments)
    wanted, exact = head.reference_grad(z=logits, **inputs, segments=segments)
    close(value, wanted)
    close(wanted, head.reference(hidden, weight, **inputs, segments=segments))
    close(gradients["z"], exact["z"])
    leaf = torch.from_numpy(logits).requires_grad_()
    head(z=leaf, target=torch.from_numpy(inputs["target"]), segments=segments).nan_to_num().sum().backward()
    close(leaf.grad, exact["z"])


def test_buffers_for_weight_gradients():
    operands, inputs = arguments(weighted)
    head, buffer = lt.jit(weighted), np.ones((VOCAB, HIDDEN), np.float32)
    head.value_and_grad(*operands, **inputs, segments=KINDS["lengths"](), weight_grad_out=buffer)
    _, exact = head.reference_grad(*operands, **inputs, segments=KINDS["lengths"]())
    close(buffer, 1 + exact["weight"])


def test_the_program_is_that_of_tokens():
    operands, inputs = arguments()
    head = lt.jit(lt.losses.cross_entropy)
    told = head.explain(*operands, **inputs, segments=KINDS["ids"]())
    assert told.forward_sweeps == 1
    assert "logitile.gather" in head.ir("spec", *operands, **inputs, segments=KINDS["ids"]())


# ---- torch ---------------------------------------------------------------------------------------


def dense(operands, inputs, segments, reduction):
    """Cross entropy of sequences by torch, in float64: sums or means, 0 without a token."""
    hidden, weight = (tensor.double() for tensor in operands)
    target = inputs["target"]
    each = torch.nn.functional.cross_entropy(
        (hidden @ weight.T).flatten(0, 1), target.flatten(), reduction="none", ignore_index=-100
    )
    chosen = segments[:, None] == torch.arange(COUNT)
    chosen = (chosen & (target.flatten() != -100)[:, None]).double()
    total = each @ chosen
    return total if reduction == "sum" else total / chosen.sum(0).clamp(min=1)


@pytest.mark.contract("2 segments")
@REDUCTION
@pytest.mark.parametrize("way", ["eager", "func", "checkpoint"])
def test_torch_differentiates(reduction, way):
    operands, inputs = arguments()
    inputs = {name: torch.from_numpy(item) for name, item in inputs.items()}
    numbers = torch.from_numpy(ids())
    head = lt.jit(lt.losses.cross_entropy, reduction=reduction, all_ignored="zero")
    slope = torch.linspace(-1, 2, COUNT)

    def value(hidden, weight):
        return head(hidden, weight, **inputs, segments=lt.Segments(numbers, COUNT)) @ slope

    exact = tensors(operands)
    wanted = dense(exact, inputs, numbers.flatten(), reduction) @ slope.double()
    gradients = torch.autograd.grad(wanted, exact)
    leaves = tensors(operands)
    if way == "func":
        found, made = value(*leaves), torch.func.grad(value, (0, 1))(*[leaf.detach() for leaf in leaves])
    else:
        found = torch.utils.checkpoint.checkpoint(value, *leaves, use_reentrant=False) \
            if way == "checkpoint" else value(*leaves)  # fmt: skip
        made = torch.autograd.grad(found, leaves)
    close(found.detach(), wanted.detach())
    for gradient, right in zip(made, gradients, strict=True):
        close(gradient, right)


def test_vmap_over_hidden_states_and_ids():
    (hidden, weight), inputs = arguments()
    head, target = lt.jit(lt.losses.cross_entropy, reduction="sum"), torch.from_numpy(inputs["target"])
    many = torch.stack([torch.from_numpy(hidden), 2 * torch.from_numpy(hidden)])
    numbers = torch.stack([torch.from_numpy(ids()), torch.from_numpy(ids()).roll(1)])
    weight = torch.from_numpy(weight)

    def value(hidden, numbers):
        return head(hidden, weight, target=target, segments=lt.Segments(numbers, COUNT))

    found = torch.func.vmap(value)(many, numbers)
    close(found, torch.stack([value(*pair) for pair in zip(many, numbers, strict=True)]))


@pytest.mark.parametrize("loss", [lt.losses.cross_entropy, weighted], ids=lambda f: f.name)
@pytest.mark.parametrize("kind", ["ids", "lengths", "lengths made inside"])
def test_compiled_without_a_break(loss, kind):
    operands, inputs = arguments(loss)
    inputs = {name: torch.from_numpy(item) for name, item in inputs.items()}
    head = lt.jit(loss)
    given = {
        "ids": lambda: lt.Segments(torch.from_numpy(ids()), COUNT),
        "lengths": lambda: lt.Segments.from_lengths(torch.tensor(LENGTHS)),
        "lengths made inside": lambda: None,
    }[kind]()

    def value(hidden, weight, segments):
        if segments is None:
            segments = lt.Segments.from_lengths([hidden.shape[1]] * hidden.shape[0])
        made = head(hidden, weight, **inputs, segments=segments)
        made = made if loss is lt.losses.cross_entropy else made.loss + made.entropy
        return made.nan_to_num().square().sum()

    def run(function):
        leaves = tensors(operands)
        found = function(*leaves, given)
        return found.detach(), *torch.autograd.grad(found, leaves)

    torch.compiler.reset()
    for found, wanted in zip(run(torch.compile(value, fullgraph=True)), run(value), strict=True):
        close(found, wanted)


def test_operators_pass_the_checks_of_torch():
    from torch.testing._internal.optests import opcheck

    numbers = torch.from_numpy(ids())
    opcheck(torch.ops.logitile.segment_ids, (numbers, False, COUNT, list(LEADING)))
    opcheck(torch.ops.logitile.segment_ids, (torch.tensor(LENGTHS), True, 5, list(LEADING)))
    opcheck(torch.ops.logitile.segment_sums, (torch.rand(LEADING), numbers, COUNT))


def test_a_graph_with_outputs_that_carry_no_gradient():
    """In a compiled graph zeros arrive for such outputs, also for one that divides another."""
    operands, inputs = arguments(weighted)
    inputs = {name: torch.from_numpy(item) for name, item in inputs.items()}
    head = lt.jit(weighted, reduction="none")

    def value(hidden, weight):
        made = head(hidden, weight, **inputs)
        return made.loss.sum() / made.weight.sum() + made.entropy.sum() / made.larger.sum().clamp(min=1)

    eager, compiled = tensors(operands), tensors(operands)
    value(*eager).backward()
    torch.compiler.reset()
    torch.compile(value, fullgraph=True)(*compiled).backward()
    for leaf, other in zip(compiled, eager, strict=True):
        close(leaf.grad, other.grad)


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_sums_have_the_same_bits_and_lose_none(framework):
    """Numbers that cancel: a sum in float32, or in another order, would differ."""
    rng = np.random.default_rng(4)
    values = (rng.standard_normal(200_000) * 10.0 ** rng.integers(-3, 6, 200_000)).astype(np.float32)
    numbers = rng.integers(0, 40, values.size)
    exact = np.zeros(40)
    np.add.at(exact, numbers, values.astype(np.float64))
    from logitile.frameworks.segments import segment_sums

    like = torch.from_numpy(values) if framework == "torch" else values
    chosen = torch.from_numpy(numbers) if framework == "torch" else numbers
    threads = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        found = {np.asarray(segment_sums(like).sums(like, chosen, 40)).tobytes() for _ in range(5)}
    finally:
        torch.set_num_threads(threads)
    assert found == {exact.astype(np.float32).tobytes()}


# ---- what is refused -----------------------------------------------------------------------------


def refused(error, message, segments, head=None, **changes):
    operands, inputs = arguments()
    head = head or lt.jit(lt.losses.cross_entropy)
    for given in (operands, [torch.from_numpy(item) for item in operands]):
        with pytest.raises(error, match=re.escape(message)):
            head(*given, **(inputs | changes), segments=segments)
    if head.options.reduces != "none" and not changes:
        with pytest.raises(error, match=re.escape(message)):
            head.reference(*operands, **inputs, segments=segments)


@pytest.mark.contract("2 segments")
def test_ids_that_do_not_fit():
    numbers = ids()
    numbers[1, 2] = 7
    refused(lt.CallIndexError, "the id of 'segments' at [1, 2] is 7, but there are 6 sequences",
            lt.Segments(numbers, COUNT))  # fmt: skip
    refused(lt.CallValueError, "the ids of 'segments' have shape [32], but the tokens have [4, 8]",
            lt.Segments(ids().reshape(-1), COUNT))  # fmt: skip
    for wrong in ("float32", "bool"):
        refused(lt.CallTypeError, f"{wrong}; they must be integers", lt.Segments(ids().astype(wrong), COUNT))


@pytest.mark.contract("2 segments")
def test_lengths_that_do_not_fit():
    refused(lt.CallValueError, "the lengths of 'segments' add up to 30, but hidden has 32 tokens",
            lt.Segments.from_lengths([20, 10]))  # fmt: skip
    refused(lt.CallValueError, "length 1 of 'segments' is -1; a sequence has 0 tokens or more",
            lt.Segments.from_lengths([33, -1]))  # fmt: skip
    refused(lt.CallTypeError, "the lengths of 'segments' are", lt.Segments.from_lengths([16.0, 16.0]))


def test_wrong_ids_in_a_compiled_graph():
    operands, inputs = arguments()
    head, target = lt.jit(lt.losses.cross_entropy), torch.from_numpy(inputs["target"])
    run = torch.compile(
        lambda h, w, n: head(h, w, target=target, segments=lt.Segments(n, COUNT)), fullgraph=True
    )
    torch.compiler.reset()
    with pytest.raises(lt.CallIndexError, match="is 9, but there are 6 sequences"):
        run(*[torch.from_numpy(item) for item in operands], torch.full(LEADING, 9))


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: lt.Segments(3, 2), lt.CallTypeError, "the ids of lt.Segments are of type int"),
        (lambda: lt.Segments([0], 2.0), lt.CallTypeError, "count=2.0 of lt.Segments must be an int"),
        (lambda: lt.Segments([0], True), lt.CallTypeError, "count=True of lt.Segments must be an int"),
        (lambda: lt.Segments([0], -1), lt.CallValueError, "count=-1 of lt.Segments must be from 0"),
        (lambda: lt.Segments.from_lengths(4), lt.CallTypeError, "the lengths of lt.Segments are of type int"),
        (lambda: lt.Segments.from_lengths(np.ones((2, 2), int)), lt.CallValueError, "have 2 axes"),
    ],
)
def test_segments_that_cannot_be(made, error, message):
    with pytest.raises(error, match=re.escape(message)):
        made()


def test_calls_that_cannot_have_segments():
    segments = KINDS["ids"]()
    refused(lt.CallTypeError, "'segments' is of type ndarray; give lt.Segments", ids())
    refused(lt.CallValueError, "but the reduction is 'none'", segments,
            lt.jit(lt.losses.cross_entropy, reduction="none"))  # fmt: skip
    refused(lt.CallValueError, "the reduction is 'sum'", segments,
            lt.jit(lt.losses.cross_entropy, reduction="sum"), divisor=3)  # fmt: skip
    refused(lt.CallValueError, "there is no output 'loss'", segments, lt.jit(lt.losses.logprob), divisor=3)
    refused(lt.CallTypeError, "'divisor' is the bool True", segments, divisor=True)
    refused(lt.CallValueError, "'divisor' has shape [2]", segments, divisor=np.ones(2))
    operands, inputs = arguments()
    head, place = lt.jit(lt.losses.cross_entropy), {"column_offset": 0, "vocab_size": VOCAB}
    for call in (lambda: head.partial(*operands, **inputs, **place, segments=segments),
                 lambda: head.compile(*operands, **inputs, segments=segments)):  # fmt: skip
        with pytest.raises(lt.CallTypeError, match="'segments' belongs to calls of a head"):
            call()


def test_what_reaches_sequences_has_their_shape():
    operands, inputs = arguments()
    head = lt.jit(lt.losses.cross_entropy)
    for call in (head.value_and_grad, head.reference_grad):
        with pytest.raises(
            lt.CallValueError, match=re.escape("has shape [5]; with 'segments' it is a number")
        ):
            call(*operands, **inputs, segments=KINDS["ids"](), grad_output=np.ones(5, np.float32))


def test_a_weight_that_would_lose_a_gradient():
    operands, inputs = arguments()
    leaves, target = tensors(operands), torch.from_numpy(inputs["target"])
    head, segments = lt.jit(leaking), KINDS["ids"]()
    with pytest.raises(lt.CallValueError, match="the output 'weight' of 'leaking' depends on"):
        head(*leaves, target=target, segments=segments)
    with pytest.raises(lt.CallValueError, match="the output 'weight' of 'leaking' depends on"):
        head.value_and_grad(*operands, **inputs, segments=segments)
    head(*leaves, target=target, segments=segments, divisor=5).loss.sum().backward()


def test_a_reduction_without_a_loss_needs_segments():
    operands, inputs = arguments()
    head = lt.jit(lt.losses.logprob, reduction="sum")
    assert head(*operands, **inputs, segments=KINDS["ids"]()).logprob.shape == (COUNT,)
    with pytest.raises(lt.CallValueError, match="'reduction' is given, but 'logprob' returns no loss"):
        head(*operands, **inputs)
