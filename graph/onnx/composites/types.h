// Adapts exports to the element types that ONNX's operators take: inserts
// casts, or refuses a type. Lemma's operators may take more types.
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

// Exports a node as if its 16-bit floats were f32: operands are cast to f32, and results back. So
// each result is computed in f32 and rounded once, which is how Lemma computes with 16-bit floats
// (graph/dtype.h).
class InF32 : public OnnxExport {
 public:
  explicit InF32(OnnxExport* to) : to_(*to), results_(to->node().num_outputs()) {
    const Node& narrow = to_.node();
    std::vector<Value> operands;
    for (const Value& x : narrow.inputs()) {
      const auto number = static_cast<int>(operands.size());
      operands.push_back(IsHalfFloat(x.dtype()) ? Value(Node::Input(number, Wide(x.type())), 0)
                                                : x);
    }
    std::vector<TensorType> types;
    for (const TensorType& type : narrow.types()) types.push_back(Wide(type));
    node_ = Node::Apply(&narrow.op(), std::move(operands), narrow.attrs(), std::move(types));
  }
  // Casts the results that were named. Call it last.
  void CastResults() {
    for (size_t i = 0; i < results_.size(); ++i) {
      if (results_[i].empty()) continue;
      const auto output = static_cast<int>(i);
      to_.Emit("Cast", {results_[i]}, {to_.Output(output)},
               {{"to", ToOnnxNumber(to_.node().type(output).dtype)}});
    }
  }

  const Node& node() const override { return *node_; }
  std::string Input(int i) override {
    const std::string name = to_.Input(i);
    if (name.empty() || !IsHalfFloat(to_.node().inputs()[i].dtype())) return name;
    std::string wide = to_.Temporary();
    to_.Emit("Cast", {name}, {wide}, {{"to", ToOnnxNumber(DType::kF32)}});
    return wide;
  }
  std::string Output(int i) override {
    if (!IsHalfFloat(to_.node().type(i).dtype)) return to_.Output(i);
    if (results_[i].empty()) results_[i] = to_.Temporary();
    return results_[i];
  }
  std::string Temporary() override { return to_.Temporary(); }
  std::string Constant(Tensor tensor) override { return to_.Constant(std::move(tensor)); }
  void Emit(absl::string_view op_type, std::vector<std::string> inputs,
            std::vector<std::string> outputs,
            std::vector<std::pair<std::string, OnnxAttr>> attrs) override {
    to_.Emit(op_type, std::move(inputs), std::move(outputs), std::move(attrs));
  }

 private:
  static TensorType Wide(TensorType type) {
    if (IsHalfFloat(type.dtype)) type.dtype = DType::kF32;
    return type;
  }

  OnnxExport& to_;
  NodePtr node_;
  std::vector<std::string> results_;  // names of results in f32; "" if there is none yet
};

// A hook that runs `hook` in f32, with casts.
inline ExportHook ExportInF32(ExportHook hook) {
  return [hook = std::move(hook)](OnnxExport& out) -> absl::Status {
    InF32 in_f32(&out);
    if (absl::Status s = hook(in_f32); !s.ok()) return s;
    in_f32.CastResults();
    return absl::OkStatus();
  };
}

// A hook that runs `hook` if input 0 has one of `types`. If input 0 is bf16 and
// f32 is one of `types`, it runs `hook` in f32. Otherwise it returns
// Unimplemented.
inline ExportHook ExportFor(std::vector<DType> types, ExportHook hook) {
  return [types = std::move(types), hook = std::move(hook)](OnnxExport& out) -> absl::Status {
    auto takes = [&](DType dtype) { return std::count(types.begin(), types.end(), dtype) > 0; };
    const DType dtype = out.node().inputs()[0].dtype();
    if (takes(dtype)) return hook(out);
    if (dtype == DType::kBF16 && takes(DType::kF32)) return ExportInF32(hook)(out);
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
