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
  // The path of a folder or of a file of arrays (.npz); or "synthetic:N": N sets of random inputs,
  // N from 1 to 100000; or "synthetic": kSyntheticSamples sets of random inputs.
  std::string calibration = "synthetic";
  // For random inputs, which are those of RandomInputs (api/models/random_values.h); but an input
  // with a default value has this value.
  int64_t seed = 1;       // of the first sample; each further sample has the next seed
  int64_t int_range = 2;  // integers are in [0, int_range), or constants that RandomInputs chooses
};
constexpr int64_t kSyntheticSamples = 8;

// Whether the samples are random.
bool IsSynthetic(const std::string& calibration);

// The samples, at least one. A sample has a tensor for each input, in the inputs' order. `model`
// was imported with sizes for all symbolic dimensions.
//
// A .npz file has an array for each input, by its name; inputs with default values may be left out.
// If an array has one more axis than its input, its first axis counts the samples. If an array has
// the input's rank, and the size of its first axis is a multiple of the input's first size, the
// array is cut into samples along its first axis.
//
// A folder has files input_0.pb (or .npy), …, which are one sample. Otherwise,
// it has entries of these kinds, which are read in the order of their names:
//   - folders with such files, one sample per folder;
//   - .npz files;
//   - for a model with one input, .npy and .pb files, each with one array as in
//     a .npz file.
//
// InvalidArgument if an array's name, element type, rank or first size does not
// fit the inputs, if the arrays of a file have different numbers of samples, if
// a value is not finite, or if an option is wrong; NotFound if there is no
// sample. Messages name the file or the option. The other sizes of arrays, and
// the number and types of the tensors in input_0.pb, …, are checked only when
// the sample is executed.
absl::StatusOr<std::vector<Sample>> ReadSamples(const SampleOptions& options,
                                                const ImportedModel& model);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_SAMPLES_H_
