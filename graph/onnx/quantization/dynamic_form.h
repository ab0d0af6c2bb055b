// Writes the dynamic form: products are computed on integers, and the model computes the scales of
// the operands in each run. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_DYNAMIC_FORM_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_DYNAMIC_FORM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// Replaces each chosen product of x and a weight by
//   y = cast(MatMulInteger(q, w, z)) · (s · s_w) + bias, (q, s, z) = DynamicQuantizeLinear(x)
// or the same with ConvInteger. Here w are the weight's integers, s_w their scales, q the integers
// that stand for x, s their scale and z their zero point. If the weight's integers are u8, their
// zero point is a fourth operand. `notes` receives the lines of QuantizedModel::notes.
absl::Status WriteDynamicForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                              ModelEditor* editor, std::vector<std::string>* notes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_DYNAMIC_FORM_H_
