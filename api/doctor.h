// Says what this machine has, and tries what Lemma uses of it. Code: api/inspection/doctor.cc.
#ifndef LEMMA_API_DOCTOR_H_
#define LEMMA_API_DOCTOR_H_

#include <string>
#include <vector>

namespace lemma::api {

struct ExaminedPart {
  enum class State {
    kWorks,
    kMissing,  // not there; Lemma does without it
    kBroken,   // there, but it gives errors or wrong results
  };
  std::string what;  // "processor", "back end cuda", "cvc5", …
  State state = State::kWorks;
  std::string detail;  // its version, or what is wrong
  std::string use;     // what it is for, or what to do
};
const char* Name(ExaminedPart::State state);  // "works", "missing", "broken"

// Examines processor, memory, every back end (each executes a small graph, whose results are
// compared with known ones), the second solver, drawing and the database of costs, in this order.
// `costs` is the database's file, "" for none.
std::vector<ExaminedPart> Examine(const std::string& costs);

}  // namespace lemma::api

#endif  // LEMMA_API_DOCTOR_H_
