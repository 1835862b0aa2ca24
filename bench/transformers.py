#!/usr/bin/env python3
"""Training steps of a Transformers model, patched and not: seconds and peak memory.

    PYTHONPATH=build/python .venv/bin/python bench/transformers.py
    PYTHONPATH=build/python .venv/bin/python bench/transformers.py --vocab 128256 --json out.json

Each variant runs in a process of its own, because a process's peak memory never falls. The
processes take turns, and the median of their rounds counts. "memory" is the peak of a step beyond
what the process had before its first step: model, optimizer and libraries are not in it. The
weight's gradient is.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

VARIANTS = ("unpatched", "patched")


def measure(arguments: argparse.Namespace) -> dict[str, float]:
    """One variant in this process: the first step warms up."""
    import resource

    import torch
    import transformers
    from logitile.integrations.transformers import patch

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=arguments.hidden, intermediate_size=2 * arguments.hidden, num_hidden_layers=2,
        num_attention_heads=4, vocab_size=arguments.vocab, max_position_embeddings=arguments.length,
        tie_word_embeddings=False, dtype=arguments.dtype,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).to(getattr(torch, arguments.dtype)).train()
    if arguments.variant == "patched":
        patch(model)
    ids = torch.randint(arguments.vocab, (arguments.batch, arguments.length))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, loss = [], 0.0
    for _ in range(arguments.steps + 1):
        start = time.perf_counter()
        step = model(input_ids=ids, labels=ids).loss
        step.backward()
        seconds.append(time.perf_counter() - start)
        loss = step.item()
        model.zero_grad()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": statistics.median(seconds[1:]), "mebibytes": (peak - before) / 1024, "loss": loss}


def rounds(arguments: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """All variants, in turns, each in a process of its own."""
    results: dict[str, list[dict[str, float]]] = {variant: [] for variant in VARIANTS}
    for _ in range(arguments.rounds):
        for variant in VARIANTS:
            # -P: `import transformers` shall not find this file.
            command = [sys.executable, "-P", __file__, *sys.argv[1:], "--variant", variant]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            results[variant].append(json.loads(done.stdout.splitlines()[-1]))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--vocab", type=int, default=32000)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=512, help="tokens of a sequence")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--steps", type=int, default=3, help="in each process")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each variant")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.variant:
        print(json.dumps(measure(arguments)))
        return
    results = rounds(arguments)
    middle = {
        variant: {key: statistics.median(one[key] for one in runs) for key in runs[0]}
        for variant, runs in results.items()
    }
    print(f"{'':<12}{'s per step':>12}{'memory MiB':>12}{'loss':>10}")
    for variant, row in middle.items():
        print(f"{variant:<12}{row['seconds']:>12.3f}{row['mebibytes']:>12.0f}{row['loss']:>10.5f}")
    time_ratio, memory_ratio = (
        middle["patched"][key] / middle["unpatched"][key] for key in ("seconds", "mebibytes")
    )
    print(f"patched: {time_ratio:.2f} of the time, {memory_ratio:.2f} of the memory")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"arguments": vars(arguments), "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
