// Provides values for a model's inputs: from files, or random.
#ifndef LEMMA_API_MODELS_MODEL_INPUTS_H_
#define LEMMA_API_MODELS_MODEL_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "graph/tensor.h"

namespace lemma::api {

// Half of the machine's memory in whole GB (10⁹ bytes), at least 1.
double HalfOfMemoryGb();

struct InputOptions {
  // Files of tensors, or folders with input_0.pb, …, in the order of the inputs: a tensor for each
  // input, or for each input without a default value. Empty: inputs with a default value get this
  // value, the other inputs get random values.
  std::vector<std::string> files;
  int64_t seed = 1;       // of random values
  int64_t int_range = 2;  // random integers are in [0, int_range)
  // Limit on the memory of a run, in units of 10⁹ bytes. A model that surely needs more is refused
  // before anything is allocated. Values whose sizes are known only at run time do not count.
  double max_memory_gb = HalfOfMemoryGb();
};

// InvalidArgument if int_range is less than 1. Messages name options, such as "option int_range"
// (api/models/option_error.h).
absl::Status CheckInputOptions(const InputOptions& options);

// The tensors of `files` (InputOptions::files). If there are fewer tensors than inputs, the tensors
// are the values of the inputs without default values, and the default values are inserted between
// them. Neither the number nor the types of the tensors are checked. Errors as in ReadTensors
// (api/models/tensor_files.h).
absl::StatusOr<std::vector<Tensor>> GivenInputs(const Model& model,
                                                const std::vector<std::string>& files);

// The values of the inputs, in their order. InvalidArgument if the files do not match the inputs;
// ResourceExhausted if the model needs more memory than max_memory_gb.
absl::StatusOr<std::vector<Tensor>> InputsOf(const Model& model, const InputOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_MODEL_INPUTS_H_
