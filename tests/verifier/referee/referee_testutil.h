// Small models for tests of the referee, and the referee with this program's back ends.
#ifndef LEMMA_TESTS_VERIFIER_REFEREE_REFEREE_TESTUTIL_H_
#define LEMMA_TESTS_VERIFIER_REFEREE_REFEREE_TESTUTIL_H_

#include <string>
#include <vector>

#include "verifier/referee/referee.h"

namespace lemma {

// Numbers in [low, high), the same for the same seed.
std::vector<float> RandomFloats(int64_t count, uint64_t seed, float low = -1, float high = 1);
// "[1, 2.5, …]", which reads back as the same floats.
std::string Listed(const std::vector<float>& values);

// The referee with the CPU back end, the starter rules unless `rules` are given, and two random
// inputs unless they are given. Texts are graphs.
referee::RefereeResult JudgeTexts(const std::string& before, const std::string& after,
                                  double seconds = 60);
referee::RefereeResult JudgeGraphs(const Graph& before, const Graph& after, double seconds = 60);
referee::RefereeResult JudgeGraphs(const Graph& before, const Graph& after,
                                   std::vector<std::vector<Tensor>> inputs, double seconds = 60,
                                   const std::vector<Substitution>* rules = nullptr);

// "proved reassociates", "refuted", "unknown: REASON", "different_interface: LINE".
std::string Summary(const referee::RefereeResult& result);

// A convolution of 3 channels into 4, a batch normalization with the epsilon 1e-5, and a relu.
struct ConvNorm {
  std::vector<float> w = RandomFloats(4 * 3 * 3 * 3, 1);
  std::vector<float> scale = RandomFloats(4, 2, 0.5, 1.5), shift = RandomFloats(4, 3);
  std::vector<float> mean = RandomFloats(4, 4), var = RandomFloats(4, 5, 0.5, 1.5);

  std::string Text(const std::string& epsilon = "1e-05") const;
  // The same with the normalization folded into the convolution's weight and bias, in f32.
  std::vector<float> FoldedWeight() const;
  std::vector<float> FoldedBias() const;
  static std::string FoldedText(const std::vector<float>& w, const std::vector<float>& bias);
};

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_REFEREE_REFEREE_TESTUTIL_H_
