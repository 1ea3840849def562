"""A headless Chromium that is spoken to over a pipe: no driver, no port."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--no-first-run", "--hide-scrollbars"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
Message = dict[str, Any]


def installed() -> str | None:
    """The command of the browser, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser. `events` are all that it told since the last `open`."""

    def __init__(self, command: str, profile: Path) -> None:
        ours, self._out = os.pipe()
        self._in, theirs = os.pipe()
        script = f'exec "$0" "$@" 3<&{ours} 4>&{theirs}'
        arguments = [command, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", script, *arguments],
            pass_fds=(ours, theirs),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours)
        os.close(theirs)
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[Message] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait(30)
        os.close(self._in)
        os.close(self._out)

    def view(self, *, width: int, height: int, scheme: str) -> None:
        """The size of the window in CSS pixels, and the preferred colour scheme: light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, page: Path) -> None:
        """Goes to a file and waits until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._read()

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page, awaited if it is a promise."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9}[key])

    def screenshot(self, to: Path) -> None:
        """The whole page as PNG."""
        done = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(done["data"]))

    def complaints(self) -> list[Message]:
        """Errors and warnings of the console and of the browser."""
        return [
            event
            for event in self.events
            if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled")
            or (event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"))
        ]

    def requests(self) -> list[str]:
        """Every URL that was asked for."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def call(self, method: str, **parameters: Any) -> Message:
        """Sends a command and waits for its result."""
        self._number += 1
        message: Message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: Message = answer["result"]
                return result

    def _read(self) -> Message:
        """The next message; events are kept."""
        while b"\0" not in self._rest:
            block = os.read(self._in, 1 << 16)
            if not block:
                raise RuntimeError("the browser has gone")
            self._rest += block
        text, self._rest = self._rest.split(b"\0", 1)
        message: Message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message
