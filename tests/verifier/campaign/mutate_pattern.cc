#include "tests/verifier/campaign/mutate_pattern.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/op_table.h"
#include "tests/verifier/campaign/mutate_terms.h"

namespace lemma {
namespace {

// Groups of similar operators; one may replace another.
const std::vector<std::string> kKinds[] = {
    {"relu", "neg",      "tanh",       "sigmoid", "abs",          "gelu", "silu",
     "sign", "exp",      "log",        "sqrt",    "reciprocal",   "erf",  "sin",
     "cos",  "softplus", "leaky_relu", "elu",     "hard_sigmoid", "clip"},
    {"floor", "ceil", "round", "sign", "abs", "neg"},
    {"add", "sub", "mul", "div", "max", "min", "mod", "fmod", "pow"},
    {"max", "min"},
    {"less", "less_equal", "greater", "greater_equal", "equal"},
    {"and", "or", "xor"},
    {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_l2",
     "reduce_logsumexp"},
    {"reduce_max", "reduce_min"},
    {"argmax", "argmin"},
    {"softmax", "log_softmax", "hardmax"},
    {"max_pool2d", "avg_pool2d"},
    {"depth_to_space", "space_to_depth"},
    {"gather", "gather_elements"}};

// Operators of one operand without attributes, which may be put anywhere; conversions are separate.
const char* const kUnary[] = {"neg",  "abs", "relu", "floor", "ceil",       "round",
                              "sign", "exp", "tanh", "sqrt",  "reciprocal", "not"};

class PatternMutator {
 public:
  PatternMutator(const Substitution& rule, Pattern* pattern, std::mt19937_64* random)
      : rule_(rule), pattern_(*pattern), random_(*random) {}

  std::string Mutate() {
    if (pattern_.nodes.empty()) return "";
    const int n = Below(pattern_.nodes.size());
    switch (Below(11)) {
      case 0:
        return ExchangeOperands(n);
      case 1:
        return ReplaceOperand(n);
      case 2:
      case 3:
        return ExchangeOperator(n);
      case 4:
        return LeaveOut(n);
      case 5:
        return DoTwice(n);
      case 6:
        return PutBetween(n);
      case 7:
        return MutateOutputs();
      default:
        return MutateAttribute(n);
    }
  }

  // Inserts the operator before node `at`.
  PatternValue Insert(int at, PatternNode node) {
    auto shift = [&](PatternValue* v) { v->node += v->node >= at ? 1 : 0; };
    for (PatternNode& other : pattern_.nodes) {
      for (PatternValue& v : other.inputs) shift(&v);
    }
    for (PatternValue& v : pattern_.outputs) shift(&v);
    node.output_names = {"made"};
    pattern_.nodes.insert(pattern_.nodes.begin() + at, std::move(node));
    return {at, 0};
  }

 private:
  int Below(size_t n) { return static_cast<int>(random_() % n); }

  std::string ExchangeOperands(int n) {
    std::vector<PatternValue>& inputs = pattern_.nodes[n].inputs;
    if (inputs.size() < 2) return "";
    std::swap(inputs[Below(inputs.size())], inputs[Below(inputs.size())]);
    return "operands exchanged";
  }

  // A variable, or an output of a node before `end`.
  PatternValue AnyValue(int end) {
    const int vars = static_cast<int>(rule_.vars.size());
    const int chosen = Below(static_cast<size_t>(vars + end));
    if (chosen < vars) return {-1, chosen};
    const int node = chosen - vars;
    return {node, Below(pattern_.nodes[node].output_names.size())};
  }

  std::string ReplaceOperand(int n) {
    std::vector<PatternValue>& inputs = pattern_.nodes[n].inputs;
    if (inputs.empty()) return "";
    inputs[Below(inputs.size())] = AnyValue(n);
    return "another operand";
  }

  std::string ExchangeOperator(int n) {
    PatternNode& node = pattern_.nodes[n];
    if (node.op == nullptr) return "";
    std::vector<const std::vector<std::string>*> kinds;
    for (const auto& kind : kKinds) {
      if (std::count(kind.begin(), kind.end(), node.op->name) > 0) kinds.push_back(&kind);
    }
    if (kinds.empty()) return "";
    const std::vector<std::string>& kind = *kinds[Below(kinds.size())];
    const OpDef* other = FindOp(kind[Below(kind.size())]);
    std::vector<std::pair<std::string, Term>> attrs;
    for (const AttrSpec& spec : other->attrs) {
      auto it = std::find_if(node.attrs.begin(), node.attrs.end(),
                             [&](const auto& attr) { return attr.first == spec.name; });
      if (it == node.attrs.end() && !spec.default_value) return "";
      attrs.emplace_back(spec.name,
                         it != node.attrs.end() ? it->second : Term::Of(*spec.default_value));
    }
    const std::string what = absl::StrCat(node.op->name, " became ", other->name);
    node.op = other;
    node.attrs = std::move(attrs);
    return what;
  }

  void Redirect(PatternValue from, PatternValue to) {
    for (PatternNode& node : pattern_.nodes) {
      std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    }
    std::replace(pattern_.outputs.begin(), pattern_.outputs.end(), from, to);
  }

  std::string LeaveOut(int n) {
    const PatternNode& node = pattern_.nodes[n];
    if (node.inputs.empty()) return "";
    const std::string name = node.op->name;
    Redirect({n, 0}, node.inputs[Below(node.inputs.size())]);
    return absl::StrCat(name, " left out");
  }

  // All readers of `at` read the new operator's result instead.
  void InsertBehind(PatternValue at, PatternNode node) {
    const PatternValue made = Insert(at.node + 1, std::move(node));
    Redirect(at, made);
    pattern_.nodes[made.node].inputs[0] = at;
  }

  std::string DoTwice(int n) {
    const PatternNode& node = pattern_.nodes[n];
    if (node.inputs.empty() || node.num_outputs() != 1) return "";
    PatternNode twice = node;
    twice.inputs[0] = {n, 0};
    const std::string name = node.op->name;
    InsertBehind({n, 0}, std::move(twice));
    return absl::StrCat(name, " done twice");
  }

  std::string PutBetween(int n) {
    PatternNode node = Unary();
    const PatternValue at = {n, Below(pattern_.nodes[n].output_names.size())};
    node.inputs = {at};
    const std::string name = node.op->name;
    InsertBehind(at, std::move(node));
    return absl::StrCat(name, " put between");
  }

  std::string MutateOutputs() {
    std::vector<PatternValue>& outputs = pattern_.outputs;
    if (Below(2) == 0 && outputs.size() > 1) {
      std::swap(outputs[Below(outputs.size())], outputs[Below(outputs.size())]);
      return "outputs exchanged";
    }
    outputs[Below(outputs.size())] = AnyValue(static_cast<int>(pattern_.nodes.size()));
    return "another output";
  }

  std::string MutateAttribute(int n) {
    PatternNode& node = pattern_.nodes[n];
    if (node.op == nullptr) {
      Term& term = Below(3) == 0 ? node.dims : node.fill;
      term = MutatedTerm(term, rule_.symbols, &random_);
      return "another constant";
    }
    if (node.attrs.empty()) return "";
    auto& [name, term] = node.attrs[Below(node.attrs.size())];
    term = MutatedTerm(term, rule_.symbols, &random_);
    return absl::StrCat(node.op->name, ": another ", name);
  }

 public:
  // A unary operator without its operand.
  PatternNode Unary() {
    PatternNode node;
    if (Below(3) == 0) {
      node.op = FindOp("cast");
      const auto dtype = static_cast<DType>(Below(static_cast<size_t>(kNumDTypes)));
      for (const AttrSpec& spec : node.op->attrs) {
        node.attrs.emplace_back(spec.name, spec.name == "dtype"
                                               ? Term::String(std::string(Name(dtype)))
                                               : Term::Of(*spec.default_value));
      }
    } else {
      node.op = FindOp(kUnary[Below(std::size(kUnary))]);
    }
    return node;
  }

 private:
  const Substitution& rule_;
  Pattern& pattern_;
  std::mt19937_64& random_;
};

}  // namespace

std::string MutateSide(const Substitution& rule, Pattern* side, std::mt19937_64* random) {
  return PatternMutator(rule, side, random).Mutate();
}

std::string MutateBothSides(Substitution* rule, std::mt19937_64* random) {
  PatternMutator source(*rule, &rule->source, random), target(*rule, &rule->target, random);
  const PatternNode node = source.Unary();
  if ((*random)() % 2 == 0) {
    const size_t o = (*random)() % rule->source.outputs.size();
    for (auto [mutator, pattern] :
         {std::pair(&source, &rule->source), std::pair(&target, &rule->target)}) {
      PatternNode behind = node;
      behind.inputs = {pattern->outputs[o]};
      pattern->outputs[o] = mutator->Insert(static_cast<int>(pattern->nodes.size()), behind);
    }
    return absl::StrCat(node.op->name, " behind both sides");
  }
  const PatternValue var = {-1, static_cast<int>((*random)() % rule->vars.size())};
  for (auto [mutator, pattern] :
       {std::pair(&source, &rule->source), std::pair(&target, &rule->target)}) {
    bool read = std::count(pattern->outputs.begin(), pattern->outputs.end(), var) > 0;
    for (const PatternNode& other : pattern->nodes) {
      read = read || std::count(other.inputs.begin(), other.inputs.end(), var) > 0;
    }
    if (!read) continue;
    PatternNode front = node;
    front.inputs = {var};
    const PatternValue made = mutator->Insert(0, front);
    for (size_t n = 1; n < pattern->nodes.size(); ++n) {
      std::vector<PatternValue>& inputs = pattern->nodes[n].inputs;
      std::replace(inputs.begin(), inputs.end(), var, made);
    }
    std::replace(pattern->outputs.begin(), pattern->outputs.end(), var, made);
  }
  return absl::StrCat(node.op->name, " in front of ", rule->vars[var.index].name);
}

void Tidy(Pattern* pattern) {
  std::vector<bool> needed(pattern->nodes.size());
  auto need = [&](const PatternValue& v) {
    if (!v.is_var()) needed[v.node] = true;
  };
  for (const PatternValue& v : pattern->outputs) need(v);
  for (size_t n = needed.size(); n-- > 0;) {
    if (!needed[n]) continue;
    for (const PatternValue& v : pattern->nodes[n].inputs) need(v);
  }
  std::vector<int> number;
  std::vector<PatternNode> kept;
  for (size_t n = 0; n < needed.size(); ++n) {
    number.push_back(static_cast<int>(kept.size()));
    if (needed[n]) kept.push_back(std::move(pattern->nodes[n]));
  }
  auto renumber = [&](PatternValue* v) { v->node = v->is_var() ? v->node : number[v->node]; };
  for (PatternNode& node : kept) {
    for (PatternValue& v : node.inputs) renumber(&v);
  }
  for (PatternValue& v : pattern->outputs) renumber(&v);
  for (size_t n = 0; n < kept.size(); ++n) {
    for (size_t i = 0; i < kept[n].output_names.size(); ++i) {
      kept[n].output_names[i] = absl::StrCat("made", n, "_", i);
    }
  }
  pattern->nodes = std::move(kept);
}

}  // namespace lemma
