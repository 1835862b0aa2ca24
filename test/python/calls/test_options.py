"""Options and constants of lt.jit: what is accepted, and the full text of what is not."""

from dataclasses import replace

import logitile as lt
import numpy as np
import pytest


@lt.loss
def loss(
    z: lt.Logits,
    target: lt.Token[int],
    other: lt.Token[int],
    x: lt.Token[float],
    *,
    eps: float,
    gamma: float = 2.0,
):
    return (lt.logsumexp(z) - z[target]) * eps * gamma + z[other] * x


@lt.loss
def plain(z: lt.Logits):
    return lt.logsumexp(z)


def test_defaults():
    options = lt.jit(plain).options
    assert (options.reduces, options.ignoring_input, options.ignore_index, options.workspace) == (
        "mean",
        "target",
        -100,
        None,
    )


@pytest.mark.parametrize(("workspace", "expected"), [
    ("auto", None), (1000, 1000), ("512MiB", 512 * 2**20), ("1.5 GiB", 3 * 2**29), ("64KiB", 2**16),
    ("2GB", 2 * 10**9),
    ("7B", 7), ("100 KB", 100_000), ("3MB", 3_000_000),
    ("512mib", 2**29), ("2GIB", 2**31), ("1tib", 2**40), ("1.5 tb", 1_500_000_000_000),
    (np.int64(1000), 1000),
])  # fmt: skip
def test_workspace(workspace, expected):
    assert lt.jit(plain, workspace=workspace).options.workspace == expected


def test_numbers_of_numpy():
    options = lt.jit(plain, chunks=np.int64(3), ignore_index=np.int32(-1)).options
    assert (options.chunks, options.ignore_index) == (3, -1)
    assert type(options.chunks) is int and type(options.ignore_index) is int


@pytest.mark.contract("2 backend")
@pytest.mark.parametrize("backend", [
    "auto", "cpu", "cuda", "cuda:sm_80", "cuda:sm_90", "cuda:sm_90:h100", "cuda:sm_90a", "emu:sm_80",
])  # fmt: skip
def test_backends(backend):
    assert lt.jit(plain, backend=backend).options.backend == backend


@pytest.mark.contract("2 pointless options", "2 chunks")
@pytest.mark.parametrize(("error", "options", "message"), [
    (lt.CallValueError, {"reduction": "avg"}, "reduction='avg' is none of 'mean', 'sum' and 'none'"),
    (lt.CallValueError, {"reduction": "means"}, "reduction='means' is none of 'mean', 'sum' and 'none'; did "
     "you mean 'mean'?"),
    (lt.CallValueError, {"all_ignored": 0}, "all_ignored=0 is none of 'nan' and 'zero'"),
    (lt.CallValueError, {"weight_layout": "VD"}, "weight_layout='VD' is none of 'vd' and 'dv'"),
    (lt.CallValueError, {"ignore_index": 2**31}, "ignore_index=2147483648 must be an int that fits in 32 "
     "bits, or None"),
    (lt.CallValueError, {"ignore_index": 1.0}, "ignore_index=1.0 must be an int that fits in 32 bits, "
     "or None"),
    (lt.CallValueError, {"ignore": "x"}, "ignore='x' names no lt.Token[int] input of 'loss'; it has "
     "'target' and 'other'"),
    (lt.CallValueError, {"ignore": "labels"}, "ignore='labels' names no lt.Token[int] input of 'loss'; it "
     "has 'target' and 'other'"),
    (lt.CallValueError, {"chunks": 0}, "chunks=0 must be a positive int"),
    (lt.CallValueError, {"chunks": True}, "chunks=True must be a positive int"),
    (lt.CallValueError, {"chunks": 2, "workspace": "1GiB"}, "'chunks' and 'workspace' exclude each other: "
     "one fixes the number of chunks, the other their size"),
    (lt.CallValueError, {"workspace": 0}, "workspace=0 is not a byte budget; give 'auto', a positive int or "
     "text such as '512MiB'"),
    (lt.CallValueError, {"workspace": "5iB"}, "workspace='5iB' is not a byte budget; give 'auto', a positive "
     "int or text such as '512MiB'"),
    (lt.CallValueError, {"workspace": "lots"}, "workspace='lots' is not a byte budget; give 'auto', a "
     "positive int or text such as '512MiB'"),
    (lt.CallValueError, {"workspace": "0.0GiB"}, "workspace='0.0GiB' is not a byte budget; give 'auto', a "
     "positive int or text such as '512MiB'"),
    (lt.CallValueError, {"backend": "gpu"}, "backend='gpu' is unknown: no device runs 'gpu'; there are "
     "'cpu', 'cuda', 'emu', 'auto' and 'reference'"),
    (lt.TargetError, {"backend": "cuda:sm_100a"}, "there is no target 'cuda:sm_100a'; 'cuda:' has sm_80, "
     "sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120; with a chip sm_80:a100, sm_86:rtx3090, sm_89:l40s, "
     "sm_89:rtx4090, sm_90:h100, sm_90:h200, sm_90a:h100, sm_90a:h200, sm_100:b200, sm_120:rtx5090"),
    (lt.TargetError, {"backend": "cpu:"}, "there is no target 'cpu:'; 'cpu:' has portable, avx2, avx512, "
     "avx512_bf16, amx_bf16, amx_bf16_emulated"),
    (lt.CallValueError, {"backend": 1}, "backend=1 must be a str, such as 'auto' or 'cpu'"),
    (lt.CallTypeError, {"gama": 1.0}, "lt.jit has no option and 'loss' no constant 'gama'; did you mean "
     "'gamma'?"),
    (lt.CallTypeError, {"reducton": "sum"}, "lt.jit has no option and 'loss' no constant 'reducton'; did "
     "you mean 'reduction'?"),
    (lt.CallTypeError, {"target": 1}, "'target' is an input of 'loss', not a constant: give it to the head, "
     "not to lt.jit"),
])  # fmt: skip
def test_refusals(error, options, message):
    with pytest.raises(error) as caught:
        lt.jit(loss, **{"eps": 0.5, **options})
    assert str(caught.value) == message


def test_missing_constant():
    with pytest.raises(lt.CallTypeError) as caught:
        lt.jit(loss)
    assert str(caught.value) == "lt.jit(loss) needs 'eps': constants without a default"


def test_ignore_without_integers():
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(plain, ignore="target")
    assert str(caught.value) == "ignore='target' names no lt.Token[int] input of 'plain'; it has none"


def test_only_losses():
    with pytest.raises(lt.CallTypeError) as caught:
        lt.jit(len)
    assert (
        str(caught.value)
        == "lt.jit takes a loss, not <built-in function len>; decorate the function with lt.loss"
    )


def test_a_constant_may_have_the_name_of_the_first_argument():
    @lt.loss
    def named(z: lt.Logits, *, loss: float):
        return lt.logsumexp(z) * loss

    assert lt.jit(named, loss=2.0).constants == {"loss": 2.0}


def test_numpy_constants_become_python_numbers():
    head = lt.jit(loss, eps=np.float32(0.5), gamma=np.int64(3))
    assert head.constants == {"eps": 0.5, "gamma": 3}
    assert type(head.constants["gamma"]) is int
    assert repr(head) == "<head of 'loss', eps=0.5, gamma=3>"


def test_a_head_tells_what_it_was_bound_to():
    head = lt.jit(lt.losses.cross_entropy, label_smoothing=0.1, workspace="1KiB", reduction="sum")
    assert repr(head) == "<head of 'cross_entropy', label_smoothing=0.1, reduction='sum', workspace='1KiB'>"


@pytest.mark.parametrize("given, shown", [("2MiB", "'2MiB'"), (3 << 29, "'1536MiB'"), ("1kb", "1000")])
def test_a_head_shows_its_workspace_in_units(given, shown):
    head = lt.jit(lt.losses.cross_entropy, workspace=given)
    assert repr(head) == f"<head of 'cross_entropy', workspace={shown}>"
    assert lt.jit(lt.losses.cross_entropy, workspace=eval(shown)).options == head.options


# ---- other options of a head ---------------------------------------------------------------------


@pytest.mark.contract("2 other options")
def test_a_head_with_other_options():
    head = lt.jit(lt.losses.focal, ignore_index=7, gamma=1.5, workspace="64MiB")
    other = head.with_options(reduction="sum", gamma=3.0)
    assert other.options == replace(head.options, reduction="sum") and other.constants == {"gamma": 3.0}
    assert head.options.reduction is None and head.constants == {"gamma": 1.5}
    assert head.with_options(workspace="auto", chunks=4).options.chunks == 4


@pytest.mark.contract("2 other options")
def test_the_same_choice_is_the_same_head():
    head = lt.jit(lt.losses.cross_entropy)
    for choice in (
        {},
        {"reduction": "sum"},
        {"z_loss": 0.1},
        {"returns": ("lse",)},
        {"output_dtype": "hidden"},
    ):
        assert head.with_options(**choice) is head.with_options(**choice)
    made = [head.with_options(label_smoothing=number) for number in (0, 0.0, -0.0, 1, 1.0)]
    assert len({id(one) for one in made}) == 5
    assert head.with_options(ignore_index=np.int64(3)) is head.with_options(ignore_index=3)
    assert head.with_options(output_dtype=np.dtype("f4")) is head.with_options(output_dtype="float32")
    assert head.with_options(reduction="sum").with_options(z_loss=0.1) is head.with_options(
        z_loss=0.1, reduction="sum"
    )


def test_a_constant_that_has_no_text_makes_a_head_of_its_own():
    @lt.loss
    def first_of(z: lt.Logits, *, entries: list):
        return z[entries[0]]

    head, entries = lt.jit(first_of, entries=[1]), [2]
    assert head.with_options(entries=entries) is not head.with_options(entries=entries)


def test_a_head_that_becomes_another_one_is_not_taken_for_the_former():
    head = lt.jit(lt.losses.cross_entropy)
    changed = head.with_options(chunks=3)
    changed.options = replace(changed.options, chunks=5)
    assert head.with_options(chunks=3).options.chunks == 3


def test_a_loss_keeps_a_number_of_heads():
    @lt.loss
    def scaled(z: lt.Logits, target: lt.Token[int], *, factor: int = 1):
        return -factor * lt.log_softmax(z)[target]

    head = lt.jit(scaled)
    first = head.with_options(factor=-1)
    for factor in range(300):
        head.with_options(factor=factor)
    assert len(vars(scaled.kept)) == 256
    assert head.with_options(factor=299) is head.with_options(factor=299)
    assert head.with_options(factor=-1) is not first


@pytest.mark.parametrize(("options", "message"), [
    ({"reduction": "men"}, "reduction='men' is none of 'mean', 'sum' and 'none'; did you mean 'mean'?"),
    ({"z_los": 1.0}, "lt.jit has no option and 'cross_entropy' no constant 'z_los'; did you mean 'z_loss'?"),
    ({"target": 1}, "'target' is an input of 'cross_entropy', not a constant: give it to the head, not to "
     "lt.jit"),
])  # fmt: skip
def test_other_options_are_checked(options, message):
    with pytest.raises(lt.CallError) as caught:
        lt.jit(lt.losses.cross_entropy).with_options(**options)
    assert str(caught.value) == message
