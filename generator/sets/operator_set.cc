#include "generator/sets/operator_set.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lemma::generator {
namespace {

std::string ValueText(const OperatorSet& set, const NumberedGraph& graph, Names names, int value) {
  if (value < 0) {
    return names == Names::kVariables ? absl::StrCat("x", -value) : set.inputs()[-1 - value].name;
  }
  const NumberedOp& term = graph.ops[value / kMostOutputs];
  const Variant& variant = set.variants()[term.variant];
  std::string text = variant.name;
  if (!term.operands.empty()) {
    absl::StrAppend(&text, "(",
                    absl::StrJoin(term.operands, ", ",
                                  [&](std::string* out, int v) {
                                    out->append(ValueText(set, graph, names, v));
                                  }),
                    ")");
  }
  if (variant.num_outputs > 1) absl::StrAppend(&text, ".", value % kMostOutputs);
  return text;
}

}  // namespace

std::string ToString(const OperatorSet& set, const NumberedGraph& graph, Names names) {
  return absl::StrJoin(graph.outputs, ", ", [&](std::string* out, int v) {
    out->append(ValueText(set, graph, names, v));
  });
}

std::string ToString(const OperatorSet& set, const Pair& pair, Names names) {
  return absl::StrCat(ToString(set, pair.source, names), " => ", ToString(set, pair.target, names));
}

}  // namespace lemma::generator
