// What an ONNX model says besides its nodes.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/inspect.h"
#include "graph/onnx/import.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::api {

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
