"""Checks the page of lemma optimize --report in a browser. Run by tools/check_report."""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import chromium

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "data/models/light/light_resnet50.onnx"
SETTINGS = {
    "desktop": {"width": 1400, "height": 900},
    "phone": {"width": 390, "height": 844, "phone": True},
    "dark": {"width": 1400, "height": 900, "dark": True},
}
# The picture of each setting that --gallery keeps.
GALLERY = {"desktop": "desktop_panel", "phone": "phone_top", "dark": "dark_step"}
AXES = ("time of kernels, ms", "operations per byte", "operators that have run")


class Check:
    """The checks of one page in one setting."""

    def __init__(self, browser, setting, out):
        self.browser, self.setting, self.out = browser, setting, out
        self.failures = []

    def expect(self, holds, what):
        if not holds:
            self.failures.append(f"{self.setting}: {what}")

    def picture(self, name, whole=False):
        self.browser.picture(self.out / f"{self.setting}_{name}.png", whole)

    def count(self, selector):
        return self.browser.value_of(f"document.querySelectorAll(`{selector}`).length")

    def text(self, selector):
        return self.browser.value_of(f"document.querySelector(`{selector}`)?.textContent ?? ''")

    def shown(self, selector):
        return self.browser.value_of(
            f"document.querySelector(`{selector}`)?.checkVisibility() ?? false")

    def check_top(self):
        value = self.browser.value_of
        self.expect(value("document.documentElement.scrollWidth <= innerWidth"),
                    "the page is wider than the window")
        self.expect(self.text("h1") != "" and self.text(".headline") != "", "no headline")
        self.expect(self.count(".card") >= 3, "too few cards")
        self.expect("lemma check" in self.text(".repeat") or "none" in self.text(".repeat"),
                    "no command to check")
        self.picture("top")
        self.picture("whole", whole=True)

    def check_operator(self):
        """Chooses a box by the mouse, closes the panel, and chooses another by the keyboard."""
        browser = self.browser
        box = ".side[data-side=after] .sheet:not([hidden]) [data-op]"
        if self.count(box) == 0:
            return
        browser.click(box)
        self.expect(self.shown("#panel"), "a click opens no panel")
        name = self.text("#panel h2")
        self.expect(name != "" and name in self.text(box), "the panel is of another operator")
        self.expect("result" in self.text("#panel dl"), "the panel has no result")
        self.expect(self.count(".side[data-side=after] .picked") == 1, "the box is not marked")
        self.expect(browser.value_of(
            "(r => r.left >= 0 && r.right <= innerWidth + 1 && r.bottom <= innerHeight + 1)"
            "(document.getElementById('panel').getBoundingClientRect())"), "the panel is cut off")
        self.picture("panel")
        browser.press("Escape")
        self.expect(not self.shown("#panel"), "Escape does not close the panel")
        browser.value_of(f"document.querySelector(`{box}`).focus()")
        before = browser.value_of("document.activeElement.ariaLabel")
        browser.press("ArrowDown")
        self.expect(browser.value_of("document.activeElement.ariaLabel") != before,
                    "an arrow key does not move")
        browser.press("Enter")
        self.expect(self.shown("#panel") or self.shown(".side[data-side=after] .crumbs"),
                    "Enter does not choose")
        browser.press("Escape")

    def check_search(self):
        browser = self.browser
        field = ".side[data-side=before] input"
        name = browser.value_of("JSON.parse(document.getElementById('data').textContent)"
                                ".before.ops.at(-1).op")
        browser.click(field)
        browser.type(name)
        self.expect(self.text(".side[data-side=before] output").startswith("1 of "),
                    "the search finds nothing")
        self.expect(self.count(".side[data-side=before] .found") > 0, "what is found is not marked")
        self.picture("search")
        browser.value_of(f"(e => {{ e.value = ''; e.dispatchEvent(new Event('input')); }})"
                         f"(document.querySelector(`{field}`))")

    def check_steps(self):
        browser = self.browser
        steps = self.count("#steps tr[data-step]")
        if steps == 0:
            self.expect(self.count("#player") == 0, "a player without steps")
            return
        wanted = min(3, steps)
        for _ in range(wanted):
            browser.click("[data-go=next]")
        self.expect(f"Step {wanted} of {steps}" in self.text("#player p"), "next does not step")
        self.expect(self.count(".map .stepped") > 0, "the step is not marked in a graph")
        self.expect(self.count("#steps tr.stepped") == 1, "the step is not marked in the list")
        self.picture("step")
        browser.click("[data-go=back]")
        self.expect(f"Step {max(1, wanted - 1)} of" in self.text("#player p"), "no step back")
        browser.click("[data-go=play]")
        browser.pause(1.2)
        if steps > 4:
            self.expect(self.text("[data-go=play]") == "Pause", "the steps do not play")
            browser.click("[data-go=play]")

    def check_block(self):
        browser = self.browser
        side = ".side[data-side=before]"
        blocks = browser.value_of("JSON.parse(document.getElementById('data').textContent)"
                                  ".before.blocks")
        if not blocks:
            return
        number = max(range(len(blocks)), key=lambda i: blocks[i]["copies"])
        block = blocks[number]
        browser.value_of(f"document.querySelector(`{side} .map`).scrollIntoView({{block: 'center'}})")
        if self.shown(f"{side} .crumbs"):  # a step opened a block
            browser.click(f"{side} .crumbs button")
        box = f"{side} [data-block='{number}']"
        browser.click(box)
        self.expect(self.shown(f"{side} .crumbs"), "a block does not open")
        self.expect(self.count(f"{side} .sheet:not([hidden]) [data-op]") == block["period"],
                    "an opened block lacks operators")
        if block["copies"] > 1:
            browser.click(f"{side} .crumbs [aria-label='next copy']")
            self.expect("copy 2 of" in self.text(f"{side} .crumbs"), "no next copy")
        browser.click(f"{side} .sheet:not([hidden]) [data-op]")
        place = min(1, block["copies"] - 1) * block["period"] + block["first"] + 1
        self.expect(f"operator {place} of" in self.text("#panel dl"),
                    "the panel is of another copy")
        self.picture("block")
        browser.press("Escape")
        browser.click(f"{side} .crumbs button")
        self.expect(not self.shown(f"{side} .crumbs"), "the way back does not work")

    def check_figures(self):
        browser = self.browser
        if self.count("#time-figure") > 0:
            text = browser.value_of("document.querySelector('main').textContent")
            for axis in AXES:
                self.expect(axis in text, f"no axis '{axis}'")
            browser.value_of("document.querySelector('#time-figure .bars').focus()")
            browser.press("ArrowRight")
            self.expect(self.shown("#hint"), "a kernel has no details")
            browser.value_of("document.querySelector('#time-figure')"
                             ".scrollIntoView({block: 'start'})")
            self.picture("time")
        if self.count("#roofline-figure circle") > 0:
            browser.value_of("document.querySelector('#roofline-figure')"
                             ".scrollIntoView({block: 'center'})")
            self.picture("roofline")
        self.expect(browser.value_of("document.documentElement.scrollWidth <= innerWidth"),
                    "the page became wider than the window")

    def run(self):
        for check in (self.check_top, self.check_operator, self.check_search, self.check_steps,
                      self.check_block, self.check_figures):
            try:
                check()
            except chromium.BrowserError as error:
                self.expect(False, f"{check.__name__}: {error}")
        self.browser.print(self.out / f"{self.setting}.pdf")
        for problem in self.browser.problems():
            self.expect(False, problem)
        return self.failures


def make_page(lemma, model, folder):
    """Optimizes the model in `folder` under short names, as its user would; returns the page."""
    name = model.name.removeprefix("light_")
    link = folder / name
    link.unlink(missing_ok=True)
    link.symlink_to(model.resolve())
    subprocess.run([pathlib.Path(lemma).resolve(), "optimize", name, "-o", "fast.onnx", "--report",
                    "report.html"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return folder / "report.html"


def check(page, out):
    """Checks a page in each setting; pictures go to `out`. Returns what does not work."""
    failures = []
    with tempfile.TemporaryDirectory() as profile, chromium.Browser(profile) as browser:
        for setting, options in SETTINGS.items():
            browser.open(page, **options)
            failures += Check(browser, setting, out).run()
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--gallery", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path, default=[MODEL])
    arguments = parser.parse_args()
    out = arguments.out or pathlib.Path(tempfile.mkdtemp(prefix="lemma_report_"))
    failures = []
    for model in [arguments.page] if arguments.page else arguments.models:
        folder = out / model.stem.removeprefix("light_")
        folder.mkdir(parents=True, exist_ok=True)
        page = arguments.page or make_page(arguments.lemma, model, folder)
        failures += [f"{model.name}, {failure}" for failure in check(page, folder)]
        for setting, name in GALLERY.items() if arguments.gallery else ():
            shutil.copy(folder / f"{name}.png", arguments.gallery / f"{folder.name}_{setting}.png")
    for failure in failures:
        print(f"check_report: {failure}")
    print(f"check_report: {len(failures)} problems; pictures in {out}")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (chromium.BrowserError, subprocess.CalledProcessError, OSError) as problem:
        print(f"check_report: {problem}", file=sys.stderr)
        sys.exit(2)
