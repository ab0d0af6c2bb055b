// What a planner needs to know of an operator application, read off its definition.
#ifndef LEMMA_RUNTIME_PLAN_NODE_TRAITS_H_
#define LEMMA_RUNTIME_PLAN_NODE_TRAITS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/arithmetic.h"
#include "graph/graph.h"
#include "runtime/plan/layout.h"

namespace lemma {

// An output that is another way of looking at one input: element i of the output is element
// offset + coefficient * i of the input.
struct AffineView {
  int input = 0;
  int output_rank = 0;
  std::vector<int64_t> offset;                    // per input dimension
  std::vector<std::vector<int64_t>> coefficient;  // [input dimension][output dimension]

  // The strides and the additional element offset of the view over an input laid out so.
  Strides StridesOver(const Strides& input_strides) const;
  int64_t OffsetOver(const Strides& input_strides) const;
  // output dimension -> input dimension if the view is all of the input with its dimensions in
  // another order; empty otherwise.
  std::vector<int> permutation;
};

struct NodeTraits {
  bool defined = false;  // has an executable definition
  // One output, a function of elements of the inputs at the output's own index, or broadcast: an
  // input of the output's shape is read nowhere else.
  bool pointwise = false;
  // One per output if all outputs are affine views.
  std::vector<AffineView> views;
  // The dimension along which the only output holds all inputs one after the other, two or more of
  // them; absent where it does not.
  std::optional<int> concat_dim;
  Domain domain = Domain::kAny;
  std::vector<bool> is_index;  // by input: decides where something is read or written
};

// Memo of traits by operator, attributes and input types. Not thread-safe.
class NodeTraitsCache {
 public:
  const NodeTraits& Of(const Node& node);

 private:
  absl::flat_hash_map<uint64_t, std::unique_ptr<NodeTraits>> traits_;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_NODE_TRAITS_H_
