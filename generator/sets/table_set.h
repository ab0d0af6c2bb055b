// Makes operator sets from instances that are texts over the operator table.
#ifndef LEMMA_GENERATOR_SETS_TABLE_SET_H_
#define LEMMA_GENERATOR_SETS_TABLE_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generator/sets/operator_set.h"
#include "generator/sets/table_instance.h"
#include "graph/graph.h"

namespace lemma::generator {

struct InputGroup {
  std::string name;  // of one input; several are x1, x2, …
  int count = 1;
  Shape dims;
  std::vector<Shape> more = {};  // further tensors of a bundle

  BundleShape bundle() const {
    BundleShape shapes = {dims};
    shapes.insert(shapes.end(), more.begin(), more.end());
    return shapes;
  }
};

// The set of these instances and inputs. Types and values follow from the texts. A pair is lifted
// to a rule by solving the requirements of its instances and their operators on sizes:
//   * Ranks are those of the instances; common batch dimensions become a list of any length.
//   * Sizes are symbols. They are equal only where an operator or an output requires it, and 1 only
//     where an instance or a result says so.
//   * Attributes that are symbols of an instance stay symbols, the same in the whole rule.
// InvalidArgument if a text is wrong.
absl::StatusOr<std::unique_ptr<OperatorSet>> TableSet(const std::vector<InstanceText>& instances,
                                                      const std::vector<InputGroup>& inputs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TABLE_SET_H_
