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

// Logs how the summands of a difference cancel, line by line. Summands have numbers; each step
// names the summands that it uses up and those that it makes. Lines are appended to *lines. The
// lines and the leaves must outlive the log.
class StepLog {
 public:
  StepLog(const Leaves* leaves, std::vector<std::string>* lines)
      : leaves_(*leaves), lines_(*lines) {}

  // Appends any other line.
  void Line(std::string text) { lines_.push_back(std::move(text)); }
  // Starts with the summands of the difference of both sides.
  void Difference(const std::vector<Summand>& terms);
  // `rest` replaces `mine` and `other`. `renamed` is `other` with its axes renamed apart; `map`
  // gives these axes as polynomials in those of `mine`.
  void Paired(const Summand& mine, const Summand& other, const Summand& renamed, const LeafMap& map,
              const std::vector<Summand>& rest);
  // `terms` are the current summands, after those that differed only in coefficients were added up.
  void Are(const std::vector<Summand>& terms);
  // The difference, whose summands are given, is 0 by laws that are not written down step by step.
  void ZeroByLaws(const std::vector<Summand>& terms);
  // The summand is identically 0.
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
