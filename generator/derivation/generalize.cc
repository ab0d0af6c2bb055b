#include "generator/derivation/generalize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "generator/sets/terms.h"

namespace lemma::generator {
namespace {

constexpr size_t kMostOccurrences = 4;  // limit on an input's occurrences in a graph
constexpr size_t kLargestTree = 12;     // operators

// The places where the graph reads the value.
std::vector<int*> Occurrences(NumberedGraph* graph, int value) {
  std::vector<int*> places;
  for (NumberedOp& term : graph->ops) {
    for (int& v : term.operands) {
      if (v == value) places.push_back(&v);
    }
  }
  for (int& v : graph->outputs) {
    if (v == value) places.push_back(&v);
  }
  return places;
}

// Copies operators so that each use has its own, except those with several results. Returns no
// operators if the tree would be too large.
class Unsharing {
 public:
  Unsharing(const OperatorSet& set, const NumberedGraph& graph) : set_(set), graph_(graph) {}

  NumberedGraph Run() {
    for (int v : graph_.outputs) tree_.outputs.push_back(Copy(v));
    return tree_.ops.size() <= kLargestTree ? std::move(tree_) : NumberedGraph();
  }

 private:
  int Copy(int value) {
    if (value < 0 || tree_.ops.size() > kLargestTree) return value;
    const int op = value / kMostOutputs;
    NumberedOp term = graph_.ops[op];
    const bool shared = set_.variants()[term.variant].num_outputs > 1;
    if (auto it = copied_.find(op); it != copied_.end()) {
      return OutputValue(it->second, value % kMostOutputs);
    }
    for (int& v : term.operands) v = Copy(v);
    const int made = static_cast<int>(tree_.ops.size());
    tree_.ops.push_back(std::move(term));
    if (shared) copied_.emplace(op, made);
    return OutputValue(made, value % kMostOutputs);
  }

  const OperatorSet& set_;
  const NumberedGraph& graph_;
  NumberedGraph tree_;
  std::map<int, int> copied_;
};

// The pair with another value at the occurrences whose bits are set.
Pair Split(Pair pair, int value, unsigned in_source, unsigned in_target, int other) {
  const std::pair<NumberedGraph*, unsigned> sides[] = {{&pair.source, in_source},
                                                       {&pair.target, in_target}};
  for (auto [graph, bits] : sides) {
    const std::vector<int*> places = Occurrences(graph, value);
    for (size_t i = 0; i < places.size(); ++i) {
      if (bits >> i & 1) *places[i] = other;
    }
  }
  return pair;
}

class Generalizer {
 public:
  Generalizer(Evaluator* evaluator, TermStore* store, const Pair& pair)
      : evaluator_(*evaluator), store_(*store), general_{pair, {}} {}

  absl::StatusOr<GeneralPair> Run() {
    LEMMA_RETURN_IF_ERROR(ReplaceTerms());
    LEMMA_RETURN_IF_ERROR(SplitInputs());
    LEMMA_RETURN_IF_ERROR(ReplaceTerms());
    return std::move(general_);
  }

 private:
  // A term that both sides contain.
  struct Common {
    int source, target;  // its number in each graph
    int type, size;
  };

  std::vector<int> InputTypes() const {
    std::vector<int> types;
    for (const Input& input : store_.set().inputs()) types.push_back(input.type);
    types.insert(types.end(), general_.more_types.begin(), general_.more_types.end());
    return types;
  }
  int NextInput() const {
    return InputValue(evaluator_.num_inputs() + static_cast<int>(general_.more_types.size()));
  }

  std::vector<Common> CommonTerms() {
    const std::vector<int> types = InputTypes();
    const Pair& pair = general_.pair;
    const std::vector<int> sources = store_.NodesOf(pair.source, types);
    const std::vector<int> targets = store_.NodesOf(pair.target, types);
    std::vector<Common> found;
    for (size_t s = 0; s < sources.size(); ++s) {
      const auto t = std::find(targets.begin(), targets.end(), sources[s]) - targets.begin();
      if (sources[s] == TermStore::kNone || t == static_cast<int64_t>(targets.size())) continue;
      const TermStore::Node& node = store_.node(OutputValue(sources[s], 0));
      for (int o = 0; o < store_.set().variants()[node.variant].num_outputs; ++o) {
        found.push_back({OutputValue(static_cast<int>(s), o), OutputValue(static_cast<int>(t), o),
                         node.types[o], node.size});
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Common& a, const Common& b) { return a.size > b.size; });
    return found;
  }

  absl::Status ReplaceTerms() {
    for (bool again = true; again;) {
      LEMMA_ASSIGN_OR_RETURN(again, ReplaceTerm());
    }
    return absl::OkStatus();
  }
  // Replaces a common term by a variable if possible; returns whether it did.
  absl::StatusOr<bool> ReplaceTerm() {
    const int other = NextInput();
    for (const Common& common : CommonTerms()) {
      Pair pair = general_.pair;
      const std::vector<int*> sources = Occurrences(&pair.source, common.source);
      const std::vector<int*> targets = Occurrences(&pair.target, common.target);
      // Possibly only another result of the operator is read.
      if (sources.empty() || targets.empty()) continue;
      for (int* place : sources) *place = other;
      for (int* place : targets) *place = other;
      RemoveUnread(&pair.source);
      RemoveUnread(&pair.target);
      if (pair.source.ops.empty()) continue;
      LEMMA_ASSIGN_OR_RETURN(const bool equal, Accept(std::move(pair), common.type));
      if (equal) return true;
    }
    return false;
  }

  // Works on trees, since two uses of a term may become two terms.
  absl::Status SplitInputs() {
    const OperatorSet& set = store_.set();
    const Pair given = general_.pair;
    const size_t num_types = general_.more_types.size();
    for (NumberedGraph* graph : {&general_.pair.source, &general_.pair.target}) {
      NumberedGraph tree = Unsharing(set, *graph).Run();
      if (!tree.ops.empty()) *graph = std::move(tree);
    }
    std::set<int> inputs;
    for (const NumberedOp& term : general_.pair.source.ops) {
      for (int v : term.operands) {
        if (v < 0) inputs.insert(v);
      }
    }
    for (int input : inputs) {
      for (bool again = true; again;) {
        LEMMA_ASSIGN_OR_RETURN(again, SplitInput(input));
      }
    }
    if (general_.more_types.size() == num_types) {
      general_.pair = given;
      return absl::OkStatus();
    }
    for (NumberedGraph* graph : {&general_.pair.source, &general_.pair.target}) {
      std::optional<NumberedGraph> shared = Normalized(set, *graph);
      if (shared) *graph = *std::move(shared);
    }
    return absl::OkStatus();
  }

  // Replaces some occurrences of an input by a new one if possible. The first occurrence stays.
  absl::StatusOr<bool> SplitInput(int value) {
    const size_t sources = Occurrences(&general_.pair.source, value).size();
    const size_t targets = Occurrences(&general_.pair.target, value).size();
    if (sources < 2 || sources > kMostOccurrences || targets > kMostOccurrences) return false;
    const int type = InputTypes()[-1 - value], other = NextInput();
    for (unsigned s = 2; s < 1u << sources; s += 2) {
      for (unsigned t = 0; t < 1u << targets; ++t) {
        LEMMA_ASSIGN_OR_RETURN(const bool equal,
                               Accept(Split(general_.pair, value, s, t, other), type));
        if (equal) return true;
      }
    }
    return false;
  }

  // Accepts the pair, with one more input, if both sides are equal.
  absl::StatusOr<bool> Accept(Pair pair, int type) {
    std::vector<int> types = general_.more_types;
    types.push_back(type);
    LEMMA_ASSIGN_OR_RETURN(const bool equal, evaluator_.Confirm(pair, types));
    if (equal) general_ = {std::move(pair), std::move(types)};
    return equal;
  }

  Evaluator& evaluator_;
  TermStore& store_;
  GeneralPair general_;
};

}  // namespace

absl::StatusOr<GeneralPair> Generalized(Evaluator* evaluator, TermStore* store, const Pair& pair) {
  return Generalizer(evaluator, store, pair).Run();
}

}  // namespace lemma::generator
