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

// Half of the machine's memory in GB, at least 1.
double HalfOfMemoryGb();

struct InputOptions {
  // Files of tensors, or folders with input_0.pb, …. Inputs with a default value may be left out.
  // If empty, inputs without a default get random values.
  std::vector<std::string> files;
  int64_t seed = 1;       // of random values
  int64_t int_range = 2;  // random integers are in [0, int_range)
  // A model that needs more is refused before anything is allocated.
  double max_memory_gb = HalfOfMemoryGb();
};

// Messages name options, such as "option int_range" (api/models/option_error.h).
absl::Status CheckInputOptions(const InputOptions& options);

// The tensors of `files`, and in their places the default values of inputs that the files leave
// out. Neither number nor types are checked.
absl::StatusOr<std::vector<Tensor>> GivenInputs(const Model& model,
                                                const std::vector<std::string>& files);

// One tensor per input. InvalidArgument if the files do not match the inputs; ResourceExhausted if
// the model needs more memory than max_memory_gb.
absl::StatusOr<std::vector<Tensor>> InputsOf(const Model& model, const InputOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_MODEL_INPUTS_H_
