// Makes operator sets from variants that are defined by texts over the operator table.
#ifndef LEMMA_GENERATOR_SETS_TABLE_SET_H_
#define LEMMA_GENERATOR_SETS_TABLE_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generator/sets/operator_set.h"
#include "generator/sets/table_variant.h"
#include "graph/graph.h"

namespace lemma::generator {

// Inputs of the same shape and role.
struct InputGroup {
  std::string name;  // "x": one input is named x; several inputs are named x1, x2, …
  int count = 1;     // number of inputs
  Shape dims;
  std::vector<Shape> more = {};  // shapes of further tensors, if each input is a bundle

  BundleShape bundle() const {
    BundleShape shapes = {dims};
    shapes.insert(shapes.end(), more.begin(), more.end());
    return shapes;
  }
};

// The set of these variants and inputs; the texts define what a variant computes. A pair is lifted
// to a rule by solving the requirements on sizes of its variants and their operators:
//   * Ranks are the ranks of the variants; common batch dimensions become a list of any length.
//   * Sizes are symbols. Two sizes are equal only where an operator or an output requires it. A
//     size is 1 only where a variant or a result says so.
//   * An attribute that is a symbol of a variant stays a symbol if it occurs in the source; it has
//     one value in the whole rule. An attribute that occurs only in the target keeps its value in
//     VariantText::values.
// InvalidArgument if a text is wrong.
absl::StatusOr<std::unique_ptr<OperatorSet>> TableSet(const std::vector<VariantText>& variants,
                                                      const std::vector<InputGroup>& inputs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TABLE_SET_H_
