// Parses proof files. docs/proofs.md has the grammar.
#ifndef LEMMA_VERIFIER_CHECKER_PROOF_TEXT_H_
#define LEMMA_VERIFIER_CHECKER_PROOF_TEXT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma::checker {

// A part of an expression in a proof file: a name, a number or a list (head a b ...).
struct Node {
  std::string text;  // the name, or the head of the list
  int name = -1;     // of a name: its position in ProofText::names
  bool is_list = false, is_number = false;
  int64_t number = 0;
  std::vector<Node> items;  // of a list, after its head

  bool Is(absl::string_view head, size_t least = 0) const {
    return is_list && text == head && items.size() >= least;
  }
};

// A step of the proof that the difference source - target is 0. It replaces the terms `used` by the
// terms `made`. docs/proofs.md shows the line of each kind. `line`, here and below: the number of
// the line in the file, from 1.
struct Event {
  enum class Kind { kDifference, kPair, kCollect, kZero, kLaws } kind = Kind::kDifference;
  int line = 0;
  std::vector<int> used, made;  // keys of Output::terms
  Node renamed, map;            // kPair: the second term with new axes, and the axes' values
};

// The proof for one output. Names of type int, here and below, are positions in ProofText::names.
struct Output {
  int line = 0;
  int number = 0;          // the output's number
  bool empty = false;      // it has no elements
  std::vector<int> names;  // of its indices
  struct Digits {
    int name, high, low;  // name = high * base + low
    Node base;
  };
  std::vector<Digits> digits;
  Node sides[2];              // normal forms of the source and the target
  std::map<int, Node> terms;  // by number
  std::vector<Event> events;  // in the order of the file
};

struct Case {
  int line = 0;
  std::string laws;                          // "none", "exact", "ring", "real" or "impossible"
  std::vector<Node> facts;                   // comparisons that are true in this case
  std::vector<std::pair<int, Node>> solved;  // names of sizes, and polynomials that equal them
  std::vector<Output> outputs;
};

struct Form {
  int line = 0;
  std::map<std::string, Node> symbols;  // values of symbols, by the symbol's name in the rule
  std::vector<Case> cases;
};

struct ProofText {
  std::string rule;          // its text
  std::string id, contract;  // the proof id; "bit_exact", "reassociates" or "real_only"
  std::vector<Form> forms;
  std::vector<std::string> names;  // by position
  int64_t steps = 0;  // lines from the first form on, not counting queries and the last line
};

// InvalidArgument, naming the line, if the text is not a proof file or if it is incomplete: each
// term must be used up by a later step, and the numbers of forms, steps and queries must be those
// that the file announces.
absl::StatusOr<ProofText> ParseProof(absl::string_view text);

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_PROOF_TEXT_H_
