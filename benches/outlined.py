#!/usr/bin/env python3
"""Vector instructions that became calls: functions of a program that call one, with how often in their text.

    CARGO_PROFILE_RELEASE_STRIP=none cargo build --release
    python3 benches/outlined.py target/release/fimbria

Work in lanes is compiled for each SIMD level by functions that are always inlined. A closure among them, or a function
that is not marked, is compiled for the least processor: each of its operations is then a call that goes through
memory, ten times as slow. What stands here in a hot loop wants `#[inline(always)] fn` in place of a closure. Needs
objdump.
"""

import re
import subprocess
import sys
from collections import Counter, defaultdict

# A function of one vector operation: loads, the operation, a store, the return.
LONGEST = 14


def main() -> None:
    objdump = ["objdump", "-d", "--no-show-raw-insn", "-C", sys.argv[1]]
    text = subprocess.Popen(objdump, stdout=subprocess.PIPE, text=True)
    names, bodies, calls = {}, defaultdict(list), defaultdict(Counter)
    at = None
    for line in text.stdout:
        if begin := re.match(r"0*([0-9a-f]+) <(.*)>:$", line):
            at = begin.group(1)
            names[at] = begin.group(2)
        elif at and "\t" in line:
            instruction = line.split("\t", 1)[1].strip()
            if not instruction.startswith(("int3", "nop", "data16", "cs nop")):
                bodies[at].append(instruction)
            if call := re.match(r"(?:call|jmp)\s+([0-9a-f]+) <", instruction):
                calls[call.group(1)][at] += 1
            if len(bodies[at]) > LONGEST:
                # What is longer is counted no further.
                bodies[at] = [""] * (LONGEST + 1)
    if text.wait() != 0 or len(names) < 100:
        sys.exit(f"{sys.argv[1]}: no program with names (CARGO_PROFILE_RELEASE_STRIP=none)")
    found = Counter()
    for place, body in bodies.items():
        if len(body) <= LONGEST and any("ymm" in one or "zmm" in one for one in body):
            for caller, n in calls[place].items():
                found[names[caller]] += n
    for name, n in found.most_common():
        print(f"{n:6d}  {name}")


if __name__ == "__main__":
    main()
