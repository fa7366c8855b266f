#!/usr/bin/env python3
"""Checks what README.md, CONTRIBUTING.md and docs/*.md say exists: files, links, commands.

    python check_documents.py REPOSITORY GUMBEL     status 1, and a line for each thing missing

A path in backticks is one that has a slash and begins with a folder of the repository, or that ends
like a source file or document; a bare file name may be that of any file in the repository. Options
on a line with `gumbel SUBCOMMAND` must appear in that subcommand's help.
"""
import os
import pathlib
import re
import subprocess
import sys

SUFFIXES = (".h", ".cc", ".md", ".py", ".cmake", ".fbs")
SKIPPED = {".git", "build", ".venv", "__pycache__"}
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
COMMAND = re.compile(
    r"(?:^|[\s`/])gumbel\s+(export|run|bench|eval|tokenize|selftest|inspect|cache list|cache clear|"
    r"cache)\b([^|;&`#>]*)")
OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)")


def files_of(root):
    """Paths of all files and folders, relative to `root`."""
    found = set()
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in SKIPPED]
        relative = pathlib.Path(folder).relative_to(root)
        found.update((relative / name).as_posix() for name in files + folders)
    return found


def missing_paths(text, files, document):
    """What the document names in backticks or links to and what is not there."""
    names = {path.rsplit("/", 1)[-1] for path in files}
    top = {path.split("/", 1)[0] for path in files}
    for code in CODE.findall(text):
        path = code.strip().rstrip("/").removeprefix("./")
        if not re.fullmatch(r"[\w./*-]+", path) or "*" in path or path.startswith("build/"):
            continue
        if "/" in path and path.split("/", 1)[0] in top:
            if path not in files:
                yield f"{document}: {path} does not exist"
        elif "/" not in path and path.endswith(SUFFIXES) and path not in names:
            yield f"{document}: no file is named {path}"
    base = pathlib.PurePosixPath(document).parent
    for link in LINK.findall(text):
        if "://" in link or link.startswith("mailto:"):
            continue
        if os.path.normpath(base / link) not in files:
            yield f"{document}: the link to {link} leads nowhere"


def missing_options(text, help_of, document):
    """Options that the document gives to a subcommand and that its help does not have."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        for command, rest in COMMAND.findall(line):
            for option in OPTION.findall(rest):
                if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_of(command)):
                    yield f"{document}: gumbel {command} has no option {option}"


def self_test():
    files = {"src", "src/base", "src/base/a.h", "docs", "docs/x.md", "README.md"}
    text = "`src/base/a.h` `a.h` `src/base/` [x](x.md#y) [r](../README.md) [w](https://a.b/c.md)"
    assert not list(missing_paths(text, files, "docs/x.md"))
    for wrong in ("`src/base/b.h`", "`b.h`", "[y](y.md)", "`src/gone`"):
        assert len(list(missing_paths(wrong, files, "docs/x.md"))) == 1, wrong
    help_of = {"run": "  --seed INT  -p INT", "bench": "-n", "cache list": "--json"}.__getitem__
    assert not list(missing_options("./gumbel run F \\\n  --seed 1 -p 2 | x --y", help_of, "d"))
    assert not list(missing_options("`gumbel cache list --json`", help_of, "d"))
    assert len(list(missing_options("`gumbel run F --see 1`, `gumbel bench --n`", help_of, "d"))) == 2


def main():
    self_test()
    root, gumbel = pathlib.Path(sys.argv[1]), sys.argv[2]
    helps = {}

    def help_of(command):
        if command not in helps:
            run = subprocess.run([gumbel, *command.split(), "--help"], capture_output=True, text=True)
            helps[command] = run.stdout
        return helps[command]

    files = files_of(root)
    documents = sorted(path for path in files if re.fullmatch(r"[A-Z]+\.md|docs/[^/]+\.md", path))
    problems = [] if documents else [f"{root}: expected documents"]
    for document in documents:
        text = (root / document).read_text()
        problems += missing_paths(text, files, document)
        problems += missing_options(text, help_of, document)
    print("\n".join(problems) or f"{len(documents)} documents name what exists")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
