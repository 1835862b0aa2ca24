"""Small random models of Transformers, and the comparison of a patched with an unpatched one."""

import copy

import torch
import transformers

transformers.logging.set_verbosity_error()

VOCAB = 99
_SMALL = dict(
    hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    vocab_size=VOCAB, max_position_embeddings=64,
)  # fmt: skip
_GPT2 = dict(
    n_embd=32,
    n_layer=2,
    n_head=4,
    vocab_size=VOCAB,
    n_positions=64,
    resid_pdrop=0,
    embd_pdrop=0,
    attn_pdrop=0,
)
MODELS = {  # what their heads do beside the projection
    "llama": _SMALL | {"tie_word_embeddings": False},
    "qwen2": _SMALL | {"tie_word_embeddings": True},
    "qwen3": _SMALL | {"head_dim": 8},
    "mistral": _SMALL | {"head_dim": 8},
    "olmo2": _SMALL,
    "phi3": _SMALL,
    "gpt2": _GPT2,
    "gemma2": _SMALL | {"head_dim": 8, "final_logit_softcapping": 3.0},
    "gemma3_text": _SMALL | {"head_dim": 8, "final_logit_softcapping": 2.0},
    "phi": _SMALL,  # a bias
    "granite": _SMALL | {"logits_scaling": 4.0},
    "cohere": _SMALL | {"logit_scale": 0.25},
    # a loss of its routers
    "mixtral": _SMALL | {"num_local_experts": 2, "output_router_logits": True},
}


def build(kind="llama", seed=0, **changes):
    """A model in training, with weights that are large enough to matter."""
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(
        kind, **MODELS[kind] | changes, bos_token_id=1, eos_token_id=2, pad_token_id=0,
        attn_implementation="eager",
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model.train()


def batch():
    """Ids, labels and a mask: prompts, a sequence and padding do not count."""
    ids = torch.randint(3, VOCAB, (3, 17), generator=torch.Generator().manual_seed(1))
    labels = ids.clone()
    labels[:, :4] = -100
    labels[1] = -100
    mask = torch.ones_like(ids)
    mask[2, -3:] = 0
    return {"input_ids": ids, "labels": labels, "attention_mask": mask}


def steps(models, run):
    """The losses of one step of each model, and the gradients of their parameters."""
    losses, gradients = [], []
    for model in models:
        model.zero_grad()
        loss = run(model)
        loss.backward()
        losses.append(loss.detach())
        gradients.append({name: p.grad for name, p in model.named_parameters()})
    return losses, gradients


def error(models, run):
    """The largest relative error of the second model's loss and gradients;
    each has those of the first.
    """
    losses, (wanted, got) = steps(models, run)
    assert [name for name, g in wanted.items() if g is None] == [n for n, g in got.items() if g is None]
    scale = max(g.abs().max() for g in wanted.values() if g is not None)
    found = [(losses[0] - losses[1]).abs() / losses[0].abs()]
    found += [(g - got[name]).abs().max() / scale for name, g in wanted.items() if g is not None]
    return max(map(float, found))


def both(patch, model, **options):
    """A model and a patched copy."""
    return model, patch(copy.deepcopy(model), **options)
