#include "api/models/sizes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/onnx/import.h"
#include "graph/sizes/assumptions.h"
#include "graph/sizes/specialize.h"
#include "graph/sizes/totals.h"

namespace lemma::api {

namespace {

// The dimension that the size is; "" if it is another expression.
std::string DimOf(int64_t size, std::map<std::string, SizeRange>* dims) {
  dims->clear();
  CollectDims(size, dims);
  const bool is_plain = dims->size() == 1 && SizeName(size) == dims->begin()->first;
  return is_plain ? dims->begin()->first : "";
}

// Gives dimensions the sizes that the graph assumes them to have: in the equation of a dimension
// with another size, the dimension gets that size, unless its name is in `fixed`.
void FitAssumptions(const Graph& graph, const std::set<std::string>& fixed, DimValues* sizes) {
  for (const Guard& guard : AssumptionsOf(graph)) {
    if (guard.kind() != Guard::Kind::kEq) continue;
    const auto a = ToSize(guard.lhs()), b = ToSize(guard.rhs());
    if (!a || !b) continue;
    for (const auto& [from, to] : {std::pair(*a, *b), std::pair(*b, *a)}) {
      std::map<std::string, SizeRange> dims;
      const auto size = Evaluate(from, *sizes), now = Evaluate(to, *sizes);
      if (!size.ok() || !now.ok() || IsSymbolic({*size, *now}) || *size == *now) break;
      const std::string dim = DimOf(to, &dims);
      if (dim.empty() || fixed.count(dim) > 0) continue;
      const SizeRange& range = dims.begin()->second;
      if (*size < range.least || *size > range.most) continue;
      sizes->at(dim) = *size;
      break;
    }
  }
}

// How many operators have no definition, without loops: their bodies are optimized.
int CountUnknown(const Graph& graph) {
  int count = 0;
  for (const auto& [name, times] : UnknownOperators(graph)) {
    if (name != "Loop" && name != "Scan") count += times;
  }
  return count;
}

}  // namespace

DimValues DefaultSizes(const Graph& graph, int64_t length, const DimValues& given) {
  constexpr int64_t kResult = 16;
  DimValues sizes = given;
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
  std::set<std::string> fixed;
  for (const auto& [name, size] : given) fixed.insert(name);
  FitTotals(fixed, &sizes);
  const std::map<std::string, SizeRange> all = DimsOf(graph);
  for (auto& [name, size] : sizes) {
    const auto dim = all.find(name);
    if (dim != all.end()) size = std::clamp(size, dim->second.least, dim->second.most);
  }
  // Of results whose sizes are known only at run time.
  for (const auto& [name, range] : all) {
    if (IsResultSize(range)) sizes.emplace(name, std::min(kResult, range.most));
  }
  FitAssumptions(graph, fixed, &sizes);
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
  return DefaultSizes(graph, 0, given);
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
  auto graph = Specialize(model.graph, InputSizes(model.graph, sizes));
  if (!graph.ok()) return graph.status();
  Model sized = model;
  sized.graph = *std::move(graph);
  return sized;
}

absl::StatusOr<Model> LoadWithSymbolicSizes(const std::string& path, LoadOptions options,
                                            std::string* note) {
  note->clear();
  options.symbolic = options.fixes_sizes = true;
  auto model = LoadModel(path, options);
  options.symbolic = false;
  const bool may_fix = options.ranges.empty();
  if (!model.ok()) {
    if (!may_fix) return model.status();
    auto sized = LoadModel(path, options);
    if (!sized.ok()) return model.status();
    *note = absl::StrCat("sizes are fixed, since ", model.status().message());
    return sized;
  }
  if (!may_fix || options.input_files.empty() || !IsSymbolic(model->graph)) return model;
  // Operators that are known only at the sizes of the given inputs are not optimized, except for
  // the bodies of loops.
  const int unknown = CountUnknown(model->graph);
  if (unknown == 0) return model;
  auto sized = LoadModel(path, options);
  if (!sized.ok() || CountUnknown(sized->graph) >= unknown) return model;
  *note = absl::StrCat("sizes are fixed to those of --inputs, since ", model->notes.back());
  return sized;
}

}  // namespace lemma::api
