// The interface that an operator's ONNX import and export are written against. It hides ONNX's own
// message classes.
#ifndef LEMMA_GRAPH_ONNX_CONVERSION_H_
#define LEMMA_GRAPH_ONNX_CONVERSION_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

using OnnxAttr = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                              std::vector<double>, std::vector<std::string>, Tensor>;

// One ONNX node during import. Errors name the node, so hooks only say what is wrong with it.
class OnnxImport {
 public:
  virtual ~OnnxImport() = default;

  virtual absl::string_view op_type() const = 0;
  // The version of the default operator set that the model was written for.
  virtual int opset() const = 0;
  virtual int num_inputs() const = 0;   // positions, including absent ones
  virtual int num_outputs() const = 0;  // outputs that may be used
  // Outputs that the node names, used or not. Split makes this many parts.
  virtual int num_named_outputs() const { return num_outputs(); }
  virtual bool HasInput(int i) const = 0;
  // The channels in a block of the layout NCHWc, which depends on the processor that a model was
  // saved for.
  virtual int64_t channel_block() const { return 16; }
  // Fails if the input is absent.
  virtual absl::StatusOr<Value> Input(int i) = 0;
  // The input's values if they are known at import: an initializer, or shape arithmetic that folds.
  // Otherwise an Unimplemented status: "input i (name) must be a constant".
  virtual absl::StatusOr<Tensor> ConstantInput(int i) = 0;

  // nullptr if the node does not have the attribute.
  virtual const OnnxAttr* FindAttr(absl::string_view name) const = 0;
  absl::StatusOr<int64_t> Int(absl::string_view name, std::optional<int64_t> fallback = {}) const;
  absl::StatusOr<double> Float(absl::string_view name, std::optional<double> fallback = {}) const;
  absl::StatusOr<std::string> String(absl::string_view name,
                                     std::optional<std::string> fallback = {}) const;
  absl::StatusOr<std::vector<int64_t>> Ints(
      absl::string_view name, std::optional<std::vector<int64_t>> fallback = {}) const;
  absl::StatusOr<std::vector<double>> Floats(
      absl::string_view name, std::optional<std::vector<double>> fallback = {}) const;

  // Applies Lemma's operators.
  absl::StatusOr<Value> Op(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {});
  absl::StatusOr<std::vector<Value>> Ops(absl::string_view op, std::vector<Value> inputs,
                                         Attrs attrs = {});
  Value Constant(Tensor tensor);
  absl::StatusOr<Value> Scalar(DType dtype, double value);

  // The error for a node that Lemma's operator cannot express: "unsupported: OP (reason)".
  absl::Status Unsupported(absl::string_view reason) const;

 protected:
  // Builds graphs by operator name, so that this header does not need the operator table.
  virtual absl::StatusOr<std::vector<Value>> Build(absl::string_view op, std::vector<Value> inputs,
                                                   Attrs attrs) = 0;
};

// One Lemma node during export to operator set 17.
class OnnxExport {
 public:
  virtual ~OnnxExport() = default;

  virtual const Node& node() const = 0;
  // Names of values in the exported model; "" is an absent optional input.
  virtual std::string Input(int i) = 0;
  virtual std::string Output(int i) = 0;
  // A fresh name for an intermediate value.
  virtual std::string Temporary() = 0;
  // The name of an initializer with these values.
  virtual std::string Constant(Tensor tensor) = 0;
  virtual void Emit(absl::string_view op_type, std::vector<std::string> inputs,
                    std::vector<std::string> outputs,
                    std::vector<std::pair<std::string, OnnxAttr>> attrs = {}) = 0;
};

// Hooks for an operator that equals the ONNX operator `op_type`, except for attribute names. The
// list maps names (Lemma's, ONNX's).
using AttrNames = std::vector<std::pair<std::string, std::string>>;
OnnxImporter ImportAs(std::string op_type, std::string our_op, AttrNames attrs = {});
std::function<absl::Status(OnnxExport&)> ExportAs(std::string op_type, AttrNames attrs = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_CONVERSION_H_
