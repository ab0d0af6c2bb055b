#include "pet/subprogram.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "pet/mutants/contraction.h"
#include "rewrite/matching/match.h"

namespace lemma::pet {
namespace {

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
      if (!node->is_op() || static_.contains(node.get())) continue;
      if (node->type(0).num_elements() < options_.min_elements) continue;
      std::vector<NodePtr> part = Suits(*node) ? std::vector<NodePtr>{node} : Joined(node);
      // Extends the chain that ends here, as long as possible.
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
  bool Suits(const Node& node) {
    if (!node.is_op() || node.num_outputs() != 1 || !IsFloat(node.type(0).dtype)) return false;
    return IsSum(node);
  }

  // A node that combines results of one operator algebraically (IsAlgebra), such as a concatenation
  // or an addition, with these applications; empty if the node is not of this form.
  std::vector<NodePtr> Joined(const NodePtr& node) {
    if (node->inputs().size() < 2 || node->num_outputs() != 1 || !IsAlgebra(*node)) return {};
    std::vector<NodePtr> part;
    for (const Value& v : node->inputs()) {
      const bool alike = v.node().is_op() && &v.node().op() == &node->inputs()[0].node().op();
      if (!alike || static_.contains(&v.node()) || uses_[v] != 1 || !Suits(v.node())) return {};
      part.push_back(v.node_ptr());
    }
    part.push_back(node);
    std::reverse(part.begin(), part.end());
    return part;
  }

  // Extends the chain by the one suitable operand that nothing else uses; empty if there is none.
  std::vector<NodePtr> Longer(std::vector<NodePtr> part) {
    const bool joined = !Suits(*part[0]);
    if (joined || static_cast<int>(part.size()) >= options_.max_ops) return {};
    for (const Value& v : part.back()->inputs()) {
      if (static_.contains(&v.node()) || uses_[v] != 1 || !Suits(v.node())) continue;
      part.push_back(v.node_ptr());
      return part;
    }
    return {};
  }

  // Copies the part (users first) to a graph with its own inputs and weights.
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

}  // namespace lemma::pet
