// Finds the ranges of a model's values on samples.
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

// The histograms of these outputs of the runner's model, by name. Each sample is executed twice:
// for the extremes, then for the counts. `goes_on` is asked before each execution and ends it by
// an error. InvalidArgument, with the value's name, if a value is not finite.
absl::StatusOr<std::map<std::string, ValueHistogram>> Calibrate(
    SampleRunner* runner, absl::Span<const Sample> samples, const std::set<std::string>& values,
    const std::function<absl::Status()>& goes_on);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_CALIBRATION_H_
