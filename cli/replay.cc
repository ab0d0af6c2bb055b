#include "cli/replay.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/verdict_text.h"
#include "verifier/checker/checker.h"

namespace lemma::cli {
namespace {

struct Row {
  const Substitution* rule = nullptr;
  checker::Checked checked;
  checker::Replayed replayed;
  std::string problem;  // "": the proof is accepted
};

Row Replay(const Substitution& rule, const std::string& folder) {
  Row row;
  row.rule = &rule;
  const std::string path = absl::StrCat(folder, "/", FileNameOf(rule.name), ".proof");
  auto text = ReadFile(path, int64_t{1} << 30);
  if (!text.ok()) {
    row.problem = absl::StrCat("there is no proof ", path);
    return row;
  }
  row.checked = checker::CheckRule(rule);
  row.replayed = checker::ReplayProof(*text, rule);
  if (row.checked.answer == checker::Checked::Answer::kDiffers) {
    row.problem = absl::StrCat("its sides differ: ", row.checked.detail);
  } else if (!row.replayed.accepted) {
    row.problem = absl::StrCat(path, ": ", row.replayed.problem);
  }
  return row;
}

void Print(const api::RulesFile& file, const std::vector<Row>& rows, size_t accepted, bool json) {
  if (json) {
    Json list = Json::Array();
    for (const Row& row : rows) {
      Json item = Json::Object();
      item.Set("rule", row.rule->name).Set("accepted", row.problem.empty());
      item.Set("instances", row.checked.equal).Set("steps", row.replayed.steps);
      item.Set("checks", row.replayed.checks).Set("undecided", row.replayed.undecided);
      item.Set("problem", row.problem);
      list.Add(std::move(item));
    }
    Json all = Json::Object();
    all.Set("file", file.name).Set("rules", std::move(list));
    all.Set("accepted", static_cast<int64_t>(accepted));
    std::puts(all.ToString().c_str());
    return;
  }
  TextTable table({"rule", "<proof", "instances", "steps", "checks"});
  for (const Row& row : rows) {
    table.Row({row.rule->name, row.problem.empty() ? "accepted" : "REJECTED",
               absl::StrCat(row.checked.equal), absl::StrCat(row.replayed.steps),
               absl::StrCat(row.replayed.checks)});
  }
  std::fputs(table.ToString().c_str(), stdout);
  for (const Row& row : rows) {
    if (!row.problem.empty()) {
      std::printf("%s: %s\n", row.rule->name.c_str(), row.problem.c_str());
    }
  }
  std::printf("%zu proofs: %zu accepted\n", rows.size(), accepted);
}

}  // namespace

absl::StatusOr<int> ReplayProofs(const api::RulesFile& file, const std::vector<std::string>& only,
                                 const std::string& folder, bool json) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat(folder, ": no such folder"));
  }
  InterruptScope interrupt;
  std::vector<Row> rows;
  {
    ProgressLine progress(json);
    for (const Substitution& rule : file.rules) {
      if (!only.empty() && std::find(only.begin(), only.end(), rule.name) == only.end()) continue;
      if (interrupt.flag()) return InterruptedError();
      progress.Show(rule.name);
      rows.push_back(Replay(rule, folder));
    }
  }
  const size_t accepted = static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.problem.empty(); }));
  Print(file, rows, accepted, json);
  return accepted == rows.size() ? kExitOk : kExitNo;
}

}  // namespace lemma::cli
