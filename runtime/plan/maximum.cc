#include "runtime/plan/maximum.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace lemma {
namespace {

// Adds the variables of `e`; false if it depends on something else than constants and variables.
bool AddVars(const IndexExpr& e, std::vector<VarId>* vars) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return true;
    case IndexExpr::Kind::kVar:
      vars->push_back(e.var());
      return true;
    case IndexExpr::Kind::kSymbol:
    case IndexExpr::Kind::kLoad:
      return false;
    default:
      return AddVars(e.lhs(), vars) && AddVars(e.rhs(), vars);
  }
}

bool AddVars(const Guard& g, std::vector<VarId>* vars) {
  switch (g.kind()) {
    case Guard::Kind::kTrue:
    case Guard::Kind::kFalse:
      return true;
    case Guard::Kind::kLe:
    case Guard::Kind::kEq:
      return AddVars(g.lhs(), vars) && AddVars(g.rhs(), vars);
    case Guard::Kind::kNot:
      return AddVars(g.left(), vars);
    default:
      return AddVars(g.left(), vars) && AddVars(g.right(), vars);
  }
}

// Conditions that share variables with each other and not with those of other parts.
struct Part {
  std::vector<Guard> guards;
  std::vector<VarId> vars;
};

// Adds the conjuncts of `g`, each in the part of its variables.
bool AddConjuncts(const Guard& g, std::vector<Part>* parts) {
  if (g.kind() == Guard::Kind::kAnd) {
    return AddConjuncts(g.left(), parts) && AddConjuncts(g.right(), parts);
  }
  Part own{{g}, {}};
  if (!AddVars(g, &own.vars)) return false;
  for (size_t i = parts->size(); i-- > 0;) {
    const Part& other = (*parts)[i];
    if (std::find_first_of(own.vars.begin(), own.vars.end(), other.vars.begin(),
                           other.vars.end()) == own.vars.end()) {
      continue;
    }
    own.guards.insert(own.guards.end(), other.guards.begin(), other.guards.end());
    own.vars.insert(own.vars.end(), other.vars.begin(), other.vars.end());
    parts->erase(parts->begin() + static_cast<std::ptrdiff_t>(i));
  }
  parts->push_back(std::move(own));
  return true;
}

using Extents = absl::flat_hash_map<VarId, int64_t>;

// Enumerates a part's variables: those of the output, and for each of their values those of the
// reduction.
class PartCheck {
 public:
  PartCheck(const Part& part, const Extents& outer, const Extents& inner) : part_(part) {
    for (const Extents* extents : {&outer, &inner}) {
      for (const auto& [var, extent] : *extents) {
        if (std::count(part.vars.begin(), part.vars.end(), var) == 0) continue;
        order_.emplace_back(var, extent);
      }
      if (extents == &outer) outers_ = order_.size();
    }
  }

  // Whether for all values of the output's variables some of the reduction's satisfy the guards.
  bool AlwaysHolds() {
    constexpr double kMostCases = 1 << 20;
    double cases = 1;
    for (const auto& [var, extent] : order_) cases *= static_cast<double>(extent);
    return cases <= kMostCases && Holds(0);
  }

 private:
  bool Holds(size_t at) {
    if (at == order_.size()) return GuardsHold();
    const bool all = at < outers_;
    const auto [var, extent] = order_[at];
    for (int64_t i = 0; i < extent; ++i) {
      values_[var] = i;
      if (Holds(at + 1) != all) return !all;
    }
    return all;
  }

  bool GuardsHold() const {
    IndexEnv env;
    env.var = [&](VarId var) -> std::optional<int64_t> {
      const auto it = values_.find(var);
      return it == values_.end() ? std::nullopt : std::make_optional(it->second);
    };
    env.symbol = [](const std::string&) -> std::optional<int64_t> { return std::nullopt; };
    return std::all_of(part_.guards.begin(), part_.guards.end(),
                       [&](const Guard& g) { return EvaluateGuard(g, env) == true; });
  }

  const Part& part_;
  std::vector<std::pair<VarId, int64_t>> order_;  // the output's variables first
  size_t outers_ = 0;
  absl::flat_hash_map<VarId, int64_t> values_;
};

// The extents of `axes`; nullopt if one is unknown or 0.
std::optional<Extents> ExtentsOf(const std::vector<Axis>& axes) {
  Extents extents;
  for (const Axis& axis : axes) {
    const std::optional<int64_t> extent = axis.extent.AsConst();
    if (!extent || *extent < 1) return std::nullopt;
    extents[axis.var] = *extent;
  }
  return extents;
}

}  // namespace

bool SelectsLargest(const Definition& definition) {
  if (definition.num_inputs() != 1 || definition.tensors.size() != 1 ||
      definition.outputs.size() != 1 || definition.outputs[0] != 1 ||
      definition.tensors[0].dtype != definition.inputs[0].dtype) {
    return false;
  }
  const TensorExpr& tensor = definition.tensors[0];
  const ScalarExpr& body = tensor.body;
  if (body.kind() != ScalarExpr::Kind::kReduce || body.reduce() != ReduceKind::kMax) return false;
  const ScalarExpr& element = body.args()[0];
  if (element.kind() != ScalarExpr::Kind::kRead || element.tensor() != 0) return false;
  std::vector<VarId> of_places;
  for (const IndexExpr& index : element.indices()) {
    if (!AddVars(index, &of_places)) return false;
  }
  const std::optional<Extents> outer = ExtentsOf(tensor.axes), inner = ExtentsOf(body.axes());
  std::vector<Part> parts;
  if (!outer || !inner || !AddConjuncts(body.guard(), &parts)) return false;
  return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
    return PartCheck(part, *outer, *inner).AlwaysHolds();
  });
}

}  // namespace lemma
