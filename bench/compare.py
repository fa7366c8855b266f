#!/usr/bin/env python3
"""Gumbel beside llama.cpp on the two real models: one run, the two in turn, medians and ratios.

    compare.py [--cache FOLDER] [-p N] [-n N] [--repetitions R] [--threads N] [--plot FILE.svg]

llama.cpp comes from PyPI's llama-cpp-python, built here for this machine's instruction sets in a
virtual environment under build/. AMX is left out of that build: some virtual machines report it and
fault on its first instruction.
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build" / "peer"
PEER = "llama-cpp-python==0.3.36"
PLOTTER = "matplotlib==3.10.7"
MODELS = {
    "SmolLM2-135M-Instruct.Q4_1.gguf": "SmolLM2 135M, Q4_1",
    "gemma-3-270m-q4_k_m.gguf": "Gemma 3 270M, Q4_K_M",
}
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


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return platform.machine()


def run_json(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def draw(results, path, caption):
    """Writes the speeds of `results` (label, key, ours, theirs) as bars."""
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


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return platform.machine()


def run_json(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def draw(results, path, caption):
    """Writes the speeds of `results` (label, key, ours, theirs) as bars."""
    script = """
import json, sys
import matplotlib
matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "gumbel", "svg.fonttype": "none", "font.size": 10})
import matplotlib.pyplot as plt
results, path, caption = json.load(sys.stdin)
titles = {"decode_tokens_per_s": "decode, tokens a second", "prefill_tokens_per_s": "prompt, tokens a second"}
figure, panels = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True)
for panel, (key, title) in zip(panels, titles.items()):
    rows = [row for row in results if row[1] == key]
    for place, (_, _, ours, theirs) in enumerate(rows):
        for offset, value, color, name in ((-0.2, ours, "#3b6fb6", "Gumbel"), (0.2, theirs, "#b9b9b9", "llama.cpp")):
            panel.barh(place + offset, value, 0.38, color=color, label=name if place == 0 else None)
            panel.text(value, place + offset, f" {value:,.0f}", va="center")
    panel.set_yticks(range(len(rows)), [row[0] for row in rows])
    panel.set_title(title)
    panel.set_xlim(0, 1.18 * max(max(row[2:]) for row in rows))
    panel.spines[["top", "right"]].set_visible(False)
panels[0].invert_yaxis()
panels[1].legend(loc="lower right", frameon=False)
figure.text(0.5, 0.005, caption, ha="center", fontsize=8)
figure.tight_layout(rect=(0, 0.04, 1, 1))
figure.savefig(path, metadata={"Date": None})
"""
    python = VENV / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PLOTTER], check=True)
    data = json.dumps([results, str(path), caption])
    subprocess.run([python, ROOT / "bench/plot_speed.py"], input=data, text=True, check=True)


def compare(model, program, setting, python, arguments):
    temperature, top_k, top_p = setting
    p, n, threads = str(arguments.p), str(arguments.n), str(arguments.threads)
    gumbel = [ROOT / "build/release/gumbel", "bench", program, "-p", p, "-n", n, "--repetitions", "1"]
    gumbel += ["--threads", threads, "--temperature", str(temperature), "--top-k", str(top_k)]
    gumbel += ["--top-p", str(top_p), "--json"]
    peer = [python, ROOT / "bench/llama_peer.py", model, p, n, threads]
    peer += [str(temperature), str(top_k), str(top_p)]
    pairs = [(run_json(gumbel), run_json(peer)) for _ in range(arguments.repetitions)]
    medians = {}
    for key, better in (
        ("decode_tokens_per_s", "more"),
        ("prefill_tokens_per_s", "more"),
        ("sampling_ms_per_token", "less"),
        ("load_ms", "less"),
    ):
        ours = [a[key] for a, _ in pairs]
        theirs = [b[key] for _, b in pairs]
        ratios = [a / b for a, b in zip(ours, theirs)]
        medians[key] = (statistics.median(ours), statistics.median(theirs))
        print(
            f"  {key:22} gumbel {statistics.median(ours):9.3f}  llama.cpp {statistics.median(theirs):9.3f}"
            f"  ratio {statistics.median(ratios):6.3f} ({min(ratios):.3f} to {max(ratios):.3f}; {better} is better)"
        )
    memory = statistics.median(a["peak_rss_mib"] for a, _ in pairs)
    print(f"  peak memory of gumbel  {memory:9.1f} MiB; the program file has {program.stat().st_size / 2**20:.1f} MiB")
    return medians


def main():
    folder = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    default_cache = os.environ.get("GUMBEL_CACHE") or pathlib.Path(folder) / "gumbel"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(default_cache))
    parser.add_argument("-p", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("-n", type=int, default=128, help="tokens to decode")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--plot", type=pathlib.Path, help="draw the speeds into this file (SVG)")
    arguments = parser.parse_args()
    python = peer_python()
    results = []
    for name in MODELS:
        model = arguments.cache / name
        program = ROOT / "build" / "peer" / (name + ".gumbel")
        export = [ROOT / "build/release/gumbel", "export", model, "-o", program, "--sample"]
        subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
        for label, setting in SETTINGS.items():
            print(f"{name}, {arguments.threads} threads, {arguments.p} + {arguments.n} tokens, {label}")
            medians = compare(model, program, setting, python, arguments)
            row = f"{MODELS[name]}\n{label}"
            results += [(row, key, *medians[key]) for key in ("decode_tokens_per_s", "prefill_tokens_per_s")]
    if arguments.plot:
        caption = f"{arguments.threads} threads of {cpu_name()}; prompt of {arguments.p} tokens, {arguments.n} decoded"
        draw(results, arguments.plot, f"{caption}; medians of {arguments.repetitions}; bench/compare.py --plot")


main()
