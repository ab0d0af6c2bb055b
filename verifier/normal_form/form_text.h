// Writes normal forms as lossless text for proof files (docs/proofs.md has the grammar). Internal
// to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_FORM_TEXT_H_
#define LEMMA_VERIFIER_NORMAL_FORM_FORM_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "verifier/normal_form/normal_form.h"

namespace lemma::prover {

std::string TextOf(const Leaves& leaves, const Poly& p);
std::string TextOf(const Leaves& leaves, const Fact& fact);
std::string TextOf(const Leaves& leaves, const Summand& term);
std::string TextOf(const Leaves& leaves, const NormalForm& form);

// Logs, as lines of a proof file, how the summands of a difference cancel. Summands have numbers;
// each step names the summands that it uses up and the summands that it makes. Each function
// appends its lines to *lines. `lines` and `leaves` must outlive the log.
class StepLog {
 public:
  StepLog(const Leaves* leaves, std::vector<std::string>* lines)
      : leaves_(*leaves), lines_(*lines) {}

  // Appends a line that none of the functions below writes.
  void Line(std::string text) { lines_.push_back(std::move(text)); }
  // Starts the difference source - target; `terms` are its summands.
  void Difference(const std::vector<Summand>& terms);
  // `rest` replaces `mine` and `other`. `renamed` is `other` with new axes, none of which is an
  // axis of `mine`; `map` gives the new axes as polynomials in the axes of `mine`.
  void Paired(const Summand& mine, const Summand& other, const Summand& renamed, const LeafMap& map,
              const std::vector<Summand>& rest);
  // Logs that summands which differed only in coefficients were added up. `terms`: the summands of
  // the difference after that.
  void Collected(const std::vector<Summand>& terms);
  // Logs that the difference is 0 by laws, without the single steps. `terms`:
  // the summands of the difference.
  void ZeroByLaws(const std::vector<Summand>& terms);
  // Logs that the summand `term` is 0 at all points.
  void Zero(const Summand& term);

 private:
  struct Live {  // a summand that no step has used up yet
    int number;
    std::string text;
  };
  // Removes a live summand and returns its number.
  int Take(const Summand& term);
  std::string Add(const std::string& text);

  const Leaves& leaves_;
  std::vector<std::string>& lines_;
  std::vector<Live> live_;
  int last_ = 0;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_FORM_TEXT_H_
