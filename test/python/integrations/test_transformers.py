"""logitile.integrations.transformers: a patched model trains like the original, without logits."""

import copy
import warnings

import logitile as lt
import pytest
import torch
import transformers
from logitile.integrations.deferred import Deferred
from logitile.integrations.transformers import patch, unpatch
from peft import LoraConfig, get_peft_model
from tiny_models import MODELS, VOCAB, batch, both, build, error

CLOSE = 2e-6


def loss_of(**changes):
    given = batch() | changes
    return lambda model: model(**given).loss


@pytest.fixture(autouse=True)
def nothing_is_computed_in_full():
    """Logits of training are never ordinary ones; a test that wants them says so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="logits of a training step")
        yield


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_trains_as_before(kind):
    models = both(patch, build(kind))
    for divisor in ({}, {"num_items_in_batch": 23}, {"num_items_in_batch": torch.tensor(23)}):
        assert error(models, loss_of(**divisor)) < CLOSE
    assert isinstance(models[1](**batch()).logits, Deferred)


@pytest.mark.parametrize("kind", ["llama", "gemma2", "gpt2"])
def test_evaluation_and_generation_are_those_of_the_model(kind):
    models = both(patch, build(kind))
    ids = batch()["input_ids"][:, :5]
    written = [m.eval().generate(ids, max_new_tokens=6, do_sample=False) for m in models]
    assert torch.equal(*written)
    with torch.no_grad():
        results = [model(**batch()) for model in models]
    assert torch.equal(results[0].loss, results[1].loss) and torch.equal(results[0].logits, results[1].logits)


def test_coefficients_in_tensors():
    """They are read at each call, so a schedule may change them in place."""
    smoothing, scale = torch.tensor(0.1, requires_grad=True), torch.tensor(0.02)
    model = patch(build(), lt.losses.cross_entropy, label_smoothing=smoothing, z_loss=scale)
    for value in (0.1, 0.3):
        with torch.no_grad():
            smoothing.fill_(value)
        fixed = patch(build(), lt.losses.cross_entropy, label_smoothing=value, z_loss=0.02)
        found = model(**batch()).loss
        torch.testing.assert_close(found, fixed(**batch()).loss)
        smoothing.grad = None
        found.backward()
        assert smoothing.grad.isfinite() and smoothing.grad


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_the_number_of_items_has_axes_in_replicas(shape):
    """As torch.nn.DataParallel scatters the Trainer's number: the loss has its axes."""
    items = torch.full(shape, 23)
    models = both(patch, build())
    losses = [model(**batch(), num_items_in_batch=items).loss for model in models]
    assert losses[0].shape == losses[1].shape == shape
    assert error(models, lambda model: model(**batch(), num_items_in_batch=items).loss.sum()) < CLOSE


@pytest.mark.parametrize("change", [
    {"shift_labels": torch.nn.functional.pad(batch()["labels"], (0, 1), value=-100)[:, 1:].contiguous()},
    {"labels": batch()["labels"][:, -5:], "logits_to_keep": 5},
])  # fmt: skip
def test_arguments_of_the_call(change):
    assert error(both(patch, build()), loss_of(**change)) < CLOSE


def test_a_mean_over_no_token():
    labels = torch.full((3, 17), -100)
    assert all(torch.isnan(model(**batch() | {"labels": labels}).loss) for model in both(patch, build()))


def test_tuples_instead_of_outputs():
    models = both(patch, build())
    assert error(models, lambda model: model(**batch(), return_dict=False)[0]) < CLOSE


def test_a_step_with_16_bits():
    def under_autocast(model):
        with torch.autocast("cpu", torch.bfloat16):
            return model(**batch()).loss

    assert error(both(patch, build()), under_autocast) < 2e-2
    assert error(both(patch, build().bfloat16()), loss_of()) < 4e-2


def test_gradient_checkpointing():
    models = both(patch, build())
    for model in models:
        model.gradient_checkpointing_enable()
    assert error(models, loss_of()) < CLOSE


def test_a_frozen_output_layer():
    model = build()
    model.lm_head.weight.requires_grad_(False)
    assert error(both(patch, model), loss_of()) < CLOSE


def test_a_copy_of_a_patched_model_is_patched_and_loads_its_state():
    model = build()
    copied = copy.deepcopy(patch(build(seed=1)))
    copied.load_state_dict(model.state_dict())
    assert error((model, copied), loss_of()) < CLOSE


def test_torch_compile_sees_one_graph():
    torch._dynamo.reset()
    model = build()
    compiled = torch.compile(patch(copy.deepcopy(model)), backend="aot_eager", fullgraph=True)
    assert error((model, compiled._orig_mod), loss_of()) < CLOSE
    losses = [one(**batch()).loss for one in (model, compiled)]
    losses[1].backward()
    assert torch.allclose(*losses, rtol=CLOSE)
    compiled.zero_grad()


# ---- adapters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    {"target_modules": ["q_proj", "v_proj"]},
    {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]},
    {"target_modules": ["q_proj", "lm_head"]},
], ids=["attention", "saved head", "head"])  # fmt: skip
def test_lora(options):
    torch.manual_seed(3)
    config = LoraConfig(r=4, lora_dropout=0.0, init_lora_weights=False, **options)
    assert error(both(patch, get_peft_model(build(), config).train()), loss_of()) < CLOSE


# ---- other losses --------------------------------------------------------------------------------


def dense(model, formula):
    """A loss of logits [3, 17, V] and shifted labels, written in torch."""
    given = batch()
    labels = torch.nn.functional.pad(given.pop("labels"), (0, 1), value=-100)[:, 1:]
    logits = model(**given).logits.float()
    per_token = formula(logits.log_softmax(-1), labels.clamp(min=0))
    return per_token[labels != -100].mean()


def compare(models, formula, **inputs):
    runs = {id(models[0]): lambda m: dense(m, formula), id(models[1]): loss_of(**inputs)}
    assert error(models, lambda model: runs[id(model)](model)) < CLOSE


@lt.loss
def weighted(z: lt.Logits, target: lt.Token[int], importance: lt.Token[float]):
    return importance * (lt.logsumexp(z) - z[target])


def test_inputs_per_token_are_shifted_with_the_labels():
    importance = torch.rand(3, 17)
    moved = importance.roll(-1, 1)
    compare(
        both(patch, build(), loss=weighted),
        lambda logp, labels: -moved * logp.gather(-1, labels[..., None])[..., 0],
        importance=importance,
    )


def test_options_and_numbers_of_a_loss():
    def formula(logp, labels):
        logp = (logp / 2).log_softmax(-1)
        return -0.9 * logp.gather(-1, labels[..., None])[..., 0] - 0.1 * logp.mean(-1)

    options = {"loss": lt.losses.cross_entropy, "label_smoothing": 0.1, "temperature": 2.0, "chunks": 2}
    compare(both(patch, build("gemma2"), **options), formula)


@pytest.mark.parametrize("kind", ["llama", "gemma2", "phi"])
def test_distillation_with_a_teacher(kind):
    teacher = build(kind, seed=7).eval()
    with torch.no_grad():
        q = teacher(**batch()).logits.log_softmax(-1)
    models = both(patch, build(), loss=lt.losses.forward_kl, teacher=teacher)
    compare(models, lambda logp, labels: (q.exp() * (q - logp)).sum(-1))
    assert not any(p.grad is not None for p in teacher.parameters())
    assert teacher.generate(batch()["input_ids"][:, :4], max_new_tokens=2).shape == (3, 6)


def test_grpo():
    old, advantage = -torch.rand(3, 17), torch.randn(3, 17)
    moved_old, moved = old.roll(-1, 1), advantage.roll(-1, 1)

    def formula(logp, labels):
        ratio = (logp.gather(-1, labels[..., None])[..., 0] - moved_old).exp()
        return -torch.minimum(ratio * moved, ratio.clamp(0.8, 1.2) * moved)

    models = both(patch, build(), loss=lt.losses.ppo_clip)
    compare(models, formula, old_logprob=old, advantage=advantage)


# ---- the Trainer ---------------------------------------------------------------------------------


class Sequences(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        ids = torch.randint(3, VOCAB, (17,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


def history(model, folder, **options):
    arguments = transformers.TrainingArguments(
        str(folder), max_steps=4, per_device_train_batch_size=2, gradient_accumulation_steps=2,
        logging_steps=1, report_to=[], use_cpu=True, save_strategy="no", learning_rate=1e-2,
        disable_tqdm=True, seed=1, eval_strategy="steps", eval_steps=2, **options,
    )  # fmt: skip
    trainer = transformers.Trainer(model, arguments, train_dataset=Sequences(), eval_dataset=Sequences())
    trainer.train()
    return [(step.get("loss"), step.get("eval_loss")) for step in trainer.state.log_history]


def test_the_trainer_accumulates_and_evaluates(tmp_path, capsys):
    plain, patched = (history(model, tmp_path) for model in both(patch, build()))
    assert len(plain) == 7  # 4 steps, 2 evaluations, the summary
    for wanted, got in zip(plain, patched, strict=True):
        assert [x is None for x in wanted] == [x is None for x in got]
        assert [x for x in got if x] == pytest.approx([x for x in wanted if x], abs=2e-3)


def test_accelerate_with_mixed_precision():
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)  # of the Trainer's test
    accelerator = Accelerator(mixed_precision="bf16", cpu=True)
    plain, patched = both(patch, build())
    assert error((accelerator.prepare(plain), accelerator.prepare(patched)), loss_of()) < 2e-2


# ---- what logits of training may be used for -----------------------------------------------------


@pytest.mark.parametrize("use", [
    lambda z: z[:, -1], lambda z: z.argmax(-1), lambda z: z - 1.0, lambda z: 1.0 + z, lambda z: -z,
    lambda z: torch.softmax(z, -1), lambda z: torch.stack([z, z]), lambda z: z.to(torch.float64, copy=True),
    lambda z: z * torch.ones(VOCAB),
])  # fmt: skip
def test_any_other_use_computes_the_logits_and_says_so(use):
    plain, patched = both(patch, build("granite"))
    logits = patched(**batch()).logits
    assert logits.shape == (3, 17, VOCAB) and logits.size(-1) == VOCAB and logits.dim() == 3
    with pytest.warns(UserWarning, match="logits of a training step were used beside the loss"):
        got = use(logits)
    assert torch.allclose(got.float(), use(plain(**batch()).logits).float(), atol=1e-4)


def test_an_output_layer_that_is_replaced_after_the_patch_is_told():
    model = patch(build())
    model.resize_token_embeddings(VOCAB + 5)
    with pytest.warns(UserWarning, match="computed in full: the output layer of the model was replaced"):
        model(**batch())
    with torch.no_grad():
        model(**batch())  # no step of training, and no warning, which would be an error


def test_logits_that_are_no_tensor_have_the_attributes_of_tensors_only():
    logits = patch(build())(**batch()).logits
    with pytest.raises(AttributeError, match="no attribute 'logsumexps'"):
        _ = logits.logsumexps


# ---- refusals ------------------------------------------------------------------------------------


def test_unpatch_undoes_all():
    model = build()
    before = (
        {name: id(item) for name, item in model.named_modules()},
        type(model.lm_head),
        model.loss_function,
    )
    unpatch(patch(model, loss=lt.losses.forward_kl, teacher=build(seed=2)))
    after = {name: id(item) for name, item in model.named_modules()}, type(model.lm_head), model.loss_function
    assert before == after and not model._forward_pre_hooks
    with pytest.raises(lt.CallValueError, match="LlamaForCausalLM is not patched"):
        unpatch(model)


def test_a_copy_is_unpatched_by_itself():
    teacher = build(seed=2)
    model = patch(build(), loss=lt.losses.forward_kl, teacher=teacher)
    copied = copy.deepcopy(model)
    expected = model(**batch()).loss
    unpatch(copied)
    assert not copied._forward_pre_hooks and type(copied.lm_head) is torch.nn.Linear
    assert torch.equal(model(**batch()).loss, expected)
    unpatch(model)
    assert not model._forward_pre_hooks and type(teacher.lm_head) is torch.nn.Linear


def test_students_share_a_teacher():
    teacher = build(seed=2)
    first, second = (patch(build(seed=k), loss=lt.losses.forward_kl, teacher=teacher) for k in (0, 1))
    expected = second(**batch()).loss
    unpatch(first)
    assert torch.equal(second(**batch()).loss, expected)
    unpatch(second)
    assert type(teacher.lm_head) is torch.nn.Linear


def test_a_model_is_patched_once():
    with pytest.raises(lt.CallValueError, match="is patched already; unpatch"):
        patch(patch(build()))


@pytest.mark.parametrize(("given", "said"), [
    (lambda: (torch.nn.Linear(2, 3),), "Linear is no model of Transformers"),
    (lambda: (build().model,), "has no output layer"),
    (lambda: (build(), "cross_entropy"), "takes a loss, not 'cross_entropy'"),
    (lambda: (build(), lt.losses.forward_kl), "needs a model for 'teacher'"),
    (lambda: (build(), lt.losses.soft_cross_entropy), "takes 'target' as lt.Dense"),
    (lambda: (build(), lt.losses.multi_token), r"takes 'target' as lt.Token\[int, lt.K\]"),
    (lambda: (build(), lt.losses.logprob), "'logprob' has no output 'loss', which training needs"),
])  # fmt: skip
def test_what_cannot_be_patched(given, said):
    with pytest.raises(lt.CallTypeError, match=said):
        patch(*given())


def test_a_model_that_computes_its_loss_itself_is_refused():
    config = transformers.T5Config(d_model=32, d_ff=64, num_layers=1, num_heads=4, d_kv=8, vocab_size=VOCAB)
    model = transformers.T5ForConditionalGeneration(config)
    with pytest.raises(lt.CallTypeError) as caught:
        patch(model, loss=lt.losses.focal)
    assert str(caught.value) == (
        "the forward of T5ForConditionalGeneration does not call its loss_function, so that no other loss "
        "can take its place"
    )
    assert type(model.lm_head) is torch.nn.Linear


def test_a_model_whose_labels_are_not_shifted_is_refused():
    config = transformers.ModernBertConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, vocab_size=VOCAB,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
    )  # fmt: skip
    with pytest.raises(lt.CallTypeError) as caught:
        patch(transformers.ModernBertForMaskedLM(config))
    assert str(caught.value) == (
        "the loss of ModernBertForMaskedLM is ForMaskedLMLoss; only models whose loss is ForCausalLMLoss, "
        "which shifts labels, can be patched"
    )


@pytest.mark.parametrize(("options", "said"), [
    ({"smoothing": 0.1}, "'smoothing' is no option of lt.jit, and no input or constant of 'cross_entropy'"),
    ({"reduction": "none"}, "leaves no loss for a training step"),
    ({"ignore_index": None}, "one index must be ignored"),
    ({"ignore_index": "pad"}, "ignore_index='pad' must be an int that fits in 32 bits"),
    ({"weight_layout": "dv"}, "the weight of an output layer is"),
    ({"backend": "gpu"}, "backend='gpu' is unknown"),
    ({"chunks": 0}, "chunks=0 must be a positive int"),
    ({"label_smoothing": 3.0}, "label_smoothing=3.0 must be a number from 0 to 1"),
    ({"returns": ("perplexity",)}, "must have names out of"),
    ({"temperature": "high"}, "temperature='high': 'cross_entropy' takes it as lt.Scalar"),
])  # fmt: skip
def test_options_that_cannot_be(options, said):
    model = build()
    with pytest.raises(lt.CallError, match=said):
        patch(model, **options)
    assert type(model.lm_head) is torch.nn.Linear


def test_a_sum_is_refused_before_a_trainer_divides_it():
    with pytest.raises(lt.CallValueError) as caught:
        patch(build(), reduction="sum")
    assert str(caught.value) == (
        "reduction='sum' cannot be divided by num_items_in_batch, which a Trainer gives to each call; "
        "leave it out, and give num_items_in_batch=1 to the calls whose sum you want"
    )


def test_losses_that_calls_complete_are_taken():
    """What a loss needs may come with each call, and is not known when the model is patched."""

    @lt.loss
    def either(z: lt.Logits, target: lt.Token[int], shaped: lt.Token[float] | None = None):
        return -shaped * lt.log_softmax(z)[target]

    @lt.loss
    def several(z: lt.Logits, target: lt.Token[int], shaped: lt.Token[float, lt.K]):
        return -(shaped[0] + shaped[1]) * lt.log_softmax(z)[target]

    for loss, shape in ((either, (3, 17)), (several, (3, 17, 2))):
        assert patch(build(), loss=loss)(**batch(), shaped=torch.ones(shape)).loss > 0


def test_a_layer_with_a_forward_of_its_own_is_refused():
    model = build()
    model.lm_head.forward = lambda hidden: hidden
    with pytest.raises(lt.CallTypeError, match="has its own forward"):
        patch(model)


def test_a_loss_that_cannot_be_fused_is_refused_in_training():
    model = patch(build(), loss=lt.losses.ppo_clip)
    plain = build()(**batch()).logits
    model(**batch() | {"labels": None})
    with pytest.raises(lt.CallTypeError, match="'ppo_clip' cannot be fused with this model"):
        model.loss_function(logits=plain, labels=batch()["labels"], vocab_size=VOCAB)


# ---- loss functions of the user's ----------------------------------------------------------------


def own_loss(logits, labels, vocab_size, **kwargs):
    return 2 * torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def test_a_loss_function_of_the_users_is_not_replaced_silently():
    model = build()
    model.loss_function = own_loss
    with pytest.raises(lt.CallValueError) as caught:
        patch(model, label_smoothing=0.1)
    assert str(caught.value) == (
        "the loss_function of LlamaForCausalLM was set to own_loss, which training would no longer use; "
        "write it with lt.loss and give it as patch(model, loss=...), or give loss=lt.losses.cross_entropy "
        "to train with that"
    )
    assert type(model.lm_head) is torch.nn.Linear and model.loss_function is own_loss


def test_a_loss_that_is_named_takes_the_place_of_the_users_in_training_alone():
    model = build()
    expected = model(**batch()).loss
    model.loss_function = own_loss
    with torch.no_grad():
        own = model(**batch()).loss
    patch(model, loss=lt.losses.cross_entropy)
    torch.testing.assert_close(model(**batch()).loss, expected, rtol=CLOSE, atol=0)
    with torch.no_grad():
        assert torch.equal(model(**batch()).loss, own)
    assert unpatch(model).loss_function is own_loss


def test_the_function_of_transformers_may_be_set():
    model = build()
    model.loss_function = model.loss_function
    assert isinstance(patch(model)(**batch()).logits, Deferred)


def test_a_loss_function_that_is_set_after_the_patch_is_refused_in_training():
    model = patch(build())
    model.loss_function = own_loss
    with pytest.raises(lt.CallValueError) as caught:
        model(**batch())
    assert str(caught.value) == (
        "the loss_function of LlamaForCausalLM was set to own_loss after patch, in the place of "
        "'cross_entropy'; unpatch(model) to train with it, or write it with lt.loss, unpatch(model) and "
        "patch(model, loss=...)"
    )
    model.eval()(**batch())
    assert unpatch(model.train()).loss_function is own_loss
    assert type(model.lm_head) is torch.nn.Linear and not model._forward_pre_hooks
    model(**batch()).loss.backward()
