#!/usr/bin/env python3
"""Checks that each folder of src includes only what its layer may use.

    python check_layers.py REPOSITORY     prints every include that breaks a rule; status 1 if any
    python check_layers.py --self-test    checks that broken rules are seen
"""
import pathlib
import re
import sys

# What runtime shows to backends: the interface, and how a call's sampling operands are read.
BACKEND = {"runtime/backend.h", "runtime/sample_operands.h", "program", "sampling", "base"}
# Folder: the folders, or single headers, that it may include besides itself. docs/architecture.md
# explains the layers. "*": everything.
MAY_USE = {
    "base": set(),
    "sampling": {"base"},
    "program": {"base"},
    "text": {"base"},
    "runtime": {"program", "sampling", "base"},
    "export": {"text", "runtime", "program", "base"},
    "backends": BACKEND | {"backends/cpu/cpu_backend.h",
                           "backends/reference/reference_backend.h"},
    "backends/reference": BACKEND,
    "backends/cpu": BACKEND,
    "engine": {"runtime", "text", "program", "sampling", "base"},
    "hub": {"base"},
    "cli": {"*"},
}
# Public headers that folders below the engine share with it.
PUBLIC = {"error.h": {"*"}, "message.h": {"text", "engine", "cli"},
          "reply.h": {"text", "engine", "cli"}}
GENERATED = {"program_generated.h": {"program"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def folder_of(path):
    """The most specific folder of MAY_USE that `path`, relative to src, lies in; or None."""
    folders = [f for f in MAY_USE if path.startswith(f + "/")]
    return max(folders, key=len, default=None)


def is_allowed(folder, header, delimiter):
    """Whether a file of `folder` may include `header`, spelt with this delimiter."""
    if header.startswith("gumbel/"):
        users = PUBLIC.get(header.removeprefix("gumbel/"), {"engine", "cli"})
        return delimiter == "<" and ("*" in users or folder in users)
    if delimiter == "<":
        return True
    if header in GENERATED:
        return folder in GENERATED[header]
    target = folder_of(header)
    allowed = MAY_USE[folder]
    return target == folder or "*" in allowed or target in allowed or header in allowed


def problems_in(path, text):
    """Messages on the file `path`, relative to src."""
    folder = folder_of(path)
    if folder is None:
        return [f"src/{path}: is in no folder that has a layer"]
    return [f"src/{path}: {folder} may not include {header}"
            for delimiter, header in INCLUDE.findall(text)
            if not is_allowed(folder, header, delimiter)]


def public_problems(path, text):
    """Messages on a header of include/gumbel: it includes the standard library and its like."""
    return [f"include/gumbel/{path}: may not include {header}"
            for delimiter, header in INCLUDE.findall(text)
            if delimiter != "<" or ("/" in header and not header.startswith("gumbel/"))
            or header.endswith(".h") and not header.startswith("gumbel/")]


def self_test():
    broken = [("base/a.h", '#include "program/graph.h"'), ("text/a.cc", '#include "runtime/x.h"'),
              ("backends/cpu/a.cc", '#include "runtime/executor.h"'),
              ("backends/cpu/a.cc", '#include "backends/reference/ops.h"'),
              ("runtime/a.cc", '  # include "backends/cpu/cpu_backend.h"'),
              ("engine/a.cc", '#include "export/import.h"'), ("hub/a.cc", '#include "cli/a.h"'),
              ("program/a.cc", '#include "a.h"'),
              ("runtime/a.cc", "#include <gumbel/engine.h>"), ("nowhere/a.cc", ""),
              ("base/a.cc", '#include "gumbel/error.h"')]
    sound = [("base/a.h", '#include "base/error.h"\n#include <gumbel/error.h>'),
             ("backends/cpu/a.cc", '#include "runtime/backend.h"\n#include "backends/cpu/b.h"'),
             ("cli/a.cc", '#include "export/import.h"\n#include <gumbel/engine.h>'),
             ("export/a.cc", '#include "export/models/family.h"')]
    for path, text in broken:
        assert len(problems_in(path, text)) == 1, (path, text)
    for path, text in sound:
        assert not problems_in(path, text), (path, text)
    for text in ('#include "base/error.h"', "#include <fmt/format.h>"):
        assert public_problems("a.h", text), text
    assert not public_problems("a.h", "#include <gumbel/error.h>\n#include <vector>")


def main():
    self_test()
    if sys.argv[1:] == ["--self-test"]:
        return 0
    root = pathlib.Path(sys.argv[1])
    problems = []
    files = [p for p in sorted((root / "src").rglob("*")) if p.suffix in (".h", ".cc")]
    headers = sorted((root / "include" / "gumbel").glob("*.h"))
    if len(files) < 50 or not headers:
        problems.append(f"{root}: expected the sources of Gumbel")
    for path in files:
        problems += problems_in(path.relative_to(root / "src").as_posix(), path.read_text())
    for path in headers:
        problems += public_problems(path.name, path.read_text())
    print("\n".join(problems) or f"{len(files) + len(headers)} files keep to their layers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
