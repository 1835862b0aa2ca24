"""The contenders: who computes a case, each in a process of its own.
None of them keeps results of a call.
"""

from __future__ import annotations

import abc
import ctypes
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from . import building
from .cases import Case, dtype_of

Arrays = dict[str, numpy.ndarray]
# outputs by name, gradients by the name of their input with a point before it
Results = dict[str, Any]


class Unsupported(Exception):
    """A contender does not do this case; the text says what it lacks."""


class Contender(abc.ABC):
    """Somebody who computes cases. `prepare`, then calls, then `forget`."""

    def versions(self) -> dict[str, str]:
        """The libraries that do the work."""
        return {}

    @abc.abstractmethod
    def prepare(self, case: Case, arrays: Arrays) -> None:
        """Takes the arrays of a case. Raises Unsupported."""

    def checked(self) -> None:  # noqa: B027 - nothing to do for most
        """Called after the first call, whose results are checked. Later calls are timed."""

    def before(self) -> None:  # noqa: B027 - nothing to do for most
        """What comes before each call, without being timed."""

    @abc.abstractmethod
    def call(self) -> Results:
        """Outputs, and gradients where the case has them, in new memory."""

    def release(self) -> None:  # noqa: B027 - nothing to do for most
        """Frees what is kept between calls, so that the next call allocates all of its memory."""

    def forget(self) -> None:  # noqa: B027 - nothing to do for most
        """Drops the case and its arrays."""


class Torch(Contender):
    """What torch users write, of one loss function; subclasses say which."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        torch.set_num_threads(threads())

    def versions(self) -> dict[str, str]:
        return {"torch": self.torch.__version__}

    def loss(self, case: Case) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """Outputs of arrays."""
        from . import losses

        return losses.TORCH[case.loss]

    def tensors(self, arrays: Arrays) -> dict[str, Any]:
        """The same memory as tensors."""
        return {name: self._tensor(array) for name, array in arrays.items()}

    def prepare(self, case: Case, arrays: Arrays) -> None:
        from . import losses

        self._objective = losses.objective
        self._loss = self.loss(case)
        self._arrays = self.tensors(arrays)
        self._trained = (
            [name for name in losses.TRAINED if name in arrays] if case.mode == "gradients" else []
        )
        for name in self._trained:
            self._arrays[name].requires_grad_()

    def call(self) -> Results:
        if not self._trained:
            with self.torch.no_grad():
                return self._loss(self._arrays)
        outputs = self._loss(self._arrays)
        self._objective(outputs, self._arrays).backward()
        results = {name: tensor.detach() for name, tensor in outputs.items()}
        for name in self._trained:
            results[f".{name}"], self._arrays[name].grad = self._arrays[name].grad, None
        return results

    def forget(self) -> None:
        self._arrays = self._loss = None

    def _tensor(self, array: numpy.ndarray) -> Any:
        if array.dtype != dtype_of("bfloat16"):
            return self.torch.from_numpy(array)
        return self.torch.from_numpy(array.view(numpy.int16)).view(self.torch.bfloat16)


class Eager(Torch):
    """F.linear and the loss on all logits."""


class Reference(Torch):
    """Eager on float32 copies of the inputs: what the results of all others are compared with."""

    def tensors(self, arrays: Arrays) -> dict[str, Any]:
        found = super().tensors(arrays)
        return {
            name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in found.items()
        }


class Compiled(Torch):
    """torch.compile of eager."""

    def __init__(self) -> None:
        building.compiler("g++")  # which the generated code needs
        super().__init__()
        import torch._inductor.config

        torch._inductor.config.compile_threads = 1  # else a pool of processes stays

    def loss(self, case: Case) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return self.torch.compile(super().loss(case), dynamic=False, fullgraph=True)

    def forget(self) -> None:
        super().forget()
        self.torch._dynamo.reset()


class Chunked(Torch):
    """torch's own chunked form, F.linear_cross_entropy with options."""

    def loss(self, case: Case) -> Callable[[dict[str, Any]], dict[str, Any]]:
        if case.loss != "cross_entropy":
            raise Unsupported("F.linear_cross_entropy computes cross entropy alone")
        options = self.torch.nn.LinearCrossEntropyOptions()
        function = self.torch.nn.functional.linear_cross_entropy
        return lambda a: {"loss": function(a["hidden"], a["weight"], a["target"], options=options)}

    def prepare(self, case: Case, arrays: Arrays) -> None:
        super().prepare(case, arrays)
        warnings.simplefilter("error", UserWarning)  # it warns where it falls back to all logits


class Logitile(Torch):
    """The product, called with tensors."""

    def __init__(self) -> None:
        super().__init__()
        import logitile

        self.logitile = logitile

    def versions(self) -> dict[str, str]:
        from logitile import _native

        return {"logitile": _native.build_id(), "tier": _native.host_target()}

    def loss(self, case: Case) -> Callable[[dict[str, Any]], dict[str, Any]]:
        from . import losses

        return losses.logitile_loss(case.loss)

    def release(self) -> None:
        self.logitile.trim()

    def forget(self) -> None:
        super().forget()
        self.logitile.trim()


class Peaked(Logitile):
    """The product, on logits with a deviation of 24 instead of 3: many gradients are tiny or 0."""

    FACTOR = 8

    def checked(self) -> None:
        hidden = self._arrays["hidden"]
        self._arrays["hidden"] = (hidden.detach() * self.FACTOR).requires_grad_(hidden.requires_grad)


class Given(Logitile):
    """The product, which writes gradients to memory that stays from call to call."""

    def prepare(self, case: Case, arrays: Arrays) -> None:
        if case.loss != "cross_entropy" or case.mode != "gradients":
            raise Unsupported("it is for gradients of cross entropy")
        super().prepare(case, arrays)
        self._head = self.logitile.jit(self.logitile.losses.cross_entropy)
        self._given = {name: self.torch.zeros_like(self._arrays[name]) for name in self._trained}

    def call(self) -> Results:
        hidden, weight = (self._arrays[name].detach() for name in ("hidden", "weight"))
        loss, gradients = self._head.value_and_grad(
            hidden, weight, target=self._arrays["target"], grad_out=self._given
        )
        return {"loss": loss, **{f".{name}": gradient for name, gradient in gradients.items()}}

    def forget(self) -> None:
        super().forget()
        self._given = {}


class Unfused(Contender):
    """Cross entropy on a library's GEMMs with a vectorised softmax, unfused.cpp.
    Room for logits is kept.
    """

    FLAGS = ("-march=native", "-shared", "-fPIC", "-fopenmp", "-fno-math-errno", "-fno-trapping-math")

    def __init__(self, library: str, header: str, package: str, types: tuple[str, ...]) -> None:
        building.require_header(header, package)
        flags = [*self.FLAGS, f"-DUSE_{library.upper()}"]
        link = {"onednn": "-ldnnl", "openblas": "-lopenblas"}[library]
        source = building.BENCH / "comparison" / "unfused.cpp"
        self._library = ctypes.CDLL(str(building.built("g++", source, flags, [link])))
        self._library.unfused_version.restype = ctypes.c_char_p
        self._library.unfused_open.restype = ctypes.c_void_p
        self._library.unfused_run.restype = ctypes.c_float
        self._name, self._types, self._baseline = library, types, None

    def versions(self) -> dict[str, str]:
        return {self._name: self._library.unfused_version().decode()}

    def prepare(self, case: Case, arrays: Arrays) -> None:
        if case.loss != "cross_entropy":
            raise Unsupported("the baseline computes cross entropy alone")
        if case.dtype not in self._types:
            raise Unsupported(f"this build of {self._name} has no product of {case.dtype} matrices")
        self._case, self._arrays, self._logits = case, arrays, None
        sizes = [ctypes.c_int64(size) for size in (case.tokens, case.hidden, case.vocab)]
        self._baseline = ctypes.c_void_p(self._library.unfused_open(*sizes, int(case.dtype == "bfloat16")))

    def call(self) -> Results:
        arrays, case = self._arrays, self._case
        if self._logits is None:
            self._logits = numpy.empty((case.tokens, case.vocab), arrays["hidden"].dtype)
        names = ("hidden", "weight") if case.mode == "gradients" else ()
        gradients = {f".{name}": numpy.empty_like(arrays[name]) for name in names}
        given = [arrays["hidden"], arrays["weight"], arrays["target"], self._logits, *gradients.values()]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in given] + [None] * (6 - len(given))
        loss = self._library.unfused_run(self._baseline, *pointers)
        return {"loss": numpy.float32(loss), **gradients}

    def release(self) -> None:
        self._logits = None

    def forget(self) -> None:
        if self._baseline is not None:
            self._library.unfused_close(self._baseline)
        self._arrays = self._logits = self._baseline = None


class Product(Torch):
    """A plain product of matrices by torch, of the size of the logits."""

    def loss(self, case: Case) -> Callable[[dict[str, Any]], dict[str, Any]]:
        linear = self.torch.nn.functional.linear
        return lambda a: {"logits": linear(a["hidden"].detach(), a["weight"].detach())}

    def prepare(self, case: Case, arrays: Arrays) -> None:
        super().prepare(case, arrays)
        self._trained = []


class After(Contender):
    """One contender, timed right after another one in the same process."""

    def __init__(self, timed: Callable[[], Contender], other: Callable[[], Contender]) -> None:
        self._timed, self._other = timed(), other()

    def versions(self) -> dict[str, str]:
        return self._timed.versions()

    def prepare(self, case: Case, arrays: Arrays) -> None:
        self._timed.prepare(case, arrays)
        self._other.prepare(case, arrays)

    def before(self) -> None:
        self._other.call()

    def call(self) -> Results:
        return self._timed.call()

    def forget(self) -> None:
        self._timed.forget()
        self._other.forget()


CONTENDERS: dict[str, Callable[[], Contender]] = {
    "logitile": Logitile,
    "peaked": Peaked,
    "given": Given,
    "eager": Eager,
    "compile": Compiled,
    "chunked": Chunked,
    "onednn": functools.partial(Unfused, "onednn", "dnnl.hpp", "libdnnl-dev", ("float32", "bfloat16")),
    "openblas": functools.partial(Unfused, "openblas", "cblas.h", "libopenblas-dev", ("float32",)),
}
OTHERS: dict[str, Callable[[], Contender]] = {
    "reference": Reference,
    "product": Product,
    "logitile-after-product": functools.partial(After, Logitile, Product),
    "product-after-logitile": functools.partial(After, Product, Logitile),
}


def threads() -> int:
    """Threads of this process, as workers.py sets them."""
    import os

    return int(os.environ["OMP_NUM_THREADS"])
