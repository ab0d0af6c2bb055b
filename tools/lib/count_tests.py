"""Counts test cases from Bazel's build events; the last line printed is "N passed, N failed"."""

import argparse
import json
import re
import sys
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

# Exit statuses of `bazel test`.
PASSED, SOME_FAILED, NO_TESTS = 0, 3, 4


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def count_cases(xml_text):
    """Counts the cases of one test.xml, of GoogleTest's making or Bazel's own."""
    count = Count()
    for case in ElementTree.fromstring(xml_text).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed += 1
        elif case.get("status") == "notrun" or case.get("result") == "skipped":
            count.skipped += 1
        elif case.find("skipped") is not None:
            count.skipped += 1
        else:
            count.passed += 1
    return count


def read_xml(result):
    """Returns the text of the test.xml that a testResult event names, or None."""
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.xml":
            path = urllib.request.url2pathname(urllib.parse.urlparse(output["uri"]).path)
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    return file.read()
            except OSError:
                return None
    return None


def count_target(status, results):
    """Counts one target from its overall status and its testResult events."""
    count = Count()
    for result in results:
        text = read_xml(result)
        try:
            count.add(count_cases(text) if text else Count())
        except ElementTree.ParseError:
            pass  # a crash while it was written; the status below speaks
    if status in ("PASSED", "FLAKY"):
        count.passed += 0 if count.passed or count.skipped else 1
        count.failed = 0
    elif count.failed == 0:  # it crashed, ran out of time or was not built
        count.failed = 1
    return count


def last_attempts(events):
    """Returns label -> testResults, of each run and shard the last attempt."""
    attempts = {}
    for event in events:
        if "testResult" in event:
            key = event["id"]["testResult"]
            attempts[key["label"], key.get("run"), key.get("shard")] = event["testResult"]
    results = {}
    for (label, _, _), result in attempts.items():
        results.setdefault(label, []).append(result)
    return results


def unbuilt(events):
    """Returns labels of targets that Bazel could not build, tests or not."""
    return sorted(
        event["id"]["targetCompleted"]["label"]
        for event in events
        if "targetCompleted" in event.get("id", {})
        and not event.get("completed", {}).get("success", False)
    )


def count_build(events, bazel_status):
    total = Count()
    results = last_attempts(events)
    statuses = {
        event["id"]["testSummary"]["label"]: event["testSummary"].get("overallStatus", "NO_STATUS")
        for event in events
        if "testSummary" in event
    }
    broken = unbuilt(events)
    for label, status in sorted(statuses.items()):
        if label not in broken:
            count = count_target(status, results.get(label, []))
            if count.failed:
                print(f"failed: {label} ({status})")
            total.add(count)
    for label in broken:
        print(f"not built: {label}")
        total.failed += 1
    if bazel_status not in (PASSED, SOME_FAILED, NO_TESTS) and not broken:
        print(f"the build failed: bazel's exit status {bazel_status}")
        total.failed += 1
    elif bazel_status == SOME_FAILED and not total.failed:
        total.failed = 1
    return total


def read_events(path):
    """Returns the events; a last line that Bazel did not finish is left out."""
    events = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                events.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return events


def count_log(path):
    """Counts what a log's last line says; a log that ends otherwise is one failure."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().strip().splitlines()
    count = Count()
    match = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1]) if lines else None
    if match:
        count.passed, count.failed = int(match[1]), int(match[2])
    else:
        print("failed: tools/check_models did not end")
        count.failed = 1
    return count


def main(arguments):
    parser = argparse.ArgumentParser(prog="count_tests.py", description=__doc__)
    parser.add_argument("events", help="what bazel wrote to --build_event_json_file")
    parser.add_argument("--bazel-status", type=int, required=True)
    parser.add_argument("--presubmit-status", type=int, required=True)
    parser.add_argument("--log", help="what tools/check_models printed; its last line counts too")
    flags = parser.parse_args(arguments)
    total = count_build(read_events(flags.events), flags.bazel_status)
    ran = total.passed + total.failed > 0
    if not ran:
        print("no test ran")
    if flags.log:
        total.add(count_log(flags.log))
    if flags.presubmit_status:
        print("failed: tools/presubmit")
        total.failed += 1
    else:
        total.passed += 1
    print(total)
    return 0 if ran and not total.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
