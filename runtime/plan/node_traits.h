// Derives properties of operator applications that planners need, from the operators' definitions.
#ifndef LEMMA_RUNTIME_PLAN_NODE_TRAITS_H_
#define LEMMA_RUNTIME_PLAN_NODE_TRAITS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/arithmetic.h"
#include "graph/graph.h"
#include "runtime/plan/element_function.h"
#include "runtime/plan/layout.h"

namespace lemma {

// An output that is a view of one input: its element at index i is the input's element at index
// offset + coefficient * i, where i and `offset` are vectors and `coefficient` is a matrix of
// numbers that are not negative. So an output that reverses a dimension is no view.
struct AffineView {
  int input = 0;  // the number of the input
  int output_rank = 0;
  std::vector<int64_t> offset;                    // per input dimension
  std::vector<std::vector<int64_t>> coefficient;  // [input dimension][output dimension]

  // The strides of the view, and its offset in elements, if the input has `input_strides`.
  Strides StridesOver(const Strides& input_strides) const;
  int64_t OffsetOver(const Strides& input_strides) const;
  // If the view is the whole input with its dimensions permuted: for each output dimension, the
  // number of the input dimension in its place. Otherwise empty.
  std::vector<int> permutation;
};

// A choice between inputs by one truth value, as in an operator `where` with a scalar condition.
struct Choice {
  enum class Side { kThen, kElse, kBoth };
  int condition = 0;  // the number of the input that decides
  // By input: kThen if it is read only where the condition holds, kElse if only where it does not
  // hold, and otherwise kBoth.
  std::vector<Side> sides;
};

// Traits of one application. "The only output" and "the only input" mean that the trait is false or
// absent if there are several.
struct NodeTraits {
  // All sizes are known, and the operator has an executable definition. If false, all other traits
  // have their default values.
  bool defined = false;
  // There is one output, and each of its elements is a scalar function of elements of the inputs.
  // An input of the output's rank is read at the index of the output element, or at 0 along
  // dimensions of size 1. An input of lower rank is read at some of the output's indices, in order,
  // as b[j] for y[i, j].
  bool pointwise = false;
  // If pointwise: the function of single elements; nullopt as in ElementFunctionOf.
  std::optional<ElementFunction> element;
  // The only output has another shape than the only input, and the same elements in the same
  // row-major order.
  bool reshapes = false;
  // One per output if all outputs are affine views; otherwise empty.
  std::vector<AffineView> views;
  // If the only output is the concatenation of two or more inputs: the dimension along which it
  // holds them.
  std::optional<int> concat_dim;
  bool selects_largest = false;  // the result of SelectsLargest (maximum.h)
  // Set if one truth value, the same for all elements, decides which inputs the only output reads.
  std::optional<Choice> choice;
  // The operator with f32 in place of every f16 and bf16 computes the same real numbers, so its
  // results, rounded once, are the results of this application. False if no operand and no result
  // is f16 or bf16.
  bool widens = false;
  // If `widens` is true: whether a result that is computed from 16-bit floats may be a number that
  // no 16-bit float represents.
  bool rounds = false;
  Domain domain = Domain::kAny;  // graph/expr/arithmetic.h
  std::vector<bool> is_index;    // by input: its values decide where something is read or written
};

// Caches traits by operator, attributes and input types. Not thread-safe.
class NodeTraitsCache {
 public:
  // The traits of `node`, which must be an operator. The reference is valid as long as the cache.
  const NodeTraits& Of(const Node& node);

 private:
  absl::flat_hash_map<uint64_t, std::unique_ptr<NodeTraits>> traits_;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_NODE_TRAITS_H_
