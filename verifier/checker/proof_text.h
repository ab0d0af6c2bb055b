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
  int name = -1;     // number of the name
  bool is_list = false, is_number = false;
  int64_t number = 0;
  std::vector<Node> items;  // of a list, after its head

  bool Is(absl::string_view head, size_t least = 0) const {
    return is_list && text == head && items.size() >= least;
  }
};

// A step that uses up terms of a difference and makes others.
struct Event {
  enum class Kind { kDifference, kPair, kCollect, kZero, kLaws } kind = Kind::kDifference;
  int line = 0;
  std::vector<int> used, made;  // numbers of terms
  Node renamed, map;            // kPair
};

struct Output {
  int line = 0;
  int number = 0;
  bool empty = false;      // it has no elements
  std::vector<int> names;  // of its indices
  struct Digits {
    int name, high, low;  // name = high * base + low
    Node base;
  };
  std::vector<Digits> digits;
  Node sides[2];
  std::map<int, Node> terms;
  std::vector<Event> events;
};

struct Case {
  int line = 0;
  std::string laws;  // "none", "ring", "real" or "impossible"
  std::vector<Node> facts;
  std::vector<std::pair<int, Node>> solved;
  std::vector<Output> outputs;
};

struct Form {
  int line = 0;
  std::map<std::string, Node> symbols;
  std::vector<Case> cases;
};

struct ProofText {
  std::string rule;  // its text
  std::string id, contract;
  std::vector<Form> forms;
  std::vector<std::string> names;  // by number
  int64_t steps = 0;
};

// InvalidArgument, naming the line, if the text is not a proof file or a step is missing: a later
// step must use up every term, and every announced part must follow.
absl::StatusOr<ProofText> ParseProof(absl::string_view text);

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_PROOF_TEXT_H_
