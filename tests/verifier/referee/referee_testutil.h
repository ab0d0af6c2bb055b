// Small models for tests of the referee, and the referee with this program's back ends.
#ifndef LEMMA_TESTS_VERIFIER_REFEREE_REFEREE_TESTUTIL_H_
#define LEMMA_TESTS_VERIFIER_REFEREE_REFEREE_TESTUTIL_H_

#include <string>
#include <vector>

#include "verifier/referee/certificate/certificate.h"
#include "verifier/referee/referee.h"

namespace lemma {

// Numbers in [low, high). Equal seeds give equal numbers.
std::vector<float> RandomFloats(int64_t count, uint64_t seed, float low = -1, float high = 1);
// The values as text of the text form, such as "[1.0, 2.5]"; reading it gives the same floats.
std::string Listed(const std::vector<float>& values);

// The referee's answer, after at most about `seconds`. The referee executes graphs on the CPU back
// end. It uses the starter rules unless `rules` are given, and two random sets of inputs unless
// `inputs` are given. Graphs as text are without their beginning "graph NAME":
// "(x: f32[2]) { y = relu(x) return y }".
//
// For each proof, the certificate has to survive writing and reading, and its check has to find the
// same contract.
referee::RefereeResult JudgeTexts(const std::string& before, const std::string& after,
                                  double seconds = 60);
referee::RefereeResult JudgeGraphs(const Graph& before, const Graph& after, double seconds = 60);
referee::RefereeResult JudgeGraphs(const Graph& before, const Graph& after,
                                   std::vector<std::vector<Tensor>> inputs, double seconds = 60,
                                   const std::vector<Substitution>* rules = nullptr);

// What is wrong with the certificate for these graphs; "" if it is right.
std::string ProblemOf(const referee::RefereeCertificate& certificate, const Graph& before,
                      const Graph& after);

// "proved reassociates", "refuted", "unknown: REASON", "different_interface: LINE; LINE".
std::string Summary(const referee::RefereeResult& result);

// A convolution from 3 channels to 4, a batch normalization, and a relu. Texts are for JudgeTexts.
struct ConvNorm {
  std::vector<float> w = RandomFloats(4 * 3 * 3 * 3, 1);
  std::vector<float> scale = RandomFloats(4, 2, 0.5, 1.5), shift = RandomFloats(4, 3);
  std::vector<float> mean = RandomFloats(4, 4), var = RandomFloats(4, 5, 0.5, 1.5);

  std::string Text(const std::string& epsilon = "1e-05") const;
  // The convolution's weight and bias, computed in f32, into which the normalization with the
  // epsilon 1e-5 is folded; and the model with them.
  std::vector<float> FoldedWeight() const;
  std::vector<float> FoldedBias() const;
  static std::string FoldedText(const std::vector<float>& w, const std::vector<float>& bias);
};

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_REFEREE_REFEREE_TESTUTIL_H_
