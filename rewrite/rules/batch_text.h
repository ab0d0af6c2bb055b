// Dimensions that a statement only carries along, and the statement without them.
//
// Let C be a set of dimensions of tensors of both sides, at most one of each tensor, all of one
// size E, such that a tensor that has one reads other tensors that have one with exactly its own
// index there, one that has none reads none that has, and an output of the source has one where the
// target's has. Nothing else depends on that index or on E. Fix it to any value: by induction
// along the tensors, each slice is what the definition without C gives on the inputs' slices. So
// the statement holds for every E if the statement without C does; and that without C holds if the
// statement does for E = 1. Dimensions of constant size 1, read at 0, are carried in the same way.
#ifndef LEMMA_REWRITE_RULES_BATCH_TEXT_H_
#define LEMMA_REWRITE_RULES_BATCH_TEXT_H_

#include <string>
#include <vector>

#include "rewrite/rules/statement.h"

namespace lemma {

// A statement's definitions as text, without the names of symbols, variables and tensors: equal
// texts say the same of their symbols in order. Element types equal to `common` are printed alike.
struct StatementText {
  std::string text;
  std::vector<std::string> symbols;  // in order of their first occurrence in the text
  std::vector<std::string> erased;   // sizes of dimensions that were left out
};
StatementText TextOf(const Statement& statement, DType common);
// The same of the statement without what it only carries along. Sizes count as equal if the
// statement requires them to be.
StatementText TextWithoutBatchDims(const Statement& statement, DType common);

// Whether `statement` follows from `proved` since it only carries more along: the texts without
// what is carried are equal, and the second's requirements are among the first's or known to hold.
bool OnlyAddsBatchDims(const Statement& statement, const Statement& proved);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_BATCH_TEXT_H_
