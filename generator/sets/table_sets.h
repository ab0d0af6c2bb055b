// The built-in operator sets that are defined by texts over the operator table.
#ifndef LEMMA_GENERATOR_SETS_TABLE_SETS_H_
#define LEMMA_GENERATOR_SETS_TABLE_SETS_H_

#include <vector>

#include "generator/sets/table_set.h"
#include "generator/sets/table_variant.h"

namespace lemma::generator {

struct TableSetText {
  std::vector<VariantText> variants;
  std::vector<InputGroup> inputs;
};

const TableSetText& TransformerSet();  // transformer_set.cc
const TableSetText& TrainingSet();     // training_set.cc

struct NamedTableSet {
  const char* name;  // the name of the set for NamedSet (named_sets.h)
  TableSetText text;
};
// Small sets, one for each kind of rewrite of inference graphs; see inference_set.cc.
const std::vector<NamedTableSet>& InferenceSets();

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TABLE_SETS_H_
