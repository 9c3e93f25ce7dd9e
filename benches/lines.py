#!/usr/bin/env python3
"""Counts lines of code alone: no comments, blanks, tests, examples or build output.

    python3 benches/lines.py            # of this tree, by crate
    python3 benches/lines.py COMMIT     # of a commit, without checking it out

A line counts if anything is left of it once comments are gone, strings apart. Tests are the folders
tests/ and examples/, the dev crate crates/testing, files tests.rs, testing.rs, *_tests.rs and all
below a folder src/**/tests/, and items under #[cfg(test)]. Kernels (.cl) count, .py and .md do not.
"""

import io
import os
import subprocess
import sys
import tarfile
from collections import Counter

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def files(commit):
    """Paths and texts of all files below crates/."""
    if commit:
        data = subprocess.check_output(["git", "-C", ROOT, "archive", commit, "crates"])
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar.getmembers():
                if member.isfile() and member.name.endswith((".rs", ".cl")):
                    yield member.name, tar.extractfile(member).read().decode()
    else:
        for folder, _, names in os.walk(os.path.join(ROOT, "crates")):
            for name in names:
                if name.endswith((".rs", ".cl")):
                    path = os.path.join(folder, name)
                    yield os.path.relpath(path, ROOT), open(path, encoding="utf-8").read()


def is_test(path):
    crate, inside = path.split("/")[1], path.split("/")[2:]
    name = inside[-1]
    in_tests = "tests" in inside[:-1] or inside[0] == "examples" or crate == "testing"
    return in_tests or name in ("tests.rs", "testing.rs") or name.endswith("_tests.rs")


def without_comments(text):
    """The text with comments taken out, and with strings and characters as empty ones, so that
    their braces do not count; ends of lines stay."""
    out, i, n = [], 0, len(text)
    while i < n:
        if text.startswith("//", i):
            i = (text.find("\n", i) + n + 1) % (n + 1)
        elif text.startswith("/*", i):
            depth, start, i = 1, i, i + 2
            while i < n and depth:
                if text.startswith("/*", i):
                    depth, i = depth + 1, i + 2
                elif text.startswith("*/", i):
                    depth, i = depth - 1, i + 2
                else:
                    i += 1
            out.append("\n" * text.count("\n", start, i))
        elif text[i] == "r" and text[i + 1 : i + 2] in ('"', "#") and not _is_word(text, i - 1):
            hashes = 0
            while text[i + 1 + hashes : i + 2 + hashes] == "#":
                hashes += 1
            if text[i + 1 + hashes : i + 2 + hashes] != '"':
                out.append(text[i])
                i += 1
                continue
            end = text.find('"' + "#" * hashes, i + 2 + hashes)
            out.append(_string(text[i:end]))
            i = end + 1 + hashes
        elif text[i] == '"':
            start, i = i, i + 1
            while i < n and text[i] != '"':
                i += 2 if text[i] == "\\" else 1
            i += 1
            out.append(_string(text[start:i]))
        elif text[i] == "'" and (text[i + 1 : i + 2] == "\\" or text[i + 2 : i + 3] == "'"):
            i = text.find("'", i + 3 if text[i + 1] == "\\" else i + 2) + 1
            out.append("''")
        else:
            out.append(text[i])
            i += 1
    return "".join(out)


def _is_word(text, i):
    return i >= 0 and (text[i].isalnum() or text[i] == "_")


def _string(quoted):
    # Each of its lines is one of code.
    return '""' + '\n""' * quoted.count("\n")


def without_tests(text):
    """Takes out what stands under #[cfg(test)]: an item with braces, or one that ends in `;`."""
    while (start := text.find("#[cfg(test)]")) >= 0:
        i, depth = start, 0
        while i < len(text):
            if text[i] == "{":
                depth += 1
            elif text[i] == "}":
                depth -= 1
                if depth == 0:
                    break
            elif text[i] == ";" and depth == 0:
                break
            i += 1
        text = text[:start] + text[i + 1 :]
    return text


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else None
    count = Counter()
    for path, text in files(commit):
        if not is_test(path):
            code = without_tests(without_comments(text))
            count[path.split("/")[1]] += sum(1 for line in code.split("\n") if line.strip())
    for crate, lines in sorted(count.items(), key=lambda item: -item[1]):
        print(f"{crate:12} {lines:7}")
    print(f"{'all':12} {sum(count.values()):7}")


if __name__ == "__main__":
    main()
