#include "graph/examples/op_examples.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "graph/op_table.h"
#include "graph/text/text.h"

namespace lemma {

std::ostream& operator<<(std::ostream& out, const OpExample& example) {
  return out << example.op->name << example.text;
}

absl::StatusOr<OpExample> ParseExample(const OpDef& op, absl::string_view text) {
  // As a statement of a graph, its arguments named x0, x1, …
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(text, " is no example"));
  }
  std::string params, args;
  int count = 0, depth = 0;
  bool starts = true;
  for (char ch : text.substr(1, end - 1)) {
    if (starts && ch != ' ') {
      absl::StrAppend(&params, "x", count, ": ");
      absl::StrAppend(&args, count > 0 ? ", " : "", "x", count);
      ++count;
      starts = false;
    }
    depth += ch == '[' ? 1 : ch == ']' ? -1 : 0;
    if (ch == ',' && depth == 0) starts = true;
    params += ch;
  }
  auto blocks = text::ParseBlocks(absl::StrCat("graph e(", params, ") { y = ", op.name, "(", args,
                                               ") ", text.substr(end + 1), "\n return y }"),
                                  op.name);
  if (!blocks.ok()) return blocks.status();
  OpExample example;
  example.op = &op;
  example.text = std::string(text);
  for (const text::Param& param : (*blocks)[0].params) {
    auto type = text::ConcreteType(param.type, op.name);
    if (!type.ok()) return type.status();
    example.inputs.push_back(*std::move(type));
  }
  Attrs attrs;
  for (const auto& [name, expr] : (*blocks)[0].body.statements[0].attrs) {
    auto value = text::LiteralAttr(expr, op.name);
    if (!value.ok()) return value.status();
    attrs[name.text] = *std::move(value);
  }
  auto complete = CompleteAttrs(op, std::move(attrs));
  if (!complete.ok()) return complete.status();
  example.attrs = *std::move(complete);
  return example;
}

std::vector<OpExample> AllExamples() {
  std::vector<OpExample> examples;
  std::vector<const OpDef*> ops(AllOps().begin(), AllOps().end());
  for (const OpDef* op : DefinedOps()) ops.push_back(op);
  for (const OpDef* op : ops) {
    for (const std::string& text : op->examples) {
      auto example = ParseExample(*op, text);
      if (example.ok()) examples.push_back(*std::move(example));
    }
  }
  return examples;
}

std::vector<std::vector<double>> ExampleValues(const OpExample& example) {
  const bool indexes = std::any_of(example.inputs.begin(), example.inputs.end(),
                                   [](const TensorType& type) { return IsFloat(type.dtype); });
  std::vector<std::vector<double>> inputs;
  for (const TensorType& type : example.inputs) {
    std::vector<double> values(static_cast<size_t>(type.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t random = Mix64(HashCombine(inputs.size(), i));
      const double small = static_cast<double>(random % 2);
      if (IsFloat(type.dtype)) {
        values[i] = 0.1 + 0.0001 * static_cast<double>(random % 8000);
      } else {
        values[i] = type.dtype == DType::kBool ? small : indexes ? -small : 1 + small;
      }
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

}  // namespace lemma
