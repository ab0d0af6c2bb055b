#include "graph/onnx/functions/own_functions.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

// Writes the body of a function, one node for a call.
class Body {
 public:
  explicit Body(onnx::FunctionProto* function) : function_(*function) {}

  std::string Op(const std::string& type, const std::vector<std::string>& inputs,
                 std::string output = "") {
    onnx::NodeProto* node = Add(type, &output);
    for (const std::string& input : inputs) node->add_input(input);
    return output;
  }
  std::string Cast(const std::string& input, onnx::TensorProto::DataType to) {
    const std::string output = Op("Cast", {input});
    AddAttribute("to", onnx::AttributeProto::INT)->set_i(to);
    return output;
  }
  std::string Number(double value, onnx::TensorProto::DataType type) {
    std::string output;
    Add("Constant", &output);
    onnx::TensorProto* tensor = AddAttribute("value", onnx::AttributeProto::TENSOR)->mutable_t();
    tensor->set_data_type(type);
    if (type == onnx::TensorProto::DOUBLE) {
      tensor->add_double_data(value);
    } else {
      tensor->add_float_data(static_cast<float>(value));
    }
    return output;
  }

 private:
  onnx::NodeProto* Add(const std::string& type, std::string* output) {
    if (output->empty()) *output = absl::StrCat("v", function_.node_size());
    onnx::NodeProto* node = function_.add_node();
    node->set_op_type(type);
    node->add_output(*output);
    return node;
  }
  onnx::AttributeProto* AddAttribute(const std::string& name,
                                     onnx::AttributeProto::AttributeType type) {
    auto* attribute = function_.mutable_node(function_.node_size() - 1)->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  }

  onnx::FunctionProto& function_;
};

// y = x, rounded to 11 bits of significand, ties away from zero: what the operator round_tf32 means
// (graph/expr/scalar_functions.inc). In f64, n = x + 2^-40 x is no tie, and no number that is none
// passes a tie. Then n rounded to 53 - 42 bits is c - (c - n) with c = (2^42 + 1) n (Veltkamp;
// Boldo, "Pitfalls of a Full Floating-Point Proof", 2006). Below 2^-126, TF32 numbers are the
// multiples of 2^-136; adding 1.5 * 2^-84 in f64 rounds to these. Infinities would give NaN, and 0
// would lose its sign. (It does in ONNX Runtime, whose Where gives 0 for -0.)
void WriteRoundTf32(onnx::FunctionProto* function) {
  constexpr auto kDouble = onnx::TensorProto::DOUBLE, kFloat = onnx::TensorProto::FLOAT;
  function->set_doc_string("The nearest number of 11 bits, ties away from zero (TF32).");
  function->add_input("x");
  function->add_output("y");
  Body b(function);
  const std::string wide = b.Cast("x", kDouble);
  // Not as one product: ONNX Runtime removes factors that are 1 as f32.
  const std::string n = b.Op("Add", {wide, b.Op("Mul", {wide, b.Number(0x1p-40, kDouble)})});
  const std::string c = b.Op("Mul", {n, b.Number(0x1p42 + 1, kDouble)});
  const std::string normal = b.Op("Sub", {c, b.Op("Sub", {c, n})});
  const std::string shift = b.Number(1.5 * 0x1p-84, kDouble);
  const std::string magnitude = b.Op("Sub", {b.Op("Add", {b.Op("Abs", {n}), shift}), shift});
  const std::string tiny = b.Op("Mul", {magnitude, b.Op("Sign", {wide})});
  const std::string is_tiny = b.Op("Less", {b.Op("Abs", {wide}), b.Number(0x1p-126, kDouble)});
  const std::string rounded = b.Cast(b.Op("Where", {is_tiny, tiny, normal}), kFloat);
  const std::string stays =
      b.Op("Or", {b.Op("IsInf", {"x"}), b.Op("Equal", {"x", b.Number(0, kFloat)})});
  b.Op("Where", {stays, "x", rounded}, "y");
}

}  // namespace

std::optional<onnx::FunctionProto> OwnFunction(const std::string& name, int opset) {
  onnx::FunctionProto function;
  function.set_domain(kOwnDomain);
  function.set_name(name);
  function.add_opset_import()->set_version(opset);
  if (name == "RoundTf32") {
    WriteRoundTf32(&function);
    return function;
  }
  return std::nullopt;
}

bool IsOwnFunction(const onnx::FunctionProto& function) {
  if (function.domain() != kOwnDomain || function.opset_import_size() != 1) return false;
  const auto& opset = function.opset_import(0);
  if (!opset.domain().empty() || opset.version() < kFunctionOpset) return false;
  const auto own = OwnFunction(function.name(), static_cast<int>(opset.version()));
  return own && own->SerializeAsString() == function.SerializeAsString();
}

}  // namespace lemma
