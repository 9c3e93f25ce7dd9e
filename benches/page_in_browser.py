#!/usr/bin/env python3
"""Opens pages in headless browsers, as from disk, and says whether they are whole.

    python3 benches/page_in_browser.py chromium,firefox PAGE... [--axe axe.min.js] [--shots FOLDER] [--figures N,N...]
        [--without-webgl]

Of each page: its size, how long it takes to draw, how many figures it has, whether anything is fetched or said
on the console, whether it is wider than the screen at 400 px, and whether "Explore in 3-D" draws (pixels of the
canvas that are not its ground). With --axe, axe-core looks for faults of access, in the light and in the dark:
one that is serious or critical fails. With --without-webgl there is nothing to draw the scene with, and the page
has to say so. With --figures each page has to have so many. Nothing may have become an image or a handler of
events: names and descriptions are set to `<img src=x onerror="evil=1">` in .ci/run. A rating is filled in and what
is saved is read. Ends with 1 where a page fails. With --shots pictures at 1300 and 400 px (in parts of 4000 px),
of the scene, and the PDF are left there. Needs the browsers, for Firefox Xvfb (headless it has no WebGL), and Python's standard library.
"""

import argparse
import base64
import datetime
import http.client
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

#: Waits until the scene says that it is drawn.
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
  return stage.dataset.drawn || 'not in a minute';
})()
"""

#: Lays the first regions over the map, as the argument says; how many regions there are.
REGIONS = """
(async (covering) => {
  const of = (name) => [...document.querySelectorAll('#explore-controls label')]
    .find((label) => label.textContent.startsWith(name))?.querySelector('select');
  const regions = of('Regions'), covers = of('covering');
  if (!regions) return 0;
  for (const [select, value] of [[regions, '0'], [covers, covering]]) {
    select.value = value;
    select.dispatchEvent(new Event('change'));
    await new Promise((go) => setTimeout(go, 1500));
  }
  return regions.options.length - 1;
})('COVERING')
"""

#: Where the canvas is, once it is in view.
PLACE = """
(() => {
  const canvas = document.getElementById('explore-canvas');
  canvas.scrollIntoView();
  const { x, y, width, height } = canvas.getBoundingClientRect();
  return { x: x + scrollX, y: y + scrollY, width, height };
})()
"""

#: What keeps people out: how grave, which rule, where.
AXE = """
axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations
  .filter((fault) => ['serious', 'critical'].includes(fault.impact))
  .map((fault) => `${fault.impact} fault of access ${fault.id}: ${fault.nodes[0].html.slice(0, 200)}`))
"""

#: What markup in a name would have made.
EVIL = """
(() => {
  const found = [];
  if (typeof evil !== 'undefined') found.push('a script of a name ran');
  if (document.images.length) found.push(`${document.images.length} images that are none of the page's`);
  for (const node of document.querySelectorAll('*')) {
    for (const { name } of node.attributes) if (name.startsWith('on')) found.push(`a handler ${name} of a ${node.tagName}`);
  }
  return found;
})()
"""

#: Fills in the rating; what would be saved, and as what.
RATE = """
(async () => {
  const form = document.querySelector('form.rating');
  // A page of one scan or job asks; that of a group has nothing to rate.
  if (!form) return document.querySelector('.verdicts, #explore') ? { missing: true } : null;
  let saved = null, name = null;
  const make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
  URL.createObjectURL = (blob) => { saved = blob; return make.call(URL, blob); };
  HTMLAnchorElement.prototype.click = function () { name = this.download; };
  form.elements.rating.value = '3';
  for (const box of form.querySelectorAll('[name=artefact]')) box.checked = ['motion', 'noise'].includes(box.value);
  form.elements.comment.value = 'a "quoted" <img> line';
  form.requestSubmit();
  URL.createObjectURL = make;
  HTMLAnchorElement.prototype.click = click;
  return { name, text: saved ? await saved.text() : '', shown: !form.hidden, title: document.title };
})()
"""

#: The tallest picture that browsers take at once.
TALLEST = 4000

#: Seconds in which a browser answers: without a card, beside other work, thousands of lines take minutes.
PATIENCE = 300


class Messages:
    """JSON over a WebSocket, as both protocols have it: a number for every question, events between."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self._exactly(1)
        self.events: list[dict] = []
        self.number = 0

    def _exactly(self, n: int) -> bytes:
        data = b""
        while len(data) < n:
            part = self.socket.recv(n - len(data))
            if not part:
                raise ConnectionError("the browser is gone")
            data += part
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
        # Firefox takes no mask of zeros.
        masked = (int.from_bytes(text) ^ int.from_bytes((b"mask" * (n // 4 + 1))[:n])).to_bytes(n)
        self.socket.sendall(b"\x81" + size + b"mask" + masked)
        while True:
            message = self._message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {json.dumps(message)[:500]}")
                return message["result"]
            self.events.append(message)


class Chromium:
    """Chromium by its DevTools protocol."""

    THEMES = ("light", "dark")
    QUIET = [
        "--headless=new", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
        "--hide-scrollbars",
        # Thousands of lines are drawn sooner by the processor than by a card that it imitates.
        "--disable-gpu-rasterization",
    ]  # fmt: skip

    def __init__(self, program: str, folder: str, has_webgl: bool) -> None:
        more = [] if has_webgl else ["--disable-3d-apis"]
        command = [program, *self.QUIET, *more, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = int(awaited(Path(folder) / "DevToolsActivePort").splitlines()[0])
        asked = http.client.HTTPConnection("127.0.0.1", port)
        asked.request("GET", "/json")
        pages = [page for page in json.load(asked.getresponse()) if page["type"] == "page"]
        self.messages = Messages(port, pages[0]["webSocketDebuggerUrl"].split(str(port), 1)[1])
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.messages.ask(f"{domain}.enable")

    def close(self) -> None:
        ended(self.process)

    def open(self, url: str) -> None:
        self.messages.ask("Page.navigate", url=url)
        while self.value("document.readyState") != "complete" or self.value("location.protocol") != "file:":
            time.sleep(0.02)

    def value(self, script: str):
        asked = self.messages.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in asked:
            raise RuntimeError(json.dumps(asked["exceptionDetails"])[:500])
        return asked["result"].get("value")

    def shot(self, place: dict) -> bytes:
        clip = {**place, "scale": 1}
        asked = self.messages.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(asked["data"])

    def wide(self, width: int) -> None:
        self.messages.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )

    def theme(self, name: str) -> None:
        self.messages.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def pdf(self) -> bytes:
        return base64.b64decode(self.messages.ask("Page.printToPDF", printBackground=True)["data"])

    def fetched(self) -> list[str]:
        events = [event for event in self.messages.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in events]

    def said(self) -> list[dict]:
        def is_wrong(method: str, params: dict) -> bool:
            match method:
                case "Runtime.exceptionThrown":
                    return True
                case "Runtime.consoleAPICalled":
                    return params["type"] in ("error", "assert")
                case "Log.entryAdded":
                    return params["entry"]["level"] == "error"
            return False

        events = self.messages.events
        return [event["params"] for event in events if is_wrong(event["method"], event["params"])]


class Firefox:
    """Firefox by WebDriver BiDi."""

    THEMES = ("light",)
    #: What it draws on, where that has to be made.
    screen: subprocess.Popen | None = None
    QUIET = {
        # WebGL without a card.
        "webgl.force-enabled": True,
        "gfx.webrender.software": True,
        "layout.css.prefers-color-scheme.content-override": 1,
        "datareporting.policy.dataSubmissionEnabled": False,
        "app.normandy.enabled": False,
        "app.update.enabled": False,
        "network.captive-portal-service.enabled": False,
        "network.connectivity-service.enabled": False,
        "services.settings.server": "",
    }

    def __init__(self, program: str, folder: str, has_webgl: bool) -> None:
        prefs = self.QUIET | {"webgl.disabled": not has_webgl}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in prefs.items()]
        (Path(folder) / "user.js").write_text("".join(lines))
        screen = ["--headless"]
        if has_webgl:
            self.screen, display = a_screen()
            screen = [f"--display=:{display}"]
        self.process = subprocess.Popen(
            [program, *screen, "--no-remote", "--profile", folder, "--remote-debugging-port", "0", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        port = json.loads(awaited(Path(folder) / "WebDriverBiDiServer.json"))["ws_port"]
        self.messages = Messages(port, "/session")
        self.messages.ask("session.new", capabilities={})
        self.messages.ask("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.context = self.messages.ask("browsingContext.getTree")["contexts"][0]["context"]

    def close(self) -> None:
        ended(self.process)
        if self.screen:
            ended(self.screen)

    def _ask(self, method: str, **parameters) -> dict:
        return self.messages.ask(method, context=self.context, **parameters)

    def open(self, url: str) -> None:
        self._ask("browsingContext.navigate", url=url, wait="complete")

    def value(self, script: str):
        asked = self.messages.ask(
            "script.evaluate", expression=f"Promise.resolve({script.strip()}).then((it) => JSON.stringify(it ?? null))",
            target={"context": self.context}, awaitPromise=True,
        )  # fmt: skip
        if asked["type"] != "success":
            raise RuntimeError(json.dumps(asked)[:500])
        return json.loads(asked["result"]["value"])

    def shot(self, place: dict) -> bytes:
        asked = self._ask("browsingContext.captureScreenshot", origin="document", clip={"type": "box", **place})
        return base64.b64decode(asked["data"])

    def wide(self, width: int) -> None:
        self._ask("browsingContext.setViewport", viewport={"width": width, "height": 900})

    def theme(self, name: str) -> None:
        """The protocol has no word for it: light, by the profile."""

    def pdf(self) -> bytes:
        return base64.b64decode(self._ask("browsingContext.print", background=True)["data"])

    def fetched(self) -> list[str]:
        events = [event for event in self.messages.events if event["method"] == "network.beforeRequestSent"]
        return [event["params"]["request"]["url"] for event in events]

    def said(self) -> list[dict]:
        events = [event["params"] for event in self.messages.events if event["method"] == "log.entryAdded"]
        return [event for event in events if event["level"] == "error"]


def a_screen() -> tuple[subprocess.Popen, str]:
    """A screen in memory, and its number."""
    reads, writes = os.pipe()
    command = ["Xvfb", "-displayfd", str(writes), "-screen", "0", "1400x1000x24", "-nolisten", "tcp"]
    screen = subprocess.Popen(command, pass_fds=[writes], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writes)
    with os.fdopen(reads) as told:
        return screen, told.readline().strip()


def ended(process: subprocess.Popen) -> None:
    process.terminate()
    process.wait()


def awaited(path: Path) -> str:
    """What a browser writes into a file of its folder once it listens."""
    for _ in range(10 * PATIENCE):
        if path.exists() and path.read_text().count("\n"):
            return path.read_text()
        time.sleep(0.1)
    raise TimeoutError(f"no {path.name} in {PATIENCE} s")


def pixels(png: bytes) -> list[bytes]:
    """Rows of a PNG of 8 bits, 3 or 4 samples a pixel."""
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


def rated(said: dict | None) -> list[str]:
    """What is wrong with a rating."""
    if said is None:
        return []
    if said.get("missing"):
        return ["it asks for no rating"]
    if said["name"] != "rating.json" or not said["shown"]:
        return [f"a rating is not saved: {json.dumps(said)[:200]}"]
    rating = json.loads(said["text"])
    datetime.datetime.fromisoformat(rating.pop("rated"))
    expected = {
        "page": said["title"], "rating": 3, "artefacts": ["motion", "noise"], "comment": 'a "quoted" <img> line',
    }  # fmt: skip
    return [] if rating == expected else [f"a rating is saved as {json.dumps(rating)[:300]}"]


def look(
    program: str, page: Path, figures: int | None, has_webgl: bool, axe: str | None, shots: Path | None
) -> tuple[list[str], list[str]]:
    """A row of the table, and what is wrong."""
    kind = Firefox if "firefox" in Path(program).name else Chromium
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = kind(program, folder, has_webgl)
        try:
            return looked_at(browser, page, figures, has_webgl, axe, shots)
        finally:
            browser.close()


def looked_at(
    browser: Chromium | Firefox,
    page: Path,
    expected: int | None,
    has_webgl: bool,
    axe: str | None,
    shots: Path | None,
) -> tuple[list[str], list[str]]:
    wrong = []
    name = type(browser).__name__

    def leave(what: str, width: int) -> None:
        if shots:
            height = browser.value("document.documentElement.scrollHeight")
            for part, top in enumerate(range(0, height, TALLEST), 1):
                place = {"x": 0, "y": top, "width": width, "height": min(TALLEST, height - top)}
                (shots / f"{page.stem}-{name}-{what}-{part}.png").write_bytes(browser.shot(place))

    browser.wide(1300)
    began = time.monotonic()
    browser.open(page.resolve().as_uri())
    drawn = time.monotonic() - began
    figures = browser.value("document.querySelectorAll('figure svg').length")
    empty = browser.value(
        "[...document.querySelectorAll('figure svg')].filter((s) => s.getBoundingClientRect().height < 20).length"
    )
    if empty:
        wrong.append(f"{empty} figures are empty")
    if expected is not None and figures != expected:
        wrong.append(f"it has {figures} figures where {expected} are expected")
    wrong += browser.value(EVIL)
    leave("1300", 1300)
    wrong += rated(browser.value(RATE))
    if axe:
        browser.value(f"(() => {{ {axe}\n }})()")
        for theme in browser.THEMES:
            browser.theme(theme)
            wrong += [f"{theme}: {fault}" for fault in browser.value(AXE)]
        browser.theme(browser.THEMES[0])
    share = "–"
    scene = browser.value(SCENE)
    if scene == "yes" and has_webgl:
        place = browser.value(PLACE)
        bright = 0.0
        # Without a graphics card a frame takes seconds, and not every browser waits for it.
        until = time.monotonic() + PATIENCE
        while bright < 2 and time.monotonic() < until:
            picture = browser.shot(place)
            rows = pixels(picture)
            there = sum(max(row[x : x + 3]) > 60 for row in rows for x in range(0, len(row), 3))
            bright = 100 * there / max(1, sum(len(row) // 3 for row in rows))
        if shots:
            (shots / f"{page.stem}-{name}-scene.png").write_bytes(picture)
        # All of the map where regions are, then their outline alone. Without a card Chromium takes a minute a frame.
        last, differ = rows, []
        for covering, what in (("1", "regions"), ("0", "outline")) if name == "Firefox" else ():
            if not browser.value(REGIONS.replace("COVERING", covering)):
                break
            # Until it has changed and changes no more: on the way nothing is there.
            until, now, before = time.monotonic() + PATIENCE, last, None
            while (now == last or now != before) and time.monotonic() < until:
                over = browser.shot(place)
                before, now = now, pixels(over)
            last = now
            differ.append(sum(a[x : x + 3] != b[x : x + 3] for a, b in zip(now, rows) for x in range(0, len(a), 3)))
            if shots:
                (shots / f"{page.stem}-{name}-{what}.png").write_bytes(over)
        if differ and not differ[0] > differ[1] > 0:
            wrong.append(f"regions change {differ[0]} pixels, their outline {differ[1]}")
        # Drawn without a graphics card it slows down all that follows.
        browser.value("document.getElementById('explore-stage').remove()")
        share = f"{bright:.0f}"
        if bright < 2:
            wrong.append(f"the scene is empty: {bright:.2f} % of its pixels are bright")
    elif "WebGL" in scene and not has_webgl:
        share = "says that it cannot"
    elif scene != "none":
        wrong.append(f"the scene is not drawn: {scene}")
    browser.wide(400)
    time.sleep(0.3)
    overflow = browser.value("document.documentElement.scrollWidth - innerWidth")
    if overflow > 0:
        wrong.append(f"at 400 px it is {overflow} px too wide")
    leave("400", 400)
    if shots:
        browser.wide(1300)
        (shots / f"{page.stem}-{name}.pdf").write_bytes(browser.pdf())
    own = ("data:", "blob:", "about:", "chrome:", "resource:")
    fetched = [url for url in browser.fetched() if not url.startswith(own) and not url.endswith(page.name)]
    wrong += [f"fetched {url}" for url in fetched]
    wrong += [f"on the console: {json.dumps(what)[:300]}" for what in browser.said()]
    return [page.name, name, f"{page.stat().st_size / 1e6:.2f}", f"{drawn:.2f}", str(figures), share], wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("browsers", help="programs, separated by commas")
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core")
    parser.add_argument("--shots", type=Path)
    parser.add_argument("--figures", help="how many each page has, separated by commas")
    parser.add_argument("--without-webgl", action="store_true", help="as where it is switched off")
    options = parser.parse_args()
    for page in options.pages:
        if not page.is_file():
            parser.error(f"{page} is no file")
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    axe = options.axe.read_text() if options.axe else None
    figures: list[int | None] = [None] * len(options.pages)
    if options.figures:
        figures = [int(n) for n in options.figures.split(",")]
        if len(figures) != len(options.pages):
            parser.error(f"--figures has {len(figures)} numbers for {len(options.pages)} pages")
    failed = False
    print("| page | browser | MB | seconds to draw | figures | scene: bright pixels, % |\n|---|---|---|---|---|---|")
    for page, expected in zip(options.pages, figures, strict=True):
        for program in options.browsers.split(","):
            row, wrong = look(program, page, expected, not options.without_webgl, axe, options.shots)
            print("|", " | ".join(row), "|", flush=True)
            for what in wrong:
                failed = True
                print(f"{page}, {row[1]}: {what}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
