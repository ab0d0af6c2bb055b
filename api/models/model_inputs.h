// Values for a model's inputs.
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
  // Files of tensors, or folders of input_0.pb, …; inputs that have a default may be left out.
  // Empty: random values, where there is no default.
  std::vector<std::string> files;
  int64_t seed = 1;       // of random values
  int64_t int_range = 2;  // random integers are below this
  // Models that need more are refused before anything is allocated.
  double max_memory_gb = HalfOfMemoryGb();
};

// Errors name options as option int_range.
absl::Status CheckInputOptions(const InputOptions& options);

// One tensor per input. InvalidArgument if files do not fit; ResourceExhausted if the model needs
// more memory than max_memory_gb.
absl::StatusOr<std::vector<Tensor>> InputsOf(const Model& model, const InputOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_MODEL_INPUTS_H_
