"""Drives a headless Chromium by its DevTools protocol, over pipes."""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")


class BrowserError(Exception):
    """The browser is missing, does not answer, or refuses a command."""


class Browser:
    """A process with one page at a time. Use it in a `with` statement."""

    def __init__(self, profile):
        """`profile`: a folder that the browser may write to."""
        program = next((p for p in map(shutil.which, PROGRAMS) if p), None)
        if program is None:
            raise BrowserError("no Chromium here; tools/install --browser installs it")
        command_read, self._commands = os.pipe()
        self._answers, answer_write = os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (command_read, answer_write)]
        arguments = [program, "--headless", "--remote-debugging-pipe", "--disable-gpu",
                     "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage",
                     "--force-device-scale-factor=1", f"--user-data-dir={profile}"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # the sandbox refuses to run as root

        def move_descriptors():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self._process = subprocess.Popen(
            arguments, preexec_fn=move_descriptors, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (command_read, answer_write, *theirs):
            os.close(fd)
        self._buffer = b""
        self._next_id = 0
        self._session = None
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        try:
            self.send("Browser.close", session=False)
        except BrowserError:
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def _read(self, seconds):
        """The next message, or None after this time."""
        end = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                return None
            piece = os.read(self._answers, 1 << 20)
            if not piece:
                raise BrowserError("the browser ended")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session=True, **parameters):
        """Sends a command and returns its result. Events that come first are kept in `events`."""
        self._next_id += 1
        command = {"id": self._next_id, "method": method, "params": parameters}
        if session:
            command["sessionId"] = self._session
        text = json.dumps(command).encode() + b"\0"
        while text:
            text = text[os.write(self._commands, text):]
        while True:
            message = self._read(120)
            if message is None:
                raise BrowserError(f"no answer to {method}")
            if message.get("id") != self._next_id:
                self.events.append(message)
                continue
            if "error" in message:
                raise BrowserError(f"{method}: {message['error']['message']}")
            return message["result"]

    def wait_for(self, method, seconds=60):
        """Waits for an event."""
        end = time.monotonic() + seconds
        while not any(event.get("method") == method for event in self.events):
            message = self._read(max(0, end - time.monotonic()))
            if message is None:
                raise BrowserError(f"{method} did not happen")
            self.events.append(message)

    def pause(self, seconds):
        """Lets the page run, and collects its events."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if message := self._read(left):
                self.events.append(message)

    def open(self, path, width, height, phone=False, dark=False):
        """Opens a file in a new page of this size."""
        target = self.send("Target.createTarget", session=False, url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", session=False, targetId=target,
                                  flatten=True)["sessionId"]
        self.events = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=phone)
        if phone:
            self.send("Emulation.setTouchEmulationEnabled", enabled=True)
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.send("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait_for("Page.loadEventFired")

    def value_of(self, expression):
        """The value of a JavaScript expression, which must be JSON."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def click(self, selector):
        """A click in the middle of the first element, which must be what is seen there."""
        place = self.value_of(
            f"""(() => {{
              const element = document.querySelector({json.dumps(selector)});
              if (!element) return null;
              const look = () => {{
                const r = element.getBoundingClientRect();
                const x = r.left + r.width / 2, y = r.top + r.height / 2;
                const hit = document.elementFromPoint(x, y);
                return [x, y, Boolean(hit && element.contains(hit)),
                        hit && hit.outerHTML.slice(0, 90)];
              }};
              if (!look()[2]) element.scrollIntoView({{block: 'center', inline: 'center'}});
              return look();
            }})()""")
        if place is None:
            raise BrowserError(f"there is no {selector}")
        x, y, hit, other = place
        if not hit:
            raise BrowserError(f"{selector} is covered by {other}")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.pause(0.15)

    def press(self, key):
        """Presses a key by its name: Enter, Escape, ArrowDown."""
        code = {"Enter": 13, "Escape": 27, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, code=key,
                  windowsVirtualKeyCode=code, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, code=key,
                  windowsVirtualKeyCode=code)
        self.pause(0.1)

    def type(self, text):
        """Types into the element that has the focus."""
        self.send("Input.insertText", text=text)
        self.pause(0.1)

    def picture(self, path, whole=False):
        """Writes a PNG of what is seen, or of the whole page."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole,
                         **({"clip": self._whole_page()} if whole else {}))["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def _whole_page(self):
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000),
                "scale": 1}

    def print(self, path):
        """Writes the page as a PDF."""
        data = self.send("Page.printToPDF", printBackground=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def problems(self):
        """Errors on the console, exceptions, and requests for anything but the page itself."""
        found, documents = [], 0
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append("exception: " + json.dumps(parameters["exceptionDetails"])[:400])
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
                found.append("console: " + json.dumps(parameters["args"])[:400])
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append("log: " + parameters["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                documents += 1
                if documents > 1:
                    found.append("request: " + parameters["request"]["url"][:200])
        return found
