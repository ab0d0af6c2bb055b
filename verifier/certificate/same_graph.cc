#include "verifier/certificate/same_graph.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace lemma::certificate {
namespace {

bool SameDoubles(const double* a, const double* b, size_t n) {
  return n == 0 || std::memcmp(a, b, n * sizeof *a) == 0;
}

// For people: "conv2d 'layer1.out'".
std::string Called(const Graph& graph, const Value& value) {
  const Node& node = value.node();
  const absl::string_view label = graph.LabelOf(value);
  return absl::StrCat(node.is_op()         ? node.op().name
                      : node.has_payload() ? "constant"
                                           : "value",
                      label.empty() ? "" : absl::StrCat(" '", label, "'"));
}

// How the nodes differ, ignoring operands; "" if they do not.
std::string NodeDifference(const Node& a, const Node& b) {
  if (a.types() != b.types()) return "its type";
  if (a.has_payload() || b.has_payload()) {
    return a.has_payload() && b.has_payload() && a.payload().SameBytes(b.payload()) ? ""
                                                                                    : "its values";
  }
  if (a.kind() != b.kind()) return "what it is";
  if (a.kind() == Node::Kind::kInput) {
    return a.input_index() == b.input_index() ? "" : "which input it is";
  }
  if (a.kind() == Node::Kind::kWeight) return a.name() == b.name() ? "" : "its name";
  if (&a.op() != &b.op()) return "the operator";
  if (a.inputs().size() != b.inputs().size()) return "the number of operands";
  if (a.attrs().size() != b.attrs().size()) return "the number of attributes";
  for (const auto& [name, value] : a.attrs()) {
    auto it = b.attrs().find(name);
    if (it == b.attrs().end() || !SameBits(value, it->second)) return "attribute " + name;
  }
  return "";
}

std::string InterfaceDifference(const Graph& a, const Graph& b) {
  if (a.input_names() != b.input_names()) return "the inputs' names differ";
  if (a.output_names() != b.output_names()) return "the outputs' names differ";
  for (size_t i = 0; i < a.inputs().size(); ++i) {
    if (a.inputs()[i].type() != b.inputs()[i].type()) {
      return absl::StrCat("the types of input ", a.input_names()[i], " differ");
    }
  }
  return "";
}

}  // namespace

bool SameBits(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (auto* real = std::get_if<double>(&a)) return SameDoubles(real, &std::get<double>(b), 1);
  if (auto* reals = std::get_if<std::vector<double>>(&a)) {
    const auto& others = std::get<std::vector<double>>(b);
    return reals->size() == others.size() &&
           SameDoubles(reals->data(), others.data(), others.size());
  }
  return a == b;
}

std::string Difference(const Graph& a, const Graph& b) {
  if (std::string problem = InterfaceDifference(a, b); !problem.empty()) return problem;
  absl::flat_hash_set<std::pair<const Node*, const Node*>> seen;
  std::vector<std::pair<Value, Value>> pending;
  for (size_t i = a.outputs().size(); i-- > 0;) {
    pending.emplace_back(a.outputs()[i], b.outputs()[i]);
  }
  while (!pending.empty()) {
    const auto [x, y] = pending.back();
    pending.pop_back();
    if (x.output() != y.output()) return Called(b, y) + ": which output is used differs";
    if (!seen.emplace(&x.node(), &y.node()).second) continue;
    if (std::string problem = NodeDifference(x.node(), y.node()); !problem.empty()) {
      return absl::StrCat(Called(b, y), ": ", problem, " differs");
    }
    for (size_t i = x.node().inputs().size(); i-- > 0;) {
      pending.emplace_back(x.node().inputs()[i], y.node().inputs()[i]);
    }
  }
  return "";
}

}  // namespace lemma::certificate
