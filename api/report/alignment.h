// Places what the referee found in both graphs. Internal to the reports.
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
  kUnsaid,   // nothing
  kSame,     // the other graph has the same operator on equal operands
  kProved,   // its region is proved equal to one of the other graph
  kOpen,     // neither proved nor refuted
  kRefuted,  // it is in the smallest pair of graphs that differs
  kBehind,   // it depends on a value that differs
};

// Operators of both graphs that belong together: a row of the page.
struct Part {
  Standing standing = Standing::kUnsaid;
  std::optional<FloatContract> contract;  // kProved, if known
  std::string before, after;              // labels of the last values
  std::vector<std::string> before_operators, after_operators;
  std::string note;  // a condition, or why it is open
};

struct Place {
  Standing standing = Standing::kUnsaid;
  int part = -1;  // number in Alignment::parts; -1: none
};

struct Alignment {
  // In the order of the second graph; those without a place there come last. Operators that are the
  // same and follow each other are one part.
  std::vector<Part> parts;
  absl::flat_hash_map<const Node*, Place> before, after;  // operators of which something is said
};

// `before` and `after` are the graphs that the verdict is about.
Alignment Align(const Graph& before, const Graph& after, const referee::RefereeResult& verdict);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_ALIGNMENT_H_
