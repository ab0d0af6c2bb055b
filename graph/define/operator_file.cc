#include "graph/define/operator_file.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "graph/define/adjoint.h"
#include "graph/define/operator_examples.h"
#include "graph/define/operator_meaning.h"
#include "graph/define/operator_syntax.h"
#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/op_table.h"

namespace lemma {
namespace define {
namespace {

using text::ErrorAt;
using text::Position;

constexpr absl::string_view kGroup = "defined in files";
constexpr absl::string_view kGradientMark = ".grad_";

// Shared by an operator and its gradients.
using OperatorPtr = std::shared_ptr<const OperatorText>;

absl::Status CheckNames(const OperatorText& op) {
  std::set<std::string> names;
  auto add = [&](const std::string& name, Position position) {
    if (names.insert(name).second) return absl::OkStatus();
    return ErrorAt(op.file, position, absl::StrCat(name, " is declared twice"));
  };
  for (const Param& param : op.params) {
    LEMMA_RETURN_IF_ERROR(add(param.name, param.position));
    int lists = 0;
    for (const Expr& dim : param.dims) lists += dim.kind == Expr::Kind::kSplice;
    if (lists > 1) {
      return ErrorAt(op.file, param.position,
                     absl::StrCat(param.name, " has two lists of sizes; there can be one"));
    }
  }
  for (const AttrDecl& attr : op.attrs) LEMMA_RETURN_IF_ERROR(add(attr.name, attr.position));
  for (const TensorDef& tensor : op.tensors) {
    LEMMA_RETURN_IF_ERROR(add(tensor.name, tensor.position));
  }
  names.clear();
  for (const auto& [name, position] : op.results) {
    if (!names.insert(name).second) {
      return ErrorAt(op.file, position, absl::StrCat(name, " is returned twice"));
    }
  }
  if (absl::StrContains(op.name, kGradientMark)) {
    return ErrorAt(op.file, op.position,
                   absl::StrCat(op.name, ": names with ", kGradientMark, " are for gradients"));
  }
  if (op.onnx.empty()) return absl::OkStatus();
  const size_t dot = op.onnx.rfind('.');
  const std::string domain = dot == std::string::npos ? "" : op.onnx.substr(0, dot);
  if (domain.empty() || domain[0] == '.' || domain == "ai.onnx" || domain == "training" ||
      dot + 1 == op.onnx.size()) {
    return ErrorAt(op.file, op.position,
                   absl::StrCat("the ONNX operator ", op.onnx, " needs a domain of its own, as in ",
                                "\"com.example.", op.onnx.substr(dot + 1), "\""));
  }
  return absl::OkStatus();
}

std::vector<AttrSpec> Attributes(const OperatorText& op) {
  std::vector<AttrSpec> specs;
  for (const AttrDecl& attr : op.attrs) {
    specs.push_back({attr.name, attr.kind, attr.default_value, /*symbolic=*/true, ""});
  }
  return specs;
}

// Values of all attributes: symbols, and lists of them.
ExprAttrs SymbolicAttributes(const OperatorText& op) {
  ExprAttrs attrs;
  for (const AttrDecl& attr : op.attrs) {
    switch (attr.kind) {
      case AttrKind::kFloat:
        attrs[attr.name] = ScalarExpr::Param(attr.name);
        break;
      case AttrKind::kInt:
        attrs[attr.name] = IndexExpr::Symbol(attr.name);
        break;
      default: {
        Idx list;
        for (int i = 0; i < attr.length; ++i) {
          list.push_back(IndexExpr::Symbol(absl::StrCat(attr.name, "[", i, "]")));
        }
        attrs[attr.name] = std::move(list);
      }
    }
  }
  return attrs;
}

// Reads the definition for symbolic sizes. The first list of sizes has length 1, the second one
// length 2, and so on.
absl::StatusOr<Definition> Symbolic(const OperatorText& text, const OpDef& op) {
  const ExprAttrs attrs = SymbolicAttributes(text);
  OpContext context(op, SymbolicInputs(text, 1), attrs, OpContext::Mode::kFull);
  const absl::Status status = op.define(context);
  if (status.ok()) return context.definition();
  if (absl::StartsWith(status.message(), absl::StrCat(text.file, ":"))) return status;
  return ErrorAt(text.file, text.position,
                 absl::StrCat("for no sizes possible: ", status.message()));
}

// Which results have a gradient: those whose type is not stated to be another than a float type.
std::vector<int> SeededResults(const OperatorText& op) {
  const bool has_common = std::any_of(op.params.begin(), op.params.end(), [](const Param& param) {
    return param.accepts != Accepts::kFixed && param.accepts != Accepts::kInteger;
  });
  const bool first_is_float =
      op.params[0].accepts == Accepts::kFixed && IsFloat(op.params[0].dtype);
  std::vector<int> seeded;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const auto tensor = std::find_if(op.tensors.begin(), op.tensors.end(), [&](const TensorDef& t) {
      return t.name == op.results[i].first;
    });
    const bool is_float = tensor->dtype ? IsFloat(*tensor->dtype) : has_common || first_is_float;
    if (is_float) seeded.push_back(static_cast<int>(i));
  }
  return seeded;
}

std::string GradientName(const OperatorText& op, int input) {
  return absl::StrCat(op.name, kGradientMark, op.params[input].name);
}

absl::Status DefineGradient(const OperatorText& text, const OpDef& forward, int input,
                            OpContext& c) {
  const int given = static_cast<int>(text.params.size());
  std::vector<ExprType> inputs;
  inputs.reserve(text.params.size());
  for (int i = 0; i < given; ++i) inputs.push_back(c.input(i));
  OpContext context(forward, inputs, c.attrs(), OpContext::Mode::kFull);
  LEMMA_RETURN_IF_ERROR(forward.define(context));
  for (const Guard& requirement : context.requirements()) {
    LEMMA_REQUIRE(c, requirement, "the operator does not take these sizes");
  }
  const std::vector<int> seeded = SeededResults(text);
  for (size_t s = 0; s < seeded.size(); ++s) {
    const int i = given + static_cast<int>(s);
    const ExprType type = context.output_types()[seeded[s]];
    const std::string& name = text.results[seeded[s]].first;
    LEMMA_REQUIRE(c, IsFloat(type.dtype) && c.dtype(i) == type.dtype, "the gradient of ", name,
                  " must be of its type, a float type");
    LEMMA_REQUIRE(c, c.rank(i) == type.rank(), "the gradient of ", name, " must have ", type.rank(),
                  " dimensions");
    for (int d = 0; d < type.rank(); ++d) {
      LEMMA_REQUIRE(c, Eq(c.Dim(i, d), type.dims[d]), "the gradient of ", name,
                    " must have its sizes");
    }
  }
  LEMMA_ASSIGN_OR_RETURN(auto adjoint, Adjoint(context.definition(), input));
  if (!adjoint) {  // at these attributes, nothing depends on the input
    c.Output(c.dtype(input), c.dims(input), [](const Idx&) { return ScalarExpr(0); });
    return absl::OkStatus();
  }
  c.Adopt(*std::move(adjoint));
  return absl::OkStatus();
}

OpDef GradientOf(const OperatorPtr& text, const std::shared_ptr<const OpDef>& forward, int input) {
  OpDef op;
  op.name = GradientName(*text, input);
  op.group = forward->group;
  op.doc = absl::StrCat("The gradient of ", text->name, " with respect to ",
                        text->params[input].name, ", derived from its definition.");
  op.input_names = forward->input_names;
  for (int result : SeededResults(*text)) {
    op.input_names.push_back(absl::StrCat("d_", text->results[result].first));
  }
  op.min_inputs = op.max_inputs = static_cast<int>(op.input_names.size());
  op.attrs = forward->attrs;
  op.version = forward->version;
  op.define = [text, forward, input](OpContext& c) {
    return c.DefineInFull(
        [&](OpContext& full) { return DefineGradient(*text, *forward, input, full); });
  };
  return op;
}

// `has`: whether there is a gradient operator for each input.
absl::StatusOr<std::vector<Value>> Gradients(const OperatorText& text, const std::vector<bool>& has,
                                             GradientBuilder& f) {
  std::vector<Value> inputs = f.node().inputs();
  for (int result : SeededResults(text)) {
    const TensorType& type = f.Output(result).type();
    if (!IsFloat(type.dtype)) return std::vector<Value>(f.num_inputs());
    inputs.push_back(f.OrZeros(f.ResultGradient(result), type));
  }
  std::vector<Value> gradients;
  for (int i = 0; i < f.num_inputs(); ++i) {
    const bool wanted = has[i] && IsFloat(f.Input(i).dtype());
    gradients.push_back(wanted ? f.Op(GradientName(text, i), inputs, f.node().attrs()) : Value());
  }
  return gradients;
}

// ONNX's node has the same inputs, outputs and attributes.
void AddOnnx(const OperatorText& text, OpDef* op) {
  const std::string type = text.onnx.empty() ? absl::StrCat("lemma.", op->name) : text.onnx;
  AttrNames names;
  for (const AttrSpec& attr : op->attrs) names.emplace_back(attr.name, attr.name);
  OnnxImporter importer;
  importer.op_type = type;
  importer.import = [name = op->name,
                     op_attrs = op->attrs](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
    std::vector<Value> inputs;
    for (int i = 0; i < node.num_inputs(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(Value input, node.Input(i));
      inputs.push_back(std::move(input));
    }
    Attrs attrs;
    for (const AttrSpec& attr : op_attrs) {
      if (node.FindAttr(attr.name) == nullptr) continue;
      if (attr.kind == AttrKind::kFloat) {
        LEMMA_ASSIGN_OR_RETURN(attrs[attr.name], node.Float(attr.name));
      } else if (attr.kind == AttrKind::kInt) {
        LEMMA_ASSIGN_OR_RETURN(attrs[attr.name], node.Int(attr.name));
      } else {
        LEMMA_ASSIGN_OR_RETURN(attrs[attr.name], node.Ints(attr.name));
      }
    }
    return node.Ops(name, std::move(inputs), std::move(attrs));
  };
  op->onnx_import = {std::move(importer)};
  op->onnx_export = ExportAs(type, std::move(names));
}

absl::StatusOr<std::vector<OpDef>> Build(OperatorText parsed) {
  LEMMA_RETURN_IF_ERROR(CheckNames(parsed));
  const auto text = std::make_shared<const OperatorText>(std::move(parsed));
  OpDef op;
  op.name = text->name;
  op.group = std::string(kGroup);
  op.equation = text->equation;
  op.doc = text->doc;
  for (const Param& param : text->params) op.input_names.push_back(param.name);
  op.min_inputs = op.max_inputs = static_cast<int>(text->params.size());
  op.attrs = Attributes(*text);
  op.version = absl::StrFormat("%016x", HashString(text->text));
  op.define = [text](OpContext& c) { return DefineFromText(*text, c); };
  LEMMA_ASSIGN_OR_RETURN(const Definition symbolic, Symbolic(*text, op));
  op.examples = ExamplesOf(*text, op);
  AddOnnx(*text, &op);

  std::vector<OpDef> all = {op};
  std::vector<bool> has(text->params.size(), false);
  const auto forward = std::make_shared<const OpDef>(op);
  for (size_t i = 0; i < has.size(); ++i) {
    auto adjoint = Adjoint(symbolic, static_cast<TensorId>(i));
    if (!adjoint.ok()) {
      all.resize(1);
      absl::StrAppend(&all[0].doc, all[0].doc.empty() ? "" : " ",
                      "There is no gradient: ", adjoint.status().message(), ".");
      return all;
    }
    if (!*adjoint) continue;
    has[i] = true;
    all.push_back(GradientOf(text, forward, static_cast<int>(i)));
    AddOnnx({}, &all.back());
  }
  all[0].gradient = [text, has](GradientBuilder& f) { return Gradients(*text, has, f); };
  return all;
}

}  // namespace
}  // namespace define

absl::StatusOr<std::vector<OpDef>> ReadOperators(absl::string_view text, absl::string_view file) {
  LEMMA_ASSIGN_OR_RETURN(auto operators, define::ParseOperators(text, file));
  std::vector<OpDef> all;
  for (define::OperatorText& op : operators) {
    LEMMA_ASSIGN_OR_RETURN(std::vector<OpDef> built, define::Build(std::move(op)));
    for (OpDef& def : built) all.push_back(std::move(def));
  }
  return all;
}

absl::StatusOr<std::vector<std::string>> DefineOperators(absl::string_view text,
                                                         absl::string_view file) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<OpDef> operators, ReadOperators(text, file));
  std::vector<std::string> names;
  for (const OpDef& op : operators) {
    if (!absl::StrContains(op.name, define::kGradientMark)) names.push_back(op.name);
  }
  if (auto status = AddOperators(std::move(operators)); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", status.message()));
  }
  return names;
}

}  // namespace lemma
