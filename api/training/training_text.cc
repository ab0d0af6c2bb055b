// Steps and runs of training as text.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/execution/timing.h"
#include "api/train.h"
#include "base/text_table.h"

namespace lemma::api {

std::string TextOf(const Model& model, const TrainingStepOptions& options, const TrainingStep& step,
                   const std::string& path) {
  std::string text =
      absl::StrCat(path, ": ", FormatCount(step.graph.num_ops(), "operator"), ", of ",
                   model.graph.num_ops(), " in the model\n", StatePathOf(path), ": ",
                   FormatCount(static_cast<int64_t>(step.state.size()), "variable"), ", ",
                   FormatBytes(static_cast<double>(StateBytes(step))), "\n");
  const std::string& precision = options.precision;
  if (step.products > 0) {
    absl::StrAppend(&text, "products of the model in ", precision, ": ", step.products, "\n");
  } else if (precision != "f32") {
    absl::StrAppend(&text, "note: the model has no product that could be in ", precision,
                    ", so none of its operators is\n");
  }
  for (const auto& one : step.untrained) {
    absl::StrAppend(&text, "not trained: ", one.name, " (", one.reason, ")\n");
  }
  return text;
}

std::string TextOf(const TrainingLog& log, const TrainingRun::Progress& progress) {
  std::string line = absl::StrCat("step ", progress.step);
  for (size_t i = 0; i < log.names().size(); ++i) {
    absl::StrAppendFormat(&line, "  %s %.9g", log.names()[i], progress.scalars[i]);
  }
  return absl::StrCat(line, "  ", FormatMs(progress.ms), "\n");
}

std::string TextOf(const Model& step, const ExecutionOptions& execution, const TrainingRun& run,
                   const TrainingLog& log) {
  std::string text =
      absl::StrCat(step.graph.name(), ": ", FormatCount(step.graph.num_ops(), "operator"), " on ",
                   execution.backend, ", ", FormatCount(run.steps_done(), "step"), " done\n");
  if (!log.ms().empty()) {
    absl::StrAppend(&text, "time         ", FormatMs(Median(log.ms())), " (median of ",
                    FormatCount(static_cast<int64_t>(log.ms().size()), "step"), ")\n");
  }
  absl::StrAppend(&text, "peak memory  ",
                  FormatBytes(static_cast<double>(run.memory().planned_bytes)), " of values, ",
                  FormatBytes(static_cast<double>(run.state_bytes())), " of state\n");
  return text;
}

}  // namespace lemma::api
