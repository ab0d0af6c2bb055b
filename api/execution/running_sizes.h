// Chooses sizes at which a model with symbolic dimensions runs.
#ifndef LEMMA_API_EXECUTION_RUNNING_SIZES_H_
#define LEMMA_API_EXECUTION_RUNNING_SIZES_H_

#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::api {

// Usual sizes (DefaultSizes). Operators that are imported at run time may refuse them: then the
// first of these sizes with other lengths at which the model runs, or the usual ones if there are
// none. Runs such models.
DimValues RunningSizes(const Model& model, const InputOptions& inputs,
                       const ExecutionOptions& execution);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_RUNNING_SIZES_H_
