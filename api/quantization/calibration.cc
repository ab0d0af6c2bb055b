#include "api/quantization/calibration.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma::api {

absl::StatusOr<std::map<std::string, ValueHistogram>> HistogramsOf(
    SampleRunner* runner, absl::Span<const Sample> samples, const std::set<std::string>& values,
    const std::function<absl::Status()>& goes_on) {
  std::map<std::string, ValueHistogram> histograms;
  for (const bool counts : {false, true}) {
    for (size_t s = 0; s < samples.size(); ++s) {
      LEMMA_RETURN_IF_ERROR(goes_on());
      LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, runner->Run(samples[s]));
      std::set<std::string> seen;
      for (size_t i = 0; i < outputs.size(); ++i) {
        const std::string& name = runner->graph().output_names()[i];
        if (values.count(name) == 0 || !seen.insert(name).second) continue;
        if (!counts && !outputs[i].IsFinite()) {
          return absl::InvalidArgumentError(
              absl::StrCat("value '", name, "' has an infinite or NaN element on sample ", s,
                           ", which gives no range"));
        }
        counts ? histograms[name].Count(outputs[i]) : histograms[name].Widen(outputs[i]);
      }
    }
  }
  return histograms;
}

}  // namespace lemma::api
