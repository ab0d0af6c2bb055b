#include "api/models/sizes.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/sizes/specialize.h"

namespace lemma::api {

DimValues DefaultSizes(const Graph& graph, int64_t length) {
  constexpr int64_t kResult = 16;
  DimValues sizes;
  for (const Value& input : graph.inputs()) {
    const Shape& shape = input.shape();
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      std::map<std::string, SizeRange> dims;
      CollectDims(shape[axis], &dims);
      int64_t usual = UsualSize(axis, shape.size());
      if (length > 0 && usual != 1) usual = length;
      for (const auto& [name, range] : dims) {
        sizes.emplace(name, std::clamp(usual, range.least, range.most));
      }
    }
  }
  // Of results whose sizes are known only at run time.
  for (const auto& [name, range] : DimsOf(graph)) {
    if (IsResultSize(range)) sizes.emplace(name, std::min(kResult, range.most));
  }
  return sizes;
}

absl::StatusOr<DimValues> CompleteSizes(const Graph& graph, const DimValues& given) {
  const std::map<std::string, SizeRange> dims = DimsOf(graph);
  for (const auto& [name, size] : given) {
    auto dim = dims.find(name);
    if (dim == dims.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no dimension is called ", name,
          dims.empty() ? "; every dimension has a size" : "; there are: ",
          absl::StrJoin(dims, ", ",
                        [](std::string* out, const auto& d) { out->append(d.first); })));
    }
    if (size < dim->second.least || size > dim->second.most) {
      return absl::InvalidArgumentError(absl::StrCat(name, "=", size, ": its range is ",
                                                     dim->second.least, ":", dim->second.most));
    }
  }
  DimValues sizes = given;
  for (const auto& [name, size] : DefaultSizes(graph)) sizes.emplace(name, size);
  return sizes;
}

std::vector<SymbolicDim> SymbolicDimsOf(const Model& model) {
  std::vector<SymbolicDim> dims;
  std::set<std::string> seen;
  const std::vector<std::string>& names = model.graph.input_names();
  for (const OnnxPort& port : model.info.inputs) {
    const auto at = std::find(names.begin(), names.end(), port.name);
    if (at == names.end()) continue;
    const Shape& shape = model.graph.inputs()[static_cast<size_t>(at - names.begin())].shape();
    for (size_t axis = 0; axis < port.dims.size() && axis < shape.size(); ++axis) {
      std::string name = port.dims[axis];
      int64_t fixed = 0;
      if (absl::SimpleAtoi(name, &fixed)) continue;
      if (name == "?") name = absl::StrCat(port.name, ".", axis);
      if (seen.insert(name).second) dims.push_back({std::move(name), port.name, shape[axis]});
    }
  }
  return dims;
}

absl::StatusOr<Model> AtSizes(const Model& model, const DimValues& sizes) {
  auto graph = Specialize(model.graph, sizes);
  if (!graph.ok()) return graph.status();
  Model sized = model;
  sized.graph = *std::move(graph);
  return sized;
}

}  // namespace lemma::api
