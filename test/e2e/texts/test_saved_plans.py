"""A plan saved to bytes and loaded in another process gives the same bits."""

import json

import logitile as lt
import numpy as np
import pytest
import subprocesses
from logitile import _native
from schedules import gradients_apart
from test_zoo import sample

# Loads a plan and a call's arrays, runs both phases and writes the results.
LOADED = """
import json
import numpy as np
from logitile import _native

folder = sys.argv[1]
call = json.load(open(f"{folder}/call.json"))
arrays = np.load(f"{folder}/arrays.npz")
plan = _native.Engine().load(open(f"{folder}/plan", "rb").read())


def native(kind, names):
    return [(name, arrays[f"{kind} {name}"]) for name in names]


made = [key for key in arrays.files if key.split()[0] in ("output", "gradient")]
results = {key: np.full_like(arrays[key], 7) for key in made}
outputs = [(name, results[f"output {name}"]) for name in call["outputs"]]
gradients = [(name, results[f"gradient {name}"]) for name in call["gradients"]]
options = _native.CallOptions(**call["options"])
inputs, cotangents = native("input", call["inputs"]), native("cotangent", call["cotangents"])
early = not call["split"]
saved = plan.forward(options, inputs, outputs, gradients if early else (), cotangents if early else ())
assert (saved is None) == early
if saved is not None:
    saved.backward(inputs, gradients, cotangents)
np.savez(f"{folder}/results.npz", **results)
"""


def saved(made, folder, split):
    """Writes a plan that a sample's head has run, and its arguments."""
    (program,) = made.head._programs.made.values()
    plan = program.plan(made.tokens)
    results = made.run()
    outputs = {f"output {name}": value for name, value in results.items() if not name.startswith("grad ")}
    gradients = {f"gradient {name[5:]}": value for name, value in results.items() if name.startswith("grad ")}
    inputs = {}
    for name, item in made.given.items():
        if name in made.pairs:
            inputs |= {f"input {name}.hidden": item[0], f"input {name}.weight": item[1]}
        else:
            inputs[f"input {name}"] = np.asarray(item)
    cotangents = {f"cotangent {name}": up for name, up in made.cotangent.items()}
    np.savez(folder / "arrays.npz", **outputs, **gradients, **inputs, **cotangents)
    options = {"reduction": "none", "threads": program.threads}
    (folder / "plan").write_bytes(plan.save(_native.CallOptions(**options)))
    groups = {"outputs": outputs, "gradients": gradients, "inputs": inputs, "cotangents": cotangents}
    names = {kind: [key.partition(" ")[2] for key in group] for kind, group in groups.items()}
    (folder / "call.json").write_text(json.dumps({**names, "options": options, "split": split}))
    return results


@pytest.mark.contract("4 plans")
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("name", ["plain", "soft_targets", "vocab_scale", "jsd", "mtp"])
def test_a_plan_in_another_process_gives_the_same_bits(name, split, tmp_path, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    made = sample(name, "float32", workspace="6MiB")
    with gradients_apart(split):
        made.run()
        results = saved(made, tmp_path, split)
    subprocesses.run(LOADED, tmp_path)
    other = np.load(tmp_path / "results.npz")
    for key, value in results.items():
        kind, plain = ("gradient", key[5:]) if key.startswith("grad ") else ("output", key)
        assert np.array_equal(other[f"{kind} {plain}"], value), key


def test_a_damaged_plan_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    made = sample("plain", "float32")
    made.run()
    (program,) = made.head._programs.made.values()
    options = _native.CallOptions(reduction="none", threads=1)
    data = bytearray(program.plan(made.tokens).save(options))
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(data), 40):
        wrong = bytes(data[:position]) + bytes([data[position] ^ 0x41]) + bytes(data[position + 1 :])
        with pytest.raises(Exception, match="plan") as caught:
            _native.Engine().load(wrong)
        assert type(caught.value).__module__ == "logitile.errors"


def test_a_plan_tells_of_an_index_that_its_loss_computes():
    """It holds no lines of the loss, so the text starts with what is wrong."""

    @lt.loss
    def shifted(z: lt.Logits, target: lt.Token[int]):
        return lt.logsumexp(z) - z[target + 1]

    operands = np.ones((4, 8), np.float32), np.ones((16, 8), np.float32)
    target = np.array([1, 2, 15, 3])
    plan = lt.jit(shifted).compile(*operands, target=target)
    with pytest.raises(lt.CallIndexError) as caught:
        plan.run(*operands, target=target)
    assert str(caught.value).startswith("the index that is computed for token [2] is 16, outside")
