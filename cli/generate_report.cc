#include "cli/generate_report.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/json.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::cli {

using generator::Generated;
using generator::GeneratedRule;

namespace {

std::string MadeBy(const generator::RunId& run) {
  return absl::StrCat("# Made by: lemma generate --ops=", run.ops, " --max-ops=", run.max_ops,
                      " --seed=", run.seed, "\n");
}

}  // namespace

std::string RulesText(const generator::RunId& run, const Generated& generated) {
  std::string text = MadeBy(run);
  for (const GeneratedRule& rule : generated.rules) {
    if (rule.follows_from.empty()) absl::StrAppend(&text, "\n", PrintRule(rule.rule));
  }
  return text;
}

std::string PrunedText(const generator::RunId& run, const Generated& generated) {
  std::string text;
  for (const GeneratedRule& rule : generated.rules) {
    if (rule.follows_from.empty()) continue;
    Substitution pruned = rule.rule;
    absl::StrAppend(&pruned.doc, "\nfollows from: ", absl::StrJoin(rule.follows_from, ", "));
    absl::StrAppend(&text, "\n", PrintRule(pruned));
  }
  if (text.empty()) return text;
  return absl::StrCat(MadeBy(run), "# Its rules that follow from others.\n", text);
}

std::string RejectedText(const Generated& generated) {
  std::string text;
  for (const generator::Rejected& one : generated.rejected) {
    absl::StrAppend(&text, one.word, ": ", one.text, ": ",
                    absl::StrReplaceAll(one.reason, {{"\n", " "}}), "\n");
  }
  return text;
}

std::vector<Figure> FiguresOf(const generator::EnumeratorStats& s) {
  return {{"graphs", s.graphs},        {"terms", s.terms},     {"pruned_terms", s.pruned_terms},
          {"distinct", s.distinct},    {"hits", s.hot_graphs}, {"classes", s.classes},
          {"class_members", s.members}};
}

std::vector<Figure> FiguresOf(const Generated& generated) {
  const generator::GenerateStats& s = generated.stats;
  const int64_t written =
      std::count_if(generated.rules.begin(), generated.rules.end(),
                    [](const GeneratedRule& rule) { return rule.follows_from.empty(); });
  return {{"pairs", s.pairs},       {"candidates", s.candidates}, {"derived", s.derived},
          {"not_tried", s.waiting}, {"no_form", s.unliftable},    {"proved", s.proved},
          {"guarded", s.guarded},   {"refuted", s.refuted},       {"unknown", s.unknown},
          {"pruned", s.pruned},     {"written", written}};
}

Usage Usage::Now() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return {usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6, usage.ru_maxrss / 1024.0};
}

void PrintFigures(const std::vector<Figure>& figures, const Usage& enumeration, bool json) {
  const Usage all = Usage::Now();
  if (json) {
    Json object = Json::Object();
    for (const Figure& figure : figures) object.Set(figure.name, figure.value);
    object.Set("enumeration_cpu_s", enumeration.seconds);
    object.Set("cpu_s", all.seconds).Set("peak_mb", all.megabytes);
    std::puts(object.ToString().c_str());
    return;
  }
  for (const Figure& figure : figures) {
    std::printf("%-14s %12lld\n", absl::StrReplaceAll(figure.name, {{"_", " "}}).c_str(),
                static_cast<long long>(figure.value));
  }
  std::printf("enumeration: %.1f s of processor time, %.0f MB at most\n", enumeration.seconds,
              enumeration.megabytes);
  std::printf("in all: %.1f s of processor time, %.0f MB at most\n", all.seconds, all.megabytes);
}

}  // namespace lemma::cli
