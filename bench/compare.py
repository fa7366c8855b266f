#!/usr/bin/env python3
"""Gumbel beside llama.cpp on the two real models: one run, the two in turn, medians and ratios.

    compare.py [--cache FOLDER] [-p N] [-n N] [--repetitions R] [--threads N]

llama.cpp comes from PyPI's llama-cpp-python, built here for this machine's instruction sets in a
virtual environment under build/. AMX is left out of that build: some virtual machines report it and
fault on its first instruction.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build" / "peer"
PEER = "llama-cpp-python==0.3.36"
MODELS = ["SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"]
# name: temperature, top-k, top-p
SETTINGS = {"top-k 64, top-p 0.95": (0.8, 64, 0.95), "unfiltered": (0.8, 0, 1.0)}
# llama.cpp's build options by the flags of /proc/cpuinfo that they need
BUILD_OPTIONS = {
    "avx": ["GGML_AVX"],
    "avx2": ["GGML_AVX2"],
    "fma": ["GGML_FMA"],
    "f16c": ["GGML_F16C"],
    "bmi2": ["GGML_BMI2"],
    "avx512f": ["GGML_AVX512"],
    "avx512vbmi": ["GGML_AVX512_VBMI"],
    "avx512_vnni": ["GGML_AVX512_VNNI"],
    "avx512_bf16": ["GGML_AVX512_BF16"],
}


def peer_python():
    """The interpreter of the virtual environment that has the peer, made when it is not there."""
    python = VENV / "bin" / "python"
    ready = VENV / "ready"
    if ready.exists() and ready.read_text() == PEER:
        return python
    print(f"building {PEER} for this machine; this takes minutes", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    cpu = pathlib.Path("/proc/cpuinfo").read_text().split()
    options = ["-DGGML_NATIVE=OFF"] if "avx2" in cpu else []
    options += [f"-D{o}=ON" for flag, names in BUILD_OPTIONS.items() if flag in cpu for o in names]
    environment = {**os.environ, "CMAKE_ARGS": " ".join(options)}
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        pip + ["--no-binary", "llama-cpp-python", "--no-cache-dir", PEER],
        check=True,
        env=environment,
    )
    ready.write_text(PEER)
    return python


def run_json(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(model, program, setting, python, arguments):
    temperature, top_k, top_p = setting
    p, n, threads = str(arguments.p), str(arguments.n), str(arguments.threads)
    gumbel = [ROOT / "build/release/gumbel", "bench", program, "-p", p, "-n", n, "--repetitions", "1"]
    gumbel += ["--threads", threads, "--temperature", str(temperature), "--top-k", str(top_k)]
    gumbel += ["--top-p", str(top_p), "--json"]
    peer = [python, ROOT / "bench/llama_peer.py", model, p, n, threads]
    peer += [str(temperature), str(top_k), str(top_p)]
    pairs = [(run_json(gumbel), run_json(peer)) for _ in range(arguments.repetitions)]
    for key, better in (
        ("decode_tokens_per_s", "more"),
        ("prefill_tokens_per_s", "more"),
        ("sampling_ms_per_token", "less"),
        ("load_ms", "less"),
    ):
        ours = [a[key] for a, _ in pairs]
        theirs = [b[key] for _, b in pairs]
        ratios = [a / b for a, b in zip(ours, theirs)]
        print(
            f"  {key:22} gumbel {statistics.median(ours):9.3f}  llama.cpp {statistics.median(theirs):9.3f}"
            f"  ratio {statistics.median(ratios):6.3f} ({min(ratios):.3f} to {max(ratios):.3f}; {better} is better)"
        )
    memory = statistics.median(a["peak_rss_mib"] for a, _ in pairs)
    print(f"  peak memory of gumbel  {memory:9.1f} MiB; the program file has {program.stat().st_size / 2**20:.1f} MiB")


def main():
    folder = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    default_cache = os.environ.get("GUMBEL_CACHE") or pathlib.Path(folder) / "gumbel"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(default_cache))
    parser.add_argument("-p", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("-n", type=int, default=128, help="tokens to decode")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    python = peer_python()
    for name in MODELS:
        model = arguments.cache / name
        program = ROOT / "build" / "peer" / (name + ".gumbel")
        export = [ROOT / "build/release/gumbel", "export", model, "-o", program, "--sample"]
        subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
        for label, setting in SETTINGS.items():
            print(f"{name}, {arguments.threads} threads, {arguments.p} + {arguments.n} tokens, {label}")
            compare(model, program, setting, python, arguments)


main()
