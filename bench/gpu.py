"""Measures steps of training (loss and both gradients) of cross entropy on a GPU, beside torch.

The floor is what cuBLAS needs for three products of stored logits, Z = X Wᵀ, dX = G W, dW = Gᵀ X,
measured in the same rounds. On a GPU with products of warpgroups, other kernels take part: those of
single warps (mma.sync), and pairs of thread blocks that share an operand. They show whether the
compiler's choice is right. Contenders take turns in every round; medians over rounds go to OUT.json
and a table. A contender whose loss or gradients are not those of torch's eager step is an error.
"""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import logitile as lt
import torch
import torch.nn.functional as F
from logitile import _native

# Tokens, hidden size, vocabulary: heads of models in use.
SHAPES = [
    (2048, 768, 50257), (16384, 2048, 32768), (8192, 4096, 128256), (4096, 8192, 128256),
    (16384, 3072, 153600), (16384, 2048, 256128), (16384, 2048, 262144), (16384, 4096, 151936),
]  # fmt: skip
FLOOR, OURS = "cuBLAS", "logitile"
# Options of heads with other kernels than those that the compiler chooses. Pairs of thread blocks
# share operands of 16 bits only.
VARIANTS = {"mma.sync": {"backend": "cuda:sm_90"}, "pairs": {"tiles": "cluster=2"}}
Step = Callable[[], torch.Tensor | None]


def variants(target: str, dtype: torch.dtype) -> list[str]:
    """The VARIANTS that a device has, whose target is such as "cuda:sm_90a"."""
    if target.partition(":")[2] != "sm_90a":
        return []
    return ["mma.sync"] if dtype == torch.float32 else ["mma.sync", "pairs"]


class Case:
    """The arrays of one shape, and its contenders by name.

    Args:
        shape: tokens, hidden size, vocabulary.
        dtype: of hidden states and weight.
        device: "cuda" or "cpu".
    """

    def __init__(self, shape: tuple[int, int, int], dtype: torch.dtype, device: str) -> None:
        tokens, hidden, vocab = shape
        torch.compiler.reset()  # it compiles a function for few shapes only
        torch.manual_seed(0)
        make = functools.partial(torch.randn, device=device, dtype=dtype)
        self.hidden = make(tokens, hidden).requires_grad_()
        self.weight = (make(vocab, hidden) / hidden**0.5).requires_grad_()
        self.target = torch.randint(vocab, (tokens,), device=device)
        self.shape, self.device = shape, device
        compiled = torch.compile(eager_loss, dynamic=False)
        heads = {OURS: lt.jit(lt.losses.cross_entropy)}
        if device == "cuda":
            for name in variants(_native.device_target("cuda"), dtype):
                heads[name] = lt.jit(lt.losses.cross_entropy, **VARIANTS[name])
        self.contenders: dict[str, Step] = {
            FLOOR: self.products,
            "torch eager": functools.partial(self.step, eager_loss),
            "torch.compile": functools.partial(self.step, compiled),
        } | {name: functools.partial(self.step, with_target(head)) for name, head in heads.items()}

    def step(self, loss_of: Callable[..., torch.Tensor]) -> torch.Tensor:
        self.hidden.grad = self.weight.grad = None
        loss = loss_of(self.hidden, self.weight, self.target)
        loss.backward()
        return loss.detach()

    @torch.no_grad()
    def products(self) -> None:
        logits = self.hidden @ self.weight.T
        logits @ self.weight
        logits.T @ self.hidden

    def seconds(self, step: Step) -> float:
        if self.device == "cpu":
            start = time.perf_counter()
            step()
            return time.perf_counter() - start
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        step()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) * 1e-3

    def results(self, name: str) -> list[torch.Tensor]:
        """Loss and gradients of one step."""
        loss = self.contenders[name]()
        return [loss, self.hidden.grad, self.weight.grad]


def with_target(head: lt.Head) -> Callable[..., torch.Tensor]:
    return lambda hidden, weight, target: head(hidden, weight, target=target)


def eager_loss(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(F.linear(hidden, weight).float(), target)


def distance(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """The norm of the difference against the norm, in float32."""
    return float((found.float() - wanted.float()).norm() / wanted.float().norm().clamp(min=1e-30))


def warm_up(case: Case) -> tuple[dict[str, int], dict[str, float], dict[str, str]]:
    """Peak bytes of every contender that runs, how far its results are from those of eager,
    and why others do not run.
    """
    peaks, distances, absent, wanted = {}, {}, {}, None
    for name in [n for n in case.contenders if n != FLOOR]:
        try:
            case.contenders[name]()  # compiles
            bytes_before = reset_peak(case.device)
            found = case.results(name)
            peaks[name] = peak(case.device) - bytes_before
        except Exception as error:
            is_full = isinstance(error, torch.OutOfMemoryError)
            if not is_full and name != "torch.compile":
                raise  # that one needs a C compiler and Triton, which not every machine has
            absent[name] = "out of memory" if is_full else "does not compile"
            print(f"{name}: {absent[name]}: {str(error).strip().splitlines()[0]}", flush=True)
            case.hidden.grad = case.weight.grad = None
            torch.cuda.empty_cache()
            continue
        if name == "torch eager":
            wanted = found
        elif wanted is not None:
            distances[name] = max(distance(a, b) for a, b in zip(found, wanted, strict=True))
    case.hidden.grad = case.weight.grad = None
    return peaks, distances, absent


def reset_peak(device: str) -> int:
    if device == "cpu":
        return 0
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def peak(device: str) -> int:
    return 0 if device == "cpu" else torch.cuda.max_memory_allocated()


def measure(shape: tuple[int, int, int], dtype: torch.dtype, device: str, rounds: int) -> dict[str, object]:
    """Medians over rounds in which contenders take turns."""
    case = Case(shape, dtype, device)
    peaks, distances, absent = warm_up(case)
    names = [FLOOR, *peaks]
    times: dict[str, list[float]] = {name: [] for name in names}
    case.products()
    for _ in range(rounds):
        for name in names:
            times[name].append(case.seconds(case.contenders[name]))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    return {
        "shape": shape,
        "dtype": str(dtype).removeprefix("torch."),
        "ms": {name: 1e3 * taken for name, taken in medians.items()},
        "ms_range": {name: [1e3 * min(taken), 1e3 * max(taken)] for name, taken in times.items()},
        "share_of_floor": {name: medians[FLOOR] / taken for name, taken in medians.items()},
        "floor_tflops": 6e-12 * shape[0] * shape[1] * shape[2] / medians[FLOOR],
        "peak_bytes": peaks,
        "distance_from_eager": distances,
        "absent": absent,
    }


def table(results: list[dict[str, object]]) -> str:
    """Times, shares of the floor and peak memory, a line for each shape."""
    names = [name for name in (*results[0]["ms"], *results[0]["absent"]) if name != FLOOR]
    lines = [f"{'N, D, V':22} {'cuBLAS':>18} " + " ".join(f"{name:>26}" for name in names)]
    for r in results:
        cells = [f"{r['ms'][FLOOR]:9.2f} ms {r['floor_tflops']:4.0f} TF"]
        for name in names:
            if name not in r["ms"]:
                cells.append(f"{r['absent'][name]:>26}")
                continue
            mebibytes = r["peak_bytes"][name] / 2**20
            cells.append(f"{r['ms'][name]:8.2f} ms {r['share_of_floor'][name]:4.0%} {mebibytes:5.0f} MiB")
        lines.append(f"{', '.join(map(str, r['shape'])):22} " + " ".join(cells))
    return "\n".join(lines)


def machine(device: str) -> dict[str, object]:
    about = {"torch": torch.__version__, "logitile": _native.build_id(), "device": device}
    if device == "cuda":
        about |= {
            "gpu": torch.cuda.get_device_name(),
            "target": _native.device_target("cuda"),
            "cuda": torch.version.cuda,
        }
    return about


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: tries this script")
    parser.add_argument("--shapes", nargs="+", metavar="N,D,V", help="others than those of models in use")
    parser.add_argument("--dtype", choices=["bfloat16", "float16", "float32"], default="bfloat16")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=240, help="no further shape is begun after these")
    parser.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path("bench/results/gpu"), help="writes OUT.json"
    )
    arguments = parser.parse_args()
    shapes = [tuple(map(int, text.split(","))) for text in arguments.shapes] if arguments.shapes else SHAPES
    start, results = time.monotonic(), []
    for shape in shapes:
        if results and time.monotonic() - start > arguments.seconds:
            print(f"{shape} and those after it are left out: {arguments.seconds:.0f} s are over")
            break
        print(f"{shape} ...", flush=True)
        results.append(measure(shape, getattr(torch, arguments.dtype), arguments.device, arguments.rounds))
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        report = {"machine": machine(arguments.device), "rounds": arguments.rounds, "shapes": results}
        arguments.out.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
    print(table(results))
    far = [f"{name} at {r['shape']}: {d:.2g}" for r in results for name, d in r["distance_from_eager"].items()
           if not d < 0.02]  # fmt: skip
    if far:
        print(f"results are further than 0.02 from those of torch eager: {'; '.join(far)}")
        return 1
    for name in [name for name in results[0]["ms"] if name in VARIANTS]:
        ratios = [f"{r['ms'][name] / r['ms'][OURS]:.2f}" for r in results if {name, OURS} <= r["ms"].keys()]
        print(f"{name}: {', '.join(ratios)} of the time of the kernels that the compiler chooses")
    shares = [f"{r['share_of_floor'][OURS]:.0%}" for r in results if OURS in r["ms"]]
    print(f"logitile runs at {', '.join(shares)} of the floor")
    return 0


if __name__ == "__main__":
    sys.exit(main())
