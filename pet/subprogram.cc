#include "pet/subprogram.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/ops/status_macros.h"
#include "rewrite/match.h"

namespace lemma {
namespace {

// Whether the definition sums products, of floats; looked up for each operator once.
bool SumsProducts(const ScalarExpr& e, bool inside_sum) {
  if (e.kind() == ScalarExpr::Kind::kReduce) {
    if (e.reduce() != ReduceKind::kSum) return false;
    inside_sum = true;
  }
  const bool product =
      inside_sum && e.kind() == ScalarExpr::Kind::kApply && e.fn() == ScalarFn::kMul;
  return product || std::any_of(e.args().begin(), e.args().end(), [&](const ScalarExpr& arg) {
           return SumsProducts(arg, inside_sum);
         });
}

bool OnlyAlgebra(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kApply && !Info(e.fn()).algebraic) return false;
  if (e.kind() == ScalarExpr::Kind::kReduce && e.reduce() != ReduceKind::kSum) return false;
  return std::all_of(e.args().begin(), e.args().end(), OnlyAlgebra);
}

class Finder {
 public:
  Finder(const Graph& graph, const SubprogramOptions& options) : graph_(graph), options_(options) {}

  absl::StatusOr<std::vector<Subprogram>> Run() {
    for (const Value& v : graph_.outputs()) ++uses_[v];
    for (const NodePtr& node : graph_.nodes()) {
      bool is_static = node->kind() != Node::Kind::kInput;
      for (const Value& v : node->inputs()) {
        ++uses_[v];
        is_static = is_static && static_.contains(&v.node());
      }
      if (is_static) static_.insert(node.get());
    }
    std::vector<Subprogram> found;
    std::map<uint64_t, size_t> known;
    for (const NodePtr& node : graph_.nodes()) {
      if (!Suits(*node) || static_.contains(node.get())) continue;
      if (node->type(0).num_elements() < options_.min_elements) continue;
      std::vector<NodePtr> part = {node};
      // Longer and longer chains that end here.
      while (!part.empty()) {
        LEMMA_ASSIGN_OR_RETURN(Graph extracted, Extract(part));
        auto [it, is_new] = known.try_emplace(extracted.StructuralHash(), found.size());
        if (is_new) {
          found.push_back({std::move(extracted), 1, Value(node, 0)});
        } else {
          ++found[it->second].occurrences;
        }
        part = Longer(std::move(part));
      }
    }
    return found;
  }

 private:
  struct Traits {
    bool algebra = false, sums = false;
  };
  Traits TraitsOf(const Node& node) {
    Traits traits;
    auto definition = DefinitionOf(node);
    if (!definition.ok()) return traits;
    traits.algebra = true;
    for (const TensorExpr& tensor : definition->tensors) {
      traits.algebra = traits.algebra && OnlyAlgebra(tensor.body);
      traits.sums = traits.sums || SumsProducts(tensor.body, false);
    }
    return traits;
  }

  bool Suits(const Node& node) {
    if (!node.is_op() || node.num_outputs() != 1 || !IsFloat(node.type(0).dtype)) return false;
    const Traits traits = TraitsOf(node);
    return traits.algebra && traits.sums;
  }

  // With the one operand that suits and that nothing else uses; empty: there is none.
  std::vector<NodePtr> Longer(std::vector<NodePtr> part) {
    if (static_cast<int>(part.size()) >= options_.max_ops) return {};
    for (const Value& v : part.back()->inputs()) {
      if (static_.contains(&v.node()) || uses_[v] != 1 || !Suits(v.node())) continue;
      part.push_back(v.node_ptr());
      return part;
    }
    return {};
  }

  // The part, users first, over inputs and weights of its own.
  absl::StatusOr<Graph> Extract(const std::vector<NodePtr>& part) {
    GraphBuilder builder("part");
    absl::flat_hash_map<Value, Value> now;
    int leaves = 0;
    for (auto node = part.rbegin(); node != part.rend(); ++node) {
      std::vector<Value> inputs;
      for (const Value& v : (*node)->inputs()) {
        if (!now.contains(v)) {
          const std::string name = absl::StrCat("x", leaves++);
          if (!static_.contains(&v.node())) {
            now[v] = builder.Input(name, v.type());
          } else if (v.node().kind() == Node::Kind::kConstant && IsUniform(v.node().payload())) {
            now[v] = builder.Constant(v.node().payload());
          } else {
            LEMMA_ASSIGN_OR_RETURN(Tensor ones, Tensor::Filled(v.type(), 1));
            now[v] = builder.Weight(name, std::move(ones));
          }
        }
        inputs.push_back(now[v]);
      }
      LEMMA_ASSIGN_OR_RETURN(now[Value(*node, 0)],
                             builder.Op((*node)->op().name, std::move(inputs), (*node)->attrs()));
    }
    builder.Output("y", now[Value(part[0], 0)]);
    return std::move(builder).Build();
  }

  const Graph& graph_;
  const SubprogramOptions options_;
  absl::flat_hash_map<Value, int> uses_;
  absl::flat_hash_set<const Node*> static_;
};

}  // namespace

absl::StatusOr<std::vector<Subprogram>> SubprogramsOf(const Graph& graph,
                                                      const SubprogramOptions& options) {
  return Finder(graph, options).Run();
}

}  // namespace lemma
