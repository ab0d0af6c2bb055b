// ONNX models whose operators can be computed on integers: finds these operators, and writes the
// model with some of them quantized. Everything else of the model stays as it is.
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

// What an operator does to the integers.
enum class QuantizedRole {
  kProduct,     // sums of products: Conv, Gemm, MatMul
  kArithmetic,  // other arithmetic, whose result has a range of its own: Add, AveragePool, Concat
  kSelection,   // moves or selects elements, so that the result has the operand's range: MaxPool
};

// An operator of the main graph that can be quantized. A product includes what follows it and is
// computed with it: a BatchNormalization of constants becomes part of the weight, and the
// activations Relu and Clip part of the rounding.
struct QuantizableOp {
  std::string name;  // of the node, or of its result if the node has none
  std::string type;  // "Conv"
  QuantizedRole role = QuantizedRole::kProduct;
  std::vector<std::string> reads;  // its operands that are no constants
  std::string result;              // after what is computed with it
  std::vector<std::string> inner;  // results on the way, from the operator's own on
  std::string weight, bias;        // constants; "": none
  int channel_axis = -1;           // of the weight, that of the output's channels
  int position = 0;                // of the node in the graph
  int weight_operand = 1;          // of a product of an operand and a weight
  std::vector<int> followers;      // positions of the nodes that are computed with it
};

// An operator that stays as it is, with the reason.
struct KeptOp {
  std::string name, type, reason;
};

// The form of the quantized operators.
enum class QuantizationForm {
  kStatic,   // QuantizeLinear and DequantizeLinear around them, with ranges known before
  kDynamic,  // MatMulInteger, ConvInteger, with ranges that DynamicQuantizeLinear finds
  kWeights,  // only weights are stored as integers
};

struct QuantizationPlan {
  QuantizationForm form = QuantizationForm::kStatic;
  std::vector<bool> chosen;                   // by operator
  std::map<std::string, QuantParams> values;  // of each quantized value, by its name
  WeightOptions weights;
};

// The constants of a product, as floats (with BatchNormalization and before rounding) and rounded.
struct ProductWeights {
  Shape shape;
  std::vector<double> weight, bias;  // no bias: empty
  QuantizedWeight quantized;
  std::vector<int32_t> bias_integers;
  std::vector<double> bias_scales;
  // The largest sum of the magnitudes of the terms that make a channel's bias.
  double bias_magnitude = 0;

  // The largest difference of a bias from the one that is used, relative to exact arithmetic.
  double bias_error() const;
};

class QuantizedModel;

class QuantizableModel {
 public:
  // Errors begin with the path: as in ImportOnnx, but nothing is imported yet. InvalidArgument if
  // the model already has quantized operators.
  static absl::StatusOr<QuantizableModel> Read(const std::string& path);

  const std::string& path() const;
  // In the order of the graph.
  const std::vector<QuantizableOp>& operators() const;
  const std::vector<KeptOp>& kept() const;
  // Names of all nodes of the main graph.
  std::vector<std::string> NodeNames() const;
  // How many nodes of the main graph, other than constants, are of each type of operator.
  std::map<std::string, int> CountTypes() const;
  // The values that follow from the result of operator number `op` alone, one after another, up to
  // four: an engine may compute them with it.
  std::vector<std::string> ValuesAfter(int op) const;
  // The types of the nodes that are computed with operator number `op`.
  std::vector<std::string> TypesWith(int op) const;

  // Imports the model with these values as outputs, after its own outputs and in this order; those
  // that are its outputs already are not repeated.
  absl::StatusOr<ImportedModel> Import(const std::vector<std::string>& values,
                                       const ImportOptions& options) const;

  // Why the form of the plan has no place for operator number `op`; "" if it has.
  std::string ProblemOf(int op, const QuantizationPlan& plan) const;

  // What of `chosen` can be quantized together: without those operators, other than products, of
  // which an operand is not the result of a quantized operator, and without selections of which no
  // quantized operator reads the result.
  std::vector<bool> Settled(std::vector<bool> chosen) const;
  // The values that need parameters if these operators are quantized in the static form.
  std::set<std::string> ValuesOf(const std::vector<bool>& chosen) const;

  // Those of them that are results of quantized operators, and become integers behind them.
  std::set<std::string> WrittenBy(const std::vector<bool>& chosen) const;

  // The constants of operator number `op`, rounded as the plan says. Of a static plan, the bias
  // is rounded too, to steps of the product of both scales.
  absl::StatusOr<ProductWeights> WeightsOf(int op, const QuantizationPlan& plan) const;

  // The product number `op` alone, as a model of its two operands with these types, without what is
  // computed with it.
  absl::StatusOr<ImportedModel> ImportProduct(int op, const TensorType& left,
                                              const TensorType& right) const;
  // How far the result of operator number `op` can be from the exact one if its operands, of at
  // most these magnitudes, are off by at most these errors: in real numbers, before the result is
  // rounded. `weights` are those of a product, `terms` the number of products in a sum of a product
  // of two operands. nullopt if nothing is known of the operator.
  std::optional<double> ErrorBound(int op, const std::vector<double>& magnitudes,
                                   const std::vector<double>& errors, const ProductWeights& weights,
                                   int64_t terms) const;
  // The largest sum of magnitudes that product number `op` computes with the rounded weights.
  double LargestSum(int op, const std::vector<double>& magnitudes, const ProductWeights& weights,
                    int64_t terms) const;

  // The model with the chosen operators quantized. `plan.chosen` must be settled. InvalidArgument
  // if the model's operator set lacks what is needed and cannot be raised.
  absl::StatusOr<QuantizedModel> Quantize(const QuantizationPlan& plan) const;

  struct Impl;

 private:
  explicit QuantizableModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

class QuantizedModel {
 public:
  // Imports the model with these values as outputs too, as QuantizableModel::Import does. Values
  // keep their names: that of a quantized value is the name of the floats that it stands for.
  absl::StatusOr<ImportedModel> Import(const std::vector<std::string>& values,
                                       const ImportOptions& options) const;
  // Stages the model at `path` and, if its constants are too large for one file, the constants at
  // `path`.data; commit both with CommitAll.
  absl::StatusOr<std::vector<StagedFile>> Stage(const std::string& path) const;
  // How the model had to change otherwise, one line each.
  const std::vector<std::string>& notes() const;

  struct Impl;
  explicit QuantizedModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_QUANTIZABLE_MODEL_H_
