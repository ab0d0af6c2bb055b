// Chooses sizes at which a model with symbolic dimensions runs.
#ifndef LEMMA_API_EXECUTION_RUNNING_SIZES_H_
#define LEMMA_API_EXECUTION_RUNNING_SIZES_H_

#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::api {

// Returns a size for each symbolic dimension of the model: the first that is possible of the usual
// sizes (DefaultSizes in api/models/sizes.h) and those that DefaultSizes gives for the lengths 256,
// 512, 1024, 2048 and 16000. Sizes are possible if no size in the graph becomes negative. Unknown
// operators (UnknownOperators in graph/onnx/import.h), which are imported only at run time, may
// refuse sizes too, so a model with unknown operators is executed. If it runs at none of these
// sizes, they are tried with some of the dimensions set to 1, since sizes that must be equal may
// have different names. If none of the sizes is possible, or executions find none in 10 s, the
// result is the usual ones.
DimValues RunningSizes(const Model& model, const InputOptions& inputs,
                       const ExecutionOptions& execution);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_RUNNING_SIZES_H_
