#!/usr/bin/env python3
"""How far quantizing moves models, as the tables of docs/importing.md.

    quantization_quality.py [--gumbel PROGRAM] [--cache FOLDER] [--model NAME | --tiny]

Each model's GGUF file is exported with --quantize none, q8 and q4, which quantizes its dequantized
weights anew, and each program is evaluated against the stored answers of tests/data/real. The
models must be in the cache (scripts/fetch_model.py). Takes a minute or two for each program. With
--tiny it does the same with the tiny checkpoints of tests/data/models, over the whole vocabulary.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# name of the answers: file in the cache
MODELS = {
    "gemma3-270m": "gemma-3-270m-q4_k_m.gguf",
    "smollm2-135m": "SmolLM2-135M-Instruct.Q4_1.gguf",
}


def numbers(values, digits):
    return " ".join(f"{value:.{digits}f}" for value in values)


def measure(gumbel, source, answers, quantize, folder, *options):
    """The figures of `gumbel eval --json`, and the bytes of the program."""
    program = pathlib.Path(folder) / "model.gumbel"
    subprocess.run([gumbel, "export", source, "-o", program, "--quantize", quantize], check=True,
                   stdout=subprocess.DEVNULL)
    command = [gumbel, "eval", program, "--answers", answers, "--json", *options]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output) | {"bytes": program.stat().st_size}


def print_tiny(gumbel):
    print("| tiny checkpoint | none | q8 | q4 |")
    print("| --- | --- | --- | --- |")
    for answers in sorted((ROOT / "tests/data/models").glob("*/answers.safetensors")):
        source = answers.parent
        row = []
        for quantize in ("none", "q8", "q4"):
            with tempfile.TemporaryDirectory() as folder:
                kl = measure(gumbel, source, answers, quantize, folder, "--threads", "1")["full_kl"]
            row.append(f"{sum(kl) / len(kl):.4f}")
        print(f"| {source.name} | {' | '.join(row)} |", flush=True)


def main():
    folder = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    cache = os.environ.get("GUMBEL_CACHE") or pathlib.Path(folder) / "gumbel"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gumbel", default=ROOT / "build/release/gumbel")
    parser.add_argument("--cache", type=pathlib.Path, default=cache)
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    if options.tiny:
        print_tiny(options.gumbel)
        return
    print("| model | --quantize | MB | mean KL, texts 0 to 2 | more than none | best token agrees "
          "| perplexity |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for model in options.model or MODELS:
        answers = ROOT / "tests/data/real" / f"{model}.safetensors"
        plain = None
        for quantize in ("none", "q8", "q4"):
            with tempfile.TemporaryDirectory() as folder:
                found = measure(options.gumbel, pathlib.Path(options.cache) / MODELS[model], answers,
                                quantize, folder)
            plain = plain or found
            more = [a - b for a, b in zip(found["mean_kl"], plain["mean_kl"])]
            print(f"| {model} | {quantize} | {found['bytes'] / 1e6:.0f} "
                  f"| {numbers(found['mean_kl'], 4)} | {numbers(more, 4)} "
                  f"| {numbers(found['agreement'], 3)} | {numbers(found['perplexity'], 3)} |",
                  flush=True)


if __name__ == "__main__":
    main()
