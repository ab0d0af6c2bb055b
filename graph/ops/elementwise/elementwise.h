// Builds the table entries of element-wise operators, and parts of them.
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

// The element types that an operator takes. kNumber: all types but bool. RequireDType returns
// InvalidArgument if input number `input` has a type that is not in `accepts`.
enum class Accepts { kFloat, kNumber, kBool, kAny };
absl::Status RequireDType(OpContext& c, int input, Accepts accepts);

using UnaryBody = std::function<ScalarExpr(const OpContext&, const ScalarExpr&)>;
using BinaryBody =
    std::function<ScalarExpr(const OpContext&, const ScalarExpr&, const ScalarExpr&)>;
// The bodies that apply `fn` to the elements.
inline UnaryBody ByFn(ScalarFn fn) {
  return [fn](const OpContext&, const ScalarExpr& x) { return Apply(fn, x); };
}
inline BinaryBody ByFn2(ScalarFn fn) {
  return
      [fn](const OpContext&, const ScalarExpr& a, const ScalarExpr& b) { return Apply(fn, a, b); };
}

// 1 if a < b, else 0.
inline ScalarExpr Less(const ScalarExpr& a, const ScalarExpr& b) {
  return Apply(ScalarFn::kLess, a, b);
}

// The operator y[i…] = f(x[i…]). `equation`: this formula in the generated documentation.
// `onnx_type`: the ONNX operator to import from and export to; "": none.
OpDef Unary(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
            UnaryBody f);
// The same with a result of type bool, and without a gradient.
OpDef UnaryTest(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
                UnaryBody f);

// The operator y[i…] = f(a[i…], b[i…]). Both operands have one element type; shapes broadcast.
// BinaryTest: the same with a result of type bool, and without a gradient.
OpDef Binary(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
             BinaryBody f);
OpDef BinaryTest(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
                 BinaryBody f);

// A float attribute that a rule may leave symbolic.
AttrSpec Real(std::string name, std::optional<double> default_value, std::string doc);

// Sets the ONNX import and export of `op`, whose name must be set, to the ONNX operator
// `onnx_type`. `attrs` has the names of all attributes, as for ImportAs.
void NameInOnnx(OpDef& op, std::string onnx_type, AttrNames attrs);

// `export_node` must emit the ONNX operator `onnx_type`. Returns a hook that emits the same
// operator. If `onnx_type` does not take the node's element type (bf16 for some operators; bf16 and
// f16 for Celu), the hook emits it in f32, between casts. The hook returns Unimplemented for a Celu
// of f64.
ExportHook ForFloats(const std::string& onnx_type, ExportHook export_node);

// The importer of a variadic ONNX operator that becomes a chain of applications of the binary
// operator `our_op`. Chain builds only the chain, for use in other importers.
OnnxImporter ImportChain(std::string onnx_type, std::string our_op);
absl::StatusOr<Value> Chain(OnnxImport& node, absl::string_view our_op);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_H_
