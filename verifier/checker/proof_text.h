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

// A name, a number or a list (head a b ...).
struct Node {
  std::string text;  // of a name; of a list, its head
  int name = -1;     // of a name: its position in ProofText::names
  bool is_list = false, is_number = false;
  int64_t number = 0;
  std::vector<Node> items;  // of a list, after its head

  bool Is(absl::string_view head, size_t least = 0) const {
    return is_list && text == head && items.size() >= least;
  }
};

// A step that uses up terms of a difference and makes others. The kinds are the lines of the format
// that docs/proofs.md lists; `line` counts lines of the file from 1, here and below.
struct Event {
  enum class Kind { kDifference, kPair, kCollect, kZero, kLaws } kind = Kind::kDifference;
  int line = 0;
  std::vector<int> used, made;  // keys of Output::terms
  Node renamed, map;            // kPair: the second term with other axes, and the map of these
};

// The proof for one output. Names are positions in ProofText::names.
struct Output {
  int line = 0;
  int number = 0;          // of the output
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
  std::vector<std::pair<int, Node>> solved;  // sizes, by name, as polynomials in others
  std::vector<Output> outputs;
};

struct Form {
  int line = 0;
  std::map<std::string, Node> symbols;  // values of the rule's symbols, by name
  std::vector<Case> cases;
};

struct ProofText {
  std::string rule;          // its text
  std::string id, contract;  // the proof id; "bit_exact", "reassociates" or "real_only"
  std::vector<Form> forms;
  std::vector<std::string> names;  // by number
  int64_t steps = 0;               // lines from the first form on, without queries and the end
};

// InvalidArgument, naming the line, if the text is not a proof file or a step is missing: a later
// step must use up every term, and all parts that the file announces must follow.
absl::StatusOr<ProofText> ParseProof(absl::string_view text);

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_PROOF_TEXT_H_
