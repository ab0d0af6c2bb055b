// Tests the parts of this machine that Lemma uses: hardware, libraries and programs. Code:
// api/inspection/doctor.cc.
#ifndef LEMMA_API_DOCTOR_H_
#define LEMMA_API_DOCTOR_H_

#include <string>
#include <vector>

namespace lemma::api {

struct ExaminedPart {
  enum class State {
    kWorks,
    kMissing,  // not there; Lemma works without it
    kBroken,   // there, but it gives errors or wrong results
  };
  std::string what;  // "processor", "back end cuda", "cvc5", …
  State state = State::kWorks;
  std::string detail;  // facts about the part, such as its version, or the problem
  std::string use;     // the part's purpose, the problem's effect, or advice; may be ""
};
const char* Name(ExaminedPart::State state);  // "works", "missing", "broken"

// Examines, in this order: processor, memory, every back end, the second SMT solver (cvc5), drawing
// by Graphviz, and the database of costs. Each back end executes a small graph, whose results are
// compared with known results. `costs` is the path of the database; "": there is none.
std::vector<ExaminedPart> Examine(const std::string& costs);
// Whether a part is broken.
bool IsBroken(const std::vector<ExaminedPart>& parts);
// The parts as a table for people.
std::string TextOf(const std::vector<ExaminedPart>& parts);

}  // namespace lemma::api

#endif  // LEMMA_API_DOCTOR_H_
