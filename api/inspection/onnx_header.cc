// What an ONNX model says besides its nodes.
#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/inspect.h"
#include "graph/onnx/import.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::api {

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

std::vector<std::string> OnnxHeader(const Model& model) {
  if (model.format != ModelFormat::kOnnx) return {};
  const OnnxInfo& info = model.info;
  std::vector<std::string> lines;
  std::string sets;
  for (const auto& [domain, version] : info.opsets) {
    absl::StrAppend(&sets, sets.empty() ? "" : ", ", domain.empty() ? "" : domain + " ", version);
  }
  std::string producer = info.producer_name;
  if (!info.producer_version.empty()) absl::StrAppend(&producer, " ", info.producer_version);
  lines.push_back(absl::StrCat("ONNX, operator set ", sets, ", IR version ", info.ir_version,
                               producer.empty() ? "" : ", by ", producer));
  for (const SymbolicDim& dim : SymbolicDimsOf(model)) {
    lines.push_back(
        IsSymbolic(dim.size)
            ? absl::StrCat("dimension ", dim.name, " of input '", dim.input, "' is symbolic")
            : absl::StrCat("dimension ", dim.name, " of input '", dim.input, "' is ", dim.size,
                           " here (--dim ", dim.name, "=N)"));
  }
  const auto unknown = UnknownOperators(model.graph);
  if (!unknown.empty()) {
    lines.push_back(absl::StrCat(
        "unknown operators: ", absl::StrJoin(unknown, ", ", [](std::string* out, const auto& row) {
          absl::StrAppend(out, row.second, " x ", row.first);
        })));
  }
  return lines;
}

}  // namespace lemma::api
