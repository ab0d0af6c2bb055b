#include "graph/op_reference.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graph/op_table.h"

namespace lemma {
namespace {

constexpr char kIntroduction[] = R"(# Operators

<!-- Printed from the operator table by `bazel run //tools:gen_op_reference -- --write`. -->

Each operator has one definition, from which its shapes, its execution, its fingerprint and its
proofs follow ([architecture](architecture.md)); [adding an operator](adding-an-operator.md) says
how to write one. The equations below are for people: they say for every element of the result where
it comes from. A reduction `sum(k < K)` runs over 0 <= k < K; in equations, `a div b` is the
quotient rounded down, and `a mod b` is the remainder a - b * (a div b); i… stands for any number of
indices.

An attribute without a default has to be given. Any attribute marked *symbol* may be a symbol in a
rule. Operators have gradients ([training](training.md)) unless they say that they do not.

"Imported from" lists the ONNX operators whose importers are registered with this operator. Such an
importer may build other operators instead. Importers that are registered with no operator, such as
those of most composites ([glossary](glossary.md)), are not listed.
)";

const char* KindName(AttrKind kind) {
  static constexpr const char* kNames[] = {"int", "float", "string", "ints", "floats"};
  return kNames[static_cast<int>(kind)];
}

std::string Inputs(const OpDef& op) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < op.input_names.size(); ++i) {
    const bool optional = static_cast<int>(i) >= op.min_inputs;
    const bool repeats = op.max_inputs == kVariadic && i + 1 == op.input_names.size();
    inputs.push_back(repeats ? absl::StrCat(op.input_names[i], "…")
                             : absl::StrCat(op.input_names[i], optional ? "?" : ""));
  }
  return absl::StrJoin(inputs, ", ");
}

// A table cell cannot contain a bar.
std::string Cell(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string AttrTable(const OpDef& op) {
  std::string out = "| attribute | type | default | |\n|---|---|---|---|\n";
  for (const AttrSpec& attr : op.attrs) {
    absl::StrAppend(&out, "| `", attr.name, "` | ", KindName(attr.kind),
                    attr.symbolic ? ", *symbol*" : "", " | ",
                    attr.default_value ? absl::StrCat("`", ToString(*attr.default_value), "`") : "",
                    " | ", Cell(attr.doc), " |\n");
  }
  return out;
}

}  // namespace

std::string OperatorSignature(const OpDef& op) {
  return absl::StrCat(op.name, "(", Inputs(op), ")");
}

std::string OperatorSection(const OpDef& op) {
  std::string out =
      absl::StrCat("### ", OperatorSignature(op), "\n\n```\n", op.equation, "\n```\n");
  if (!op.doc.empty()) absl::StrAppend(&out, "\n", op.doc, "\n");
  if (!op.attrs.empty()) absl::StrAppend(&out, "\n", AttrTable(op));
  if (!op.examples.empty()) {
    absl::StrAppend(&out, "\nFor example `", op.name, op.examples.front(), "`.\n");
  }
  auto name = [](std::string* text, const OnnxImporter& importer) {
    text->append(importer.op_type);
  };
  if (!op.gradient) absl::StrAppend(&out, "\nNot differentiable.\n");
  if (!op.onnx_import.empty()) {
    absl::StrAppend(&out, "\nImported from ONNX's ", absl::StrJoin(op.onnx_import, ", ", name),
                    ".\n");
  }
  return out;
}

std::vector<OperatorGroup> OperatorGroups() {
  std::vector<OperatorGroup> groups;
  for (const OpDef* op : AllOps()) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.name == op->group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {op->group, {}});
    group->operators.push_back(op);
  }
  for (OperatorGroup& group : groups) {
    std::sort(group.operators.begin(), group.operators.end(),
              [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  }
  return groups;
}

std::string OperatorReference() {
  std::string out = kIntroduction;
  for (const OperatorGroup& group : OperatorGroups()) {
    absl::StrAppend(&out, "\n## ", group.name, "\n");
    for (const OpDef* op : group.operators) absl::StrAppend(&out, "\n", OperatorSection(*op));
  }
  return out;
}

}  // namespace lemma
