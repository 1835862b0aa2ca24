"""head.view and `python -m logitile view`: which line comes from which, and what the page holds.

What a browser makes of the page is in test/e2e/texts/test_view_page.py.
"""

import base64
import gzip
import inspect
import json
import re
import sys

import logitile as lt
import numpy as np
import pytest
from logitile.command import main as command
from logitile.inspection import timeline as times
from logitile.losses import supervised
from logitile.view import registers, source

S = lt.ShapeDtype
SHAPES = (S((512, 64), "bfloat16"), S((8000, 64), "bfloat16"))
TARGET = S((512,), "int64")
CPU_STAGES = ["loss", "spec", "plan", "tiles", "device", "llvm", "asm"]
GPU_STAGES = [*CPU_STAGES[:-1], "ptx"]
MOST_BYTES = 3_000_000


def data_of(page):
    """What the script of a page reads."""
    packed = re.search(r'<script type="application/octet-stream" id="data">(.*?)</script>', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def text_of(pane, index):
    return "".join(pane["lines"][index][1::2])


def lines_with(pane, text):
    return [index for index in range(len(pane["lines"])) if text in text_of(pane, index)]


def made_of(program, pane, index):
    """All lines that a line was made of, as pairs of pane and index."""
    found, waiting = set(), [(pane, index)]
    while waiting:
        number, line = waiting.pop()
        for place in map(tuple, program["panes"][number]["origins"][line]):
            if place not in found:
                found.add(place)
                waiting.append(place)
    return found


@pytest.fixture(scope="module", params=["cpu:avx2", "cuda:sm_80"])
def program(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "loss.html"
    head = lt.jit(lt.losses.cross_entropy, backend=request.param)
    assert head.view(*SHAPES, target=TARGET, path=path) == path
    (program,) = data_of(path.read_text())["programs"]
    return program


# ---- lines ---------------------------------------------------------------------------------------


def test_all_stages_are_there_with_their_texts(program):
    names = [pane["name"] for pane in program["panes"]]
    assert names in (CPU_STAGES, GPU_STAGES)
    backend = "cpu:avx2" if names == CPU_STAGES else "cuda:sm_80"
    head = lt.jit(lt.losses.cross_entropy, backend=backend)
    for pane in program["panes"][1:5]:
        shown = "\n".join("".join(line[1::2]) for line in pane["lines"])
        assert shown.strip() == head.ir(pane["name"], *SHAPES, target=TARGET).strip()


def test_the_loss_is_the_users_text(program):
    loss = program["panes"][0]
    lines, first = inspect.getsourcelines(supervised.cross_entropy.function)
    begin = loss["numbers"].index(first)  # functions that the loss calls are there too
    assert loss["numbers"][begin : begin + len(lines)] == list(range(first, first + len(lines)))
    shown = [text_of(loss, begin + n) for n in range(len(lines))]
    assert shown == [line.rstrip("\n") for line in lines]


@pytest.mark.parametrize("stage", ["plan", "tiles", "device", "llvm", "code"])
def test_an_exponential_comes_from_the_line_of_its_reduction(program, stage):
    number = len(program["panes"]) - 1 if stage == "code" else CPU_STAGES.index(stage)
    (lse,) = lines_with(program["panes"][0], "lse = lt.logsumexp(z)")
    pane = program["panes"][number]
    reached = [n for n in range(len(pane["lines"])) if (0, lse) in made_of(program, number, n)]
    assert reached
    wanted = {"plan": "math.exp", "tiles": "math.exp", "device": "math.fma", "llvm": "llvm.fma"}.get(stage)
    code = "vfmadd" if pane["name"] == "asm" else "fma.rn"
    assert any((wanted or code) in text_of(pane, n) for n in reached)


def test_the_gather_does_not_come_from_the_logsumexp(program):
    plan = program["panes"][2]
    (lse,) = lines_with(program["panes"][0], "lse = lt.logsumexp(z)")
    (nll,) = lines_with(program["panes"][0], "nll = lse - z[target]")
    (select,) = [n for n in lines_with(plan, "arith.select") if re.search(r"%z, %pick", text_of(plan, n))]
    assert (0, nll) in made_of(program, 2, select)
    assert (0, lse) not in made_of(program, 2, select)


@pytest.mark.parametrize("number", range(2, 7))
def test_nearly_all_lines_of_operations_come_from_somewhere(program, number):
    pane = program["panes"][number]
    rows = [n for n in range(len(pane["lines"])) if re.match(r"\s+(%\S+ = |\S+\s)", text_of(pane, n))]
    if number >= 5:  # instructions, not labels and directives
        rows = [n for n in rows if not text_of(pane, n).strip().startswith((".", "//", "#", "{"))]
    with_origin = sum(bool(pane["origins"][n]) for n in rows)
    # a plan begins with constants of nowhere
    assert with_origin > (0.55 if number == 2 else 0.8) * len(rows)


def test_kernels_of_a_stage(program):
    tiles = dict(program["panes"][3]["symbols"])
    assert set(program["kernels"]) <= set(tiles)
    for name in program["kernels"]:
        assert f"@{name}" in text_of(program["panes"][3], tiles[name])
    code = program["panes"][-1]
    for name, first in code["symbols"]:
        assert name in text_of(code, first)


def test_skeletons_are_named(program):
    tiles = program["panes"][3]
    assert any(place.startswith("templates/sweep.mlir:") for place in tiles["skeletons"].values())


def test_passes_of_a_stage(program):
    by_stage = {stage["stage"]: stage["passes"] for stage in program["passes"]}
    names = [each["name"] for each in by_stage["plan"]]
    assert names[:2] == ["logitile-differentiate", "logitile-form-sweeps"]
    assert "+  logitile.program @cross_entropy" in by_stage["plan"][1]["diff"]


# ---- functions around a loss ---------------------------------------------------------------------


def helper(z):
    return lt.logsumexp(z) * 2.0


@lt.loss
def helped(z: lt.Logits):
    return helper(z)


def test_helpers_of_a_loss_are_shown(tmp_path):
    path = lt.jit(helped, backend="cpu").view(*SHAPES, path=tmp_path / "loss.html")
    (program,) = data_of(path.read_text())["programs"]
    loss = program["panes"][0]
    shown = [text_of(loss, n) for n in range(len(loss["lines"]))]
    assert "def helper(z):" in shown and "    return helper(z)" in shown


def test_a_line_outside_functions_and_a_file_that_is_no_python(tmp_path):
    file = tmp_path / "cell.py"
    file.write_text("%magic\nx = 1\n")
    assert source.loss_lines([(str(file), 2)]) == [source.SourceLine(str(file), 2, "x = 1")]
    assert source.loss_lines([("/nowhere.py", 3)]) == []


# ---- the page ------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cpu", "cuda:sm_90"])
def test_a_page_needs_nothing_else(tmp_path, backend):
    @lt.loss
    def five_best(z: lt.Logits):
        outputs, rest = {}, z
        for place in range(5):
            index = lt.argmax(rest)
            outputs[f"value{place}"] = z[index] - lt.logsumexp(z)
            rest = lt.where(lt.column() == index, float("-inf"), rest)
        return lt.Outputs(**outputs)

    path = lt.jit(five_best, backend=backend).view(*SHAPES, path=tmp_path / "loss.html")
    page = path.read_text()
    assert len(page) < MOST_BYTES
    assert not re.search(r'(src|href)="(?!data:)', page) and "@import" not in page and "url(" not in page


def test_two_programs(tmp_path):
    head = lt.jit(lt.losses.cross_entropy, backend="cpu")
    path = head.view(*SHAPES, target=TARGET, path=tmp_path / "loss.html", compare={"chunks": 4})
    data = data_of(path.read_text())
    assert [one["label"] for one in data["programs"]] == [
        "head of 'cross_entropy', backend='cpu'", "head of 'cross_entropy', chunks=4, backend='cpu'"
    ]  # fmt: skip
    names = [each["name"] for each in data["differences"]]
    assert names == ["schedule", *CPU_STAGES[1:]]
    assert "in 4 chunks" in data["differences"][0]["diff"]


@pytest.mark.parametrize(("backend", "tiles"), [("cpu:avx2", "TM=64,TN=72"), ("cuda:sm_80", "TM=64,TN=64")])
def test_two_rows_of_tiles(tmp_path, backend, tiles):
    head = lt.jit(lt.losses.cross_entropy, backend=backend)
    path = head.view(*SHAPES, target=TARGET, path=tmp_path / "loss.html", compare={"tiles": tiles})
    data = data_of(path.read_text())
    assert data["programs"][1]["label"] == f"head of 'cross_entropy', backend='{backend}', tiles='{tiles}'"
    own, other = ({row[0]: row[1] for row in one["table"]["rows"]} for one in data["programs"])
    assert own.keys() == other.keys()
    for sizes in (own["forward0"], other["forward0"]):
        assert re.fullmatch(r"TK=\d+, TM=\d+, TN=\d+", sizes)
    assert set(tiles.split(",")) <= set(other["forward0"].split(", "))
    assert own["forward0"] != other["forward0"]


def test_two_heads(tmp_path):
    head = lt.jit(lt.losses.cross_entropy, backend="cpu")
    other = lt.jit(lt.losses.cross_entropy, backend="cuda:sm_80")
    path = head.view(*SHAPES, target=TARGET, path=tmp_path / "loss.html", compare=other)
    data = data_of(path.read_text())
    assert [program["panes"][-1]["name"] for program in data["programs"]] == ["asm", "ptx"]


def test_measured_times(tmp_path):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((64, 32), np.float32), rng.standard_normal((300, 32), np.float32)
    head = lt.jit(lt.losses.cross_entropy)
    path = head.view(x, w, target=rng.integers(0, 300, 64), path=tmp_path / "loss.html", timing=True)
    (program,) = data_of(path.read_text())["programs"]
    columns = program["table"]["columns"]
    assert all(row[columns.index("measured")].endswith(" ms") for row in program["table"]["rows"])
    assert "launches over time, measured" in program["picture"]


def test_without_pygments(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygments.formatters", None)
    with pytest.raises(lt.CallValueError, match=r"needs Pygments, .* pip install 'logitile\[view\]'"):
        lt.jit(lt.losses.entropy).view(*SHAPES, path=tmp_path / "loss.html")


def test_words_of_the_glossary(program, tmp_path):
    path = lt.jit(lt.losses.entropy).view(*SHAPES, path=tmp_path / "loss.html")
    assert data_of(path.read_text())["words"]["sweep"].startswith("sweep is one pass over the vocabulary")


# ---- the schedule --------------------------------------------------------------------------------


def test_an_explanation_shows_itself_in_notebooks():
    shown = lt.jit(lt.losses.cross_entropy).explain(*SHAPES, target=TARGET)
    html = shown._repr_html_()
    assert html.startswith("<svg") and "launches over time, predicted" in html
    assert html.endswith("</pre>") and all(kernel.name in html for kernel in shown.kernels)


def test_launches_in_their_order():
    steps = [
        {"launch": "a"},
        {"loop": "tokens", "body": [{"launch": "b"}, {"loop": "vocab_splits", "step": 2, "range": [1, 6],
                                                     "body": [{"launch": "c"}]}]},
    ]  # fmt: skip
    described = {"columns": 100, "vocab_split": 10, "tokens": 50, "forward_chunk": 25, "backward_chunk": 0,
                 "prologue": [], "forward": steps, "backward": []}  # fmt: skip
    assert times.launch_order(described) == ["a", *["b", "c", "c", "c"] * 2]


def test_times_and_workspace_of_launches():
    uses = {"a": [("rows", "x", 10)], "b": [("rows", "y", 20), ("sums", "s", 5)]}
    line = times.timeline(["a", "b", "a"], {"a": 4.0, "b": 3.0}, uses, is_measured=False)
    assert [(span.begin, span.end) for span in line.launches] == [(0, 2), (2, 5), (5, 7)]
    assert line.purposes == (times.PurposeSpan("rows", 30, 0, 2), times.PurposeSpan("sums", 5, 1, 1))
    assert line.milliseconds == 7 and line.launch_count == 3


def test_predicted_times():
    rates = {"memory_rate": 1e9, "launch_seconds": 1e-3}
    assert times.predicted_milliseconds(rates, 1e12, 2, 1e12, 1e3) == pytest.approx(1002)
    assert times.predicted_milliseconds(rates, 1e12, 1, 0, 2e9) == pytest.approx(2001)
    assert times.predicted_milliseconds(None, None, 1, 1, 1) is None
    assert times.shared_milliseconds(12, [1, 3]) == [3, 9]
    assert times.shared_milliseconds(12, [None]) == [None]


def test_blocks_of_a_multiprocessor():
    chip = {"shared_bytes": 166912}
    of = registers.blocks_per_multiprocessor
    assert of(128, 256, 0, chip, "cuda:sm_80") == 2
    assert of(32, 256, 73728, chip, "cuda:sm_80") == 2
    assert of(24, 1024, 1024, chip, "cuda:sm_80") == 2
    assert of(24, 1024, 1024, chip, "cuda:sm_89") == 1  # 48 warps
    assert of(16, 32, 0, chip, "cuda:sm_90") == 32 and of(16, 32, 0, chip, "cuda:sm_86") == 16


# ---- the command ---------------------------------------------------------------------------------


def test_the_command(tmp_path, capsys):
    out = tmp_path / "page.html"
    given = ["view", "--loss", "focal", "--shape", "64,32,300", "--constant", "gamma=3.0", "--out", str(out)]
    assert command.main(given) == 0
    assert capsys.readouterr().out.startswith(f"wrote {out}")
    (program,) = data_of(out.read_text())["programs"]
    assert "gamma=3.0" in program["label"]


def test_the_command_compares(tmp_path, capsys):
    out = tmp_path / "page.html"
    given = ["view", "--loss", "focal", "--shape", "64,32,300", "--backend", "cpu:avx2", "--out", str(out)]
    assert command.main([*given, "--compare", "tiles=TM=64,TN=48", "--compare", "chunks=2"]) == 0
    capsys.readouterr()
    (_, other) = data_of(out.read_text())["programs"]
    assert "chunks=2" in other["label"] and "tiles='TM=64,TN=48'" in other["label"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (
            ["focal", "--shape", "1,2,3", "--compare", "tile=TM=64"],
            "--compare is 'tile=TM=64'; write OPTION=VALUE, with one of 'backend', 'workspace', 'chunks' and "
            "'tiles'; did you mean 'tiles'?",
        ),
        (["focal", "--shape", "1,2,3", "--compare", "cpu"], "--compare is 'cpu'; write OPTION=VALUE, with"),
        (["focl", "--shape", "1,2,3"], "there is no loss 'focl' in lt.losses; did you mean 'focal'?"),
        (["focal", "--shape", "1,2"], "--shape is '1,2'; write N,D,V such as 1024,1024,32000"),
        (["focal", "--shape", "1,2,3", "--out", "/nowhere/x"], "--out /nowhere/x cannot be written"),
    ],
)  # fmt: skip
def test_wrong_commands(given, error, capsys):
    assert command.main(["view", "--loss", *given]) == 1
    assert f"error: {error}" in capsys.readouterr().err
