// Runs the referee (docs/referee.md) on small models, and makes such models, for tests.
#ifndef LEMMA_TESTS_VERIFIER_REFEREE_REFEREE_TESTUTIL_H_
#define LEMMA_TESTS_VERIFIER_REFEREE_REFEREE_TESTUTIL_H_

#include <string>
#include <vector>

#include "verifier/referee/certificate/certificate.h"
#include "verifier/referee/referee.h"

namespace lemma {

constexpr int64_t kWork = 100'000'000;  // as in api/referee.h

// Numbers in [low, high). Equal seeds give equal numbers.
std::vector<float> RandomFloats(int64_t count, uint64_t seed, float low = -1, float high = 1);
// The values as a list in the text form of graphs, such as "[1.0, 2.5]". Reading the list gives the
// same floats.
std::string Listed(const std::vector<float>& values);

// The referee's answer about the graphs `before` and `after`. The referee stops after about
// `seconds`. It ends the proof of a region after `work` steps. It executes graphs on the CPU back
// end. It uses the starter rules unless `rules` are given, and two random sets of inputs unless
// `inputs` are given. A graph that is given as a text is written without its beginning
// "graph NAME": "(x: f32[2]) { y = relu(x) return y }".
//
// If the verdict is a proof and the prover had kWork steps, these functions also write its
// certificate, read it again and check it. The test fails unless the check finds no problem and the
// certificate has the contract of the verdict.
referee::RefereeResult JudgeTexts(const std::string& before, const std::string& after,
                                  double seconds = 60);
referee::RefereeResult JudgeGraphs(const Graph& before, const Graph& after, double seconds = 60,
                                   const std::vector<Substitution>* rules = nullptr);
referee::RefereeResult JudgeGraphs(const Graph& before, const Graph& after,
                                   std::vector<std::vector<Tensor>> inputs, double seconds = 60,
                                   const std::vector<Substitution>* rules = nullptr,
                                   int64_t work = kWork);

// The problem that the check of the certificate finds for these graphs; "" if there is none.
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
  // The weight and the bias of a convolution that replaces the convolution and the normalization
  // (with the epsilon 1e-5), computed in f32. FoldedText is the model with this convolution.
  std::vector<float> FoldedWeight() const;
  std::vector<float> FoldedBias() const;
  static std::string FoldedText(const std::vector<float>& w, const std::vector<float>& bias);
};

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_REFEREE_REFEREE_TESTUTIL_H_
