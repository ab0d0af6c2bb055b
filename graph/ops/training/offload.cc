#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"

namespace lemma::ops {
namespace {

// y[i] = x[i]
absl::Status DefineOffload(OpContext& c) {
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) { return c.Read(0, i); });
  return absl::OkStatus();
}

// ONNX cannot say where values are stored.
absl::Status ExportOffload(OnnxExport& form) {
  form.Emit("Identity", {form.Input(0)}, {form.Output(0)});
  return absl::OkStatus();
}

}  // namespace

OpDef Make_offload() {
  OpDef op;
  op.name = "offload";
  op.group = "layout";
  op.equation = "y[i] = x[i]";
  op.doc =
      "x, kept in the host's memory if the device has memory of its own and only barriers read y; "
      "`barrier(y, after)` brings it back to the device. Otherwise y is x where it lies, and "
      "nothing is copied.";
  op.input_names = {"x"};
  op.min_inputs = 1;
  op.max_inputs = 1;
  op.define = DefineOffload;
  op.examples = {"(f32[2,3])", "(i64[4])"};
  op.gradient = [](GradientBuilder& f) {
    return std::vector<Value>{f.ResultGradient()};  // dx = dy
  };
  op.onnx_export = ExportOffload;
  return op;
}

}  // namespace lemma::ops
