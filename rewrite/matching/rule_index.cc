#include "rewrite/matching/rule_index.h"

#include <optional>
#include <utility>

namespace lemma {
namespace {

using Kind = PatternTest::Kind;

PatternHead HeadOf(const PatternNode& node) {
  if (node.op == nullptr) return {};
  return {node.op, static_cast<int>(node.inputs.size()), node.num_outputs()};
}

// Writes the tests that a match from one node of a rule's source must pass. Each of them is a
// condition of the matcher too.
class TestWriter {
 public:
  explicit TestWriter(const Matcher& matcher)
      : matcher_(matcher),
        rule_(matcher.rule()),
        bound_(rule_.source.nodes.size(), -1),
        vars_(rule_.vars.size()) {}

  std::vector<PatternTest> Write(int start) {
    bound_[start] = num_bound_++;
    for (const Matcher::Step& step : matcher_.PlanFrom(start)) {
      if (step.via) AddReader(step);
      if (rule_.source.nodes[step.node].op == nullptr) {
        const PatternNode& constant = rule_.source.nodes[step.node];
        AddType({bound_[step.node], 0, true}, constant.dtype, constant.dims);
      } else {
        AddNode(step.node);
      }
    }
    return std::move(tests_);
  }

 private:
  PatternTest& Add(Kind kind, const PatternPlace& place) {
    PatternTest& test = tests_.emplace_back();
    test.kind = kind;
    test.place = place;
    return test;
  }

  PatternPlace OutputAt(const PatternValue& value) const {
    return {bound_[value.node], value.index, true};
  }

  void AddReader(const Matcher::Step& step) {
    const PatternNode& pattern = rule_.source.nodes[step.node];
    PatternTest& test =
        Add(Kind::kReader, step.via->is_var() ? *vars_[step.via->index] : OutputAt(*step.via));
    test.slot = step.slot;
    test.head = HeadOf(pattern);
    test.commutes = IsCommuting(pattern) && step.slot < 2;
    bound_[step.node] = num_bound_++;
  }

  void AddNode(int node) {
    const PatternNode& pattern = rule_.source.nodes[node];
    const int bound = bound_[node];
    for (size_t i = 0; i < pattern.attrs.size(); ++i) {
      const std::optional<AttrValue>& literal = matcher_.LiteralOf(node, i);
      if (!literal) continue;
      PatternTest& test = Add(Kind::kAttr, {bound, 0, false});
      test.name = pattern.attrs[i].first;
      test.literal = *literal;
    }
    if (IsCommuting(pattern)) Add(Kind::kOrder, {bound, 0, false});
    // Operators come first: they rule out more than variables do.
    for (size_t i = 0; i < pattern.inputs.size(); ++i) {
      const PatternValue& input = pattern.inputs[i];
      if (!input.is_var()) AddOperand({bound, static_cast<int>(i), false}, input);
    }
    for (size_t i = 0; i < pattern.inputs.size(); ++i) {
      const PatternValue& input = pattern.inputs[i];
      if (input.is_var()) AddVar({bound, static_cast<int>(i), false}, input.index);
    }
  }

  void AddOperand(const PatternPlace& place, const PatternValue& value) {
    if (bound_[value.node] >= 0) {
      Add(Kind::kSame, place).other = OutputAt(value);
      return;
    }
    PatternTest& test = Add(Kind::kOperand, place);
    test.head = HeadOf(rule_.source.nodes[value.node]);
    test.number = value.index;
    bound_[value.node] = num_bound_++;
  }

  void AddVar(const PatternPlace& place, int number) {
    if (vars_[number]) {
      Add(Kind::kSame, place).other = *vars_[number];
      return;
    }
    vars_[number] = place;
    const PatternVar& var = rule_.vars[number];
    if (var.role == VarRole::kWeight) Add(Kind::kStatic, place);
    if (var.role == VarRole::kConstant) Add(Kind::kKnown, place);
    AddType(place, var.dtype, var.dims);
  }

  void AddType(const PatternPlace& place, const std::optional<DType>& dtype, const Term& dims) {
    if (dtype) Add(Kind::kType, place).number = static_cast<int>(*dtype);
    if (dims.kind() != Term::Kind::kList) return;
    int rank = 0;
    bool is_exact = true;
    for (size_t i = 0; i < dims.args().size(); ++i) {
      rank += dims.IsSplice(i) ? 0 : 1;
      is_exact = is_exact && !dims.IsSplice(i);
    }
    if (is_exact || rank > 0) Add(is_exact ? Kind::kRank : Kind::kMinRank, place).number = rank;
  }

  const Matcher& matcher_;
  const Substitution& rule_;
  std::vector<int> bound_;  // by node of the source: its number among bound nodes
  std::vector<std::optional<PatternPlace>> vars_;
  std::vector<PatternTest> tests_;
  int num_bound_ = 0;
};

}  // namespace

void RuleIndex::Add(const PreparedRule& rule, const Start& start, Tree* tree) {
  tree->tree.Add(HeadOf(rule.rule().source.nodes[start.number]),
                 TestWriter(rule.matcher).Write(start.number),
                 static_cast<int>(tree->starts.size()));
  tree->starts.push_back(start);
}

RuleIndex::RuleIndex(std::vector<const PreparedRule*> rules) : rules_(std::move(rules)) {
  for (size_t r = 0; r < rules_.size(); ++r) {
    const PreparedRule& rule = *rules_[r];
    const Pattern& source = rule.rule().source;
    Add(rule, {static_cast<int>(r), source.outputs[0].node}, &anchors_);
    for (size_t n = 0; n < source.nodes.size(); ++n) {
      if (source.nodes[n].op == nullptr) continue;
      Add(rule, {static_cast<int>(r), static_cast<int>(n)}, &starts_);
    }
  }
}

void RuleIndex::FindIn(const Tree& tree, const MatchView& view, int node,
                       std::vector<Start>* starts) {
  std::vector<int> patterns;
  tree.tree.Find(view, node, &patterns);
  starts->clear();
  for (int pattern : patterns) starts->push_back(tree.starts[pattern]);
}

void RuleIndex::StartsAt(const MatchView& view, int node, std::vector<Start>* starts) const {
  FindIn(starts_, view, node, starts);
}

void RuleIndex::AnchorsAt(const MatchView& view, int node, std::vector<Start>* starts) const {
  FindIn(anchors_, view, node, starts);
}

}  // namespace lemma
