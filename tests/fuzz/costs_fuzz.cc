// Costs in text form, and storing them in a database.
#include "optimizer/cost/cost_db.h"
#include "optimizer/cost/cost_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace lemma {

int FuzzCosts(absl::string_view text) {
  const auto entries = optimizer::ParseCosts(text);
  if (!entries.ok()) return 0;
  const std::string printed = optimizer::PrintCosts(*entries);
  const auto again = optimizer::ParseCosts(printed);
  fuzz::Require(again.ok(), "what was printed is not read:",
                again.ok() ? "" : std::string(again.status().message()) + "\n" + printed);
  fuzz::Require(optimizer::PrintCosts(*again) == printed, "other costs were read:", printed);
  auto db = optimizer::CostDb::Open("");
  fuzz::Require(db.ok(), "no database in memory");
  const auto changed = (*db)->PutAll(*entries, /*replace=*/false);
  fuzz::Require(changed.ok(), "costs that were read are not taken:", changed.status().message());
  fuzz::Require((*db)->Count().value_or(-1) == static_cast<int64_t>(entries->size()),
                "costs were lost:", printed);
  return 0;
}

}  // namespace lemma

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return lemma::FuzzCosts(lemma::fuzz::Text(data, size));
}
