"""tools/lib/count_tests.py on events as Bazel writes them."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, "tools/lib")
import count_tests

GOOGLE_TEST = """<testsuites><testsuite>
  <testcase name="a" status="run" result="completed"/>
  <testcase name="b" status="run" result="completed"><failure message="x"/></testcase>
  <testcase name="c" status="run" result="skipped"><skipped message=""/></testcase>
  <testcase name="d" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""
PASSING = '<testsuites><testsuite><testcase name="a" status="run"/></testsuite></testsuites>'


def summary(label, status):
    return {"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": status}}


def not_built(label):
    return {"id": {"targetCompleted": {"label": label}}, "completed": {}}


class CountTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def result(self, label, xml, shard=1, attempt=1):
        path = pathlib.Path(self.folder.name) / f"{shard}-{attempt}.xml"
        path.write_text(xml)
        key = {"label": label, "run": 1, "shard": shard, "attempt": attempt}
        output = {"name": "test.xml", "uri": path.as_uri()}
        return {"id": {"testResult": key}, "testResult": {"testActionOutput": [output]}}

    def count(self, events, status=0):
        return str(count_tests.count_build(events, status))

    def test_cases_are_counted(self):
        events = [self.result("//a", GOOGLE_TEST), summary("//a", "FAILED")]
        self.assertEqual(self.count(events, 3), "1 passed, 1 failed, 2 skipped")

    def count_log(self, text):
        path = pathlib.Path(self.folder.name) / "log"
        path.write_text(text)
        return str(count_tests.count_log(path))

    def test_a_log_counts_by_its_last_line(self):
        self.assertEqual(self.count_log("3 passed, 4 failed\nok a\n5 passed, 1 failed\n"),
                         "5 passed, 1 failed")

    def test_a_log_that_does_not_end_is_a_failure(self):
        self.assertEqual(self.count_log("ok a\n"), "0 passed, 1 failed")
        self.assertEqual(self.count_log(""), "0 passed, 1 failed")

    def test_a_crash_is_a_failure(self):
        events = [self.result("//a", "<testsuites><testsuite>"), summary("//a", "FAILED")]
        self.assertEqual(self.count(events, 3), "0 passed, 1 failed")

    def test_shards_add_up_and_only_the_last_attempt_counts(self):
        events = [
            self.result("//a", PASSING, shard=1),
            self.result("//a", GOOGLE_TEST, shard=2, attempt=1),
            self.result("//a", PASSING, shard=2, attempt=2),
            summary("//a", "FLAKY"),
        ]
        self.assertEqual(self.count(events), "2 passed, 0 failed")

    def test_what_was_not_built_failed_once(self):
        events = [not_built("//a"), summary("//a", "NO_STATUS"), not_built("//lib")]
        self.assertEqual(self.count(events, 1), "0 passed, 2 failed")

    def test_a_failure_without_events(self):
        self.assertEqual(self.count([], 2), "0 passed, 1 failed")

    def test_no_tests(self):
        self.assertEqual(self.count([], 4), "0 passed, 0 failed")


if __name__ == "__main__":
    unittest.main()
