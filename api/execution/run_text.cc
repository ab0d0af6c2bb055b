// Executions as text.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/execution/profile.h"
#include "api/execution/timing.h"
#include "api/run.h"
#include "base/text_table.h"

namespace lemma::api {

std::string TextOf(const Model& model, const RunOptions& options, const RunResult& result) {
  std::string text = options.profile ? ProfileTable(result.profile, result.roofline) : "";
  absl::StrAppend(&text, model.graph.name(), ": ", FormatCount(model.graph.num_ops(), "operator"),
                  " on ", options.execution.backend, ", ",
                  FormatCount(options.execution.threads, "thread"), "\ntime         ",
                  FormatMs(Median(result.ms)), " (median of ", result.ms.size(), ")\npeak memory  ",
                  FormatBytes(static_cast<double>(result.memory.planned_bytes)), " of values, ",
                  FormatBytes(static_cast<double>(result.memory.weight_bytes)), " of weights\n");
  if (result.difference) {
    const OutputDifference& d = *result.difference;
    absl::StrAppend(&text, "outputs      ",
                    !d.ok          ? "DIFFER"
                    : d.compared() ? "as expected"
                                   : "as far as can be told",
                    ": ", d.ToString(), "\n");
  }
  return text;
}

}  // namespace lemma::api
