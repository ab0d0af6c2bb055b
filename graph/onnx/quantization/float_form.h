// Writes the form kFloats: products read operands that are rounded to floats of fewer bits.
// Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_FLOAT_FORM_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_FLOAT_FORM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// Weights become constants of the plan's 16-bit type, each with a Cast to f32. Each value that
// chosen products read gets a Cast to the 16-bit type and a Cast back; only chosen products read
// the second Cast. The products themselves, their biases and their results stay in f32. With kTf32,
// weights become rounded constants in f32, and the function RoundTf32 (own_functions.h) takes the
// place of the casts. RoundTf32 also stands between each constant and its product: so a program
// that reads the file knows that the weight is rounded, without looking at its elements. `notes`
// receives the lines of QuantizedModel::notes.
absl::Status WriteFloatForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                            ModelEditor* editor, std::vector<std::string>* notes);

// As QuantizableModel::ProblemOf for the form kFloats.
std::string FloatProblem(const ModelIndex& index, const QuantizableOp& op,
                         const QuantizationPlan& plan);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_FLOAT_FORM_H_
