#include "graph/onnx/export/small_types.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/onnx/composites/dtype.h"

namespace lemma {
namespace {

// The type that holds all values of a small type, or the type itself. A result that wraps in it
// wraps to the same number of the small type.
DType Wider(DType dtype) {
  if (IsSmallFloat(dtype)) return DType::kF32;
  if (!IsInteger(dtype) || BitsOf(dtype) >= 8) return dtype;
  return IsUnsigned(dtype) ? DType::kU8 : DType::kI8;
}

class WiderExport : public OnnxExport {
 public:
  WiderExport(OnnxExport* to, NodePtr node) : to_(*to), node_(std::move(node)) {}

  const Node& node() const override { return *node_; }
  std::string Input(int i) override {
    std::string name = to_.Input(i);
    if (name.empty() || to_.node().inputs()[i].dtype() == node_->inputs()[i].dtype()) return name;
    std::string wide = to_.Temporary();
    to_.Emit("Cast", {std::move(name)}, {wide},
             {{"to", ops::ToOnnxNumber(node_->inputs()[i].dtype())}});
    return wide;
  }
  std::string Output(int i) override {
    if (to_.node().type(i) == node_->type(i)) return to_.Output(i);
    for (const auto& [output, wide] : wide_) {
      if (output == i) return wide;
    }
    wide_.emplace_back(i, to_.Temporary());
    return wide_.back().second;
  }
  std::string Temporary() override { return to_.Temporary(); }
  std::string Constant(Tensor tensor) override { return to_.Constant(std::move(tensor)); }
  void Emit(absl::string_view op_type, std::vector<std::string> inputs,
            std::vector<std::string> outputs,
            std::vector<std::pair<std::string, OnnxAttr>> attrs) override {
    to_.Emit(op_type, std::move(inputs), std::move(outputs), std::move(attrs));
  }

  void CastResults() {
    for (const auto& [output, wide] : wide_) {
      to_.Emit("Cast", {wide}, {to_.Output(output)},
               ops::CastAttributes(to_.node().type(output).dtype));
    }
  }

 private:
  OnnxExport& to_;
  const NodePtr node_;
  std::vector<std::pair<int, std::string>> wide_;  // by output
};

}  // namespace

int OpsetOfType(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
    case DType::kF8E4M3Uz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Uz:
      return 19;
    case DType::kI4:
    case DType::kU4:
      return 21;
    case DType::kF4E2M1:
      return 23;
    case DType::kF8E8M0:
      return 24;
    case DType::kI2:
    case DType::kU2:
      return 25;
    default:
      return 1;
  }
}

int OpsetOfOperator(const Node& node) {
  constexpr int kMovesFloats = 21;
  return node.IsOp("transpose") && IsSmallFloat(node.type(0).dtype) ? kMovesFloats : 1;
}

bool NeedsWiderTypes(const Node& node) {
  if (node.IsOp("cast") || node.IsOp("reshape") || node.IsOp("transpose")) return false;
  auto is_small = [](const auto& type) { return Wider(type.dtype) != type.dtype; };
  return std::any_of(node.types().begin(), node.types().end(), is_small) ||
         std::any_of(node.inputs().begin(), node.inputs().end(),
                     [&](const Value& v) { return is_small(v.type()); });
}

absl::Status ExportInWiderTypes(OnnxExport& out) {
  GraphBuilder builder("wider");
  std::vector<Value> inputs;
  for (const Value& input : out.node().inputs()) {
    inputs.push_back(builder.Input(absl::StrCat("x", inputs.size()),
                                   {Wider(input.dtype()), input.type().shape}));
  }
  const std::string& name = out.node().op().name;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Value> wide,
                         ApplyOp(name, std::move(inputs), out.node().attrs()));
  for (size_t i = 0; i < wide.size(); ++i) {
    const DType small = out.node().type(static_cast<int>(i)).dtype;
    if (wide[i].dtype() == Wider(small)) continue;
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", name, " of element type ", Name(small), " in ONNX"));
  }
  WiderExport wider(&out, wide[0].node_ptr());
  LEMMA_RETURN_IF_ERROR(wider.node().op().onnx_export(wider));
  wider.CastResults();
  return absl::OkStatus();
}

}  // namespace lemma
