"""JAX programs that outlive the process: its compilation cache, and exported programs."""

import os
import pathlib
import subprocess
import sys
import textwrap

import logitile as lt
import pytest

pytest.importorskip("jax.export")
pytest.importorskip("flatbuffers")

START = """
import os, sys, numpy as np, jax, jax.numpy as jnp
from jax import export
rng = np.random.default_rng(0)
X = jnp.asarray(rng.normal(size=(6, 16)), jnp.float32)
W = jnp.asarray(rng.normal(size=(37, 16)), jnp.float32)
T = jnp.asarray(rng.integers(0, 37, 6))
def dense(x, w, t):
    z = x @ w.T
    return (jax.nn.logsumexp(z, -1) - jnp.take_along_axis(z, t[:, None], 1)[:, 0]).mean()
"""
EXPORT = """
import logitile as lt
head = lt.jit(lt.losses.cross_entropy)
checks = [export.DisabledSafetyCheck.custom_call("logitile_call_v1")]
tokens = export.symbolic_shape("n")[0] if sys.argv[2] == "symbolic" else 6
shapes = (jax.ShapeDtypeStruct((tokens, 16), "float32"), W, jax.ShapeDtypeStruct((tokens,), "int32"))
step = jax.jit(jax.value_and_grad(lambda x, w, t: head(x, w, target=t), (0, 1)))
open(sys.argv[1], "wb").write(export.export(step, disabled_checks=checks)(*shapes).serialize())
"""
LOAD = """
import logitile.jax
program = export.deserialize(open(sys.argv[1], "rb").read())
for tokens in (6, 4) if sys.argv[2] == "symbolic" else (6,):
    found = program.call(X[:tokens], W, T[:tokens])
    wanted = jax.value_and_grad(dense, (0, 1))(X[:tokens], W, T[:tokens])
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
"""
CACHED = """
import logitile as lt
from jax import monitoring
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
events = []
monitoring.register_event_listener(lambda event, **_: events.append(event))
head = lt.jit(lt.losses.cross_entropy)
value = jax.jit(lambda x, w, t: head(x, w, target=t))(X, W, T)
np.testing.assert_allclose(value, dense(X, W, T), rtol=1e-5)
print("hits", sum("cache_hits" in event for event in events))
"""


def run(code, *arguments, cache):
    """A process with a disk cache of its own, and its output."""
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([package_folder(), os.environ.get("PYTHONPATH", "")]))
    env.update(LOGITILE_CACHE_DIR=str(cache), JAX_PLATFORMS="cpu")
    command = [sys.executable, "-c", textwrap.dedent(START + code), *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)


def package_folder():
    """Where this process has the package from, with the native module."""
    return str(pathlib.Path(sys.modules["logitile"].__file__).parents[1])


@pytest.mark.contract("6 keys")
@pytest.mark.parametrize("tokens", ["static", "symbolic"])
def test_an_exported_program_finds_its_heads_on_disk(tmp_path, tokens):
    program = tmp_path / "program"
    made = run(EXPORT, program, tokens, cache=tmp_path / "cache")
    assert made.returncode == 0, made.stderr
    loaded = run(LOAD, program, tokens, cache=tmp_path / "cache")
    assert loaded.returncode == 0, loaded.stderr


def test_an_open_vocabulary_is_refused():
    jax = pytest.importorskip("jax")
    head = lt.jit(lt.losses.entropy)
    (entries,) = jax.export.symbolic_shape("v")
    shapes = [jax.ShapeDtypeStruct((3, 8), "float32"), jax.ShapeDtypeStruct((entries, 8), "float32")]
    with pytest.raises(
        lt.CallValueError, match="the vocabulary size is the symbol v, but code is compiled for a number"
    ):
        jax.export.export(jax.jit(lambda x, w: head(x, w)))(*shapes)


def test_a_head_that_is_missing_is_named(tmp_path):
    program = tmp_path / "program"
    assert run(EXPORT, program, "static", cache=tmp_path / "cache").returncode == 0
    for cache, place in ((tmp_path / "other", "nor in "), ("off", "and the disk cache is off")):
        loaded = run(LOAD, program, "static", cache=cache)
        assert loaded.returncode == 1
        assert "head lt1:" in loaded.stderr and "is not known in this process" in loaded.stderr
        assert place in loaded.stderr


def test_the_command_removes_records(tmp_path):
    assert run(EXPORT, tmp_path / "program", "static", cache=tmp_path / "cache").returncode == 0
    clear = (
        "import runpy; sys.argv[1:] = ['cache', 'clear']; runpy.run_module('logitile', run_name='__main__')"
    )
    cleared = run(clear, cache=tmp_path / "cache")
    assert "removed 2 records of heads" in cleared.stdout, cleared.stderr
    assert list((tmp_path / "cache" / "heads").iterdir()) == []


def test_a_record_that_was_changed_is_not_used(tmp_path):
    program = tmp_path / "program"
    assert run(EXPORT, program, "static", cache=tmp_path / "cache").returncode == 0
    for record in (tmp_path / "cache" / "heads").iterdir():
        record.write_text(record.read_text().replace("mean", "sum"))
    loaded = run(LOAD, program, "static", cache=tmp_path / "cache")
    assert "is not known in this process" in loaded.stderr


@pytest.mark.contract("6 keys")
def test_the_compilation_cache_of_jax_serves_another_process(tmp_path):
    first = run(CACHED, tmp_path / "jax", cache="off")
    second = run(CACHED, tmp_path / "jax", cache="off")
    assert first.stdout.strip() == "hits 0", first.stderr
    hits = int(second.stdout.split()[-1])
    assert hits > 0, second.stderr
