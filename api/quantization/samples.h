// Reads the inputs on which a model is calibrated.
#ifndef LEMMA_API_QUANTIZATION_SAMPLES_H_
#define LEMMA_API_QUANTIZATION_SAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/quantization/sample_runner.h"
#include "graph/onnx/import.h"

namespace lemma::api {

struct SampleOptions {
  // A folder, a file of arrays (.npz), or "synthetic:N": N sets of random inputs, 1 … 100000.
  // "synthetic": kSyntheticSamples sets.
  std::string calibration = "synthetic";
  int64_t seed = 1;       // of random inputs
  int64_t int_range = 2;  // random integers are in [0, int_range)
};
constexpr int64_t kSyntheticSamples = 8;

// Whether the samples are random.
bool IsSynthetic(const std::string& calibration);

// The samples, at least one. A sample has a tensor for each input, in the inputs' order. `model`
// was imported with sizes for all symbolic dimensions.
//
// A .npz file has an array for each input, by its name; inputs with default values may be left out.
// If an array has one more axis than its input, the first axis counts the samples. If it has the
// input's rank, and its first axis is a multiple of the input's, it is cut into samples along it.
//
// A folder has files input_0.pb (or .npy), …, which are one sample; or folders with such files, a
// sample each; or .npz files; or, for a model with one input, .npy and .pb files, each an array as
// in a .npz file. They are read in the order of their names.
//
// InvalidArgument if an array does not fit its input, a value is not finite, or an option is wrong;
// NotFound if there is no sample. Messages name the file or the option. Whether the tensors of
// input_0.pb, … fit the model is not checked here but when the sample is executed.
absl::StatusOr<std::vector<Sample>> ReadSamples(const SampleOptions& options,
                                                const ImportedModel& model);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_SAMPLES_H_
