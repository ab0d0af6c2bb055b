// Chooses hints for a model with symbolic dimensions: the sizes at which the model is priced and
// executed.
#ifndef LEMMA_API_OPTIMIZATION_HINTS_H_
#define LEMMA_API_OPTIMIZATION_HINTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "graph/sizes/symbolic_size.h"
#include "graph/tensor.h"
#include "optimizer/cost/sized_cost.h"

namespace lemma::api {

struct HintOptions {
  // Sizes to optimize for. Each entry gives one hint, and may omit dimensions.
  std::vector<DimValues> given;
  InputOptions inputs;  // if it has files, their tensors' sizes are the first hint
  ExecutionOptions execution;
  bool execute = true;  // whether the model may be executed to find sizes at which it runs
};

struct Hints {
  std::vector<optimizer::SizeHint> sizes;  // empty if every size of the model is a number
  // Whether no sizes were given, so that `sizes` is from RunningSizes
  // (api/execution/running_sizes.h) or, if RunningSizes would have to execute the model but
  // HintOptions::execute is false, from DefaultSizes (api/models/sizes.h).
  bool are_usual = false;
};

// The hints for a model: the given sizes, where DefaultSizes gives the sizes of omitted dimensions;
// or usual sizes, if no sizes are given. All hints have the weight 1. InvalidArgument if sizes are
// given for a model without symbolic dimensions, or are outside the ranges of its dimensions.
// Errors of files as in GivenInputs (api/models/model_inputs.h).
absl::StatusOr<Hints> HintsFor(const Model& model, const HintOptions& options);

// The least size of each dimension in `given`; for LoadOptions::used_sizes.
DimValues LeastSizes(const std::vector<DimValues>& given);

// Values of the model's inputs at the first hint (if there is none, at the model's own sizes), for
// Optimize. An empty list if an input has an opaque type (docs/glossary.md), because such a model
// is optimized without being executed. Errors as in InputsOf (api/models/model_inputs.h); messages
// begin with the model's path.
absl::StatusOr<std::vector<Tensor>> InputsFor(const Model& model,
                                              const std::vector<optimizer::SizeHint>& hints,
                                              const InputOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_HINTS_H_
