// Finds the patterns that may occur at a node of a graph, all in one walk.
//
// A pattern is a sequence of tests, in the order of the matcher's plan (rewrite/matching/match.h):
// the operator of an operand, an attribute with a fixed value, the rank of a variable, an operator
// that reads a value. Patterns that begin with the same tests share these tests, as in the
// discrimination trees of theorem provers (McCune, "Experiments with Discrimination-Tree Indexing
// and Path Indexing for Term Retrieval", 1992). So a test that fails rules out all patterns behind
// it. A walk branches where a pattern may continue in several ways: at both orders of a commutative
// operator's operands, at each reader of a value, and at each of several equal values.
#ifndef LEMMA_REWRITE_MATCHING_DISCRIMINATION_TREE_H_
#define LEMMA_REWRITE_MATCHING_DISCRIMINATION_TREE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "rewrite/matching/match_view.h"

namespace lemma {

// Operand or output `index` of a node that earlier tests have bound. Bound nodes are numbered in
// the order in which tests bind them; number 0 is the node where the walk starts.
struct PatternPlace {
  int bound = 0;
  int index = 0;
  bool is_output = false;
  friend bool operator==(const PatternPlace& a, const PatternPlace& b) {
    return a.bound == b.bound && a.index == b.index && a.is_output == b.is_output;
  }
};

// A pattern's requirements on a node. op = nullptr: the node is a leaf whose elements are known.
struct PatternHead {
  const OpDef* op = nullptr;
  int operands = 0, outputs = 1;  // how many the node has
  friend bool operator==(const PatternHead& a, const PatternHead& b) {
    return a.op == b.op && a.operands == b.operands && a.outputs == b.outputs;
  }
};

struct PatternTest {
  enum class Kind {
    kOrder,    // tries both orders of the first two operands of node place.bound
    kAttr,     // attribute `name` of node place.bound is `literal`
    kOperand,  // binds a node with `head` whose output `number` is the value at `place`
    kReader,   // binds a node with `head` that reads the value at `place` as operand `slot` or, if
               // `commutes`, as operand 1 - `slot`
    kSame,     // the values at `place` and `other` are equal
    kStatic,   // MatchView::IsStatic holds for the node of the value at `place`
    kKnown,    // MatchView::IsKnown holds for the node of the value at `place`
    kType,     // the element type of the value at `place` is the DType with the number `number`
    kRank,     // the value at `place` has `number` dimensions
    kMinRank,  // the value at `place` has at least `number` dimensions
  };
  Kind kind = Kind::kOrder;
  PatternPlace place, other;
  int slot = 0;
  std::string name;
  PatternHead head;
  bool commutes = false;
  int number = 0;
  AttrValue literal;
};

class DiscriminationTree {
 public:
  // Adds pattern number `pattern`, which begins at a node with `head`. head.op must not be nullptr:
  // walks begin at operators.
  void Add(const PatternHead& head, const std::vector<PatternTest>& tests, int pattern);
  // Sets *patterns to the numbers of the patterns whose tests all hold at `node`, each once,
  // ascending. A test is tried if all tests before it hold. The time grows with the number of
  // different tests tried, not with the number of patterns that share them.
  void Find(const MatchView& view, int node, std::vector<int>* patterns) const;

 private:
  struct Case {
    PatternTest test;
    int child = 0;
  };
  struct Branch {  // tests of one kind at one place, which differ only in what they expect there
    std::vector<Case> cases;
  };
  struct Node {
    std::vector<Branch> branches;
    std::vector<int> patterns;
  };
  class Walk;

  int ChildFor(int node, const PatternTest& test);

  absl::flat_hash_map<const OpDef*, std::vector<std::pair<PatternHead, int>>> roots_;
  std::vector<Node> nodes_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_DISCRIMINATION_TREE_H_
