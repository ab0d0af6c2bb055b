#include "optimizer/extraction/extraction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "coin/Cbc_C_Interface.h"
#include "optimizer/cost/cost.h"
#include "rewrite/matching/topological_order.h"

namespace lemma::optimizer {
namespace {

std::vector<int> OperandClasses(const EGraph& egraph, int node) {
  std::vector<int> classes;
  for (const ValueRef& v : egraph.Operands(node)) classes.push_back(egraph.ClassOf(v));
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

// Tracks which class is computed from which, for outputs that are admitted one by one.
class ClassOrder {
 public:
  explicit ClassOrder(const EGraph& egraph)
      : egraph_(egraph),
        rank_(egraph.num_values()),
        below_(egraph.num_values()),
        above_(egraph.num_values()) {}

  // Returns false, and leaves the output out, if its class would be computed from itself.
  bool Admit(ValueRef v) {
    const std::vector<int> operands = OperandClasses(egraph_, v.node);
    const int made = egraph_.ClassOf(v);
    if (Reaches(operands, made)) return false;
    for (int operand : operands) {
      below_[made].push_back(operand);
      above_[operand].push_back(made);
      MaintainTopologicalOrder(
          made, rank_[operand] + 1, [&](int c) { return rank_[c]; },
          [&](int c, int64_t rank) { rank_[c] = rank; },
          [&](int c, const auto& visit) {
            for (int user : above_[c]) visit(user);
          });
    }
    return true;
  }

  int64_t RankOf(int c) const { return rank_[c]; }  // above the classes that it is computed from

 private:
  bool Reaches(std::vector<int> pending, int wanted) const {
    absl::flat_hash_set<int> seen;
    while (!pending.empty()) {
      const int c = pending.back();
      pending.pop_back();
      if (c == wanted) return true;
      if (rank_[c] <= rank_[wanted] || !seen.insert(c).second) continue;
      pending.insert(pending.end(), below_[c].begin(), below_[c].end());
    }
    return false;
  }

  const EGraph& egraph_;
  std::vector<int64_t> rank_;  // by class
  std::vector<std::vector<int>> below_, above_;
};

// The nodes of an e-graph from which a graph may be extracted: those that can run and on which
// outputs depend, without outputs that would close a cycle with earlier nodes. The input's own
// nodes close none, so the input graph is included.
struct Candidates {
  Candidates(const EGraph& egraph, const std::vector<int64_t>& price)
      : made_by(egraph.num_nodes()), of_class(egraph.num_values()) {
    ClassOrder order(egraph);
    std::vector<bool> has_provider(egraph.num_values());
    for (int n = 0; n < egraph.num_nodes(); ++n) {
      if (!egraph.IsLive(n) || price[n] == Cost::kInfinite) continue;
      for (int k = 0; k < egraph.Head(n).num_outputs(); ++k) {
        if (order.Admit({n, k})) {
          made_by[n].push_back({n, k});
        } else {
          ++num_left_out;
        }
      }
    }
    // Bottom up, because a node that cannot run excludes the nodes that need it.
    std::vector<int> sorted;
    for (int n = 0; n < egraph.num_nodes(); ++n) {
      if (!made_by[n].empty()) sorted.push_back(n);
    }
    auto rank = [&](int n) {
      int64_t above = 0;
      for (int c : OperandClasses(egraph, n)) above = std::max(above, order.RankOf(c) + 1);
      return above;
    };
    std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) { return rank(a) < rank(b); });
    std::vector<int> runnable;
    for (int n : sorted) {
      const std::vector<int> operands = OperandClasses(egraph, n);
      if (!std::all_of(operands.begin(), operands.end(), [&](int c) { return has_provider[c]; })) {
        continue;
      }
      runnable.push_back(n);
      for (const ValueRef& v : made_by[n]) {
        const int c = egraph.ClassOf(v);
        has_provider[c] = true;
        of_class[c].push_back(v);
      }
    }
    Keep(egraph, order, runnable);
  }

  std::vector<int> nodes;                       // operands before users
  std::vector<std::vector<ValueRef>> made_by;   // by node: its outputs that close no cycle
  std::vector<std::vector<ValueRef>> of_class;  // by class
  std::vector<int> classes;  // needed classes, each after those it is computed from
  int num_left_out = 0;      // outputs that would close a cycle

 private:
  // Keeps only what the outputs depend on.
  void Keep(const EGraph& egraph, const ClassOrder& order, const std::vector<int>& runnable) {
    std::vector<bool> needed(of_class.size()), used(egraph.num_nodes());
    std::vector<int> pending;
    for (const ValueRef& v : egraph.outputs()) pending.push_back(egraph.ClassOf(v));
    while (!pending.empty()) {
      const int c = pending.back();
      pending.pop_back();
      if (needed[c]) continue;
      needed[c] = true;
      classes.push_back(c);
      for (const ValueRef& v : of_class[c]) {
        used[v.node] = true;
        for (int operand : OperandClasses(egraph, v.node)) pending.push_back(operand);
      }
    }
    std::sort(classes.begin(), classes.end(), [&](int a, int b) {
      return order.RankOf(a) != order.RankOf(b) ? order.RankOf(a) < order.RankOf(b) : a < b;
    });
    for (size_t c = 0; c < needed.size(); ++c) {
      if (!needed[c]) of_class[c].clear();
    }
    for (int n : runnable) {
      if (used[n]) nodes.push_back(n);
    }
  }
};

// Keeps only providers on which the outputs depend, and sets the price.
void Trim(const EGraph& egraph, const std::vector<int64_t>& price, Selection* selection) {
  std::vector<ValueRef> kept(egraph.num_values());
  absl::flat_hash_set<int> counted;
  std::vector<int> pending;
  for (const ValueRef& v : egraph.outputs()) pending.push_back(egraph.ClassOf(v));
  selection->price = 0;
  while (!pending.empty()) {
    const int c = pending.back();
    pending.pop_back();
    if (kept[c].node >= 0) continue;
    kept[c] = selection->provider[c];
    if (!counted.insert(kept[c].node).second) continue;
    selection->price += price[kept[c].node];
    for (int operand : OperandClasses(egraph, kept[c].node)) pending.push_back(operand);
  }
  selection->provider = std::move(kept);
}

// ---- Bottom up ----

// The cheapest known way to compute a class.
struct Way {
  std::vector<uint64_t> nodes;  // a bit for each candidate
  int64_t price = 0;
  int count = 0;
};

class Greedy {
 public:
  Greedy(const EGraph& egraph, const std::vector<int64_t>& price, const Candidates& candidates)
      : egraph_(egraph), price_(price), candidates_(candidates) {}

  // A provider for each class that can be computed, needed or not.
  absl::StatusOr<Selection> Do() {
    selection_.provider.resize(egraph_.num_values());
    ways_.resize(egraph_.num_values());
    for (size_t i = 0; i < candidates_.nodes.size(); ++i) Visit(i);
    for (const ValueRef& v : egraph_.outputs()) {
      if (ways_[egraph_.ClassOf(v)] == nullptr) {
        return absl::FailedPreconditionError("no graph of these nodes can be run");
      }
    }
    return std::move(selection_);
  }

  // After Do(): whether the class can be computed at no price.
  bool IsFree(int c) const { return ways_[c] != nullptr && ways_[c]->price == 0; }

 private:
  void Visit(size_t number) {
    const int node = candidates_.nodes[number];
    Way way;
    way.nodes.resize((candidates_.nodes.size() + 63) / 64);
    for (int operand : OperandClasses(egraph_, node)) {
      const auto& below = ways_[operand]->nodes;
      for (size_t w = 0; w < below.size(); ++w) way.nodes[w] |= below[w];
    }
    way.nodes[number / 64] |= uint64_t{1} << (number % 64);
    for (size_t w = 0; w < way.nodes.size(); ++w) {
      for (uint64_t rest = way.nodes[w]; rest != 0; rest &= rest - 1) {
        way.price += price_[candidates_.nodes[w * 64 + __builtin_ctzll(rest)]];
        ++way.count;
      }
    }
    const auto shared = std::make_shared<Way>(std::move(way));
    for (const ValueRef& v : candidates_.made_by[node]) {
      const int c = egraph_.ClassOf(v);
      auto& best = ways_[c];
      if (best != nullptr && std::make_pair(best->price, best->count) <=
                                 std::make_pair(shared->price, shared->count)) {
        continue;
      }
      best = shared;
      selection_.provider[c] = v;
    }
  }

  const EGraph& egraph_;
  const std::vector<int64_t>& price_;
  const Candidates& candidates_;
  std::vector<std::shared_ptr<const Way>> ways_;  // by class
  Selection selection_;
};

// ---- The integer program ----

// By class: the classes that every graph that computes it must also compute, as bits.
class Necessary {
 public:
  Necessary(const EGraph& egraph, const Candidates& candidates)
      : egraph_(egraph),
        words_((candidates.classes.size() + 63) / 64),
        number_(egraph.num_values(), -1) {
    sets_.resize(candidates.classes.size());
    for (size_t i = 0; i < candidates.classes.size(); ++i) {
      number_[candidates.classes[i]] = static_cast<int>(i);
    }
    // Nodes come operands first, so at the last provider of a class all bits are known.
    std::vector<bool> begun(candidates.classes.size());
    for (int n : candidates.nodes) {
      Bits all(words_);
      for (int operand : OperandClasses(egraph, n)) {
        const Bits& below = sets_[number_[operand]];
        for (size_t w = 0; w < words_; ++w) all[w] |= below[w];
      }
      for (const ValueRef& v : candidates.made_by[n]) {
        const int i = number_[egraph.ClassOf(v)];
        if (i < 0) continue;
        Bits& set = sets_[i];
        if (begun[i]) {
          for (size_t w = 0; w < words_; ++w) set[w] &= all[w];
        } else {
          set = all;
        }
        begun[i] = true;
        set[i / 64] |= uint64_t{1} << (i % 64);
      }
    }
  }

  // By class: whether every graph that computes the outputs computes it.
  std::vector<bool> ForOutputs() const {
    std::vector<bool> needed(number_.size());
    for (const ValueRef& v : egraph_.outputs()) {
      const Bits& set = sets_[number_[egraph_.ClassOf(v)]];
      for (size_t c = 0; c < needed.size(); ++c) {
        const int i = number_[c];
        if (i >= 0 && (set[i / 64] >> (i % 64) & 1) != 0) needed[c] = true;
      }
    }
    return needed;
  }

  // The necessary classes among `classes` that are not necessary for another necessary class of c.
  std::vector<int> Nearest(int c, const std::vector<int>& classes) const {
    const Bits& set = sets_[number_[c]];
    Bits implied(words_);
    std::vector<int> nearest;
    // Later classes are never necessary for earlier ones.
    for (size_t w = words_; w-- > 0;) {
      while (const uint64_t rest = set[w] & ~implied[w]) {
        const int i = static_cast<int>(w) * 64 + 63 - __builtin_clzll(rest);
        implied[w] |= uint64_t{1} << (i % 64);
        if (classes[i] == c) continue;
        nearest.push_back(classes[i]);
        for (size_t k = 0; k < words_; ++k) implied[k] |= sets_[i][k];
      }
    }
    return nearest;
  }

 private:
  using Bits = std::vector<uint64_t>;

  const EGraph& egraph_;
  const size_t words_;
  std::vector<int> number_;  // by class
  std::vector<Bits> sets_;
};

// The integer program. It falls into components that share no variable, and each is solved alone:
//   * A free class is always provided, by the nodes of its free way. It needs no constraint.
//   * A class on which an output depends in every graph is always provided, so its users need no
//     constraint either.
class Program {
 public:
  Program(const EGraph& egraph, const std::vector<int64_t>& price, const Candidates& candidates,
          const Greedy& greedy)
      : candidates_(candidates) {
    y_.resize(egraph.num_values());
    std::vector<int> classes;  // without the free ones
    for (int c : candidates.classes) {
      if (!greedy.IsFree(c)) classes.push_back(c);
    }
    for (int c : classes) {
      for (const ValueRef& v : candidates.of_class[c]) {
        auto [x, is_new] = x_.try_emplace(v.node);
        if (is_new) x->second = AddVariable(static_cast<double>(price[v.node]) / kScale);
        // A node with one output provides its class whenever it is computed.
        const bool alone = egraph.Head(v.node).num_outputs() == 1;
        y_[c].push_back(alone ? x->second : AddVariable(0));
        if (!alone) rows_.push_back({{x->second, y_[c].back()}, {1, -1}, 0});
      }
    }
    const Necessary necessary(egraph, candidates);
    std::vector<bool> is_provided = necessary.ForOutputs();
    for (int c : classes) {
      if (is_provided[c]) AddSum(y_[c], 1);
    }
    for (int c : candidates.classes) {
      if (greedy.IsFree(c)) is_provided[c] = true;
    }
    // One provider per class is enough, so alternatives together need a common operand only once.
    for (int c : classes) {
      std::map<int, std::vector<int>> users;  // by operand class: providers of c
      for (size_t i = 0; i < y_[c].size(); ++i) {
        for (int operand : OperandClasses(egraph, candidates.of_class[c][i].node)) {
          if (!is_provided[operand]) users[operand].push_back(y_[c][i]);
        }
      }
      for (const auto& [operand, columns] : users) AddAtLeast(y_[operand], columns);
      // Implied for integers, but it strengthens the relaxation: two half-selected ways to c need
      // only half of an operand that both need.
      for (int below : necessary.Nearest(c, candidates.classes)) {
        if (is_provided[below]) continue;
        auto direct = users.find(below);
        if (direct == users.end() || direct->second.size() < y_[c].size()) {
          AddAtLeast(y_[below], y_[c]);
        }
      }
    }
  }

  // The best selection found, not yet trimmed. `greedy` is the result of Greedy and `start` the
  // same, trimmed. Sets *bound.
  Selection Solve(const Selection& greedy, const Selection& start, int max_nodes,
                  double* bound) const {
    std::vector<double> value(objective_.size());
    for (int c : candidates_.classes) {
      for (size_t i = 0; i < y_[c].size(); ++i) {
        const ValueRef& v = candidates_.of_class[c][i];
        if (start.provider[c] != v) continue;
        value[y_[c][i]] = 1;
        value[x_.at(v.node)] = 1;
      }
    }
    *bound = 0;
    for (const Component& component : Components()) {
      *bound += SolveComponent(component, max_nodes, &value) * kScale;
    }
    Selection found = greedy;
    for (int c : candidates_.classes) {
      for (size_t i = 0; i < y_[c].size(); ++i) {
        if (value[y_[c][i]] < 0.5) continue;
        found.provider[c] = candidates_.of_class[c][i];
        break;
      }
    }
    return found;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::max();
  // Prices are in microseconds, which suits the solver's tolerances.
  static constexpr double kScale = 1000;

  struct Row {
    std::vector<int> columns;
    std::vector<double> factors;
    double at_least;
  };
  // Columns that rows connect, and these rows.
  struct Component {
    std::vector<int> columns;
    std::vector<const Row*> rows;
  };

  // Those with something to compute; in the others, the best solution is 0.
  std::vector<Component> Components() const {
    std::vector<int> parent(objective_.size());
    std::iota(parent.begin(), parent.end(), 0);
    auto root = [&](int column) {
      while (parent[column] != column) column = parent[column] = parent[parent[column]];
      return column;
    };
    for (const Row& row : rows_) {
      for (int column : row.columns) parent[root(column)] = root(row.columns[0]);
    }
    std::map<int, Component> components;
    for (const Row& row : rows_) {
      if (row.at_least > 0) components.try_emplace(root(row.columns[0]));
    }
    for (size_t i = 0; i < objective_.size(); ++i) {
      auto it = components.find(root(static_cast<int>(i)));
      if (it != components.end()) it->second.columns.push_back(static_cast<int>(i));
    }
    for (const Row& row : rows_) {
      auto it = components.find(root(row.columns[0]));
      if (it != components.end()) it->second.rows.push_back(&row);
    }
    std::vector<Component> all;
    for (auto& [first, component] : components) all.push_back(std::move(component));
    return all;
  }

  // *value holds a solution, which is replaced by a better one if one is found. Returns a lower
  // bound on the sum.
  double SolveComponent(const Component& component, int max_nodes,
                        std::vector<double>* value) const {
    std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(), &Cbc_deleteModel);
    Cbc_setLogLevel(model.get(), 0);
    Load(component, model.get());
    const std::vector<int>& columns = component.columns;
    std::vector<int> set;
    for (size_t i = 0; i < columns.size(); ++i) {
      if ((*value)[columns[i]] > 0.5) set.push_back(static_cast<int>(i));
    }
    const std::vector<double> ones(set.size(), 1);
    Cbc_setMIPStartI(model.get(), static_cast<int>(set.size()), set.data(), ones.data());
    Cbc_setMaximumNodes(model.get(), max_nodes);
    // The presolve of linear programs takes longer than it saves here, and Clp 1.17 crashes in it on
    // some programs (ClpPresolve::gutsOfPresolvedModel, called by Idiot::crossOver).
    Cbc_setParameter(model.get(), "presolve", "off");
    Cbc_solve(model.get());
    if (const double* solution = Cbc_bestSolution(model.get())) {
      for (size_t i = 0; i < columns.size(); ++i) (*value)[columns[i]] = solution[i];
    }
    return Cbc_getBestPossibleObjValue(model.get());
  }

  void Load(const Component& component, Cbc_Model* model) const {
    const int num_columns = static_cast<int>(component.columns.size());
    const int num_rows = static_cast<int>(component.rows.size());
    absl::flat_hash_map<int, int> number;  // of a column in the component
    std::vector<double> objective;
    for (int i = 0; i < num_columns; ++i) {
      number[component.columns[i]] = i;
      objective.push_back(objective_[component.columns[i]]);
    }
    std::vector<std::vector<std::pair<int, double>>> columns(num_columns);
    std::vector<double> low(num_rows, -kInfinity), high(num_rows, kInfinity);
    for (int r = 0; r < num_rows; ++r) {
      const Row& row = *component.rows[r];
      for (size_t i = 0; i < row.columns.size(); ++i) {
        columns[number.at(row.columns[i])].emplace_back(r, row.factors[i]);
      }
      low[r] = row.at_least;
    }
    std::vector<CoinBigIndex> begin = {0};
    std::vector<int> row;
    std::vector<double> factor;
    for (const auto& column : columns) {
      for (const auto& [r, f] : column) {
        row.push_back(r);
        factor.push_back(f);
      }
      begin.push_back(static_cast<CoinBigIndex>(row.size()));
    }
    const std::vector<double> zeros(num_columns, 0), ones(num_columns, 1);
    Cbc_loadProblem(model, num_columns, num_rows, begin.data(), row.data(), factor.data(),
                    zeros.data(), ones.data(), objective.data(), low.data(), high.data());
    for (int i = 0; i < num_columns; ++i) {
      Cbc_setInteger(model, i);
      Cbc_setColName(model, i, absl::StrCat("v", i).c_str());  // the start solution refers to names
    }
  }

  int AddVariable(double objective) {
    objective_.push_back(objective);
    return static_cast<int>(objective_.size()) - 1;
  }

  void AddSum(const std::vector<int>& columns, double at_least) {
    rows_.push_back({columns, std::vector<double>(columns.size(), 1), at_least});
  }

  // Adds the constraint sum(more) >= sum(less).
  void AddAtLeast(const std::vector<int>& more, const std::vector<int>& less) {
    AddSum(more, 0);
    Row& row = rows_.back();
    row.columns.insert(row.columns.end(), less.begin(), less.end());
    row.factors.resize(row.columns.size(), -1);
  }

  const Candidates& candidates_;
  absl::flat_hash_map<int, int> x_;  // by node
  std::vector<std::vector<int>> y_;  // by class, as of_class; empty for free classes
  std::vector<double> objective_;
  std::vector<Row> rows_;
};

}  // namespace

absl::StatusOr<Selection> ExtractGreedily(const EGraph& egraph, const std::vector<int64_t>& price) {
  auto selection = Greedy(egraph, price, Candidates(egraph, price)).Do();
  if (selection.ok()) Trim(egraph, price, &*selection);
  return selection;
}

absl::StatusOr<Extraction> Extract(const EGraph& egraph, const std::vector<int64_t>& price,
                                   const ExtractionOptions& options) {
  const Candidates candidates(egraph, price);
  Greedy greedy(egraph, price, candidates);
  auto start = greedy.Do();
  if (!start.ok()) return start.status();
  Extraction result;
  result.best = *start;
  Trim(egraph, price, &result.best);
  const Program program(egraph, price, candidates, greedy);
  double bound = 0;
  Selection found = program.Solve(*start, result.best, options.max_nodes, &bound);
  Trim(egraph, price, &found);
  if (found.price < result.best.price) result.best = std::move(found);
  result.num_left_out = candidates.num_left_out;
  // The solver rounds its results.
  constexpr double kTolerance = 1e-6;
  const double reached = static_cast<double>(result.best.price);
  result.bound = bound >= reached * (1 - kTolerance)
                     ? result.best.price
                     : static_cast<int64_t>(std::max(0.0, std::floor(bound * (1 - kTolerance))));
  return result;
}

}  // namespace lemma::optimizer
