#!/usr/bin/env python3
"""Make the answers Hugging Face transformers gives where rotary embeddings are stretched.

Each case is a checkpoint of this folder with keys of its config.json replaced (null: taken out). Written are
rope_scaling.json, {case: {"model": folder, "config": {key: value}}}, and rope_scaling.safetensors: `tokens` int64 [L],
the prompt of all cases, and by the case's name float32 [V], the logits after it (eager attention, float64 arithmetic on the
bfloat16 weights, rounded once at the end).

    pip install torch transformers safetensors
    python make_rope_answers.py [OUT_DIR]
"""
import json, pathlib, sys
import torch
from safetensors.torch import load_file, save_file
import make_goldens as goldens

HERE = pathlib.Path(__file__).parent
LENGTH = 90

CASES = {
    "yarn": ("qwen3", {"rope_parameters": {
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}}),
    "yarn_older_spelling": ("llama", {"rope_scaling": {"type": "yarn", "factor": 4.0}}),
    "yarn_all_parameters": ("llama", {"rope_scaling": {
        "rope_type": "yarn", "factor": 2.5, "original_max_position_embeddings": 100, "attention_factor": 1.3,
        "beta_fast": 8.0, "beta_slow": 0.5, "truncate": False}}),
    "yarn_mscale_without_factor": ("llama", {"rope_scaling": {
        "rope_type": "yarn", "factor": None, "original_max_position_embeddings": 32, "mscale": 1.0, "mscale_all_dim": 0.4}}),
    "yarn_original_length_outside": ("llama", {
        "original_max_position_embeddings": 16, "rope_scaling": {"rope_type": "yarn", "factor": 16.0}}),
    "yarn_each_kind_of_layer": ("gemma3", {
        "rope_theta": None, "rope_local_base_freq": None, "rope_parameters": {
            "full_attention": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 8.0, "original_max_position_embeddings": 32},
            "sliding_attention": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 128}}}),
    "yarn_partial": ("qwen3_5", {"rope_parameters": {
        "rope_type": "yarn", "rope_theta": 10000.0, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1],
        "mrope_interleaved": True, "factor": 16.0, "original_max_position_embeddings": 16, "attention_factor": 2.0}}),
    "yarn_sliding_layers": ("gemma4", {"rope_parameters": {
        "full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25},
        "sliding_attention": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 64}}}),
    "linear": ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 3.0}}),
    "linear_full_layers": ("gemma3", {
        "rope_theta": None, "rope_local_base_freq": None, "rope_parameters": {
            "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}}),
    "linear_partial": ("qwen3_5", {"rope_parameters": {
        "rope_type": "linear", "rope_theta": 10000.0, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1],
        "mrope_interleaved": True, "factor": 5.0}}),
}


# What each case is also computed without, to see that the answers tell.
PARTS = {
    "all of it": {"rope_type": "default"},
    "the attention factor": {"attention_factor": 1.0},
    "the blend": {"beta_fast": 1e-3, "beta_slow": 1e-4},
}


def without(changes, part):
    """`changes` with `part` put into whatever describes a rotary embedding."""
    def put(value):
        if "rope_type" in value or "type" in value:
            return {**{k: v for k, v in value.items() if k != "type"}, "rope_type": value.get("rope_type", "yarn"), **part}
        return {key: put(inner) for key, inner in value.items()}
    return {key: put(value) if isinstance(value, dict) else value for key, value in changes.items()}


@torch.no_grad()
def answer(model, changes, tokens):
    cls, cfg_cls, _ = goldens.MODELS[model]()
    config = json.loads((HERE / model / "config.json").read_text())
    config = {key: value for key, value in {**config, **changes}.items() if value is not None}
    for key in ("architectures", "model_type", "torch_dtype"):
        del config[key]
    exact = goldens.build(cls, cfg_cls, config, load_file(HERE / model / "model.safetensors"), torch.float64)
    logits = exact(tokens[None], use_cache=False).logits[0, -1]
    assert logits.dtype == torch.float64
    return logits.to(goldens.FLOAT32)


def main(out):
    goldens.precision(goldens.FLOAT32)
    tokens = torch.randint(3, 320, (LENGTH,), generator=torch.Generator().manual_seed(11))
    answers = {"tokens": tokens}
    for name, (model, changes) in CASES.items():
        answers[name] = answer(model, changes, tokens)
        for part, changed in PARTS.items():
            if part == "all of it" or "yarn" in name:
                difference = (answer(model, without(changes, changed), tokens) - answers[name]).abs().max()
                assert difference > 0.01, (name, part, difference)
                print(f"{name}: without {part} a logit differs by {difference:.3f}")
    save_file(answers, out / "rope_scaling.safetensors")
    described = {name: {"model": model, "config": changes} for name, (model, changes) in CASES.items()}
    (out / "rope_scaling.json").write_text(json.dumps(described, indent=1) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
