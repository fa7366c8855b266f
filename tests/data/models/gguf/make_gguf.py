#!/usr/bin/env python3
"""Convert the tiny checkpoints beside this folder with llama.cpp's own converter.

NAME-bf16.gguf has the checkpoint's own weights, so that the answers beside the checkpoint are this file's too.
NAME-mixed.gguf has the experts in q4_0 and the other matrices in q8_0, where their rows are whole blocks, else f16;
gates are f32, as the converter has it.
The checkpoints have no tokenizer: the files say so (tokenizer model "none"), and a stand-in of the right size tells
the converter how many rows of the embedding are tokens.

    pip install torch transformers==5.24.0 gguf safetensors sentencepiece
    python make_gguf.py LLAMA_CPP MODELS OUT     (made with the llama.cpp of llama_cpp_python 0.3.36)
"""
import json, pathlib, shutil, sys, tempfile
from safetensors.torch import load_file, save_file

BF16 = ("gemma4_moe", "gemma4_e2b", "qwen3_5", "qwen3_5_moe")
WITH_PREDICTION_LAYER = ("qwen3_5",)
MIXED = ("gemma4_moe", "qwen3_5_moe")

def add_prediction_layer(folder, config):
    """As Qwen3.5's checkpoints have it, a layer for multi-token prediction: here the last one again."""
    state = load_file(folder / "model.safetensors")
    width, last = config["hidden_size"], f"model.layers.{config['num_hidden_layers'] - 1}."
    state |= {f"mtp.layers.0.{k.removeprefix(last)}": v.clone() for k, v in state.items() if k.startswith(last)}
    state["mtp.fc.weight"] = state["model.embed_tokens.weight"].flatten()[:2 * width * width].view(width, 2 * width).clone()
    for norm in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"):
        state[f"mtp.{norm}.weight"] = state["model.norm.weight"].clone()
    save_file(state, folder / "model.safetensors")
    config["mtp_num_hidden_layers"] = 1
    (folder / "config.json").write_text(json.dumps(config))

def main(llama_cpp, models, out, bf16, mixed):
    sys.path[:0] = [str(llama_cpp), str(llama_cpp / "gguf-py")]
    import gguf
    from conversion import get_model_class
    types = gguf.GGMLQuantizationType

    def convert(name, target, ftype, mix):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for file in ("config.json", "model.safetensors"):
                shutil.copy(models / name / file, folder)
            config = json.loads((folder / "config.json").read_text())
            stand_in = {"model": {"vocab": {str(i): i for i in range(config["vocab_size"])}}, "added_tokens": []}
            (folder / "tokenizer.json").write_text(json.dumps(stand_in))
            if name in WITH_PREDICTION_LAYER:
                add_prediction_layer(folder, config)
            base = get_model_class(config["architectures"][0])

            class Model(base):
                model_arch = base.model_arch
                no_mtp = name not in WITH_PREDICTION_LAYER
                def set_vocab(self):
                    self._set_vocab_none()
                def tensor_force_quant(self, name, new_name, bid, n_dims):
                    if mix and new_name.endswith("_exps.weight"):
                        return types.Q4_0
                    return super().tensor_force_quant(name, new_name, bid, n_dims)

            Model(folder, ftype, target, model_name=name).write()

    for name in bf16:
        convert(name, out / f"{name}-bf16.gguf", gguf.LlamaFileType.MOSTLY_BF16, False)
    for name in mixed:
        convert(name, out / f"{name}-mixed.gguf", gguf.LlamaFileType.MOSTLY_Q8_0, True)

if __name__ == "__main__":
    paths = [pathlib.Path(argument).resolve() for argument in sys.argv[1:4]]
    if len(paths) != 3:
        sys.exit(__doc__)
    main(*paths, sys.argv[4:] or BF16, sys.argv[4:] or MIXED)
