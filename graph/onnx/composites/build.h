// Builds compositions of operators during import, written like formulas.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_BUILD_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_BUILD_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// Applies operators. A function returns an empty result if it fails or if an operand is empty;
// status() keeps the first error. So a composition is written without checks, and the importer
// reads the status once, at the end.
class OnnxBuild {
 public:
  explicit OnnxBuild(OnnxImport& node) : node_(node) {}

  const absl::Status& status() const { return status_; }

  // Applies Lemma's operator `op`. Op returns its first output, Ops all outputs.
  Value Op(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {}) {
    std::vector<Value> outputs = Ops(op, std::move(inputs), std::move(attrs));
    return outputs.empty() ? Value() : outputs[0];
  }
  std::vector<Value> Ops(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {}) {
    for (const Value& input : inputs) {
      if (!input) return {};
    }
    return Take(node_.Ops(op, std::move(inputs), std::move(attrs)));
  }
  Value Input(int i) { return Take(node_.Input(i)); }
  Value Scalar(DType dtype, double value) { return Take(node_.Scalar(dtype, value)); }

  Value Add(const Value& a, const Value& b) { return Op("add", {a, b}); }
  Value Sub(const Value& a, const Value& b) { return Op("sub", {a, b}); }
  Value Mul(const Value& a, const Value& b) { return Op("mul", {a, b}); }
  Value Div(const Value& a, const Value& b) { return Op("div", {a, b}); }
  // The number becomes a scalar of the other operand's element type.
  Value Add(const Value& a, double b) { return a ? Add(a, Scalar(a.dtype(), b)) : a; }
  Value Mul(const Value& a, double b) { return a ? Mul(a, Scalar(a.dtype(), b)) : a; }
  Value Sub(double a, const Value& b) { return b ? Sub(Scalar(b.dtype(), a), b) : b; }

  Value Reshape(const Value& x, Shape shape) {
    if (!x || x.shape() == shape) return x;
    return Op("reshape", {x}, {{"shape", std::move(shape)}});
  }
  Value Transpose(const Value& x, std::vector<int64_t> perm) {
    return Op("transpose", {x}, {{"perm", std::move(perm)}});
  }
  Value Concat(std::vector<Value> parts, int64_t axis) {
    if (parts.size() == 1) return parts[0];
    return Op("concat", std::move(parts), {{"axis", axis}});
  }
  Value Cast(const Value& x, DType to) {
    if (!x || x.dtype() == to) return x;
    return Op("cast", {x}, {{"dtype", std::string(Name(to))}});
  }

  // The value of `result`, or an empty T if `result` is an error. status() keeps the first error.
  template <class T>
  T Take(absl::StatusOr<T> result) {
    if (result.ok()) return *std::move(result);
    if (status_.ok()) status_ = result.status();
    return T();
  }

 private:
  OnnxImport& node_;
  absl::Status status_;
};

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_BUILD_H_
