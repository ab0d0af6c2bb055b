// Builders for element-wise operators, so that each is one line of definition.
#ifndef LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_H_
#define LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"

namespace lemma::ops {

// The element types that an operator takes; kNumber is every type but bool.
enum class Accepts { kFloat, kNumber, kBool, kAny };
// Requires that input number `input` has such an element type.
absl::Status RequireDType(OpContext& c, int input, Accepts accepts);

// The result's element as an expression of the operands' elements.
using UnaryBody = std::function<ScalarExpr(const OpContext&, const ScalarExpr&)>;
using BinaryBody =
    std::function<ScalarExpr(const OpContext&, const ScalarExpr&, const ScalarExpr&)>;
// The scalar function applied to the elements.
inline UnaryBody ByFn(ScalarFn fn) {
  return [fn](const OpContext&, const ScalarExpr& x) { return Apply(fn, x); };
}
inline BinaryBody ByFn2(ScalarFn fn) {
  return
      [fn](const OpContext&, const ScalarExpr& a, const ScalarExpr& b) { return Apply(fn, a, b); };
}

// y[i…] = f(x[i…]), of x's type, with ElementwiseGradient. `onnx_type` is the ONNX operator that it
// is imported from and exported to; empty: neither.
OpDef Unary(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
            UnaryBody f);
// The same with a result of element type bool and without a gradient.
OpDef UnaryTest(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
                UnaryBody f);

// y[i…] = f(a[i…], b[i…]), likewise. Operands must have one element type; shapes broadcast.
OpDef Binary(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
             BinaryBody f);
OpDef BinaryTest(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
                 BinaryBody f);

// A float attribute that a rule may leave symbolic.
AttrSpec Real(std::string name, std::optional<double> default_value, std::string doc);

// Lets `op` be imported from and exported to the ONNX operator `onnx_type`. `attrs` has the pair
// (Lemma's name, ONNX's name) of each attribute.
void NameInOnnx(OpDef& op, std::string onnx_type, AttrNames attrs);

// Returns a hook that calls `export_node`, which emits the ONNX operator `onnx_type`. If that does
// not take the element type (bf16, or f16 for Celu), it casts operand and result through f32.
ExportHook ForFloats(const std::string& onnx_type, ExportHook export_node);

// Imports a variadic ONNX operator as a chain our_op(our_op(x0, x1), x2)… of a binary operator.
// ImportChain makes the importer; Chain builds the chain from the inputs of `node`.
OnnxImporter ImportChain(std::string onnx_type, std::string our_op);
absl::StatusOr<Value> Chain(OnnxImport& node, absl::string_view our_op);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_H_
