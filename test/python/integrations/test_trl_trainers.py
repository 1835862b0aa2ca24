"""Trainers of TRL train as before once logitile.integrations.trl has its functions in
the place of TRL's.
"""

import copy

import logitile as lt
import pytest
import transformers
from logitile.integrations import trl as mine
from tiny_models import build

trl = pytest.importorskip("trl", reason="TRL is no development package: it needs pyarrow and pandas, 200 MB")
datasets = pytest.importorskip("datasets")
tokenizers = pytest.importorskip("tokenizers")

WORDS = ["<pad>", "<s>", "</s>", *(f"w{k}" for k in range(90))]
STEPS = 3


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    mine.unpatch()


def tokenizer():
    model = tokenizers.models.WordLevel({word: k for k, word in enumerate(WORDS)}, unk_token="<pad>")
    plain = tokenizers.Tokenizer(model)
    plain.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )


def text(start, count):
    return " ".join(f"w{(7 * start + 5 * k) % 90}" for k in range(count))


ROWS = range(8)
DATA = {
    "sft": [{"text": text(k, 9 + k % 3)} for k in ROWS],
    "dpo": [{"prompt": text(k, 3), "chosen": " " + text(k + 1, 5), "rejected": " " + text(k + 2, 6)}
            for k in ROWS],
    "kto": [{"prompt": text(k, 3), "completion": " " + text(k + 1, 5), "label": k % 2 == 0} for k in ROWS],
    "prompts": [{"prompt": text(k, 4)} for k in ROWS],
}  # fmt: skip


def length(completions, **_):
    return [float(len(set(one.split()))) for one in completions]


def options(folder, **more):
    return dict(
        output_dir=str(folder), max_steps=STEPS, per_device_train_batch_size=4, logging_steps=1,
        report_to=[], use_cpu=True, save_strategy="no", learning_rate=1e-3, disable_tqdm=True, seed=1,
        gradient_checkpointing=False, bf16=False, **more,
    )  # fmt: skip


def trainer(kind, model, folder):
    rows = DATA.get(kind) or DATA["prompts"]
    common = {"train_dataset": datasets.Dataset.from_list(rows), "processing_class": tokenizer()}
    if kind == "sft":
        return trl.SFTTrainer(model, trl.SFTConfig(**options(folder), max_length=32), **common)
    if kind == "dpo":
        arguments = trl.DPOConfig(**options(folder), max_length=32)
        return trl.DPOTrainer(model, ref_model=build(seed=5), args=arguments, **common)
    if kind == "kto":
        arguments = trl.KTOConfig(**options(folder), max_length=32)
        return trl.KTOTrainer(model, ref_model=build(seed=5), args=arguments, **common)
    model.save_pretrained(folder / "model")  # TRL loads the reference model from there
    model.config._name_or_path = str(folder / "model")
    lengths = {"num_generations": 2, "max_completion_length": 6, "beta": 0.1}
    if kind == "grpo":
        arguments = trl.GRPOConfig(**options(folder), **lengths)
        return trl.GRPOTrainer(model, length, args=arguments, **common)
    return trl.RLOOTrainer(model, length, args=trl.RLOOConfig(**options(folder), **lengths), **common)


def trained(kind, model, folder):
    made = trainer(kind, model, folder)
    made.train()
    steps = [step for step in made.state.log_history if "loss" in step]
    assert len(steps) == STEPS
    return steps, {name: p.detach().clone() for name, p in made.model.named_parameters()}


@pytest.mark.parametrize("kind", ["sft", "dpo", "kto", "grpo", "rloo"])
def test_a_trainer_trains_as_before(kind, tmp_path):
    model = build()
    wanted, weights = trained(kind, copy.deepcopy(model), tmp_path)
    before = lt.history()[-1:]
    mine.patch()
    got, new_weights = trained(kind, copy.deepcopy(model), tmp_path)
    assert lt.history()[-1:] != before  # heads ran
    for theirs, ours in zip(wanted, got, strict=True):
        for name in ("loss", "entropy", "mean_token_accuracy", "logits/chosen", "rewards/margins"):
            if name in theirs:
                assert ours[name] == pytest.approx(theirs[name], rel=1e-3, abs=1e-4), name
    for name, weight in weights.items():
        assert (new_weights[name] - weight).abs().max() < 1e-4, name


def test_unpatch_gives_the_functions_back():
    from trl.trainer import utils

    theirs = utils._ChunkedLogProbFunction
    mine.patch()
    mine.patch()
    assert utils._ChunkedLogProbFunction is mine.ChunkedLogProbFunction
    mine.unpatch()
    assert utils._ChunkedLogProbFunction is theirs


def test_a_model_that_is_patched_for_transformers_is_refused(tmp_path):
    from logitile.integrations.transformers import patch

    with pytest.raises(lt.CallTypeError, match="patch.model. has no effect there"):
        trainer("sft", patch(build()), tmp_path).train()
