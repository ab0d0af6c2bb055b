// The operator sets that are written down as texts over the operator table.
#ifndef LEMMA_GENERATOR_TABLE_SETS_H_
#define LEMMA_GENERATOR_TABLE_SETS_H_

#include <vector>

#include "generator/table_instance.h"
#include "generator/table_set.h"

namespace lemma::generator {

struct TableSetText {
  std::vector<InstanceText> instances;
  std::vector<InputGroup> inputs;
};

const TableSetText& TransformerSet();  // transformer_set.cc
const TableSetText& TrainingSet();     // training_set.cc

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_TABLE_SETS_H_
