#!/usr/bin/env python3
"""A preprocessor of mdBook: links of pages to files outside of docs/ lead to the repository."""

import json
import posixpath
import re
import sys

REPOSITORY = "https://github.com/fimbria/fimbria/blob/main/"


def turned(text, folder):
    def link(found):
        path = posixpath.normpath(posixpath.join("docs", folder, found[1]))
        return found[0] if path.startswith("docs/") else f"]({REPOSITORY}{path})"

    return re.sub(r"\]\((\.\./[^)\s]*)\)", link, text)


def walk(items):
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            chapter = item["Chapter"]
            chapter["content"] = turned(chapter["content"], posixpath.dirname(chapter["path"] or ""))
            walk(chapter["sub_items"])


if sys.argv[1:2] == ["supports"]:
    sys.exit(0)
_, book = json.load(sys.stdin)
walk(book["items"])
json.dump(book, sys.stdout)
