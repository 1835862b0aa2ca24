"""Frameworks that are older than what is tested are refused, before anything is asked of them."""

import logitile as lt
import pytest
import tree
from logitile.frameworks import choice
from logitile.frameworks.versions import OLDEST, check_version


@pytest.mark.parametrize(
    ("framework", "version"), [("torch", "2.12.1+cpu"), ("torch", "1.13"), ("jax", "0.8.0")]
)
def test_versions_that_are_too_old(framework, version):
    with pytest.raises(lt.TargetError) as caught:
        check_version(framework, version)
    wanted = {"torch": "2.13", "jax": "0.8.1"}[framework]
    assert str(caught.value) == (
        f"{framework} is version {version}, but logitile needs {wanted} or later; "
        f"pip install '{framework}>={wanted}', or pass NumPy arrays"
    )


@pytest.mark.parametrize(("framework", "version"), [
    ("torch", "2.13.0a0+git1234"), ("torch", "3.0"), ("jax", "0.8.1"), ("jax", "0.10.2"), ("jax", "1.0"),
])  # fmt: skip
def test_versions_that_are_taken(framework, version):
    check_version(framework, version)


def test_the_extras_name_the_same_versions():
    extras = (tree.ROOT / "pyproject.toml").read_text()
    for framework, oldest in OLDEST.items():
        assert f'"{framework}>={".".join(map(str, oldest))}"' in extras


def test_a_tensor_of_an_old_torch_is_refused(monkeypatch):
    torch = pytest.importorskip("torch")
    choice._torch_framework.cache_clear()
    monkeypatch.setattr(torch, "__version__", "2.12.0")
    with pytest.raises(lt.TargetError, match="torch is version 2.12.0, but logitile needs 2.13"):
        lt.jit(lt.losses.entropy)(torch.zeros(2, 4), torch.zeros(8, 4))
    monkeypatch.undo()
    assert lt.jit(lt.losses.entropy)(torch.zeros(2, 4), torch.zeros(8, 4)) is not None


def test_an_array_of_an_old_jax_is_refused(monkeypatch):
    jax = pytest.importorskip("jax")
    choice._jax_call.cache_clear()
    monkeypatch.setattr(jax, "__version__", "0.7.2")
    with pytest.raises(lt.TargetError, match="jax is version 0.7.2, but logitile needs 0.8.1"):
        lt.jit(lt.losses.entropy)(jax.numpy.zeros((2, 4)), jax.numpy.zeros((8, 4)))
