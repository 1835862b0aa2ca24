"""What the demo shows: one table, one picture, and what it checks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

MIB = 2**20
SHOWN = 5  # every fifth step is in the table
LARGEST_DIFFERENCE = 1e-3  # relative, between the losses of a step
LARGEST_SHARE = 0.25  # of torch's memory


@dataclass(frozen=True)
class Run:
    """The steps of one contender, as training.py prints them."""

    steps: list[dict[str, float]]

    @property
    def losses(self) -> list[float]:
        return [step["loss"] for step in self.steps]

    @property
    def seconds(self) -> float:
        """Median time of a step whose memory was not measured."""
        return median(step["seconds"] for step in self.steps if "memory" not in step)

    @property
    def loss_seconds(self) -> float:
        """Median time of head, loss and their gradients."""
        return median(step["loss_seconds"] for step in self.steps if "memory" not in step)

    @property
    def memory(self) -> float:
        """Largest peak in bytes of head, loss and gradients, beyond inputs and gradients."""
        return max(step["memory"] for step in self.steps if "memory" in step)


def differences(torch: Run, logitile: Run) -> list[float]:
    """Relative differences of the losses, step by step; NaN where one of them is."""
    return [
        abs(ours - theirs) / abs(theirs) for ours, theirs in zip(logitile.losses, torch.losses, strict=True)
    ]


def table(torch: Run, logitile: Run) -> str:
    rule = "-" * 60
    lines = [f"{'step':<24}{'torch':>12}{'logitile':>12}{'difference':>12}", rule]
    rows = zip(torch.losses, logitile.losses, differences(torch, logitile), strict=True)
    for step, (theirs, ours, difference) in enumerate(rows, start=1):
        if step == 1 or step % SHOWN == 0:
            lines.append(f"loss {step:<19}{theirs:>12.6f}{ours:>12.6f}{difference:>12.1e}")
    lines.append(rule)
    lines.append(f"{'largest difference of all steps':<48}{max(differences(torch, logitile)):>12.1e}")
    for name, theirs, ours in (
        ("time per step, s", torch.seconds, logitile.seconds),
        ("  of that head + loss, s", torch.loss_seconds, logitile.loss_seconds),
        ("peak memory, MiB", torch.memory / MIB, logitile.memory / MIB),
    ):
        digits = 0 if "MiB" in name else 3
        lines.append(f"{name:<24}{theirs:>12.{digits}f}{ours:>12.{digits}f}{ours / theirs:>11.2f}x")
    lines.append("peak memory: of head, loss and their gradients, beyond inputs and gradients")
    return "\n".join(lines)


def draw(torch: Run, logitile: Run, path: Path) -> None:
    """Loss curves, memory and time as a PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    curves, memory, time = figure.subplots(1, 3, width_ratios=(2, 1, 1))
    steps = range(1, len(torch.losses) + 1)
    curves.plot(steps, torch.losses, color="tab:gray", linewidth=4, label="F.linear + F.cross_entropy")
    curves.plot(steps, logitile.losses, color="tab:blue", linewidth=1.5, label="logitile")
    curves.set(xlabel="step", ylabel="loss (nats per token)", title="The same training, step by step")
    curves.legend()
    for axes, values, unit, title in (
        (memory, (torch.memory / MIB, logitile.memory / MIB), "%.0f MiB", "Peak memory"),
        (time, (torch.loss_seconds, logitile.loss_seconds), "%.2f s", "Median time"),
    ):
        bars = axes.bar(["torch", "logitile"], values, color=["tab:gray", "tab:blue"])
        axes.bar_label(bars, fmt=unit, padding=2)
        axes.set(title=f"{title} of\nhead, loss and gradients", yticks=[])
        axes.margins(y=0.12)
        axes.spines[["top", "left", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def failures(torch: Run, logitile: Run) -> list[str]:
    """What does not hold of what the demo promises."""
    found = []
    for step, difference in enumerate(differences(torch, logitile), start=1):
        if not difference <= LARGEST_DIFFERENCE:
            found.append(
                f"the losses of step {step} differ by {difference:.1e}, more than {LARGEST_DIFFERENCE:.0e}"
            )
    if not logitile.memory <= LARGEST_SHARE * torch.memory:
        found.append(
            f"logitile's loss step takes {logitile.memory / MIB:.0f} MiB, more than a quarter of torch's "
            f"{torch.memory / MIB:.0f} MiB"
        )
    return found


def verdict(torch: Run, logitile: Run) -> str:
    """The last lines of the demo."""
    failed = failures(torch, logitile)
    if failed:
        return "\n".join(["demo: FAILED", *(f"  {failure}" for failure in failed)])
    return (
        f"demo: passed; {logitile.memory / torch.memory:.2f}x the memory, "
        f"{logitile.loss_seconds / torch.loss_seconds:.2f}x the time for head and loss, losses agree to "
        f"{max(differences(torch, logitile)):.1e}"
    )
