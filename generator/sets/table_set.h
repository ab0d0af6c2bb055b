// Makes operator sets from variants that are texts over the operator table.
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

// Inputs of one shape and role.
struct InputGroup {
  std::string name;  // "x" names one input x, and several x1, x2, …
  int count = 1;     // number of inputs
  Shape dims;
  std::vector<Shape> more = {};  // further tensors of a bundle

  BundleShape bundle() const {
    BundleShape shapes = {dims};
    shapes.insert(shapes.end(), more.begin(), more.end());
    return shapes;
  }
};

// The set of these variants and inputs. Types and values follow from the texts. A pair is lifted
// to a rule by solving the requirements of its variants and their operators on sizes:
//   * Ranks are those of the variants; common batch dimensions become a list of any length.
//   * Sizes are symbols. They are equal only where an operator or an output requires it, and 1 only
//     where a variant or a result says so.
//   * Attributes that are symbols of a variant stay symbols, the same in the whole rule.
// InvalidArgument if a text is wrong.
absl::StatusOr<std::unique_ptr<OperatorSet>> TableSet(const std::vector<VariantText>& variants,
                                                      const std::vector<InputGroup>& inputs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TABLE_SET_H_
