"""head.ir, head.explain and head.compile: stages, schedules and plans of calls,
with and without data.
"""

import re
from dataclasses import replace

import logitile as lt
import numpy as np
import pytest
from logitile import _native, losses

TOKENS, HIDDEN, VOCAB = 96, 64, 300
RNG = np.random.default_rng(7)
X = RNG.normal(size=(TOKENS, HIDDEN)).astype(np.float32)
W = RNG.normal(size=(VOCAB, HIDDEN)).astype(np.float32)
TARGET = RNG.integers(0, VOCAB, TOKENS)
TARGET[5] = -100


def shapes(tokens=TOKENS, dtype="float32"):
    S = lt.ShapeDtype
    return S((tokens, HIDDEN), dtype), S((VOCAB, HIDDEN), dtype)


TARGET_SHAPE = lt.ShapeDtype((TOKENS,), "int64")

# ---- ir ------------------------------------------------------------------------------------------


@pytest.mark.contract("4 ir")
@pytest.mark.parametrize("stage", ["spec", "plan", "tiles", "device", "llvm"])
def test_ir_of_shapes_is_that_of_arrays(stage):
    head = lt.jit(losses.cross_entropy)
    text = head.ir(stage, *shapes(), target=TARGET_SHAPE)
    assert text == head.ir(stage, X, W, target=TARGET)
    assert {"spec": "logitile.loss", "plan": "logitile.program", "tiles": "logitile.kernel"}.get(
        stage, "llvm."
    ) in text


@pytest.mark.contract("4 ir")
def test_ir_names_the_gradients():
    head = lt.jit(losses.cross_entropy)
    assert 'wrt ["z"]' in head.ir("spec", *shapes(), target=TARGET_SHAPE)
    assert "wrt" not in head.ir("spec", *shapes(), target=TARGET_SHAPE, grad=())
    only_hidden = head.ir("plan", *shapes(), target=TARGET_SHAPE, grad=["hidden"])
    assert "hidden_gradient of" in only_hidden and "weight_gradient of" not in only_hidden


def test_ir_of_one_kernel():
    head = lt.jit(losses.cross_entropy)
    text = head.ir("tiles", *shapes(), target=TARGET_SHAPE, kernel="finish1")
    assert text.count("logitile.kernel @") == 1 and "logitile.kernel @finish1" in text


def test_ir_of_kernels_that_share_code():
    head = lt.jit(losses.jensen_shannon)
    both = {"kernel": "teacher_hidden", "grad": ("student.hidden", "teacher.hidden")}
    assert "code = @student_hidden" in head.ir("tiles", *shapes(), *shapes(), **both)
    assert "func.func @student_hidden" in head.ir("device", *shapes(), *shapes(), **both)


def test_obj_is_an_archive_of_objects_that_threads_made():
    code = lt.jit(losses.cross_entropy).ir("obj", *shapes(), target=TARGET_SHAPE)
    assert code.startswith(b"!<arch>\n") and code.count(b"\x7fELF") == 2


@pytest.mark.contract("4 ir")
def test_ir_refuses_what_is_not_there():
    head = lt.jit(losses.cross_entropy)
    with pytest.raises(lt.CallValueError) as error:
        head.ir("tile", *shapes(), target=TARGET_SHAPE)
    assert "there is no stage 'tile'; did you mean 'tiles'?" in str(error.value)
    with pytest.raises(lt.CallValueError, match="there is no kernel 'finish9'.* 'finish1'"):
        head.ir("tiles", *shapes(), target=TARGET_SHAPE, kernel="finish9")
    with pytest.raises(lt.CallValueError, match="stage 'plan' has no kernels"):
        head.ir("plan", *shapes(), target=TARGET_SHAPE, kernel="finish1")
    with pytest.raises(lt.CallTypeError, match="grad names 'bias'"):
        head.ir("plan", *shapes(), target=TARGET_SHAPE, grad=["bias"])
    for backend, stage in (("cpu", "ptx"), ("cuda:sm_80", "obj"), ("emu:sm_80", "ptx")):
        with pytest.raises(lt.CallValueError, match=f"there is no stage '{stage}' for '{backend}"):
            lt.jit(losses.cross_entropy, backend=backend).ir(stage, *shapes(), target=TARGET_SHAPE)


@pytest.mark.contract("4 ir")
@pytest.mark.parametrize(("backend", "stage", "definition"), [
    ("cpu", "llvm", r"^define [^@]*@(\w+)\("), ("cuda:sm_80", "llvm", r"^define ptx_kernel [^@]*@(\w+)\("),
    ("cuda:sm_80", "ptx", r"\.entry (\w+)\("),
])  # fmt: skip
def test_code_of_one_kernel(backend, stage, definition):
    head = lt.jit(losses.cross_entropy, backend=backend)
    names = [
        re.findall(definition, head.ir(stage, *shapes(), target=TARGET_SHAPE, kernel=kernel), re.MULTILINE)
        for kernel in (None, "forward0")
    ]
    assert "gradient" in names[0] and "forward0" in names[0]
    assert "gradient" not in names[1] and "forward0" in names[1]


def test_extents_that_do_not_fit_in_32_bits():
    head = lt.jit(losses.cross_entropy)
    few, many = lt.ShapeDtype((5, 64), "float32"), lt.ShapeDtype((2**31, 64), "float32")
    with pytest.raises(lt.CallValueError, match="2147483648 entries; 2147418112 are the most"):
        head.ir("plan", few, many, target=lt.ShapeDtype((5,), "int64"))
    with pytest.raises(lt.CallValueError, match=f"hidden size of {2**56}; 2147418112 is the most"):
        deep = lt.ShapeDtype((5, 2**56), "float32")
        head.ir("plan", deep, deep, target=lt.ShapeDtype((5,), "int64"))
    with pytest.raises(lt.CallValueError, match="at most 2147483647 tokens; 'z.hidden' has 2147483648"):
        head.ir("plan", many, few, target=lt.ShapeDtype((2**31,), "int64"))


# ---- parts of a slice ----------------------------------------------------------------------------


@lt.loss
def deviations(z: lt.Logits, target: lt.Token[int]):
    """The mean of absolute deviations: several sweeps for the loss, and one for its gradient."""
    centred = z - lt.mean(z)
    spread = lt.mean(lt.sqrt(centred**2 + 1))
    return lt.logsumexp(centred / spread) - centred[target] / spread


def slice_of_deviations(part, stage=None, **more):
    """A part of a slice as `ir` or `explain` shows it."""
    head, call = lt.jit(deviations), {"target": TARGET_SHAPE, "part": part, "vocab_size": 1000, **more}
    return head.explain(*shapes(), **call) if stage is None else head.ir(stage, *shapes(), **call)


PARTS = (
    "forward0", "merge forward0", "forward1", "merge forward1", "forward2", "merge forward2", "backward0",
    "merge backward0", "finish", "gradient",
)  # fmt: skip


@pytest.mark.contract("4 ir")
@pytest.mark.parametrize("part", PARTS)
def test_ir_of_a_part_of_a_slice(part):
    text = slice_of_deviations(part, "plan")
    sweeps = re.findall(r"logitile\.sweep @(\w+)", text)
    merges, is_gradient = part.startswith("merge"), part == "gradient"
    assert sweeps == ([] if merges or part in ("finish", "gradient") else [part])
    assert ("logitile.gradient" in text) == is_gradient
    columns = 1 if merges or part == "finish" else VOCAB  # merges and finishes see no column
    assert f"vocab 1000 columns {columns} sweeps [3, 1]" in text
    assert f'input token "first.{part[6:]}.' in text if merges else "first." not in text


@pytest.mark.contract("4 explain")
def test_explanation_of_a_part_of_a_slice():
    told = slice_of_deviations("forward0")
    assert (told.tokens, told.vocab, told.mode) == (TOKENS, VOCAB, "forward")
    assert told.flops == 2 * TOKENS * VOCAB * HIDDEN
    assert told.compile_milliseconds["obj"] > 0
    assert slice_of_deviations("gradient").mode == "early"
    assert slice_of_deviations("merge backward0").flops == 0


@pytest.mark.contract("4 ir", "4 explain")
def test_parts_that_are_not_there():
    with pytest.raises(lt.CallValueError) as error:
        slice_of_deviations("forward3", "plan")
    assert str(error.value) == (
        "there is no part 'forward3'; did you mean 'forward2'?; this slice has 'forward0', 'merge forward0', "
        "'forward1', 'merge forward1', 'forward2', 'merge forward2', 'backward0', 'merge backward0', "
        "'finish' and 'gradient'"
    )
    with pytest.raises(lt.CallValueError, match="has 'forward0', 'merge forward0', .* and 'finish'"):
        slice_of_deviations("gradient", "plan", grad=())
    with pytest.raises(lt.CallTypeError, match="so give the vocab_size of all slices"):
        slice_of_deviations("forward0", vocab_size=None)
    with pytest.raises(lt.CallValueError, match="there is no part None; this slice has 'forward0', "):
        slice_of_deviations(None)
    with pytest.raises(lt.CallValueError, match="a part of a slice reads states of other parts"):
        slice_of_deviations("forward0", timing=True)
    with pytest.raises(lt.CallValueError, match="no kernel 'x'; it has 'pack_z_rows', 'forward0' and"):
        slice_of_deviations("forward0", "tiles", kernel="x")


# ---- explain -------------------------------------------------------------------------------------


@pytest.mark.contract("4 explain")
def test_explanation_of_a_kept_schedule():
    told = lt.jit(losses.cross_entropy, workspace="64MiB").explain(*shapes(), target=TARGET_SHAPE)
    assert (told.name, told.tokens, told.vocab, told.mode) == ("cross_entropy", TOKENS, VOCAB, "early")
    assert told.schedule == "all stored" and told.stored == VOCAB and told.chunks == 1
    assert (told.forward_sweeps, told.backward_sweeps) == (1, 0)
    assert told.flops == 3 * 2 * TOKENS * VOCAB * HIDDEN
    assert told.workspace_bytes == sum(told.workspace.values()) <= told.budget == 64 * 2**20
    assert told.workspace["logits and their gradient"] >= TOKENS * VOCAB * 4
    assert list(told.compile_milliseconds) == ["plan", "tiles", "device", "obj", "load"]
    assert all(kernel.milliseconds is None for kernel in told.kernels)


@pytest.mark.contract("5 backward sweeps")
def test_explanation_counts_the_projections_that_recomputing_adds():
    hidden, weight = lt.ShapeDtype((512, 64), "float32"), lt.ShapeDtype((20000, 64), "float32")
    target = lt.ShapeDtype((512,), "int32")
    with pytest.raises(lt.CallValueError, match="need at least") as refused:
        lt.jit(losses.cross_entropy, workspace=1).explain(hidden, weight, target=target)
    least = refused.value.minimum_workspace
    told = lt.jit(losses.cross_entropy, workspace=least).explain(hidden, weight, target=target)
    assert told.schedule == "recompute" and told.stored == 0
    assert told.flops == 4 * 2 * 512 * 20000 * 64


@pytest.mark.contract("2 least workspace")
def test_the_least_workspace_is_that_of_one_chunk_where_several_need_more():
    shapes = lt.ShapeDtype((2048, 512), "bfloat16"), lt.ShapeDtype((32000, 512), "bfloat16")
    target, backend = lt.ShapeDtype((2048,), "int32"), "cuda:sm_80"
    with pytest.raises(lt.CallValueError, match="need at least") as refused:
        lt.jit(losses.cross_entropy, workspace=1, backend=backend).explain(*shapes, target=target)
    least = refused.value.minimum_workspace
    # float32 sums of the weight's gradient, which several chunks have
    assert least < 4 * 32000 * 512
    told = lt.jit(losses.cross_entropy, workspace=least, backend=backend).explain(*shapes, target=target)
    assert told.chunks == 1 and told.workspace_bytes == least
    # The usual vocabulary splits, 16 of them, have more memory.
    assert dict((k.name, k.launches) for k in told.kernels)["gradient"] > 16


@pytest.mark.parametrize("chunks", [1, 4])
def test_explanation_counts_what_gpus_multiply(chunks):
    head = lt.jit(losses.cross_entropy, backend="cuda:sm_80", chunks=chunks)
    assert head.explain(*shapes(), target=TARGET_SHAPE).flops == 3 * 2 * TOKENS * VOCAB * HIDDEN


def test_terms_of_targets_read_one_row_of_the_weight_for_each_token():
    hidden, weight = lt.ShapeDtype((256, 512), "bfloat16"), lt.ShapeDtype((50000, 512), "bfloat16")
    head = lt.jit(losses.cross_entropy, backend="cuda:sm_80")
    told = {k.name: k for k in head.explain(hidden, weight, target=lt.ShapeDtype((256,), "int32")).kernels}
    join, product = told["join_z_hidden"], told["z_hidden"]
    assert product.flops > 0 and product.bytes > 2 * 50000 * 512
    assert join.flops == 0 and 2 * 256 * 512 < join.bytes < 50000 * 512


def test_explanation_with_chunks_has_no_budget():
    told = lt.jit(losses.cross_entropy, chunks=3).explain(*shapes(300), target=lt.ShapeDtype((300,), "int64"))
    assert told.budget is None and told.chunks == 3


@pytest.mark.parametrize(("threads", "words"), [(1, "1 thread,"), (2, "2 threads,")])
def test_explanation_counts_threads(threads, words):
    told = lt.jit(losses.cross_entropy).explain(*shapes(), target=TARGET_SHAPE)
    assert words in str(replace(told, threads=threads)).splitlines()[0]


@pytest.mark.parametrize("chunks", [None, 1, 3])
def test_history_and_explain_count_the_same_chunks(chunks):
    head = lt.jit(losses.cross_entropy, chunks=chunks)
    head(X, W, target=TARGET)
    told = head.explain(X, W, target=TARGET, grad=())
    assert lt.history()[-1]["chunks"] == told.chunks == (chunks or 1)


@pytest.mark.contract("4 explain")
def test_timing_measures_every_kernel():
    told = lt.jit(losses.cross_entropy).explain(X, W, target=TARGET, timing=True)
    assert all(kernel.milliseconds > 0 for kernel in told.kernels)
    with pytest.raises(lt.CallTypeError, match="has a shape but no data"):
        lt.jit(losses.cross_entropy).explain(*shapes(), target=TARGET_SHAPE, timing=True)


@pytest.mark.contract("4 explain")
def test_the_text_of_an_explanation():
    checks = """
    CHECK: cross_entropy on cpu:{{.*}} {{1 thread|[0-9]+ threads}}, gradients: along with the outputs
    CHECK: tokens 96 in 1 chunk; the same program serves {{13|25|49}} to
    CHECK: schedule all stored: 300 of 300 logits per token stay between sweeps; 1 forward and 0 backward
    CHECK: work 0.0111 Gflop
    CHECK: predicted {{.*}} ms, by {{.*}} Gflop/s and {{.*}} GB/s of memory
    CHECK: compiled plan {{.*}} ms, tiles {{.*}} ms, device {{.*}} ms, obj {{.*}} ms, load {{.*}} ms
    CHECK: workspace {{.*}}iB of 256.0 MiB
    CHECK: logits and their gradient
    CHECK: kernel launches Gflop bytes
    CHECK: forward0 1 0.00369
    """
    lt.testing.filecheck(str(lt.jit(losses.cross_entropy).explain(*shapes(), target=TARGET_SHAPE)), checks)


# ---- plans ---------------------------------------------------------------------------------------


@pytest.mark.contract("4 plans")
def test_a_saved_plan_gives_the_same_bits(tmp_path):
    head = lt.jit(losses.cross_entropy, reduction="sum")
    head.compile(X, W, target=TARGET).save(tmp_path / "ce.plan")
    plan = lt.load_plan(tmp_path / "ce.plan")
    out, gradients = plan.run(X, W, target=TARGET)
    wanted, wanted_gradients = head.value_and_grad(X, W, target=TARGET)
    assert out == wanted and list(gradients) == ["hidden", "weight"]
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, wanted_gradients[name])


def valid_targets():
    @lt.loss
    def mean_of_valid(z: lt.Logits, targets: lt.Token[int, lt.K]):
        logp = lt.log_softmax(z)
        return -sum(lt.where(lt.valid(t), logp[t], 0.0) for t in targets)

    return mean_of_valid


def test_a_saved_plan_knows_its_ignore_index(tmp_path):
    """lt.valid is compiled for one: with another, ignored entries would count,
    or valid ones would not.
    """
    targets = np.stack([TARGET, TARGET], 1)
    targets[:, 1] = 3
    targets[[0, 5]] = 3  # tokens that do not count
    head = lt.jit(valid_targets(), ignore="targets", ignore_index=3, all_ignored="zero")
    head.compile(X, W, targets=targets).save(tmp_path / "valid.plan")
    plan = lt.load_plan(tmp_path / "valid.plan")
    out, gradients = plan.run(X, W, targets=targets)
    wanted, wanted_gradients = head.value_and_grad(X, W, targets=targets)
    assert out == wanted
    np.testing.assert_array_equal(gradients["hidden"], wanted_gradients["hidden"])
    assert plan.run(X, W, targets=np.full_like(targets, 3))[0] == 0
    plan.save(tmp_path / "again.plan")
    assert (tmp_path / "again.plan").read_bytes() == (tmp_path / "valid.plan").read_bytes()


def test_a_saved_plan_refuses_another_ignore_index(tmp_path):
    lt.jit(losses.cross_entropy, ignore_index=3).compile(X, W, target=TARGET).save(tmp_path / "ce.plan")
    plan = _native.Engine().load((tmp_path / "ce.plan").read_bytes())
    options = _native.CallOptions(reduction="mean", ignore="target", ignore_index=-100, threads=1)
    with pytest.raises(lt.CallValueError, match="ignore_index is -100, but the plan was saved for 3"):
        plan.forward(options, [], [])


def test_a_plan_of_several_pairs_and_outputs():
    @lt.loss
    def both(student: lt.Logits, teacher: lt.Logits, alpha: lt.Scalar):
        p = lt.softmax(teacher)
        return lt.Outputs(
            loss=alpha * lt.sum(p * (lt.log_softmax(teacher) - lt.log_softmax(student))),
            top=lt.argmax(student),
        )

    head = lt.jit(both)
    given = {"student": (X, W), "teacher": (X[:, :8].copy(), W[:, :8].copy()), "alpha": 0.5}
    plan = head.compile(**given, grad=["student.hidden", "alpha"])
    out, gradients = plan.run(**given, grad_output=2.0)
    wanted, wanted_gradients = head.value_and_grad(
        **given, wrt=["student.hidden", "alpha"], grad_output={"loss": 2.0}
    )
    assert out.loss == wanted.loss and out._fields == ("loss", "top")
    np.testing.assert_array_equal(out.top, wanted.top)
    for name in ("student.hidden", "alpha"):
        np.testing.assert_array_equal(gradients[name], wanted_gradients[name])


@pytest.mark.contract("2 intervals")
def test_a_call_has_the_same_schedule_whatever_was_called_before():
    """A program in chunks would do for fewer tokens too, but slower."""
    many, few = 4096, 512
    x, w = np.zeros((many, 256), np.float32), np.zeros((4000, 256), np.float32)
    target = np.zeros(many, np.int64)
    in_chunks = lt.jit(losses.cross_entropy, workspace="24MiB")
    assert in_chunks.explain(x, w, target=target).chunks > 1
    in_chunks.value_and_grad(x, w, target=target)
    in_chunks.value_and_grad(x[:few], w, target=target[:few])
    assert lt.history()[-1]["event"] == "compile"
    assert in_chunks.compile(x[:few], w, target=target[:few]).interval[0] < few
    assert in_chunks.compile(x, w, target=target).interval[0] > few


@pytest.mark.contract("2 recompiles")
def test_a_plan_serves_an_interval():
    plan = lt.jit(losses.cross_entropy, workspace="6MiB").compile(X, W, target=TARGET, grad=())
    first, end = plan.interval
    target = plan._native.describe(0, 1)["target"]
    assert repr(plan) == f"<plan of 'cross_entropy' for {target}, {first} to {end - 1} tokens>"
    assert first <= TOKENS < end
    out, gradients = plan.run(X[:first], W, target=TARGET[:first])
    assert gradients == {} and out == lt.jit(losses.cross_entropy, workspace="6MiB")(
        X[:first], W, target=TARGET[:first]
    )
    text = f"the plan serves calls of {first} to {end - 1} tokens, but 'hidden' has {first - 1}"
    with pytest.raises(lt.CallValueError, match=text):
        plan.run(X[: first - 1], W, target=TARGET[: first - 1])
    many = np.zeros((end, X.shape[1]), np.float32)
    with pytest.raises(lt.CallValueError, match=f"has {end}; compile a plan"):
        plan.run(many, W, target=np.zeros(end, np.int64))


def test_plans_refuse_what_does_not_fit(tmp_path):
    plan = lt.jit(losses.cross_entropy).compile(X, W, target=TARGET, grad=())
    for arguments, text in [
        (((X,), {"target": TARGET}), "takes hidden and weight of 'z' by position, 2 arrays; got 1"),
        (((X, W), {"targets": TARGET}), "the plan reads no 'targets'; did you mean 'target'?"),
        (((X, W), {}), "the plan reads 'target', which the call does not give"),
        (((X, W[:9]), {"target": TARGET}), "z.weight"),
    ]:
        with pytest.raises(lt.CallError) as error:
            plan.run(*arguments[0], **arguments[1])
        assert text in str(error.value)
    (tmp_path / "bad.plan").write_bytes(b"no plan")
    with pytest.raises(lt.CallValueError):
        lt.load_plan(tmp_path / "bad.plan")
    with pytest.raises(lt.CallTypeError, match="'weight_grad_out' belongs to calls that run once"):
        lt.jit(losses.cross_entropy).compile(X, W, target=TARGET, weight_grad_out=np.zeros_like(W))
