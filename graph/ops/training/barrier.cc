#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"

namespace lemma::ops {
namespace {

// y[i] = x[i]
absl::Status DefineBarrier(OpContext& c) {
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) { return c.Read(0, i); });
  return absl::OkStatus();
}

// ONNX has no order except that of operands, so the barrier's effect is lost.
absl::Status ExportBarrier(OnnxExport& form) {
  form.Emit("Identity", {form.Input(0)}, {form.Output(0)});
  return absl::OkStatus();
}

}  // namespace

OpDef Make_barrier() {
  OpDef op;
  op.name = "barrier";
  op.group = "layout";
  op.equation = "y[i] = x[i]";
  op.doc =
      "x, available only after `after` has been computed. A value that is computed from y is not "
      "merged with an equal value computed from x. So values can be dropped and computed again to "
      "save memory.";
  op.input_names = {"x", "after"};
  op.min_inputs = 2;
  op.max_inputs = 2;
  op.define = DefineBarrier;
  op.examples = {"(f32[2,3], f32[4])", "(i64[2], f32[])"};
  op.gradient = [](GradientBuilder& f) {
    return std::vector<Value>{f.ResultGradient(), Value()};  // dx = dy
  };
  op.onnx_export = ExportBarrier;
  return op;
}

}  // namespace lemma::ops
