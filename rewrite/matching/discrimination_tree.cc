#include "rewrite/matching/discrimination_tree.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace lemma {
namespace {

// Whether the tests look at the same thing and differ at most in what they expect.
bool LookAtTheSame(const PatternTest& a, const PatternTest& b) {
  return a.kind == b.kind && a.place == b.place && a.other == b.other && a.slot == b.slot &&
         a.name == b.name;
}

bool ExpectTheSame(const PatternTest& a, const PatternTest& b) {
  return a.head == b.head && a.commutes == b.commutes && a.number == b.number &&
         a.literal == b.literal;
}

bool Fits(const PatternHead& head, const Node& node, size_t operands) {
  if (head.op == nullptr) return !node.is_op() && node.has_payload();
  return node.is_op() && &node.op() == head.op && node.num_outputs() == head.outputs &&
         operands == static_cast<size_t>(head.operands);
}

}  // namespace

int DiscriminationTree::ChildFor(int node, const PatternTest& test) {
  auto& branches = nodes_[node].branches;
  auto branch = std::find_if(branches.begin(), branches.end(), [&](const Branch& known) {
    return LookAtTheSame(known.cases[0].test, test);
  });
  if (branch == branches.end()) branch = branches.insert(branches.end(), Branch());
  for (const Case& known : branch->cases) {
    if (ExpectTheSame(known.test, test)) return known.child;
  }
  const int child = static_cast<int>(nodes_.size());
  branch->cases.push_back({test, child});
  nodes_.emplace_back();
  return child;
}

void DiscriminationTree::Add(const PatternHead& head, const std::vector<PatternTest>& tests,
                             int pattern) {
  auto& roots = roots_[head.op];
  auto root = std::find_if(roots.begin(), roots.end(),
                           [&](const auto& known) { return known.first == head; });
  if (root == roots.end()) {
    root = roots.insert(roots.end(), {head, static_cast<int>(nodes_.size())});
    nodes_.emplace_back();
  }
  int node = root->second;
  for (const PatternTest& test : tests) node = ChildFor(node, test);
  nodes_[node].patterns.push_back(pattern);
}

class DiscriminationTree::Walk {
 public:
  Walk(const DiscriminationTree& tree, const MatchView& view, std::vector<int>* patterns)
      : tree_(tree), view_(view), patterns_(*patterns) {}

  void From(int root, int node) {
    bound_.push_back({node, false});
    Visit(root);
    bound_.pop_back();
  }

 private:
  struct Bound {
    int node = 0;
    bool is_swapped = false;  // its first two operands
  };

  ValueRef At(const PatternPlace& place) const {
    const Bound& bound = bound_[place.bound];
    if (place.is_output) return view_.Canonical({bound.node, place.index});
    const bool other = bound.is_swapped && place.index < 2;
    return view_.Operands(bound.node)[other ? 1 - place.index : place.index];
  }

  void Visit(int number) {
    const DiscriminationTree::Node& node = tree_.nodes_[number];
    patterns_.insert(patterns_.end(), node.patterns.begin(), node.patterns.end());
    for (const Branch& branch : node.branches) Take(branch);
  }

  void VisitBound(int number, int node) {
    bound_.push_back({node, false});
    Visit(number);
    bound_.pop_back();
  }

  void Take(const Branch& branch) {
    const PatternTest& first = branch.cases[0].test;
    switch (first.kind) {
      case PatternTest::Kind::kOrder:
        return TakeOrders(first.place.bound, branch.cases[0].child);
      case PatternTest::Kind::kAttr:
        return TakeAttrs(branch);
      case PatternTest::Kind::kOperand:
        return TakeOperands(branch);
      case PatternTest::Kind::kReader:
        return TakeReaders(branch);
      default:
        break;
    }
    const ValueRef value = At(first.place);
    for (const Case& c : branch.cases) {
      if (Holds(c.test, value)) Visit(c.child);
    }
  }

  void TakeOrders(int bound, int child) {
    Visit(child);
    const auto operands = view_.Operands(bound_[bound].node);
    if (operands[0] == operands[1]) return;
    bound_[bound].is_swapped = true;
    Visit(child);
    bound_[bound].is_swapped = false;
  }

  void TakeAttrs(const Branch& branch) {
    const PatternTest& first = branch.cases[0].test;
    const Attrs& attrs = view_.Head(bound_[first.place.bound].node).attrs();
    const auto it = attrs.find(first.name);
    if (it == attrs.end()) return;
    for (const Case& c : branch.cases) {
      if (c.test.literal == it->second) return Visit(c.child);
    }
  }

  void TakeOperands(const Branch& branch) {
    const ValueRef value = At(branch.cases[0].test.place);
    for (const ValueRef& equal : view_.EqualTo(value)) {
      const lemma::Node& head = view_.Head(equal.node);
      const size_t operands = view_.Operands(equal.node).size();
      for (const Case& c : branch.cases) {
        if (c.test.number == equal.output && Fits(c.test.head, head, operands)) {
          VisitBound(c.child, equal.node);
        }
      }
    }
  }

  void TakeReaders(const Branch& branch) {
    const PatternTest& first = branch.cases[0].test;
    for (const MatchView::Use& use : view_.Users(At(first.place))) {
      const bool is_other = use.slot != first.slot;
      if (is_other && (first.slot > 1 || use.slot != 1 - first.slot)) continue;
      const lemma::Node& head = view_.Head(use.position);
      const size_t operands = view_.Operands(use.position).size();
      for (const Case& c : branch.cases) {
        if ((!is_other || c.test.commutes) && Fits(c.test.head, head, operands)) {
          VisitBound(c.child, use.position);
        }
      }
    }
  }

  bool Holds(const PatternTest& test, ValueRef value) const {
    const TensorType& type = view_.Head(value.node).type(value.output);
    switch (test.kind) {
      case PatternTest::Kind::kSame:
        return At(test.other) == value;
      case PatternTest::Kind::kStatic:
        return view_.IsStatic(value.node);
      case PatternTest::Kind::kKnown:
        return view_.IsKnown(value.node);
      case PatternTest::Kind::kType:
        return static_cast<int>(type.dtype) == test.number;
      case PatternTest::Kind::kRank:
        return type.shape.size() == static_cast<size_t>(test.number);
      default:
        return type.shape.size() >= static_cast<size_t>(test.number);
    }
  }

  const DiscriminationTree& tree_;
  const MatchView& view_;
  std::vector<int>& patterns_;
  absl::InlinedVector<Bound, 8> bound_;
};

void DiscriminationTree::Find(const MatchView& view, int node, std::vector<int>* patterns) const {
  patterns->clear();
  const lemma::Node& head = view.Head(node);
  if (!head.is_op()) return;
  const auto roots = roots_.find(&head.op());
  if (roots == roots_.end()) return;
  const size_t operands = view.Operands(node).size();
  Walk walk(*this, view, patterns);
  for (const auto& [wanted, root] : roots->second) {
    if (Fits(wanted, head, operands)) walk.From(root, node);
  }
  std::sort(patterns->begin(), patterns->end());
  patterns->erase(std::unique(patterns->begin(), patterns->end()), patterns->end());
}

}  // namespace lemma
