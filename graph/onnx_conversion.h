// The interfaces that operators' functions for ONNX import and export use (OpDef::onnx_import and
// OpDef::onnx_export). They hide ONNX's own protobuf classes.
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

// The value of an ONNX attribute. Floats are widened to double.
using OnnxAttr = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                              std::vector<double>, std::vector<std::string>, Tensor>;

// One ONNX node during import. An import function (OnnxImporter) need not name the node in its
// errors: its caller adds the name.
class OnnxImport {
 public:
  virtual ~OnnxImport() = default;

  virtual absl::string_view op_type() const = 0;  // without a domain
  // The version of ONNX's default operator set in which the node is written.
  virtual int opset() const = 0;
  virtual int num_inputs() const = 0;   // one more than the position of the last present input
  virtual int num_outputs() const = 0;  // one more than the position of the last used output
  // The number of the outputs that the node names, used or not. ONNX's Split makes this many parts.
  virtual int num_named_outputs() const { return num_outputs(); }
  // False if optional input `i` is absent.
  virtual bool HasInput(int i) const = 0;
  // The number of channels in a block of the layout NCHWc. It depends on the processor for which
  // the model was saved.
  virtual int64_t channel_block() const { return 16; }
  // InvalidArgument if the input is absent.
  virtual absl::StatusOr<Value> Input(int i) = 0;
  // The input's values if they are known at import: from an initializer, or from shape arithmetic
  // that can be computed. If the operator uses them as sizes, an element may be a symbolic size
  // (graph/sizes/symbolic_size.h). InvalidArgument if the input is absent; Unimplemented
  // ("unsupported: OP (input i 'name' must be a constant)") if its values are not known.
  virtual absl::StatusOr<Tensor> ConstantInput(int i) = 0;
  // The same, but takes neither given values nor default values of the graph's inputs. For
  // operators that can also be imported without the constant: the graph is then right for other
  // values of the input too.
  virtual absl::StatusOr<Tensor> OwnConstantInput(int i) = 0;

  // Whether `size` is known to be at least `least`. If `size` is symbolic and this is not known,
  // and the import of the node then fails, ImportOnnx may import the model again with longer
  // dimensions (ImportOptions::fixes_sizes). `meaning`: what the node is at shorter sizes: invalid,
  // or something else.
  enum class ShorterMeans { kAnError, kSomethingElse };
  virtual bool IsAtLeast(int64_t size, int64_t least, ShorterMeans meaning) = 0;

  // The attribute, which the node owns; nullptr if there is none.
  virtual const OnnxAttr* FindAttr(absl::string_view name) const = 0;
  // The attribute, or `fallback` if the node does not have it. InvalidArgument if it is of another
  // kind, or absent without a fallback.
  absl::StatusOr<int64_t> Int(absl::string_view name, std::optional<int64_t> fallback = {}) const;
  absl::StatusOr<double> Float(absl::string_view name, std::optional<double> fallback = {}) const;
  absl::StatusOr<std::string> String(absl::string_view name,
                                     std::optional<std::string> fallback = {}) const;
  absl::StatusOr<std::vector<int64_t>> Ints(
      absl::string_view name, std::optional<std::vector<int64_t>> fallback = {}) const;
  absl::StatusOr<std::vector<double>> Floats(
      absl::string_view name, std::optional<std::vector<double>> fallback = {}) const;

  // Apply the operator `op` of Lemma. Op returns the first output, Ops returns all outputs.
  absl::StatusOr<Value> Op(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {});
  absl::StatusOr<std::vector<Value>> Ops(absl::string_view op, std::vector<Value> inputs,
                                         Attrs attrs = {});
  Value Constant(Tensor tensor);
  // A constant of rank 0.
  absl::StatusOr<Value> Scalar(DType dtype, double value);

  // The error for a node that Lemma's operators cannot express: Unimplemented, "unsupported: OP
  // (reason)".
  absl::Status Unsupported(absl::string_view reason) const;

 protected:
  // Applies an operator by its name, as ApplyOp does (graph/builder.h).
  virtual absl::StatusOr<std::vector<Value>> Build(absl::string_view op, std::vector<Value> inputs,
                                                   Attrs attrs) = 0;
};

// One Lemma node during export. Emit adds nodes of operator set 17 (kExportOpset); the exporter
// converts them if the model needs another one (graph/onnx/opsets/version_converter.h).
class OnnxExport {
 public:
  virtual ~OnnxExport() = default;

  virtual const Node& node() const = 0;  // the node to export
  // The names of the node's operands and results in the exported model; "" for an absent operand.
  virtual std::string Input(int i) = 0;
  virtual std::string Output(int i) = 0;
  // A fresh name for an intermediate value.
  virtual std::string Temporary() = 0;
  // The name of an initializer with these values.
  virtual std::string Constant(Tensor tensor) = 0;
  // Adds an ONNX node. `op_type` may begin with a domain: "com.microsoft.Gelu". `inputs` and
  // `outputs` are names that the functions above returned; "" stands for an absent one. The
  // exporter reports attributes that ONNX cannot hold.
  virtual void Emit(absl::string_view op_type, std::vector<std::string> inputs,
                    std::vector<std::string> outputs,
                    std::vector<std::pair<std::string, OnnxAttr>> attrs = {}) = 0;
};

// Make the import and the export of an operator that equals the ONNX operator `op_type`, except for
// attribute names. `attrs` gives pairs of names (Lemma's, ONNX's); other attributes are not
// converted. An attribute that the ONNX node lacks gets Lemma's default, which must equal ONNX's.
using AttrNames = std::vector<std::pair<std::string, std::string>>;
OnnxImporter ImportAs(std::string op_type, std::string our_op, AttrNames attrs = {});
std::function<absl::Status(OnnxExport&)> ExportAs(std::string op_type, AttrNames attrs = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_CONVERSION_H_
