#include "api/execution/running_sizes.h"

#include <memory>
#include <utility>

#include "api/models/sizes.h"
#include "graph/onnx/import.h"

namespace lemma::api {
namespace {

bool RunsAt(const Model& model, const DimValues& sizes, const InputOptions& options,
            Backend* backend) {
  auto sized = AtSizes(model, sizes);
  if (!sized.ok()) return false;
  auto inputs = InputsOf(*sized, options);
  if (!inputs.ok()) return false;
  auto executable = backend->Compile(sized->graph, {});
  return executable.ok() && (*executable)->Run(*inputs).ok();
}

}  // namespace

DimValues RunningSizes(const Model& model, const InputOptions& inputs,
                       const ExecutionOptions& execution) {
  DimValues usual = DefaultSizes(model.graph);
  absl::StatusOr<std::unique_ptr<Backend>> backend = nullptr;
  if (!UnknownOperators(model.graph).empty()) {
    backend = MakeBackend(execution);
    if (!backend.ok()) return usual;
  }
  for (const int64_t length : {0, 256, 512, 1024, 2048, 16000}) {
    DimValues sizes = DefaultSizes(model.graph, length);
    if (*backend == nullptr ? AtSizes(model, sizes).ok()
                            : RunsAt(model, sizes, inputs, backend->get())) {
      return sizes;
    }
  }
  return usual;
}

}  // namespace lemma::api
