#include "api/execution/running_sizes.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/models/sizes.h"
#include "base/deadline.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"

namespace lemma::api {
namespace {

constexpr double kMostSeconds = 10;

bool RunsAt(const Model& model, const DimValues& sizes, const InputOptions& options,
            Backend* backend) {
  auto sized = AtSizes(model, sizes);
  if (!sized.ok()) return false;
  auto inputs = InputsOf(*sized, options);
  if (!inputs.ok()) return false;
  auto executable = backend->Compile(sized->graph, {});
  return executable.ok() && (*executable)->Run(*inputs).ok();
}

using Names = std::vector<std::string>;

// The first dimensions of inputs that may be 1 and usually are not.
Names LengthsOf(const Model& model, const DimValues& usual) {
  constexpr size_t kMost = 4;
  Names names;
  for (const SymbolicDim& dim : SymbolicDimsOf(model)) {
    const auto size = usual.find(dim.name);
    if (names.size() == kMost || size == usual.end() || size->second == 1) continue;
    std::map<std::string, SizeRange> dims;
    CollectDims(dim.size, &dims);
    if (dims.size() == 1 && dims.begin()->second.least <= 1) names.push_back(dim.name);
  }
  return names;
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
  const bool executes = *backend != nullptr;
  const Names lengths = executes ? LengthsOf(model, usual) : Names();
  const Deadline deadline = Deadline::After(kMostSeconds);
  for (uint32_t ones = 0; ones >> lengths.size() == 0; ++ones) {
    for (const int64_t length : {0, 256, 512, 1024, 2048, 16000}) {
      if (executes && deadline.Passed()) return usual;
      DimValues given;
      for (size_t i = 0; i < lengths.size(); ++i) {
        if ((ones >> i & 1) != 0) given[lengths[i]] = 1;
      }
      DimValues sizes = DefaultSizes(model.graph, length, given);
      if (executes ? RunsAt(model, sizes, inputs, backend->get()) : AtSizes(model, sizes).ok()) {
        return sizes;
      }
    }
  }
  return usual;
}

}  // namespace lemma::api
