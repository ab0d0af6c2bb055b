// Writes statements as texts that can be compared, with or without their batch dimensions. Batch
// dimensions are dimensions that both sides only carry along, such as b in a product of [b, m, k]
// and [b, k, n]. A statement with batch dimensions follows from the statement without them.
//
// The reason: let C be a set of dimensions of tensors of both sides, at most one per tensor, all of
// one size E, such that
//   * where a tensor T with a dimension in C reads another tensor with a dimension in C, it reads
//     that dimension at T's index along C;
//   * a tensor without a dimension in C reads no tensor with a dimension in C;
//   * dimension d of output i of the source is in C if and only if dimension d of output i of the
//     target is in C;
//   * nothing else depends on the index along C or on E.
// Then the dimensions in C are batch dimensions. Fix the index along C to any value: by induction
// along the tensors, each slice equals the result of the definition without C on the slices of the
// inputs. So the statement with C holds for every E if the statement without C holds. Conversely,
// the statement without C holds if the statement with C holds for E = 1. Dimensions of constant
// size 1, read at 0, are batch dimensions too.
#ifndef LEMMA_REWRITE_RULES_BATCH_TEXT_H_
#define LEMMA_REWRITE_RULES_BATCH_TEXT_H_

#include <string>
#include <vector>

#include "rewrite/rules/statement.h"

namespace lemma {

// A statement's definitions as text. Numbers replace the names of index symbols, variables and
// tensors; real parameters keep their names. If two texts are equal, the i-th symbol of one text
// corresponds to the i-th symbol of the other text. The requirements are not part of the text. An
// element type equal to `common` is printed as "T", whichever type it is.
struct StatementText {
  std::string text;
  std::vector<std::string> symbols;  // in order of their first occurrence in the text
  std::vector<std::string> erased;   // symbols that are sizes of the dimensions left out
};
StatementText TextOf(const Statement& statement, DType common);
// The text without batch dimensions. Two symbols that a requirement of the statement equates count
// as one size.
StatementText TextWithoutBatchDims(const Statement& statement, DType common);

// Whether `statement` follows from `proved` because it only adds batch dimensions: the texts
// without batch dimensions are equal, and each requirement of `proved` is a requirement of
// `statement` too or is known to hold.
bool OnlyAddsBatchDims(const Statement& statement, const Statement& proved);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_BATCH_TEXT_H_
