// lemma doctor: what this machine has, and whether it works.
#include "api/doctor.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/version.h"
#include "base/flags.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "optimizer/cost/cost_db.h"

namespace lemma::cli {

absl::StatusOr<int> RunDoctor(Arguments arguments) {
  Flags flags("doctor", "",
              "Says what this machine has and tries it: processor, memory, back ends, the second "
              "solver, drawing, the database of costs. Exit status 1 if something is broken; what "
              "is missing is no error.");
  bool json = false;
  std::string costs = optimizer::CostDb::DefaultPath();
  flags.String("cost-db", &costs, "FILE", "the database of measured costs");
  flags.Bool("json", &json, "print one JSON object instead of text");
  return ParseAndRun(&flags, arguments, [&](const Positional& rest) -> absl::StatusOr<int> {
    if (!rest.empty()) return absl::InvalidArgumentError("doctor takes flags only; see --help");
    const std::vector<api::ExaminedPart> findings = api::Examine(costs);
    const bool broken = std::any_of(findings.begin(), findings.end(), [](const auto& finding) {
      return finding.state == api::ExaminedPart::State::kBroken;
    });
    if (json) {
      Json list = Json::Array();
      for (const api::ExaminedPart& finding : findings) {
        Json entry = Json::Object();
        entry.Set("what", finding.what).Set("state", api::Name(finding.state));
        entry.Set("detail", finding.detail).Set("use", finding.use);
        list.Add(std::move(entry));
      }
      Json object = Json::Object();
      object.Set("version", api::kVersion).Set("findings", std::move(list));
      PrintJson(object);
      return broken ? kExitNo : kExitOk;
    }
    TextTable table({absl::StrCat("lemma ", api::kVersion), "<", "<"});
    for (const api::ExaminedPart& finding : findings) {
      table.Row({finding.what, api::Name(finding.state),
                 absl::StrCat(finding.detail, finding.use.empty() ? "" : "; ", finding.use)});
    }
    std::fputs(table.ToString().c_str(), stdout);
    return broken ? kExitNo : kExitOk;
  });
}

}  // namespace lemma::cli
