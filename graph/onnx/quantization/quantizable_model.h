// Quantizes ONNX models: finds the operators that can be computed on integers or on floats of fewer
// bits, and writes the model with some of them quantized. The rest of the model stays as it is.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_QUANTIZABLE_MODEL_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_QUANTIZABLE_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "graph/onnx/import.h"
#include "graph/onnx/quantization/numbers.h"
#include "graph/tensor.h"

namespace lemma {

// The kind of an operator's computation, as far as its quantization depends on it.
enum class QuantizedRole {
  kProduct,     // sums of products: Conv, Gemm, MatMul
  kArithmetic,  // other operators, whose result has a range of its own, such as Add and Concat
  kSelection,   // moves or selects elements, so the result has the operand's range, as for MaxPool
};

// An operator of the main graph that can be quantized, together with its followers: nodes behind it
// that are quantized with it. A BatchNormalization with constant parameters behind a Conv becomes
// part of the Conv's weight. An Add of a constant for each channel behind a MatMul adds the
// MatMul's bias, and stays a node. A Relu or Clip behind an operator that is not a selection stays
// a node, too; the result is rounded behind this node, not before it.
struct QuantizableOp {
  std::string name;  // of the node, or of its result if the node has none
  std::string type;  // "Conv"
  QuantizedRole role = QuantizedRole::kProduct;
  // Its operands that are not constants; for a selection, the first operand only.
  std::vector<std::string> reads;
  std::string result;              // the result of the last follower, or of the operator itself
  std::vector<std::string> inner;  // results of the operator and of its followers; last: `result`
  std::string weight, bias;        // names of the constants; "": none
  int channel_axis = -1;           // the weight's axis of output channels; -1: one scale for all
  int position = 0;                // of the node in the graph
  int weight_operand = 1;          // the number of the operand that is the weight: 0 or 1
  std::vector<int> followers;      // positions of the followers in the graph
  // A bias of a MatMul: a constant that an Add, the first follower, adds to the channels. The name
  // of the constant, "" if there is none; and its number among the operands of the Add.
  std::string added_bias;
  int added_operand = 0;
};

// An operator that stays as it is, with the reason.
struct KeptOp {
  std::string name, type, reason;
};

// The form of the quantized operators.
enum class QuantizationForm {
  kStatic,   // QuantizeLinear and DequantizeLinear around each operator; the plan gives the ranges
  kDynamic,  // MatMulInteger, ConvInteger, with ranges that DynamicQuantizeLinear finds
  kWeights,  // only weights are stored as integers
  kFloats,   // products of operands that are rounded to a FloatFormat; sums and results in f32
};

struct QuantizationPlan {
  QuantizationForm form = QuantizationForm::kStatic;
  std::vector<bool> chosen;                   // whether each of operators() is quantized
  std::map<std::string, QuantParams> values;  // static form: by the name of each quantized value
  // Static form: numbers that are added to the channels of a product's bias, by the product's
  // QuantizableOp::result. Only for products for which BiasedValue is not "".
  std::map<std::string, std::vector<double>> bias_shifts;
  WeightOptions weights;                          // of the forms with integers
  FloatFormat float_format = FloatFormat::kBf16;  // form kFloats
};

// The constants of a product, before and after rounding. A BatchNormalization behind the product is
// folded into them.
struct ProductWeights {
  Shape shape;                         // of the weight
  std::vector<double> weight, bias;    // as floats, before rounding; no bias: empty
  std::vector<float> rounded;          // the weight's elements after rounding
  QuantizedWeight quantized;           // empty in the form kFloats
  std::vector<int32_t> bias_integers;  // by channel; empty: the bias stays in floats
  std::vector<double> bias_scales;     // by channel, or one for all
  // A channel's bias is a sum of terms. bias_magnitude is an upper bound, for all channels, of the
  // sum of the absolute values of these terms.
  double bias_magnitude = 0;

  // An upper bound of the absolute difference between the exact and the rounded bias, in any
  // channel.
  double bias_error() const;
};

class QuantizedModel;
struct RescaledModel;
class ChannelScales;

// An ONNX model, with the list of its operators that can be quantized.
class QuantizableModel {
 public:
  // Reads the file without importing it. Errors are as in ImportOnnx and begin with the path; also
  // InvalidArgument if the model already has quantized operators.
  static absl::StatusOr<QuantizableModel> Read(const std::string& path);

  const std::string& path() const;
  // The total size, in bytes, of the model's file and of the files with its constants. An error if
  // the size of a file cannot be read.
  absl::StatusOr<int64_t> BytesOnDisk() const;
  // In the order of the graph. The functions below take an operator's number: its position in
  // operators(), from 0.
  const std::vector<QuantizableOp>& operators() const;
  const std::vector<KeptOp>& kept() const;
  // Names of all nodes of the main graph.
  std::vector<std::string> NodeNames() const;
  // How many nodes of the main graph, other than constants, are of each type of operator.
  std::map<std::string, int> CountTypes() const;
  // A chain of up to four values behind the result of operator number `op`. Each is the only result
  // of the only node that reads the value before it; the first of these nodes reads the operator's
  // result. An engine may fuse these nodes with the operator.
  std::vector<std::string> ValuesAfter(int op) const;
  // The types of the followers of operator number `op`.
  std::vector<std::string> TypesWith(int op) const;

  // Imports the model with these values as further outputs, after its own outputs and in this
  // order. A value that is an output already is not repeated.
  absl::StatusOr<ImportedModel> Import(const std::vector<std::string>& values,
                                       const ImportOptions& options) const;

  // Imports the inputs alone: the imported graph has no operators, and its outputs are its inputs.
  absl::StatusOr<ImportedModel> ImportInputs(const ImportOptions& options) const;

  // The reason why operator number `op` cannot be quantized in the plan's form, such as "its weight
  // is not a matrix"; "" if it can.
  std::string ProblemOf(int op, const QuantizationPlan& plan) const;

  // Removes from `chosen` the operators that cannot be quantized together with the rest, and
  // returns the rest. A product always stays. An arithmetic operator stays if operators that stay
  // write all its operands as integers. A selection stays if, in addition, an operator that stays
  // reads its result.
  std::vector<bool> Settled(std::vector<bool> chosen) const;
  // The values that need parameters if these operators are quantized in the static form.
  std::set<std::string> ValuesOf(const std::vector<bool>& chosen) const;

  // The values of ValuesOf(chosen) that the chosen operators write as integers. Gemm and MatMul
  // write floats.
  std::set<std::string> WrittenBy(const std::vector<bool>& chosen) const;

  // The constants of operator number `op`, rounded as the plan says. In the static form, the bias
  // is rounded too, to multiples of the operand's scale times the weight's scale, except where it
  // stays in floats (WriteStaticForm in static_form.h). Empty if the operator has no constant
  // weight; InvalidArgument if a constant is not finite.
  absl::StatusOr<ProductWeights> WeightsOf(int op, const QuantizationPlan& plan) const;

  // The value of operator number `op` to whose channels a bias is or can be added: its result
  // behind a BatchNormalization, if any, and before a Relu or Clip. Channels are along axis 1 of a
  // Conv's result, otherwise along the last axis. "" if the operator is no product with a constant
  // weight as right operand, or can get no bias.
  std::string BiasedValue(int op) const;

  // A model of the product number `op` alone, without its bias and its followers. Its inputs are
  // the product's operands 0 and 1, with these types.
  absl::StatusOr<ImportedModel> ImportProduct(int op, const TensorType& left,
                                              const TensorType& right) const;
  // An upper bound of the absolute error of the result of operator number `op` before the result is
  // rounded. Errors of float arithmetic are not counted. `magnitudes` and `errors` have one entry
  // for each value in QuantizableOp::reads: upper bounds of its absolute value and of its absolute
  // error. `weights`: for a product, the result of WeightsOf. `terms`: for a product without a
  // constant weight, the number of products in each sum. nullopt if no bound is known for the
  // operator.
  std::optional<double> ErrorBound(int op, const std::vector<double>& magnitudes,
                                   const std::vector<double>& errors, const ProductWeights& weights,
                                   int64_t terms) const;
  // For operator number `op`, which must be a product: each element of the result is a sum of
  // products, plus the bias. Returns an upper bound of the sum of these products' absolute values,
  // with rounded weights. Arguments as in ErrorBound.
  double LargestSum(int op, const std::vector<double>& magnitudes, const ProductWeights& weights,
                    int64_t terms) const;

  // Equalized and Smoothed move powers of two, one for each channel, from the constants that make a
  // value to the weights of the products that read it. Over the real numbers the model computes the
  // same. In f32 it computes the same bits unless a value that it computes between these constants
  // and these products overflows or becomes subnormal. allowed[i]: whether the constants of
  // operators()[i] may change. operators() of the result are the same, with the same numbers.

  // Cross-layer equalization (Nagel et al., "Data-Free Quantization Through Weight Equalization and
  // Bias Correction", 2019) of pairs of products, where the result of the first reaches only the
  // second: the ranges of both weights become as similar in each channel as powers of two allow.
  absl::StatusOr<RescaledModel> Equalized(const std::vector<bool>& allowed) const;
  // The values that can be smoothed, with the size of their last axis, whose elements are channels.
  std::map<std::string, int64_t> SmoothableValues(const std::vector<bool>& allowed) const;
  // SmoothQuant (Xiao et al., 2023): divides channel j of a value x by the power of two that is
  // nearest to max|x_j|^alpha / max|w_j|^(1 - alpha), where w_j are the weights that multiply x_j.
  // `largest`: by value, max|x_j| of each channel; values without an entry stay as they are.
  absl::StatusOr<RescaledModel> Smoothed(
      const std::vector<bool>& allowed, double alpha,
      const std::map<std::string, std::vector<double>>& largest) const;

  // The model with the chosen operators quantized. `plan.chosen` must be a result of Settled.
  // InvalidArgument if the form needs a later operator set and the model cannot be raised to it, or
  // if a constant is not finite.
  absl::StatusOr<QuantizedModel> Quantize(const QuantizationPlan& plan) const;

  struct Impl;
  // Only for graph/onnx/quantization.
  explicit QuantizableModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  // Writes changed constants.
  absl::StatusOr<RescaledModel> WithScales(const ChannelScales& scales) const;
  std::shared_ptr<const Impl> impl_;
};

// The result of Equalized or Smoothed.
struct RescaledModel {
  QuantizableModel model;
  int64_t values = 0;              // how many values were scaled
  int64_t channels = 0;            // how many channels of these values were scaled
  std::vector<std::string> notes;  // further changes to the model, one line each
};

// The result of QuantizableModel::Quantize.
class QuantizedModel {
 public:
  // Imports the model with these values as further outputs, as QuantizableModel::Import does.
  // Values keep their names; the name of a quantized value stands for its floats, not for its
  // integers.
  absl::StatusOr<ImportedModel> Import(const std::vector<std::string>& values,
                                       const ImportOptions& options) const;
  // Stages the model as the file `path`. If it is too large for one file, also stages its
  // constants, as the file DataPath(path), which is then the first staged file. Commit the files
  // with CommitAll (base/file.h).
  absl::StatusOr<std::vector<StagedFile>> Stage(const std::string& path) const;
  static std::string DataPath(const std::string& path);
  // Further changes to the model, such as a later operator set, one line each.
  const std::vector<std::string>& notes() const;

  struct Impl;
  explicit QuantizedModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_QUANTIZABLE_MODEL_H_
