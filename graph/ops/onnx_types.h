// Element types that ONNX's operators take, where they take fewer than ours.
#ifndef LEMMA_GRAPH_OPS_ONNX_TYPES_H_
#define LEMMA_GRAPH_OPS_ONNX_TYPES_H_

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/onnx_form.h"

namespace lemma::ops {

using ExportHook = std::function<absl::Status(OnnxExport&)>;

inline std::vector<DType> OnnxFloats() { return {DType::kF32, DType::kF64, DType::kF16}; }
// Of most arithmetic: no narrow integers.
inline std::vector<DType> OnnxNumbers() {
  return {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64};
}

// `hook` where input 0 has one of `types`; elsewhere an Unimplemented status.
inline ExportHook ExportFor(std::vector<DType> types, ExportHook hook) {
  return [types = std::move(types), hook = std::move(hook)](OnnxExport& out) -> absl::Status {
    DType dtype = out.node().inputs()[0].dtype();
    if (std::count(types.begin(), types.end(), dtype) > 0) return hook(out);
    return absl::UnimplementedError(
        absl::StrCat("ONNX's ", out.node().op().name, " does not take ", Name(dtype)));
  };
}

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_ONNX_TYPES_H_
