"""No thread of a kernel waits for one that may not come. Emulators do not see LLVM's branches."""

import itertools

import logitile as lt
import numpy as np
import pytest
from inputs import arguments
from logitile.spec.gradient_flow import differentiable_outputs
from ptx_convergence import kernels

SCHEDULES = ({"chunks": 1}, {"chunks": 4}, {"workspace": "4MiB"})
SOME = ("cross_entropy", "jensen_shannon", "top_k_kl")


def shapes(loss, dtype):
    """Shapes of every required input; hidden states and weights of a type."""

    def shape(item):
        return lt.ShapeDtype(np.shape(item), np.asarray(item).dtype)

    given = arguments(loss, tokens=512, vocab=5003, hidden=256)
    return {
        name: tuple(lt.ShapeDtype(x.shape, dtype) for x in item) if isinstance(item, tuple) else shape(item)
        for name, item in given.items()
    }


@pytest.mark.parametrize("index, name, options", [
    pytest.param(i, name, options, marks=() if name in SOME else pytest.mark.full, id=f"{name}-{options}")
    for i, (name, options) in enumerate(itertools.product(lt.losses.__all__, SCHEDULES))
])  # fmt: skip
def test_nobody_is_waited_for_in_vain(index, name, options):
    """Types take turns."""
    dtype = ("bfloat16", "float32")[index % 2]
    loss = getattr(lt.losses, name)
    given = shapes(loss, dtype)
    plain = lt.jit(loss)
    grad = None if differentiable_outputs(plain._bind(**given).form.spec) else ()
    found = kernels(lt.jit(loss, backend="cuda:sm_90", **options).ir("ptx", grad=grad, **given))
    assert sum(len(kernel.waiting()) for kernel in found) > 20
    assert [text for kernel in found for text in kernel.apart()] == []


# ---- small kernels -------------------------------------------------------------------------------

LANE = "mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\nsetp.gt.u32 %p1, %r2, 3;"
WARP = "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nsetp.gt.u32 %p1, %r2, 3;"
BLOCK = "mov.u32 %r2, %ctaid.x;\nsetp.gt.u32 %p1, %r2, 3;"
BARRIER = "bar.sync 0;"
SHUFFLE = "shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1;"


def branch(condition, there):
    return f"{condition}\n@%p1 bra $L1;\n{there}\n$L1:\nret;"


def loop(condition, there):
    again = "add.s32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, %r2;\n@%p2 bra $L1;"
    return f"{condition}\n$L1:\n{there}\n{again}\nret;"


def choice(condition, there):
    """What two paths give decides."""
    paths = "mov.b32 %r5, 1;\n@%p1 bra $L1;\nmov.b32 %r5, 2;\n$L1:\nsetp.eq.s32 %p3, %r5, 2;"
    return f"{condition}\n{paths}\n@%p3 bra $L2;\n{there}\n$L2:\nret;"


def small(body):
    return f".visible .entry small(\n.param .u64 a\n)\n{{\n.reg .b32 %r<9>;\n{body}\n}}\n"


@pytest.mark.parametrize("form", [branch, loop, choice])
@pytest.mark.parametrize(
    "condition, there, is_fine",
    [
        (LANE, BARRIER, False), (WARP, BARRIER, False), (BLOCK, BARRIER, True),
        (LANE, SHUFFLE, False), (WARP, SHUFFLE, True), (BLOCK, SHUFFLE, True),
    ],
)  # fmt: skip
def test_branches_are_followed(form, condition, there, is_fine):
    (kernel,) = kernels(small(form(condition, there)))
    assert kernel.apart() == ([] if is_fine else [f"small: {there[:-1]}"])


def test_after_a_branch_all_are_together_again():
    text = branch(LANE, "add.s32 %r7, %r7, 1;").replace("ret;", f"{BARRIER}\nret;")
    (kernel,) = kernels(small(text))
    assert len(kernel.waiting()) == 1 and kernel.apart() == []
