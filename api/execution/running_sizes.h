// Chooses sizes at which a model with symbolic dimensions runs.
#ifndef LEMMA_API_EXECUTION_RUNNING_SIZES_H_
#define LEMMA_API_EXECUTION_RUNNING_SIZES_H_

#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::api {

// Returns a size for each symbolic dimension of the model. If the model has no unknown operators
// (UnknownOperators in graph/onnx/import.h), these are the usual sizes (DefaultSizes in
// api/models/sizes.h). Unknown operators, which are imported only at run time, may refuse the usual
// sizes. So a model with unknown operators is executed: first at the usual sizes, then at the sizes
// that DefaultSizes gives for the lengths 256, 512, 1024 and 2048. The first sizes at which the
// model runs are returned; if it runs at none of them, the usual sizes.
DimValues RunningSizes(const Model& model, const InputOptions& inputs,
                       const ExecutionOptions& execution);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_RUNNING_SIZES_H_
