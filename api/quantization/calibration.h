// Counts a model's values on samples, as histograms, from which the ranges for quantization are
// chosen.
#ifndef LEMMA_API_QUANTIZATION_CALIBRATION_H_
#define LEMMA_API_QUANTIZATION_CALIBRATION_H_

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/quantization/ranges.h"
#include "api/quantization/sample_runner.h"

namespace lemma::api {

// The histograms, by name, of the runner's outputs that `values` names. These outputs must be f32.
// Each sample is executed twice: for the extremes, then for the counts. `goes_on` is called before
// each execution; if it returns an error, the calibration ends and returns this error.
// InvalidArgument, with the value's name, if an element is not finite.
absl::StatusOr<std::map<std::string, ValueHistogram>> HistogramsOf(
    SampleRunner* runner, absl::Span<const Sample> samples, const std::set<std::string>& values,
    const std::function<absl::Status()>& goes_on);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_CALIBRATION_H_
