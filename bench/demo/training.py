"""One contender of the demo, in a process of its own: for each line that it reads,
a step and a JSON line.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import torch
from memory import keep_freed_memory, peak_of
from text import VOCABULARY
from torch import Tensor, nn
from torch.nn import functional

HIDDEN = 128
SEQUENCE = 256
BATCH = 16  # sequences; 4096 tokens, so that logits take 4096 x 32768 x 4 bytes = 512 MiB
STEPS = 50
WORKSPACE = 128 * 2**20
# steps whose memory is measured, after the first calls have set themselves up
MEASURED = range(2, 5)

LossOf = Callable[[Tensor, Tensor, Tensor], Tensor]


class Model(nn.Module):
    """Embedding and one transformer layer;
    `head` is the weight of the projection to the vocabulary.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.position = nn.Parameter(torch.randn(SEQUENCE, HIDDEN) * 0.02)
        self.layer = nn.TransformerEncoderLayer(
            HIDDEN, nhead=4, dim_feedforward=4 * HIDDEN, dropout=0.0, batch_first=True, norm_first=True
        )
        self.norm = nn.LayerNorm(HIDDEN)
        self.head = nn.Parameter(torch.randn(VOCABULARY, HIDDEN) * 0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        """Hidden states [BATCH, SEQUENCE, HIDDEN] of tokens [BATCH, SEQUENCE]."""
        causal = nn.Transformer.generate_square_subsequent_mask(SEQUENCE)
        hidden = self.embedding(tokens) + self.position
        return self.norm(self.layer(hidden, src_mask=causal, is_causal=True))


def torch_loss() -> tuple[LossOf, Callable[[], None]]:
    def loss_of(hidden: Tensor, weight: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(functional.linear(hidden, weight).flatten(0, 1), target.flatten())

    return loss_of, lambda: None


def logitile_loss() -> tuple[LossOf, Callable[[], None]]:
    import logitile as lt

    head = lt.jit(lt.losses.cross_entropy, workspace=WORKSPACE)
    return lambda hidden, weight, target: head(hidden, weight, target=target), lt.trim


def loss_and_gradients(loss_of: LossOf, hidden: Tensor, weight: Tensor, target: Tensor) -> Tensor:
    """The part that the contenders do differently: head, loss and both gradients."""
    loss = loss_of(hidden, weight, target)
    loss.backward()
    return loss


def main(contender: str, token_file: str) -> None:
    """Takes steps on the text of `token_file`, int32 [STEPS * BATCH * SEQUENCE + 1],
    one per line read.
    """
    torch.manual_seed(0)
    model = Model()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    text = torch.from_numpy(numpy.load(token_file).astype(numpy.int64))
    loss_of, release = {"torch": torch_loss, "logitile": logitile_loss}[contender]()
    size = BATCH * SEQUENCE
    for step, _ in enumerate(sys.stdin):
        begin = time.perf_counter()
        batch = text[step * size : (step + 1) * size + 1]
        states = model(batch[:-1].view(BATCH, SEQUENCE))
        hidden = states.detach().requires_grad_()
        target = batch[1:].view(BATCH, SEQUENCE)
        loss_step = functools.partial(loss_and_gradients, loss_of, hidden, model.head, target)
        record: dict[str, float] = {"step": step}
        if step == MEASURED.stop:
            keep_freed_memory()
        if step in MEASURED:
            release()  # workspace that is kept for later calls counts as well
            loss, peak = peak_of(loss_step)
            record["memory"] = peak - sum(tensor.grad.nbytes for tensor in (hidden, model.head))
        else:
            loss_begin = time.perf_counter()
            loss = loss_step()
            record["loss_seconds"] = time.perf_counter() - loss_begin
        states.backward(hidden.grad)
        optimiser.step()
        optimiser.zero_grad()
        record["loss"] = loss.item()
        record["seconds"] = time.perf_counter() - begin
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], str(Path(sys.argv[2])))
