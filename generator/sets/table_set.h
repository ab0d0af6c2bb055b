// Operator sets over the operators of the table.
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
  std::string name;  // of one input; of several, x1, x2, …
  int count = 1;
  Shape dims;
  std::vector<Shape> more = {};  // further tensors: a bundle

  BundleShape bundle() const {
    BundleShape shapes = {dims};
    shapes.insert(shapes.end(), more.begin(), more.end());
    return shapes;
  }
};

// The set of these instances and inputs. What an instance is and does, it says itself; a pair is
// lifted by solving what its instances and their operators require of sizes:
//   * ranks are as the instances have them; dimensions that all of them only carry along are a list
//     of any length;
//   * sizes are symbols, equal only where an operator or an output asks for it, and 1 only where an
//     instance or a result says so;
//   * attributes that are symbols of an instance stay symbols, the same in the whole rule.
// InvalidArgument if a text is wrong.
absl::StatusOr<std::unique_ptr<OperatorSet>> TableSet(const std::vector<InstanceText>& instances,
                                                      const std::vector<InputGroup>& inputs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TABLE_SET_H_
