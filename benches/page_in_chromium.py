#!/usr/bin/env python3
"""Opens pages in headless Chromium, as from disk, and says whether they are whole.

    python3 benches/page_in_chromium.py chromium PAGE...

Of each page: its size, how long it takes to draw, how many figures it has, whether anything is fetched or said
on the console, whether it is wider than the screen at 400 px, and whether "Explore in 3-D" draws (pixels of the
canvas that are not its ground). Ends with 1 where a page fails. Needs Chromium and Python's standard library
alone; with --shots FOLDER pictures at 1300 and 400 px and the PDF are left there.
"""

import argparse
import base64
import http.client
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUIET = [
    "--headless=new", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    # Thousands of lines are drawn sooner by the processor than by a card that it imitates.
    "--disable-gpu-rasterization",
]  # fmt: skip

#: Waits until the scene says that it is drawn, then counts pixels that differ from the ground.
SCENE = """
(async () => {
  const start = document.getElementById('explore-start');
  if (!start) return 'none';
  start.click();
  const stage = document.getElementById('explore-stage'), told = document.getElementById('explore-told');
  for (let i = 0; i < 600 && !stage.dataset.drawn; i++) {
    if (told.textContent.startsWith('It cannot')) return told.textContent;
    await new Promise((go) => setTimeout(go, 100));
  }
  await new Promise((go) => setTimeout(go, 1500));
  return stage.dataset.drawn || 'not in a minute';
})()
"""


class Browser:
    """The DevTools protocol over a socket: as much of it as is used here."""

    def __init__(self, chromium: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        command = [chromium, *QUIET, "--remote-debugging-port=0", f"--user-data-dir={self.folder.name}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        at = Path(self.folder.name) / "DevToolsActivePort"
        for _ in range(600):
            if at.exists() and at.read_text().count("\n"):
                break
            time.sleep(0.1)
        port = int(at.read_text().splitlines()[0])
        asked = http.client.HTTPConnection("127.0.0.1", port)
        asked.request("GET", "/json")
        pages = [page for page in json.load(asked.getresponse()) if page["type"] == "page"]
        path = pages[0]["webSocketDebuggerUrl"].split(str(port), 1)[1]
        self.socket = socket.create_connection(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        while not self._line().strip() == b"":
            pass
        self.events: list[dict] = []
        self.number = 0

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\r\n"):
            line += self.socket.recv(1)
        return line

    def _exactly(self, n: int) -> bytes:
        data = b""
        while len(data) < n:
            data += self.socket.recv(n - len(data))
        return data

    def _message(self) -> dict:
        text = b""
        while True:
            first, second = self._exactly(2)
            length = second & 127
            if length == 126:
                (length,) = struct.unpack(">H", self._exactly(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self._exactly(8))
            part = self._exactly(length)
            if first & 15 in (0, 1):
                text += part
                if first & 128:
                    return json.loads(text)

    def ask(self, method: str, **parameters) -> dict:
        self.number += 1
        text = json.dumps({"id": self.number, "method": method, "params": parameters}).encode()
        n = len(text)
        size = bytes([n | 0x80]) if n < 126 else struct.pack(">BH", 0x80 | 126, n) if n < 65536 else struct.pack(">BQ", 0x80 | 127, n)
        # A mask of zeros leaves the text as it is.
        self.socket.sendall(b"\x81" + size + b"\0\0\0\0" + text)
        while True:
            message = self._message()
            if message.get("id") == self.number:
                return message.get("result", message)
            self.events.append(message)

    def value(self, script: str):
        asked = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return asked.get("result", {}).get("value")

    def shot(self, clip: dict | None = None) -> bytes:
        more = {"clip": {**clip, "scale": 1}} if clip else {}
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=bool(clip), **more)["data"])

    def wide(self, width: int, height: int = 900) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def close(self) -> None:
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def pixels(png: bytes) -> list[bytes]:
    """Rows of a PNG of 8 bits, 3 or 4 samples a pixel."""
    import zlib

    at, data, header = 8, b"", b""
    while at < len(png):
        (n,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + n]
        header = body if kind == b"IHDR" else header
        data += body if kind == b"IDAT" else b""
        at += 12 + n
    width, height, _, colour = struct.unpack(">IIBB", header[:10])
    step = {2: 3, 6: 4}[colour]
    raw, rows, before = zlib.decompress(data), [], bytes(width * step)
    for y in range(height):
        kind, line = raw[y * (width * step + 1)], bytearray(raw[y * (width * step + 1) + 1 : (y + 1) * (width * step + 1)])
        for x in range(len(line)):
            left = line[x - step] if x >= step else 0
            up, corner = before[x], before[x - step] if x >= step else 0
            guess = left + up - corner
            paeth = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            line[x] = (line[x] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(bytes(line[i] for x in range(0, len(line), step) for i in range(x, x + 3)))
        before = bytes(line)
    return rows


def look(chromium: str, page: Path, shots: Path | None) -> tuple[list[str], list[str]]:
    """A row of the table, and what is wrong."""
    browser = Browser(chromium)
    wrong = []
    try:
        for domain in ("Page", "Runtime", "Network", "Log"):
            browser.ask(f"{domain}.enable")
        browser.wide(1300)
        began = time.monotonic()
        browser.ask("Page.navigate", url=page.resolve().as_uri())
        while browser.value("document.readyState") != "complete" or browser.value("location.protocol") != "file:":
            time.sleep(0.02)
        drawn = time.monotonic() - began
        figures = browser.value("document.querySelectorAll('figure svg').length")
        empty = browser.value("[...document.querySelectorAll('figure svg')].filter((s) => s.getBoundingClientRect().height < 20).length")
        if shots:
            size = browser.ask("Page.getLayoutMetrics")["cssContentSize"]
            (shots / f"{page.stem}-1300.png").write_bytes(browser.shot({"x": 0, "y": 0, "width": 1300, "height": min(size["height"], 16000)}))
        scene = browser.value(SCENE)
        share = 0.0
        if scene not in ("none", "yes"):
            wrong.append(f"the scene is not drawn: {scene}")
        elif scene == "yes":
            place = browser.value("(() => { const c = document.getElementById('explore-canvas'); c.scrollIntoView(); const r = c.getBoundingClientRect(); return {x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height}; })()")
            picture = browser.shot(place)
            if shots:
                (shots / f"{page.stem}-scene.png").write_bytes(picture)
            # Drawn without a graphics card it slows down all that follows.
            browser.value("document.getElementById('explore-stage').remove()")
            rows = pixels(picture)
            bright = sum(max(row[x : x + 3]) > 60 for row in rows for x in range(0, len(row), 3))
            share = 100 * bright / max(1, sum(len(row) // 3 for row in rows))
            if share < 2:
                wrong.append(f"the scene is empty: {share:.2f} % of its pixels are bright")
        browser.wide(400)
        time.sleep(0.3)
        overflow = browser.value("document.documentElement.scrollWidth - innerWidth")
        if overflow > 0:
            wrong.append(f"at 400 px it is {overflow} px too wide")
        if shots:
            size = browser.ask("Page.getLayoutMetrics")["cssContentSize"]
            (shots / f"{page.stem}-400.png").write_bytes(browser.shot({"x": 0, "y": 0, "width": 400, "height": min(size["height"], 16000)}))
            browser.wide(1300)
            (shots / f"{page.stem}.pdf").write_bytes(base64.b64decode(browser.ask("Page.printToPDF", printBackground=True)["data"]))
        fetched = [e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"]
        fetched = [url for url in fetched if not url.startswith(("data:", "blob:", "about:")) and not url.endswith(page.name)]
        said = [e["params"] for e in browser.events if e["method"] == "Runtime.exceptionThrown"]
        said += [e["params"] for e in browser.events if e["method"] == "Runtime.consoleAPICalled" and e["params"]["type"] in ("error", "assert")]
        said += [e["params"] for e in browser.events if e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error"]
        wrong += [f"fetched {url}" for url in fetched]
        wrong += [f"on the console: {json.dumps(what)[:300]}" for what in said]
        wrong += [f"{empty} figures are empty"] if empty else []
        row = [page.name, f"{page.stat().st_size / 1e6:.2f}", f"{drawn:.2f}", str(figures), f"{share:.0f}" if scene == "yes" else "–"]
        return row, wrong
    finally:
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chromium")
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--shots", type=Path)
    options = parser.parse_args()
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    failed = False
    print("| page | MB | seconds to draw | figures | scene: bright pixels, % |\n|---|---|---|---|---|")
    for page in options.pages:
        row, wrong = look(options.chromium, page, options.shots)
        print("|", " | ".join(row), "|", flush=True)
        for what in wrong:
            failed = True
            print(f"{page}: {what}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
