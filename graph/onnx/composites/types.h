// Restricts exports to the element types that ONNX's operators take. Lemma's operators may take
// more types.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_TYPES_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_TYPES_H_

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// A function that exports one application of an operator (OpDef::onnx_export).
using ExportHook = std::function<absl::Status(OnnxExport&)>;

// The types of indices that ONNX's gather and scatter operators take.
inline std::vector<DType> OnnxPositions() { return {DType::kI64, DType::kI32}; }
// The float types that ONNX's convolutions and pools take: no bf16.
inline std::vector<DType> OnnxFloats() { return {DType::kF32, DType::kF64, DType::kF16}; }
// The types that most of ONNX's arithmetic operators take: no integers of 8 or 16 bits.
inline std::vector<DType> OnnxNumbers() {
  return {DType::kF32, DType::kF64, DType::kF16, DType::kBF16,
          DType::kI32, DType::kI64, DType::kU32, DType::kU64};
}

// A hook that runs `hook` if input 0 has one of `types`; otherwise it returns Unimplemented.
inline ExportHook ExportFor(std::vector<DType> types, ExportHook hook) {
  return [types = std::move(types), hook = std::move(hook)](OnnxExport& out) -> absl::Status {
    DType dtype = out.node().inputs()[0].dtype();
    if (std::count(types.begin(), types.end(), dtype) > 0) return hook(out);
    return absl::UnimplementedError(
        absl::StrCat("ONNX's ", out.node().op().name, " does not take ", Name(dtype)));
  };
}

// A hook that runs `hook`. Input number `input`, which holds indices and must have an integer type,
// is first cast to i64 if its type is not among `types`. Every index fits into i64.
inline ExportHook ExportWithPositions(int input, std::vector<DType> types, ExportHook hook) {
  class Widened : public OnnxExport {
   public:
    Widened(OnnxExport* to, int input) : to_(*to), input_(input) {}
    const Node& node() const override { return to_.node(); }
    std::string Input(int i) override {
      if (i != input_) return to_.Input(i);
      const std::string wide = to_.Temporary();
      to_.Emit("Cast", {to_.Input(i)}, {wide}, {{"to", ToOnnxNumber(DType::kI64)}});
      return wide;
    }
    std::string Output(int i) override { return to_.Output(i); }
    std::string Temporary() override { return to_.Temporary(); }
    std::string Constant(Tensor tensor) override { return to_.Constant(std::move(tensor)); }
    void Emit(absl::string_view op_type, std::vector<std::string> inputs,
              std::vector<std::string> outputs,
              std::vector<std::pair<std::string, OnnxAttr>> attrs) override {
      to_.Emit(op_type, std::move(inputs), std::move(outputs), std::move(attrs));
    }

   private:
    OnnxExport& to_;
    const int input_;
  };
  return [input, types = std::move(types), hook = std::move(hook)](OnnxExport& out) {
    const DType dtype = out.node().inputs()[input].dtype();
    if (std::count(types.begin(), types.end(), dtype) > 0) return hook(out);
    Widened widened(&out, input);
    return hook(widened);
  };
}

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_TYPES_H_
