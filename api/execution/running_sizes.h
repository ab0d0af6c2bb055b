// Chooses sizes at which a model with symbolic dimensions runs.
#ifndef LEMMA_API_EXECUTION_RUNNING_SIZES_H_
#define LEMMA_API_EXECUTION_RUNNING_SIZES_H_

#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::api {

// Returns a size for each symbolic dimension of the model. Tries the usual sizes (DefaultSizes in
// api/models/sizes.h), then the sizes that DefaultSizes gives for the lengths 256, 512, 1024, 2048
// and 16000, and returns the first sizes that are possible. Sizes are possible if no size in the
// graph becomes negative. Unknown operators (UnknownOperators in graph/onnx/import.h), which are
// imported only at run time, may refuse sizes too, so a model with unknown operators is executed.
// If the model runs at none of these sizes, they are tried again with some of
// the dimensions set to 1, because dimensions with different names may have to
// be equal. Returns the usual sizes if no sizes are possible, if executions
// find none in 10 s, or if the back end cannot be made.
DimValues RunningSizes(const Model& model, const InputOptions& inputs,
                       const ExecutionOptions& execution);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_RUNNING_SIZES_H_
