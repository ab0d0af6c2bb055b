// Prints graphs as text.
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/op_table.h"
#include "graph/text/text.h"

namespace lemma {
namespace {

using text::QuoteName;

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options) : graph_(graph), options_(options) {
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      used_.insert(graph.outputs()[i]);
      output_names_.emplace(graph.outputs()[i], graph.output_names()[i]);
    }
    for (const NodePtr& node : graph.nodes()) {
      used_.insert(node->inputs().begin(), node->inputs().end());
      if (!node->name().empty()) taken_.insert(node->name());
      for (int i = 0; i < node->num_outputs(); ++i) taken_.insert(LabelOf(Value(node, i)));
    }
    taken_.insert(graph.input_names().begin(), graph.input_names().end());
  }

  std::string Run() {
    absl::StrAppend(&out_, "graph ", QuoteName(graph_.name()), "(", Params(), ") {\n");
    for (const NodePtr& node : graph_.nodes()) {
      if (node->kind() == Node::Kind::kConstant || node->is_op()) PrintStatement(node);
    }
    out_ += "  return ";
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const std::string& name = graph_.output_names()[i];
      const std::string& value = names_.at(graph_.outputs()[i]);
      absl::StrAppend(&out_, i ? ", " : "", QuoteName(name));
      if (name != value) absl::StrAppend(&out_, " = ", Reference(graph_.outputs()[i]));
    }
    return out_ + "\n}\n";
  }

 private:
  // An output without a label gets its output's name.
  std::string LabelOf(const Value& value) const {
    absl::string_view label = graph_.LabelOf(value);
    if (!label.empty()) return std::string(label);
    auto it = output_names_.find(value);
    return it == output_names_.end() ? std::string() : it->second;
  }

  // Chooses the name of `value` and returns its text for the place of its definition.
  std::string Define(const Value& value, const std::string& label) {
    if (!label.empty() && used_names_.insert(label).second) {
      names_[value] = label;
      return QuoteName(label);
    }
    std::string name;
    do {
      name = absl::StrCat("%", next_++);
    } while (taken_.count(name) > 0);
    names_[value] = name;
    generated_.insert(value);
    return label.empty() ? name : absl::StrCat(name, " as ", QuoteName(label));
  }

  std::string Reference(const Value& value) const {
    const std::string& name = names_.at(value);
    return generated_.count(value) > 0 ? name : QuoteName(name);
  }

  std::string Params() {
    std::string params;
    auto add = [&](const std::string& text) {
      absl::StrAppend(&params, params.empty() ? "" : ", ", text);
    };
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const Value& input = graph_.inputs()[i];
      names_[input] = graph_.input_names()[i];
      used_names_.insert(graph_.input_names()[i]);
      add(absl::StrCat(QuoteName(graph_.input_names()[i]), ": ", input.type().ToString()));
    }
    for (const NodePtr& node : graph_.nodes()) {
      if (node->kind() != Node::Kind::kWeight) continue;
      std::string text =
          absl::StrCat(Define(Value(node, 0), node->name()), ": weight ", node->type(0).ToString());
      if (node->has_payload()) {
        absl::StrAppend(&text, " = ", text::PrintPayload(node->payload(), options_.elide));
      }
      add(text);
    }
    return params;
  }

  void PrintStatement(const NodePtr& node) {
    bool opaque = node->is_op() && &node->op() == FindOp("opaque");
    out_ += "  ";
    for (int i = 0; i < node->num_outputs(); ++i) {
      Value value(node, i);
      std::string label = LabelOf(value);
      bool anonymous = label.empty() && used_.count(value) == 0;
      absl::StrAppend(&out_, i ? ", " : "", anonymous ? "_" : Define(value, label));
      if (options_.types || opaque) absl::StrAppend(&out_, ": ", value.type().ToString());
    }
    if (!node->is_op()) {
      absl::StrAppend(&out_, " = constant ", node->type(0).ToString(), " ",
                      text::PrintPayload(node->payload(), options_.elide), "\n");
      return;
    }
    absl::StrAppend(&out_, " = ", QuoteName(node->op().name), "(");
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      absl::StrAppend(&out_, i ? ", " : "", Reference(node->inputs()[i]));
    }
    out_ += ")";
    PrintAttrs(*node);
    out_ += "\n";
  }

  void PrintAttrs(const Node& node) {
    std::string attrs;
    for (const auto& [name, value] : node.attrs()) {
      const AttrSpec* spec = node.op().FindAttr(name);
      std::string text = ToString(value);
      // Compared as text: -0.0 equals 0.0, but is not the default.
      bool is_default = spec != nullptr && spec->default_value &&
                        KindOf(*spec->default_value) == KindOf(value) &&
                        ToString(*spec->default_value) == text;
      if (is_default) continue;
      absl::StrAppend(&attrs, attrs.empty() ? "" : ", ", QuoteName(name), " = ", text);
    }
    if (!attrs.empty()) absl::StrAppend(&out_, " {", attrs, "}");
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::string out_;
  absl::flat_hash_map<Value, std::string> names_, output_names_;
  absl::flat_hash_set<Value> used_, generated_;
  std::set<std::string> taken_, used_names_;
  int next_ = 0;
};

}  // namespace

std::string PrintGraph(const Graph& graph, const PrintOptions& options) {
  return Printer(graph, options).Run();
}

}  // namespace lemma
