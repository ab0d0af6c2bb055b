// The names of values and nodes in an exported model.
#include "absl/strings/str_cat.h"
#include "graph/onnx/export/exporter.h"

namespace lemma {

std::string Exporter::Fresh(absl::string_view wish) {
  std::string name(wish);
  for (int i = 1; name.empty() || !taken_.insert(name).second; ++i) {
    name = absl::StrCat(wish, "_", i);
  }
  return name;
}

std::string Exporter::NodeName(const std::string& op_type, const std::string& output) {
  if (origin_ == nullptr) return absl::StrCat(op_type, "/", output);
  auto part = made_for_.find(output);
  const std::string& made_for = part == made_for_.end() ? output : part->second;
  auto source = sources_.find(made_for);
  std::string name = source == sources_.end() ? made_for : source->second;
  auto rule = options_.info.change.made_by.find(made_for);
  const bool has_rule = rule != options_.info.change.made_by.end();
  if (has_rule) absl::StrAppend(&name, "/", rule->second);
  if (!has_rule || made_for != output) absl::StrAppend(&name, "/", op_type);
  std::string unique = name;
  for (int i = 1; !node_names_.insert(unique).second; ++i) unique = absl::StrCat(name, "_", i);
  return unique;
}

std::string Exporter::NameOfFolded(const Value& value) const {
  const auto& folded = options_.info.change.folded;
  if (folded.empty() || value.node().kind() != Node::Kind::kConstant) return "";
  auto name = folded.find(value.node().payload().ContentHash());
  return name == folded.end() ? "" : name->second;
}

const std::string& Exporter::NameOf(const Value& value) {
  auto it = names_.find(value);
  if (it != names_.end()) return it->second;
  absl::string_view label = graph_.LabelOf(value);
  if (label.empty() && value.node().kind() == Node::Kind::kWeight) label = value.node().name();
  std::string replaced = NameOfFolded(value);  // or a name for what takes the place of a weight
  if (label.empty()) label = replaced;
  if (auto wish = plan_.wished.find(value); label.empty() && wish != plan_.wished.end()) {
    label = replaced = absl::StrCat(wish->second, "/changed");
  }
  const std::string name = Fresh(label.empty() ? "v" : label);
  types_[name] = value.type();
  return names_.emplace(value, name).first->second;
}

// The name under which a spelled node makes the value.
std::string Exporter::OutputName(const Value& value) {
  if (plan_.names.count(value) == 0) return NameOf(value);  // of the node alone
  auto [it, is_new] = repeated_.emplace(value, "");
  if (is_new) {
    it->second = Fresh(absl::StrCat(NameOf(value), "_again"));
    made_for_[it->second] = NameOf(value);
  }
  return it->second;
}

// Inputs and computed outputs keep their names; other values get names that differ from them.
void Exporter::NameOutputs() {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    names_[graph_.inputs()[i]] = graph_.input_names()[i];
    taken_.insert(graph_.input_names()[i]);
    types_[graph_.input_names()[i]] = graph_.inputs()[i].type();
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const std::string& name = graph_.output_names()[i];
    types_[name] = graph_.outputs()[i].type();
    if (!taken_.insert(name).second) continue;  // an input or a node with its own name
    const Value& value = graph_.outputs()[i];
    if (value.node().is_op()) names_.emplace(value, name);
  }
}

// Gives a value without a label a name that says which value it is for.
void Exporter::NameAfterUsers() {
  if (origin_ == nullptr) return;
  const std::vector<NodePtr>& nodes = graph_.nodes();
  for (const NodePtr& node : nodes) {
    for (int k = 0; k < node->num_outputs() && plan_.spelled.contains(node.get()); ++k) {
      if (!graph_.LabelOf(Value(node, k)).empty()) NameOf(Value(node, k));
    }
  }
  absl::flat_hash_map<const Node*, std::string> users;  // the nearest user that has a label
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (!(*it)->is_op() || !plan_.spelled.contains(it->get())) continue;
    auto known = users.find(it->get());
    const std::string user = known != users.end() ? known->second : NameOf(Value(*it, 0));
    for (const Value& input : (*it)->inputs()) {
      const bool is_op = input.node().is_op();
      if (names_.contains(input) || !plan_.spelled.contains(&input.node())) continue;
      if (!is_op && (plan_.wished.contains(input) || !graph_.LabelOf(input).empty())) continue;
      if (input.node().kind() == Node::Kind::kWeight) continue;  // has a name of its own
      std::string wish = NameOfFolded(input);
      if (wish.empty()) wish = absl::StrCat(user, "/", is_op ? input.node().op().name : "constant");
      const std::string name = Fresh(wish);
      made_for_[name] = user;
      users.emplace(&input.node(), user);
      types_[name] = input.type();
      names_.emplace(input, name);
    }
  }
}

}  // namespace lemma
