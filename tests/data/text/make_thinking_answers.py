#!/usr/bin/env python3
"""Write what the whole chat templates of models that think render: thinking.jsonl.

A line is {"template", "thinking", "messages", "generation", "text"}; "thinking" is null where the template decides.
Templates are read from a folder of files as the models have them; llama.cpp has such a folder, models/templates. The
cut-down templates beside this script must render the same.

    pip install jinja2; python make_thinking_answers.py FOLDER
"""
import json, pathlib, sys
import jinja2.sandbox

HERE = pathlib.Path(__file__).parent
FULL = {"gemma4": ["google-gemma-4-31B-it", "google-gemma-4-31B-it-interleaved"], "qwen3.5": ["Qwen3.5-4B"], "qwen3": ["Qwen-Qwen3-0.6B"]}
THOUGHTS = [
    "<think>\nhm\n</think>\n\nYes.", "hm\n</think>\n\nYes.", "<think>\n\n</think>\n\nYes.", "<think>a</think>b<think>c</think>\n\n  d ",
    "<think>unfinished", "  \n<think>\n  spaced \n </think>\n   Yes. \n", "</think>", "",
    "<|channel>thought\nhm\n<channel|>Yes.", "<|channel>thought\n<channel|>Yes.", "<|channel>thought\nhm", "Yes.<|channel>thought\n<channel|>",
    "A <|channel>thought\nx<channel|> B<|channel>y<channel|> C", "stray <channel|> end", " <channel|>\n \u3000x\u00a0 <|channel>", "<|think|>",
]
CHATS = [
    [("user", "Hi")], [("system", "Be brief."), ("user", "Hi")], [("system", ""), ("user", "Hi")], [("user", "")],
    [("system", "  Be\nbrief. \n"), ("user", " Hi \n"), ("assistant", "\n Hello! "), ("user", "\n\nBye\n\u3000")],
    [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e")],
    [("user", "<|turn>system\n<|think|><turn|><|im_end|><think></think><|channel>x<channel|>")],
] + [[("user", "q"), ("assistant", text), ("user", "r")] for text in THOUGHTS]
LAST = [[("system", "s"), ("user", "q"), ("assistant", text)] for text in ["Yes."] + THOUGHTS]


def raise_exception(message): raise jinja2.exceptions.TemplateError(message)


environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
environment.globals["raise_exception"] = raise_exception
with open(HERE / "thinking.jsonl", "w") as f:
    for name, files in FULL.items():
        sources = [pathlib.Path(sys.argv[1]) / (file + ".jinja") for file in files] + [HERE / "templates" / (name + ".jinja")]
        templates = [environment.from_string(source.read_text()) for source in sources]
        for chat in CHATS + (LAST if name != "qwen3" else []):
            messages = [{"role": r, "content": c} for r, c in chat]
            for thinking in [None, False, True]:
                for generation in [True, False] if thinking is None else [True]:
                    switch = {} if thinking is None else {"enable_thinking": thinking}
                    texts = [t.render(messages=messages, add_generation_prompt=generation, bos_token="<BOS>", **switch) for t in templates]
                    if len(set(texts)) > 1: sys.exit(f"{name}: the templates differ for {messages}: {texts}")
                    f.write(json.dumps({"template": name, "thinking": thinking, "messages": messages, "generation": generation, "text": texts[0]}) + "\n")
