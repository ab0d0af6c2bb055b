// Processor time and peak memory of proving each rule of some files, each in a process of its own:
//   prove_rules [--json=OUT] RULES...
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rewrite/rules/rule_text.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

struct Row {
  std::string rule, verdict;
  int64_t queries = 0;
  double cpu_ms = 0, peak_mb = 0;
};

double Milliseconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
}

// The answer of a child process about the rule: verdict, then queries.
std::string Prove(const Substitution& rule) {
  const Verdict verdict = ProveRule(rule);
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    return absl::StrCat(Name(proved->contract), " ", proved->queries);
  }
  return IsRefuted(verdict) ? "refuted 0" : "unknown 0";
}

Row Measure(const Substitution& rule) {
  Row row;
  row.rule = rule.name;
  row.verdict = "failed";
  int ends[2];
  if (pipe(ends) != 0) return row;
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = Prove(rule);
    const bool written = write(ends[1], text.data(), text.size()) >= 0;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  char text[64] = {};
  const ssize_t size = child > 0 ? read(ends[0], text, sizeof(text) - 1) : 0;
  close(ends[0]);
  int status = 0;
  rusage usage = {};
  if (child > 0 && wait4(child, &status, 0, &usage) == child && size > 0) {
    std::stringstream(text) >> row.verdict >> row.queries;
    row.cpu_ms = Milliseconds(usage.ru_utime) + Milliseconds(usage.ru_stime);
    row.peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  }
  return row;
}

void Print(const std::vector<Row>& rows, const char* title) {
  printf("%-34s %-13s %9s %8s %8s\n", title, "verdict", "cpu ms", "peak MB", "queries");
  for (const Row& row : rows) {
    printf("%-34s %-13s %9.1f %8.1f %8lld\n", row.rule.c_str(), row.verdict.c_str(), row.cpu_ms,
           row.peak_mb, static_cast<long long>(row.queries));
  }
}

std::string Json(const std::vector<Row>& rows) {
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    char line[256];
    snprintf(
        line, sizeof(line),
        R"( {"rule": "%s", "verdict": "%s", "cpu_ms": %.1f, "peak_mb": %.1f, "queries": %lld})",
        row.rule.c_str(), row.verdict.c_str(), row.cpu_ms, row.peak_mb,
        static_cast<long long>(row.queries));
    lines.push_back(line);
  }
  return absl::StrCat("[\n", absl::StrJoin(lines, ",\n"), "\n]\n");
}

int Main(int argc, char** argv) {
  std::vector<Row> rows;
  std::string json;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.rfind("--json=", 0) == 0) {
      json = arg.substr(7);
      continue;
    }
    std::ifstream file(arg);
    std::stringstream text;
    text << file.rdbuf();
    auto rules = ParseRules(text.str(), arg);
    if (!file.good() || !rules.ok()) {
      fprintf(stderr, "%s: %s\n", arg.c_str(),
              file.good() ? std::string(rules.status().message()).c_str() : "cannot be read");
      return 2;
    }
    for (const Substitution& rule : *rules) rows.push_back(Measure(rule));
  }
  if (rows.empty()) {
    fprintf(stderr, "usage: prove_rules [--json=OUT] RULES...\n");
    return 2;
  }
  Print(rows, "rule");
  double total = 0, peak = 0;
  for (const Row& row : rows) {
    total += row.cpu_ms;
    peak = std::max(peak, row.peak_mb);
  }
  std::vector<Row> slowest = rows;
  std::stable_sort(slowest.begin(), slowest.end(),
                   [](const Row& a, const Row& b) { return a.cpu_ms > b.cpu_ms; });
  slowest.resize(std::min<size_t>(5, slowest.size()));
  printf("\n");
  Print(slowest, "slowest");
  printf(
      "\n%zu rules, %.1f s of processor time, median %.1f ms, peak %.1f MB\n", rows.size(),
      total / 1e3,
      [&] {
        std::vector<double> times;
        for (const Row& row : rows) times.push_back(row.cpu_ms);
        std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
        return times[times.size() / 2];
      }(),
      peak);
  if (!json.empty()) std::ofstream(json) << Json(rows);
  return 0;
}

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) { return lemma::Main(argc, argv); }
