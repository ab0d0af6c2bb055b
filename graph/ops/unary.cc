#include "graph/onnx_form.h"
#include "graph/op_def.h"

namespace lemma::ops {
namespace {

using Elementwise = std::function<ScalarExpr(const ScalarExpr&)>;

// y[i…] = f(x[i…]).
OpDef Unary(std::string name, std::string equation, std::string onnx_type, Elementwise f) {
  OpDef op;
  op.name = name;
  op.group = "element-wise";
  op.equation = std::move(equation);
  op.input_names = {"x"};
  op.define = [f](OpContext& c) {
    c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) { return f(c.Read(0, i)); });
    return absl::OkStatus();
  };
  op.examples = {"(f32[2,3])", "(f32[])"};
  op.onnx_import = {ImportAs(onnx_type, name)};
  op.onnx_export = ExportAs(onnx_type);
  return op;
}

}  // namespace

OpDef Make_relu() {
  return Unary("relu", "y = max(x, 0)", "Relu",
               [](const ScalarExpr& x) { return Apply(ScalarFn::kMax, x, 0); });
}

}  // namespace lemma::ops
