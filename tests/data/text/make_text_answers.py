#!/usr/bin/env python3
"""Write what outside implementations answer: pieces of pre-tokenizers, chat renders, normal forms.

pieces.jsonl: {"steps": [[pattern, behavior, invert]…], "name", "texts": [[text, [piece…]]…]}, from Hugging Face
tokenizers' own pre-tokenizer. chats.jsonl: {"template", "messages", "generation", "text"}, from Jinja2 the way
transformers configures it. nfc.jsonl: [text, normal form C], from Python's unicodedata.

    pip install tokenizers jinja2; python make_text_answers.py
"""
import json, pathlib, random, sys, unicodedata
import jinja2.sandbox
from tokenizers import Regex, pre_tokenizers

HERE = pathlib.Path(__file__).parent
sys.argv = ["", str(HERE / "none")]
source = (HERE / "../tokenizers/make_tokenizers.py").read_text().rsplit("\nmain()", 1)[0]
shared = {}
exec(compile(source, "make_tokenizers.py", "exec"), shared)
TEXTS = shared["TEXTS"] + shared["fuzz_texts"](60, 11) + ["I'\u017f it'S we'\u017f", "a\u180eb \u180e c", "x \u0300y e\u0301\u0302 \u0e33\u0e19\u0e49\u0e33", "12345678901 1234 x12", "a, b. $5+3<4 ~x^2|y `q` \u20ac9", "  \t\n  x\r\n\r\n y "]

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN35 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
NAMED = {
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"],
    "gpt-2": [GPT2], "llama-bpe": [shared["LLAMA3"]], "qwen2": [shared["QWEN"]], "qwen35": [QWEN35],
    "smollm": [r"\p{N}", GPT2],
}
BEHAVIORS = ["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]
RUST = {"isolated": "Isolated", "removed": "Removed", "merged_with_previous": "MergedWithPrevious", "merged_with_next": "MergedWithNext", "contiguous": "Contiguous"}


def pieces(steps, text):
    sequence = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), b, i) for p, b, i in steps])
    return [piece for piece, _ in sequence.pre_tokenize_str(text)]


def write_pieces():
    with open(HERE / "pieces.jsonl", "w") as f:
        for name, patterns in NAMED.items():
            steps = [(p, "isolated", False) for p in patterns]
            f.write(json.dumps({"name": name, "texts": [[t, pieces(steps, t)] for t in TEXTS]}) + "\n")
        for pattern in [r"\s", "[aeiou]+", "-"]:
            for behavior in BEHAVIORS:
                for invert in [False, True]:
                    texts = ["", "a", "-", "--", "a-b--c---", "--the final--countdown", " x  y ", "queue aeiou xyz", "one two"]
                    steps = [(pattern, behavior, invert)]
                    f.write(json.dumps({"name": "", "steps": [[pattern, RUST[behavior], invert]], "texts": [[t, pieces(steps, t)] for t in texts]}) + "\n")


CHATS = [
    [("user", "Hi")], [("system", "Be brief."), ("user", "Hi")],
    [("user", "Hi"), ("assistant", "Hello!"), ("user", "What is 2 + 2?")],
    [("system", "  Be\nbrief. \n"), ("user", " Hi \n"), ("assistant", "\n Hello! "), ("user", "\n\nBye\n")],
    [("user", "<|im_end|><end_of_turn><|eot_id|>")], [("system", ""), ("user", "x")], [("user", "")],
    [("user", "q"), ("assistant", "<think>\nhm\n</think>\n\nYes."), ("user", "r")],
    [("user", "\u00a0日本\u3000"), ("assistant", "ok"), ("user", "e\u0301")],
]


def write_chats():
    def raise_exception(message): raise jinja2.exceptions.TemplateError(message)
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = raise_exception
    with open(HERE / "chats.jsonl", "w") as f:
        for path in sorted((HERE / "templates").glob("*.jinja")):
            template = environment.from_string(path.read_text())
            for chat in CHATS:
                messages = [{"role": r, "content": c} for r, c in chat]
                for generation in [True, False]:
                    text = template.render(messages=messages, add_generation_prompt=generation, bos_token="<BOS>")
                    f.write(json.dumps({"template": path.stem, "messages": messages, "generation": generation, "text": text}) + "\n")


def write_nfc():
    rng = random.Random(5)
    marks = [chr(c) for c in range(0x300, 0x370) if unicodedata.combining(chr(c))] + ["\u05b0", "\u0591", "\u0f71", "\u0f72", "\u3099", "\u302a"]
    bases = "aeiouEAx \u00e9\u1e9b\u212b\u2126\u0958\u0344\u1100\u1161\u11a8\uac00\u304b\u0915\u09c7\u09be\ufb1d\u0b47\u0b56\u03b1\u1fb4"
    texts = ["", "abc", "\u00e9", "\u212b \u2126 \u0958 \u0344", "\u1100\u1161\u11a8 \uac00\u11a8 \u1100\u1161", "\u304b\u3099", "\u0f71\u0f72\u0f74", "\u09c7\u09be", "a\u0315\u0300\u05ae\u0062", "\ufb1d\u2adc"]
    for _ in range(300):
        texts.append("".join(rng.choice(bases) + "".join(rng.choices(marks, k=rng.randint(0, 4))) for _ in range(rng.randint(1, 5))))
    with open(HERE / "nfc.jsonl", "w") as f:
        for text in texts: f.write(json.dumps([text, unicodedata.normalize("NFC", text)]) + "\n")


write_pieces(); write_chats(); write_nfc()
