// Loop nests: the compiled form of a tensor's definition. Internal to kernels.
//
// A nest computes one box (a product of index ranges) of one tensor. Its
// vectorized loop runs over lanes: consecutive values of one loop variable.
// Fields named `lane` hold the number of this variable. A nest contains no
// symbols: strides are folded into flat element offsets, indices are sums of
// leaves (IndexLeaf), shared subterms are one node, and every variable has one
// binder.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_IR_H_
#define LEMMA_KERNELS_LOOPS_LOOP_IR_H_

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/expr/affine.h"
#include "graph/expr/index_expr.h"
#include "graph/expr/scalar_expr.h"

namespace lemma {
namespace loops {

constexpr int kMaxVars = 192;
using Vars = std::bitset<kMaxVars>;

// An integer from which indices are built: a variable, or an expression that is not a sum. An index
// is an Affine whose variables are leaves, given by their numbers.
struct IndexLeaf {
  enum class Kind {
    kVar,
    kDiv,  // floor(a / b); 0 if b <= 0
    kMod,  // a - b * floor(a / b); 0 if b <= 0. For a positive constant b, kDiv is used instead
    kMin,
    kMax,
    kMul,
    kLoad,  // the integer value of node `load`
  };
  Kind kind = Kind::kVar;
  int var = -1;
  Affine a, b;
  int load = -1;

  Vars deps;                    // the variables that the leaf depends on
  bool data_dependent = false;  // whether it depends on a kLoad
  bool bounded = false;
  Interval bounds;  // of the leaf's value; only if `bounded`
};

// A condition. Nest::conds[0] and [1] are the constants false and true.
struct Cond {
  enum class Kind { kFalse, kTrue, kLe, kEq, kAnd, kOr, kNot };
  Kind kind = Kind::kTrue;
  Affine affine;              // kLe: affine <= 0; kEq: affine == 0
  int left = -1, right = -1;  // conditions, by number; kAnd and kOr: both, kNot: only left
  Vars deps;                  // the variables that the condition depends on
};
constexpr int kCondFalse = 0;
constexpr int kCondTrue = 1;

// A check at run time that the index of dimension `dim` of a read is inside: 0 <= index < size.
struct Check {
  int dim = 0;
  Affine index;
  int64_t size = 0;
  bool data_dependent = false;
  // For messages: the index as written, and the index's range if it is known.
  IndexExpr source;
  std::optional<Interval> bounds;
};

// How an index changes along the lanes.
enum class LaneMode : uint8_t {
  kAffine,  // one step size for all lanes
  kRuns,    // piecewise affine, in pieces long enough to be handled one by one
  kPoints,  // any values
};

struct Node {
  ScalarExpr::Kind kind = ScalarExpr::Kind::kConst;
  double value = 0;              // kConst
  Affine index;                  // kIndex; kRead: the flat element offset
  int slot = -1;                 // kRead: the tensor
  std::vector<Check> checks;     // kRead
  ScalarFn fn = ScalarFn::kAdd;  // kApply
  std::vector<int> args;         // kApply; kSelect: then, else; kReduce: body
  int guard = kCondTrue;         // kSelect, kReduce
  ReduceKind reduce = ReduceKind::kSum;
  std::vector<std::pair<int, Affine>> axes;  // kReduce: variables and extents

  Vars deps;                  // free variables
  std::vector<int> dep_list;  // the same as a list
  int uses = 0;  // references to the node: from nodes, from IndexLeaf::load, as the root

  // Set by scheduling.
  int lane = -1;      // the variable this node is vectorized over; -1: a scalar
  int own_lane = -1;  // scalar kReduce: the one of its `axes` that its body is vectorized over
  LaneMode mode = LaneMode::kAffine;
  // kReduce: the conjuncts of `guard`. Those that depend on the lane form lane_guard. The others
  // are in level_guards: those at [i] are tested inside the first i loops of `axes`.
  std::vector<std::vector<int>> level_guards;
  int lane_guard = kCondTrue;
};

struct LoopVar {
  int64_t extent = 0;  // the greatest extent, if the extent depends on outer variables
};

struct Nest {
  std::vector<LoopVar> vars;
  std::vector<IndexLeaf> leaves;  // leaves[v] is variable v
  std::vector<Cond> conds;
  std::vector<Node> nodes;  // operands before users
  std::vector<int> axes;    // the loops over the output box, outermost first
  int root = -1;            // the node whose value is stored
  int out_slot = -1;        // the tensor that it is stored to
  Affine out;               // the flat offset of the written element

  // Set by scheduling.
  int lane = -1;  // one of `axes`, or -1
  LaneMode out_mode = LaneMode::kAffine;
  int64_t block = 1;   // lanes per block, for every lane variable
  double cost_ns = 0;  // a rough estimate for one thread
};

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_IR_H_
