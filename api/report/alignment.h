// Groups the operators of two graphs by the referee's results about them: proved, open, refuted, ….
// Internal to the reports.
#ifndef LEMMA_API_REPORT_ALIGNMENT_H_
#define LEMMA_API_REPORT_ALIGNMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"
#include "verifier/referee/referee.h"

namespace lemma::api {

// The verdict on an operator.
enum class Standing {
  kUnsaid,   // the referee says nothing about it
  kSame,     // the other graph has the same operator on equal operands
  kProved,   // its region is proved equal to a region of the other graph
  kOpen,     // neither proved nor refuted
  kRefuted,  // it is in the smallest pair of graphs that differ
  kBehind,   // it depends on a value that differs
};

// Operators of both graphs that belong together: a row of the page.
struct AlignedPart {
  Standing standing = Standing::kUnsaid;
  std::optional<FloatContract> contract;  // set for kProved if the contract is known
  // In each graph, the label of the last value; "": none. For kSame, `before` is always "".
  std::string before, after;
  // Names of the operators of each graph, mostly operands first.
  std::vector<std::string> before_operators, after_operators;
  // A condition of the proof, why the part is open, or "a weight now" if the second graph stores
  // the part's result as a weight; "": nothing.
  std::string note;
};

// The verdict on one operator, and the part to which it belongs.
struct PartOfOperator {
  Standing standing = Standing::kUnsaid;
  int part = -1;  // number in Alignment::parts; -1: none
};

struct Alignment {
  // Sorted by the place in the second graph at which a part ends: an operator or, for "a weight
  // now", a weight. Parts without such a place come last. Successive operators that both graphs
  // have are one part.
  std::vector<AlignedPart> parts;
  // The parts of the operators of the first (`before`) and of the second graph (`after`).
  // Operators with kUnsaid are missing.
  absl::flat_hash_map<const Node*, PartOfOperator> before, after;
};

// `before` and `after` are the graphs that the verdict is about, and must outlive the result. Empty
// if the verdict has no compared graph (RefereeResult::compared).
Alignment Align(const Graph& before, const Graph& after, const referee::RefereeResult& verdict);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_ALIGNMENT_H_
