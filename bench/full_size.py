#!/usr/bin/env python3
"""Models of full size with synthetic weights: export, load, memory, speed, share of the bandwidth.

    full_size.py [--folder FOLDER] [--keep] [-p N] [-n N] [--repetitions R] [--threads N] [MODEL ...]

Writes one model after the other to FOLDER (about 20 GB each), measures it and removes it. The share
of the memory's bandwidth is what a decoded token reads of the file, times tokens per second, over
what loops that only read the mapped file reach in the same run, taken in turn: a plain one, and one
written for bandwidth.
"""
import argparse
import json
import pathlib
import re
import resource
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUMBEL = ROOT / "build" / "release" / "gumbel"
READ_FILE = ROOT / "build" / "release" / "bench" / "full_size" / "read_file"
# Of the experts of each layer, how many a token uses.
MODELS = {"gemma4-31b": 1.0, "qwen3.5-35b-a3b": 8 / 256}
SETTINGS = ["--temperature", "0.8", "--top-k", "64", "--top-p", "0.95", "--seed", "1"]


def export(model, path):
    """Seconds that the export takes, and its peak resident memory in MiB."""
    start = time.monotonic()
    command = [GUMBEL, "export", f"random:{model}", "-o", path, "--quantize", "q4", "--sample"]
    subprocess.run(command, check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return time.monotonic() - start, peak / 1024


def bytes_per_token(path, expert_share):
    """Bytes of weights that one decoded token reads: all but rows of the token table."""
    text = subprocess.run(
        [GUMBEL, "inspect", "--weights", path], check=True, capture_output=True, text=True
    ).stdout
    total = 0
    names = set()
    for name, shape, size in re.findall(r"^  (\S+) \S+ \[([\d, ]+)\]: (\d+) bytes at", text, re.M):
        names.add(name)
        total += int(size) * (expert_share if shape.count(",") == 2 else 1)
        if name == "model.embed_tokens.weight":
            table = int(size)
    return total - (table if "lm_head.weight" in names else 0)


def measure(path, arguments, token_bytes):
    """Medians of benchmarks and reads, taken in turn."""
    runs, reads = [], []
    threads = str(arguments.threads)
    for _ in range(arguments.repetitions):
        command = [GUMBEL, "bench", path, "--json", "--repetitions", "1", *SETTINGS]
        command += ["-p", str(arguments.p), "-n", str(arguments.n), "--threads", threads]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        runs.append(json.loads(output))
        output = subprocess.run(
            [READ_FILE, path, threads, "1"], check=True, capture_output=True, text=True
        ).stdout
        reads.append([float(number) for number in output.split()])
    result = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    rates = [token_bytes * run["decode_tokens_per_s"] / 1e9 for run in runs]
    result["decode_gb_per_s"] = statistics.median(rates)
    for i, loop in enumerate(["plain", "wide"]):
        result[loop] = statistics.median(read[i] for read in reads)
        result[f"share_of_{loop}"] = statistics.median(
            rate / read[i] for rate, read in zip(rates, reads)
        )
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", default=list(MODELS))
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "full_size")
    parser.add_argument("--keep", action="store_true", help="leave the programs in FOLDER")
    parser.add_argument("-p", type=int, default=32, help="tokens of the prompt")
    parser.add_argument("-n", type=int, default=16, help="tokens to decode")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for model in arguments.models:
        path = arguments.folder / f"{model}.gumbel"
        if path.exists():
            print(f"{model}: {path} is there already")
        else:
            seconds, peak = export(model, path)
            print(f"{model}: exported in {seconds:.0f} s, {peak:.0f} MiB resident at most")
        token_bytes = bytes_per_token(path, MODELS.get(model, 1.0))
        r = measure(path, arguments, token_bytes)
        ms = 1e3 / r["decode_tokens_per_s"]
        print(f"  file {path.stat().st_size / 1e9:.2f} GB, of which a token reads "
              f"{token_bytes / 1e9:.2f} GB")
        print(f"  load {r['load_ms']:.1f} ms, resident at most {r['peak_rss_mib']:.0f} MiB "
              "(the mapped weights included)")
        print(f"  prompt {r['prefill_tokens_per_s']:.2f} tokens/s, decode "
              f"{r['decode_tokens_per_s']:.2f} tokens/s, {ms:.0f} ms a token")
        print(f"  decode reads {r['decode_gb_per_s']:.2f} GB/s: {r['share_of_plain']:.0%} of a plain "
              f"read loop's {r['plain']:.2f} GB/s, {r['share_of_wide']:.0%} of the {r['wide']:.2f} "
              "GB/s of one written for bandwidth (medians of pairs)")
        print(f"  sampling {r['sampling_ms_per_token']:.3f} ms a token, "
              f"{r['sampling_ms_per_token'] / ms:.3%} of it")
        if not arguments.keep:
            path.unlink()


if __name__ == "__main__":
    main()
