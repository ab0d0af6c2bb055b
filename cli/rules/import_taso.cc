// lemma rules import-taso: decides TASO's rules.
#include "api/rules/import_taso.h"

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/json/rules.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "base/progress_line.h"
#include "base/text_table.h"
#include "cli/common_flags.h"
#include "cli/proof_commands.h"
#include "cli/rules/commands.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::cli {
namespace {

const char* WordOf(const api::ImportedRule& rule) {
  return rule.guarded() ? "guarded" : Word(rule.outcome.verdict);
}

void PrintTable(const std::vector<api::ImportedRule>& rules) {
  TextTable table({"rule", "<verdict", "<contract", "<guard", "time"});
  for (const api::ImportedRule& rule : rules) {
    table.Row({rule.rule.name, WordOf(rule),
               IsProved(rule.outcome.verdict) ? Name(rule.rule.contract) : "", rule.guard,
               FormatMs(rule.outcome.seconds * 1e3)});
  }
  std::fputs(table.ToString().c_str(), stdout);
  for (const api::ImportedRule& rule : rules) {
    const std::string& name = rule.rule.name;
    if (!rule.guard.empty()) {
      std::printf("%s: without its guard %s\n", name.c_str(),
                  Explanation(rule.without_guard).c_str());
    }
    for (const std::string& problem : Problems(rule.outcome)) {
      std::printf("%s: %s\n", name.c_str(), problem.c_str());
    }
    if (!rule.note.empty()) std::printf("%s: %s\n", name.c_str(), rule.note.c_str());
  }
}

void PrintText(const api::ImportedTaso& imported, const std::string& output) {
  PrintTable(imported.rules);
  std::map<std::string, int> words;
  int written = 0;
  std::vector<const api::ProofOutcome*> outcomes;
  for (const api::ImportedRule& rule : imported.rules) {
    ++words[WordOf(rule)];
    written += rule.written ? 1 : 0;
    outcomes.push_back(&rule.outcome);
  }
  std::printf("%zu rules: %d proved, %d proved under a guard, %d refuted, %d unknown; %.1f s\n",
              imported.rules.size(), words["proved"], words["guarded"], words["refuted"],
              words["unknown"], imported.seconds);
  if (!imported.solver.empty()) std::puts(RecheckSummary(imported.solver, outcomes).c_str());
  if (!output.empty()) std::printf("%d rules written to %s\n", written, output.c_str());
}

absl::StatusOr<int> Import(const std::string& path, api::ImportTasoOptions options, bool json) {
  InterruptScope interrupt;
  options.proof.interrupted = &interrupt.flag();
  absl::StatusOr<api::ImportedTaso> imported;
  {
    ProgressLine progress(json);
    options.progress = ShowRules(&progress);
    imported = api::ImportTasoFile(path, options);
  }
  if (!imported.ok()) return WithFlags(imported.status());
  json ? PrintJson(ToJson(path, *imported)) : PrintText(*imported, options.output);
  return imported->ok() ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunImportTaso(Arguments arguments) {
  api::ImportTasoOptions import;
  bool json = false;
  Flags flags("rules import-taso", "FILE -o RULES",
              "Reads a file of rules in TASO's format, proves each, and writes those that are "
              "proved. Exit status 1 if one is not.");
  flags.String("output|o", &import.output, "RULES", "where to write the proved rules");
  flags.Bool(
      "synthesize", &import.synthesize,
      "where a rule is false, look for the weakest guard under which it is true (default true)");
  flags.Int("jobs", &import.jobs, "rules proved at the same time; verdicts do not depend on it");
  AddProofFlags(&flags, &import.proof);
  flags.Bool("json", &json, "print one JSON object instead of text");
  return ParseAndRun(&flags, arguments, "FILE", [&](const auto& path) -> absl::StatusOr<int> {
    if (absl::Status s = import.Check(); !s.ok()) return WithFlags(s);
    return Import(path, import, json);
  });
}

}  // namespace lemma::cli
