#!/usr/bin/env python3
"""Write the seeds of the fuzzers of binary formats (tests/fuzz): small whole files of every kind.

gguf/, safetensors/: written here. program/: headers of programs that `gumbel export` writes, without the preamble.

    python make_seeds.py PATH_OF_GUMBEL
"""
import json, pathlib, struct, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).parent
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
DATA_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 8}


def string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def value(kind, content):
    if kind == STRING: return string(content)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], content)


def pair(key, kind, content):
    if isinstance(content, list):
        return string(key) + struct.pack("<IIQ", ARRAY, kind, len(content)) + b"".join(value(kind, item) for item in content)
    return string(key) + struct.pack("<I", kind) + value(kind, content)


def gguf(architecture, keys, tokens, tensors):
    pairs = [pair("general.architecture", STRING, architecture), pair("general.alignment", UINT32, 32)]
    pairs += [pair(f"{architecture}.{key}", kind, content) for key, kind, content in keys] + tokens
    infos, data = b"", b""
    for name, shape, kind in tensors:
        infos += string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        infos += struct.pack("<IQ", DATA_TYPES[kind], len(data))
        elements = 1
        for size in shape: elements *= size
        data += bytes({"F32": 4 * elements, "F16": 2 * elements, "Q4_0": elements // 32 * 18, "Q8_0": elements // 32 * 34}[kind])
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + infos
    return head + bytes(-len(head) % 32) + data


SHAPE = [("block_count", UINT32, 1), ("context_length", UINT32, 64), ("embedding_length", UINT32, 32),
         ("feed_forward_length", UINT32, 32), ("attention.head_count", UINT32, 2), ("attention.head_count_kv", UINT32, 1),
         ("attention.key_length", UINT32, 16), ("attention.value_length", UINT32, 16),
         ("attention.layer_norm_rms_epsilon", FLOAT32, 1e-6), ("rope.freq_base", FLOAT32, 10000.0)]
YARN = [("rope.scaling.type", STRING, "yarn"), ("rope.scaling.factor", FLOAT32, 4.0),
        ("rope.scaling.original_context_length", UINT32, 16)]
SLIDING = [("attention.sliding_window", UINT32, 8)]
PIECES = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["▁", "a", "b", "ab", "▁a"]
SENTENCE_PIECE = [
    pair("tokenizer.ggml.model", STRING, "llama"), pair("tokenizer.ggml.tokens", STRING, PIECES),
    pair("tokenizer.ggml.scores", FLOAT32, [-float(i) for i in range(len(PIECES))]),
    pair("tokenizer.ggml.token_type", INT32, [2, 3, 3] + [6] * 256 + [1] * 5),
    pair("tokenizer.ggml.bos_token_id", UINT32, 1), pair("tokenizer.ggml.eos_token_id", UINT32, 2),
    pair("tokenizer.ggml.add_bos_token", BOOL, True),
    pair("tokenizer.chat_template", STRING, "{% for m in messages %}{{ m.content }}</s>{% endfor %}"),
]
PRINTABLE = [chr(c) for c in range(33, 127)]
BYTE_LEVEL = [
    pair("tokenizer.ggml.model", STRING, "gpt2"), pair("tokenizer.ggml.pre", STRING, "qwen2"),
    pair("tokenizer.ggml.tokens", STRING, PRINTABLE + ["Ġ", "ab", "Ġa", "<|im_end|>"]),
    pair("tokenizer.ggml.merges", STRING, ["a b", "Ġ a"]),
    pair("tokenizer.ggml.token_type", INT32, [1] * (len(PRINTABLE) + 3) + [3]),
    pair("tokenizer.ggml.eos_token_id", UINT32, len(PRINTABLE) + 3),
]
LAYER = [("token_embd.weight", [32, 98], "Q8_0"), ("output_norm.weight", [32], "F32"),
         ("blk.0.attn_q.weight", [32, 32], "Q4_0"), ("blk.0.attn_k.weight", [32, 16], "F16")]


def write(folder, name, data):
    (HERE / folder).mkdir(exist_ok=True)
    (HERE / folder / name).write_bytes(data)


def write_gguf():
    write("gguf", "llama", gguf("llama", SHAPE, SENTENCE_PIECE, LAYER))
    write("gguf", "qwen3", gguf("qwen3", SHAPE + YARN, BYTE_LEVEL, LAYER))
    write("gguf", "gemma3", gguf("gemma3", SHAPE + SLIDING, SENTENCE_PIECE, LAYER[:1]))
    write("gguf", "empty", gguf("llama", [], [], []))


def write_safetensors():
    for name, tensors in {
        "empty": {}, "several": {"a": ("F32", [2, 3]), "b": ("I64", [4]), "c": ("BF16", [0, 5]), "d": ("F16", [])},
    }.items():
        header, offset = {"__metadata__": {"format": "pt"}}, 0
        for tensor, (kind, shape) in tensors.items():
            size = {"F32": 4, "I64": 8, "BF16": 2, "F16": 2}[kind]
            for extent in shape: size *= extent
            header[tensor] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + size]}
            offset += size
        text = json.dumps(header).encode()
        write("safetensors", name, struct.pack("<Q", len(text)) + text + bytes(offset))


def write_programs(gumbel):
    models = HERE.parent / "models"
    with tempfile.TemporaryDirectory() as folder:
        for name in ["llama", "gemma3", "gemma4_moe", "qwen3_5"]:
            path = pathlib.Path(folder) / name
            subprocess.run([gumbel, "export", f"random:{models / name / 'config.json'}", "-o", path, "--sample"], check=True,
                           stdout=subprocess.DEVNULL)
            data = path.read_bytes()
            (size,) = struct.unpack_from("<Q", data, 8)
            write("program", name, data[64:64 + size])

if __name__ == "__main__":
    write_gguf()
    write_safetensors()
    write_programs(sys.argv[1])
