#include "graph/ops/elementwise/elementwise.h"

#include <set>

#include "graph/onnx/composites/types.h"
#include "graph/ops/broadcast.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise/elementwise_gradient.h"

namespace lemma::ops {
namespace {

const char* Describe(Accepts accepts) {
  switch (accepts) {
    case Accepts::kFloat:
      return "f32, f64, f16 or bf16";
    case Accepts::kNumber:
      return "a number";
    case Accepts::kBool:
      return "bool";
    case Accepts::kAny:
      return "anything";
  }
  return "?";
}

bool Fits(DType dtype, Accepts accepts) {
  switch (accepts) {
    case Accepts::kFloat:
      return IsFloat(dtype);
    case Accepts::kNumber:
      return dtype != DType::kBool;
    case Accepts::kBool:
      return dtype == DType::kBool;
    case Accepts::kAny:
      return true;
  }
  return false;
}

std::vector<std::string> Examples(Accepts accepts, bool binary) {
  std::vector<std::string> types;
  if (accepts == Accepts::kFloat || accepts == Accepts::kNumber) types.push_back("f32");
  if (accepts == Accepts::kNumber || accepts == Accepts::kAny) types.push_back("i64");
  if (accepts == Accepts::kBool) types.push_back("bool");
  if (accepts == Accepts::kAny) types.push_back("f32");
  std::vector<std::string> examples;
  auto add = [&](const std::string& t, std::string a, std::string b) {
    examples.push_back(binary ? absl::StrCat("(", t, a, ", ", t, b, ")")
                              : absl::StrCat("(", t, a, ")"));
  };
  for (const std::string& t : types) add(t, "[2,3]", "[2,3]");
  add(types[0], "[]", "[]");
  if (!binary) {
    add(types[0], "[0,2]", "");
    return examples;
  }
  add(types[0], "[2,3]", "[3]");
  add(types[0], "[2,1]", "[4,1,3]");
  add(types[0], "[]", "[3]");
  add(types[0], "[1]", "[0]");
  return examples;
}

OpDef Elementwise(std::string name, std::string equation, std::string onnx_type) {
  OpDef op;
  op.group = "element-wise";
  op.equation = std::move(equation);
  if (!onnx_type.empty()) {
    op.onnx_import = {ImportAs(onnx_type, name)};
    op.onnx_export = ForFloats(onnx_type, ExportAs(onnx_type));
  }
  op.name = std::move(name);
  return op;
}

OpDef MakeUnary(OpDef op, Accepts accepts, bool test, UnaryBody f) {
  op.input_names = {"x"};
  op.define = [=](OpContext& c) -> absl::Status {
    LEMMA_RETURN_IF_ERROR(RequireDType(c, 0, accepts));
    c.Output(test ? DType::kBool : c.dtype(0), c.dims(0),
             [&](const Idx& i) { return f(c, c.Read(0, i)); });
    return absl::OkStatus();
  };
  op.examples = Examples(accepts, false);
  if (!test) op.gradient = ElementwiseGradient;
  return op;
}

OpDef MakeBinary(OpDef op, Accepts accepts, bool test, BinaryBody f) {
  op.input_names = {"a", "b"};
  op.min_inputs = op.max_inputs = 2;
  op.define = [=](OpContext& c) -> absl::Status {
    for (int i = 0; i < 2; ++i) LEMMA_RETURN_IF_ERROR(RequireDType(c, i, accepts));
    LEMMA_REQUIRE(c, c.dtype(0) == c.dtype(1), "operands must have one element type, not ",
                  Name(c.dtype(0)), " and ", Name(c.dtype(1)), "; cast one of them");
    LEMMA_ASSIGN_OR_RETURN(Idx dims, BroadcastDims(c));
    c.Output(test ? DType::kBool : c.dtype(0), dims, [&](const Idx& i) {
      return f(c, c.Read(0, BroadcastIndex(c.dims(0), i)), c.Read(1, BroadcastIndex(c.dims(1), i)));
    });
    return absl::OkStatus();
  };
  op.examples = Examples(accepts, true);
  if (!test) op.gradient = ElementwiseGradient;
  return op;
}

}  // namespace

ExportHook ForFloats(const std::string& onnx_type, ExportHook export_node) {
  static const auto* const without_bf16 = new std::set<std::string>{
      "Elu",       "Selu", "HardSigmoid", "Softplus", "Softsign", "ThresholdedRelu",
      "HardSwish", "Sin",  "Shrink",      "Cos",      "Tan",      "Asin",
      "Acos",      "Atan", "Sinh",        "Cosh",     "Asinh",    "Acosh",
      "Atanh",     "Round"};
  const bool only_f32 = onnx_type == "Celu";
  if (!only_f32 && without_bf16->count(onnx_type) == 0) return export_node;
  ExportHook in_f32 = ExportInF32(export_node);
  return [only_f32, export_node = std::move(export_node),
          in_f32 = std::move(in_f32)](OnnxExport& out) -> absl::Status {
    const DType dtype = out.node().inputs()[0].dtype();
    if (only_f32 && dtype == DType::kF64) {
      return absl::UnimplementedError(
          absl::StrCat("ONNX's ", out.node().op().name, " does not take ", Name(dtype)));
    }
    if (dtype != DType::kBF16 && !(only_f32 && dtype == DType::kF16)) return export_node(out);
    return in_f32(out);
  };
}

absl::Status RequireDType(OpContext& c, int input, Accepts accepts) {
  LEMMA_REQUIRE(c, Fits(c.dtype(input), accepts), "the element type must be ", Describe(accepts),
                ", not ", Name(c.dtype(input)));
  return absl::OkStatus();
}

OpDef Unary(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
            UnaryBody f) {
  return MakeUnary(Elementwise(std::move(name), std::move(equation), std::move(onnx_type)), accepts,
                   false, std::move(f));
}

OpDef UnaryTest(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
                UnaryBody f) {
  return MakeUnary(Elementwise(std::move(name), std::move(equation), std::move(onnx_type)), accepts,
                   true, std::move(f));
}

OpDef Binary(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
             BinaryBody f) {
  return MakeBinary(Elementwise(std::move(name), std::move(equation), std::move(onnx_type)),
                    accepts, false, std::move(f));
}

OpDef BinaryTest(std::string name, std::string equation, std::string onnx_type, Accepts accepts,
                 BinaryBody f) {
  return MakeBinary(Elementwise(std::move(name), std::move(equation), std::move(onnx_type)),
                    accepts, true, std::move(f));
}

AttrSpec Real(std::string name, std::optional<double> default_value, std::string doc) {
  AttrSpec spec{std::move(name), AttrKind::kFloat, std::nullopt, true, std::move(doc)};
  if (default_value) spec.default_value = *default_value;
  return spec;
}

void NameInOnnx(OpDef& op, std::string onnx_type, AttrNames attrs) {
  op.onnx_import = {ImportAs(onnx_type, op.name, attrs)};
  op.onnx_export = ForFloats(onnx_type, ExportAs(onnx_type, attrs));
}

absl::StatusOr<Value> Chain(OnnxImport& node, absl::string_view our_op) {
  LEMMA_ASSIGN_OR_RETURN(Value result, node.Input(0));
  for (int i = 1; i < node.num_inputs(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(Value next, node.Input(i));
    LEMMA_ASSIGN_OR_RETURN(result, node.Op(our_op, {result, next}));
  }
  return result;
}

OnnxImporter ImportChain(std::string onnx_type, std::string our_op) {
  return {std::move(onnx_type), [our_op](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
            LEMMA_ASSIGN_OR_RETURN(Value result, Chain(node, our_op));
            return std::vector<Value>{result};
          }};
}

}  // namespace lemma::ops
