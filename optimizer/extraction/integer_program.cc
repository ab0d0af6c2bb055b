#include "optimizer/extraction/integer_program.h"

#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coin/Cbc_C_Interface.h"

namespace lemma::optimizer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::max();
// Prices are in microseconds, which suits the solver's tolerances.
constexpr double kScale = 1000;

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

template <typename Row>
void Load(const std::vector<int>& own_columns, const std::vector<const Row*>& rows,
          const std::vector<double>& objectives, Cbc_Model* model) {
  const int num_columns = static_cast<int>(own_columns.size());
  const int num_rows = static_cast<int>(rows.size());
  absl::flat_hash_map<int, int> number;  // of a column in the component
  std::vector<double> objective;
  for (int i = 0; i < num_columns; ++i) {
    number[own_columns[i]] = i;
    objective.push_back(objectives[own_columns[i]]);
  }
  std::vector<std::vector<std::pair<int, double>>> columns(num_columns);
  std::vector<double> low(num_rows, -kInfinity), high(num_rows, kInfinity);
  for (int r = 0; r < num_rows; ++r) {
    const Row& row = *rows[r];
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

}  // namespace

IntegerProgram::IntegerProgram(const EGraph& egraph, const std::vector<int64_t>& price,
                               const Candidates& candidates, const std::vector<bool>& is_free)
    : candidates_(candidates) {
  y_.resize(egraph.num_values());
  std::vector<int> classes;  // without the free ones
  for (int c : candidates.classes) {
    if (!is_free[c]) classes.push_back(c);
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
    if (is_free[c]) is_provided[c] = true;
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

Selection IntegerProgram::Solve(const Selection& greedy, const Selection& start, int max_nodes,
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

std::vector<IntegerProgram::Component> IntegerProgram::Components() const {
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
  all.reserve(components.size());
  for (auto& [first, component] : components) all.push_back(std::move(component));
  return all;
}

double IntegerProgram::SolveComponent(const Component& component, int max_nodes,
                                      std::vector<double>* value) const {
  std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(), &Cbc_deleteModel);
  Cbc_setLogLevel(model.get(), 0);
  Load(component.columns, component.rows, objective_, model.get());
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

int IntegerProgram::AddVariable(double objective) {
  objective_.push_back(objective);
  return static_cast<int>(objective_.size()) - 1;
}

void IntegerProgram::AddSum(const std::vector<int>& columns, double at_least) {
  rows_.push_back({columns, std::vector<double>(columns.size(), 1), at_least});
}

void IntegerProgram::AddAtLeast(const std::vector<int>& more, const std::vector<int>& less) {
  AddSum(more, 0);
  Row& row = rows_.back();
  row.columns.insert(row.columns.end(), less.begin(), less.end());
  row.factors.resize(row.columns.size(), -1);
}

}  // namespace lemma::optimizer
