// lemma doctor: what this machine has, and whether it works.
#include "api/doctor.h"

#include <string>
#include <vector>

#include "api/json/inspect.h"
#include "base/flags.h"
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
  AddJson(&flags, &json);
  return ParseAndRun(&flags, arguments, [&](const Positional& rest) -> absl::StatusOr<int> {
    if (!rest.empty()) return absl::InvalidArgumentError("doctor takes flags only; see --help");
    const std::vector<api::ExaminedPart> parts = api::Examine(costs);
    PrintResult(json, parts);
    return api::IsBroken(parts) ? kExitNo : kExitOk;
  });
}

}  // namespace lemma::cli
