"""Heads inside of torch.compile and torch.export."""

import io
import os
import pathlib
import subprocess
import sys

import logitile as lt
import pytest
import torch
from calls import check_close
from torch._dynamo.testing import CompileCounterWithBackend

N, V, D = 7, 37, 16
HEAD = lt.jit(lt.losses.cross_entropy)
EACH = lt.jit(lt.losses.cross_entropy, reduction="none")
POLICY = lt.jit(lt.losses.logprob_entropy)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def operands(tokens=N, requires_grad=True):
    generator = torch.Generator().manual_seed(tokens)
    hidden = torch.randn(tokens, D, generator=generator).requires_grad_(requires_grad)
    weight = (torch.randn(V, D, generator=generator) / 2).requires_grad_(requires_grad)
    return hidden, weight, torch.randint(0, V, (tokens,), generator=generator)


def compiled(function, backend="aot_eager", **keywords):
    return torch.compile(function, fullgraph=True, backend=backend, **keywords)


def check_same(function, run, *leaves):
    """Values and gradients of a compiled function are those of the function."""
    got, wanted = run(), function()
    check_close(got, wanted)
    for a, b in zip(torch.autograd.grad(got, leaves), torch.autograd.grad(wanted, leaves), strict=True):
        assert a.dtype == b.dtype
        check_close(a, b, str(b.dtype)[6:])


@pytest.mark.contract("4 torch compile")
def test_training_steps():
    hidden, weight, target = operands()

    def step(x, w):
        return 3 * HEAD(torch.tanh(x), w, target=target) + EACH(x, w, target=target).sum()

    run = compiled(step)
    check_same(lambda: step(hidden, weight), lambda: run(hidden, weight), hidden, weight)


@pytest.mark.contract("4 torch compile")
def test_inductor():
    hidden, weight, target = operands()
    # nothing that it would compile itself
    run = compiled(lambda x, w: EACH(x, w, target=target), "inductor")
    got, wanted = run(hidden, weight), EACH(hidden, weight, target=target)
    check_close(got, wanted)
    cotangent = torch.linspace(-1, 1, N)
    got, wanted = (torch.autograd.grad(loss, (hidden, weight), cotangent) for loss in (got, wanted))
    for a, b in zip(got, wanted, strict=True):
        check_close(a, b)


def test_named_outputs():
    hidden, weight, target = operands()

    def step(x, w):
        out = POLICY(x, w, target=target)
        return out, (out.logprob * out.entropy).sum()

    out, total = compiled(step)(hidden, weight)
    wanted, expected = step(hidden, weight)
    assert type(out).__name__ == type(wanted).__name__ and out._fields == wanted._fields
    check_close(out.entropy, wanted.entropy)
    check_close(torch.autograd.grad(total, weight)[0], torch.autograd.grad(expected, weight)[0])


@pytest.mark.contract("2 recompiles")
def test_a_new_number_of_tokens_compiles_once():
    counter = CompileCounterWithBackend("aot_eager")
    run = torch.compile(lambda x, w, t: HEAD(x, w, target=t), fullgraph=True, backend=counter)
    for tokens in (5, 6, 7, 11, 16):
        hidden, weight, target = operands(tokens)
        check_close(run(hidden, weight, target), HEAD(hidden, weight, target=target))
    assert counter.frame_count == 2  # the first is for one number, the second for all


@pytest.mark.parametrize("dynamic", [None, True])
def test_other_sizes_of_the_head_compile_again(dynamic):
    made = compiled(lambda hidden, weight, target: HEAD(hidden, weight, target=target), dynamic=dynamic)
    hidden, weight, target = operands()
    for vocab, size in ((V, D), (V - 8, D), (V - 8, D // 2)):
        x, w = hidden.detach()[:, :size].requires_grad_(), weight.detach()[:vocab, :size].requires_grad_()
        y = target % vocab
        check_same(lambda: HEAD(x, w, target=y), lambda: made(x, w, y), x, w)  # noqa: B023


@pytest.mark.contract("4 digest")
def test_a_new_head_compiles_once():
    counter = CompileCounterWithBackend("aot_eager")
    hidden, weight, target = operands()

    def run(head, x):
        return head(x, weight, target=target)

    heads = [lt.jit(lt.losses.cross_entropy, label_smoothing=smoothing) for smoothing in (0.0, 0.125, 0.25)]
    step = torch.compile(run, fullgraph=True, backend=counter)
    for _ in range(2):
        for head in heads:
            check_close(step(head, hidden), head(hidden, weight, target=target))
    assert counter.frame_count == 3


def test_numbers_as_inputs():
    hidden, weight, target = operands()
    for temperature in (0.5, torch.tensor(0.5)):

        def step(x, temperature=temperature):
            return HEAD(x, weight, target=target, temperature=temperature)

        check_same(lambda step=step: step(hidden), lambda step=step: compiled(step)(hidden), hidden)
    run = compiled(lambda x, s: HEAD(x, weight, target=target, temperature=s, divisor=5))
    for temperature in (0.5, 0.75, 0.875):
        check_close(
            run(hidden, temperature), HEAD(hidden, weight, target=target, temperature=temperature, divisor=5)
        )


def test_a_number_that_changes_makes_two_graphs():
    """One for the first number, one for all numbers."""
    hidden, weight, target = operands()
    counter = CompileCounterWithBackend("aot_eager")
    run = compiled(lambda x, s: HEAD(x, weight, target=target, label_smoothing=s), counter)
    for smoothing in (0.1, 0.2, 0.3, 0.4):
        check_close(run(hidden, smoothing), HEAD(hidden, weight, target=target, label_smoothing=smoothing))
    assert counter.frame_count == 2


def test_pairs_by_name():
    hidden, weight, _ = operands()
    teacher = torch.randn(N, 8), torch.randn(V, 8)
    head = lt.jit(lt.losses.forward_kl)
    check_same(
        lambda: head(student=(hidden, weight), teacher=teacher),
        lambda: compiled(lambda x, w: head(student=(x, w), teacher=teacher))(hidden, weight),
        hidden,
        weight,
    )


@pytest.mark.parametrize("shared", ["hidden", "weight"])
def test_the_same_tensor_twice(shared):
    head = lt.jit(lt.losses.forward_kl)
    hidden, weight, _ = operands()
    other = (0.5 * (weight if shared == "hidden" else hidden)).detach()
    teacher = (hidden, other) if shared == "hidden" else (other, weight)

    def call():
        return head(student=(hidden, weight), teacher=teacher)

    check_same(call, compiled(call), hidden, weight)


def test_without_gradients():
    hidden, weight, target = operands()
    with torch.no_grad():
        out = compiled(lambda x: HEAD(x, weight, target=target))(hidden)
    assert not out.requires_grad
    check_close(out, HEAD(hidden, weight, target=target))


def test_autocast():
    hidden, weight, target = operands()

    def step(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return HEAD(x, w, target=target)

    check_same(lambda: step(hidden, weight), lambda: compiled(step)(hidden, weight), hidden, weight)
    got = torch.autograd.grad(compiled(step)(hidden, weight), hidden)[0]
    assert got.dtype == torch.float32
    counter = CompileCounterWithBackend("aot_eager")
    run = compiled(step, counter)
    half = hidden.detach().bfloat16()
    check_same(lambda: step(half, weight), lambda: run(half, weight), weight)
    assert not any("to" == str(node.target) for graph in counter.graphs for node in graph.graph.nodes)
    assert not torch.equal(run(half, weight), HEAD(half.float(), weight, target=target))


def test_modules():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.out = torch.nn.Linear(D, D), torch.nn.Linear(D, V, bias=False)
            self.head = lt.jit(lt.losses.cross_entropy)

        def forward(self, x, target):
            return self.head(self.body(x), self.out.weight, target=target)

    model, (hidden, _, target) = Model(), operands()
    run = compiled(model)
    check_same(lambda: model(hidden, target), lambda: run(hidden, target), *model.parameters())


def test_errors_stay_readable():
    hidden, weight, target = operands()
    with pytest.raises(Exception) as caught:
        compiled(lambda x: HEAD(x, weight, targets=target))(hidden)
    assert "'cross_entropy' has no input 'targets'; did you mean 'target'?" in str(caught.value)
    with pytest.raises(Exception) as caught:
        compiled(lambda x: HEAD(x[:, 1:], weight, target=target))(hidden)
    assert "hidden size 15 of 'hidden'" in str(caught.value)
    with pytest.raises(IndexError, match=r"'target'\[2\] is 37, outside the vocabulary of 37 entries"):
        target[2] = V
        compiled(lambda x: HEAD(x, weight, target=target))(hidden)


# ---- export --------------------------------------------------------------------------------------


class Exported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(operands()[1].detach())

    def forward(self, hidden, target):
        out = POLICY(hidden, self.weight, target=target)
        return HEAD(hidden, self.weight, target=target), out.entropy


LOAD = """
import sys, torch
sys.path.insert(0, {path!r})
import logitile.torch
program = torch.export.load({file!r}).module()
try:
    program(torch.zeros(7, 16), torch.zeros(7, dtype=torch.int64))
except Exception as error:
    print(error)
"""


@pytest.mark.parametrize("strict", [False, True])
def test_export(strict):
    hidden, _, target = operands(requires_grad=False)
    tokens = torch.export.Dim("tokens", min=2)
    program = torch.export.export(
        Exported(), (hidden, target), dynamic_shapes=({0: tokens}, {0: tokens}), strict=strict
    )
    stream = io.BytesIO()
    torch.export.save(program, stream)
    stream.seek(0)
    loaded = torch.export.load(stream).module()
    for count in (3, 12):
        hidden, _, target = operands(count, requires_grad=False)
        for got, wanted in zip(loaded(hidden, target), Exported()(hidden, target), strict=True):
            check_close(got, wanted)
    if strict:  # such a program is for inference
        return
    hidden.requires_grad_()
    (gradient,) = torch.autograd.grad(loaded(hidden, target)[0], hidden)
    check_close(gradient, HEAD.value_and_grad(hidden, Exported().weight.detach(), target=target)[1]["hidden"])


@pytest.mark.contract("4 digest")
def test_a_loaded_program_says_that_its_head_is_unknown(tmp_path):
    hidden, _, target = operands(requires_grad=False)
    file = str(tmp_path / "program.pt2")
    torch.export.save(torch.export.export(Exported(), (hidden, target)), file)
    package = str(pathlib.Path(lt.__file__).resolve().parents[1])
    path = next(folder for folder in sys.path if os.path.isdir(os.path.join(folder, "logitile"))) or package
    result = subprocess.run(
        [sys.executable, "-c", LOAD.format(path=path, file=file)], capture_output=True, text=True, timeout=120
    )
    assert "is not known in this process; build it with lt.jit" in result.stdout, (
        result.stdout + result.stderr
    )


# ---- heads that are made inside ------------------------------------------------------------------


def make(loss, **options):
    return lt.jit(loss, **options)


def change(loss, **options):
    return HEAD.with_options(**options)


@pytest.mark.contract("4 torch compile", "2 other options")
@pytest.mark.parametrize("made", [make, change])
def test_a_head_is_made_inside(made):
    hidden, weight, target = operands()

    def step(x, w, reduction, smoothing):
        head = made(lt.losses.cross_entropy, reduction=reduction, label_smoothing=smoothing)
        return head(torch.tanh(x), w, target=target).sum()

    run = compiled(step)
    for reduction in ("sum", "none", "sum"):
        for smoothing in (0.1, 0.2, 0.3):
            more = reduction, smoothing
            check_same(
                lambda more=more: step(hidden, weight, *more),
                lambda more=more: run(hidden, weight, *more),
                hidden, weight,
            )  # fmt: skip


def test_heads_that_are_made_inside_are_told_apart():
    """The graph of one loss or head is not that of another."""
    hidden, weight, target = operands()
    losses = (lt.losses.focal, lt.losses.cross_entropy, lt.losses.poly1)
    run = compiled(lambda loss: lt.jit(loss)(hidden, weight, target=target))
    for loss in losses:
        check_close(run(loss), lt.jit(loss)(hidden, weight, target=target))
    run = compiled(lambda head: head.with_options(reduction="sum")(hidden, weight, target=target))
    heads = [lt.jit(loss) for loss in losses] + [lt.jit(lt.losses.focal, gamma=g) for g in (0.5, 1.0)]
    for head in heads:
        check_close(run(head), head.with_options(reduction="sum")(hidden, weight, target=target))


def test_a_head_that_was_forgotten_is_made_again():
    @lt.loss
    def scaled(z: lt.Logits, target: lt.Token[int], *, factor: int = 1):
        return -factor * lt.log_softmax(z)[target]

    hidden, weight, target = operands()
    run = compiled(lambda: lt.jit(scaled, factor=1)(hidden, weight, target=target))
    first = run()
    for factor in range(300):
        lt.jit(scaled).with_options(factor=factor)
    check_close(run(), first)


def test_options_of_a_head_that_is_made_inside_are_checked():
    hidden, weight, target = operands()
    run = compiled(lambda: lt.jit(lt.losses.cross_entropy, reduction="men")(hidden, weight, target=target))
    with pytest.raises(Exception, match="reduction='men' is none of 'mean', 'sum' and 'none'"):
        run()


def test_a_loss_that_is_made_inside_is_refused():
    hidden, weight, target = operands()

    def step():
        @lt.loss
        def own(z: lt.Logits, target: lt.Token[int]):
            return -lt.log_softmax(z)[target]

        return lt.jit(own)(hidden, weight, target=target)

    with pytest.raises(torch._dynamo.exc.Unsupported) as caught:
        compiled(step)()
    assert "decorate the loss outside of the compiled function" in str(caught.value)
    check_close(torch.compile(step, backend="aot_eager")(), step())  # with a break it runs


def test_a_head_that_is_made_inside_takes_logits():
    _, _, target = operands()
    logits = torch.randn(N, V).requires_grad_()

    @lt.loss
    def new(z: lt.Logits, target: lt.Token[int]):
        return -lt.log_softmax(z)[target]

    def step():
        return lt.jit(new)(z=logits, target=target)

    check_same(step, compiled(step), logits)
