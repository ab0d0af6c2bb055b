#include "tests/verifier/referee/referee_testutil.h"

#include <cmath>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "verifier/referee/certificate/check.h"
#include "verifier/referee/record_certificate.h"

namespace lemma {
namespace {

referee::Runner RunnerOf(std::shared_ptr<Backend> backend) {
  return [backend](const Graph& graph,
                   absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
    auto executable = backend->Compile(graph, {});
    if (!executable.ok()) return executable.status();
    return (*executable)->Run(inputs);
  };
}

const std::vector<Substitution>& StarterRules() {
  static const auto* rules = [] {
    std::ifstream in("data/rules/starter.txt", std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    auto parsed = ParseRules(text.str(), "starter.txt");
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return new std::vector<Substitution>(*std::move(parsed));
  }();
  return *rules;
}

void ExpectCertificate(const Graph& before, const Graph& after,
                       const referee::RefereeResult& result) {
  const auto made = referee::RecordCertificate(before, after, result);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string text = Print(*made);
  const auto read = referee::ParseRefereeCertificate(text);
  ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
  EXPECT_EQ(ProblemOf(*read, before, after), "") << text << PrintGraph(before) << PrintGraph(after);
  EXPECT_EQ(read->contract, result.contract);
}

}  // namespace

std::string ProblemOf(const referee::RefereeCertificate& certificate, const Graph& before,
                      const Graph& after) {
  referee::CertificateCheckOptions options;
  options.prover.work = kWork;
  return CheckCertificate(certificate, before, after, options).problem;
}

std::vector<float> RandomFloats(int64_t count, uint64_t seed, float low, float high) {
  std::mt19937_64 random(seed);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(low + (high - low) * static_cast<float>(random() >> 40) * 0x1p-24f);
  }
  return values;
}

std::string Listed(const std::vector<float>& values) {
  return absl::StrCat("[",
                      absl::StrJoin(values, ", ",
                                    [](std::string* out, float x) {
                                      const std::string number = absl::StrFormat("%.9g", x);
                                      const bool is_whole =
                                          number.find_first_of(".en") == std::string::npos;
                                      absl::StrAppend(out, number, is_whole ? ".0" : "");
                                    }),
                      "]");
}

referee::RefereeResult JudgeGraphs(const Graph& before, const Graph& after,
                                   std::vector<std::vector<Tensor>> inputs, double seconds,
                                   const std::vector<Substitution>* rules, int64_t work) {
  referee::RefereeOptions options;
  options.rules = rules == nullptr ? StarterRules() : *rules;
  options.prover.work = work;
  options.run = RunnerOf(MakeCpuBackend());
  options.definition = RunnerOf(MakeReferenceBackend(BetweenOperators::kUnrounded));
  options.tolerances = [](const Graph& graph) { return RelativeTolerances(graph); };
  for (std::vector<Tensor>& values : inputs)
    options.samples.push_back({std::move(values), {}, false});
  options.deadline = Deadline::After(seconds);
  referee::RefereeResult result = referee::Judge(before, after, options);
  if (work == kWork && result.answer == referee::Answer::kProved)
    ExpectCertificate(before, after, result);
  return result;
}

referee::RefereeResult JudgeGraphs(const Graph& before, const Graph& after, double seconds,
                                   const std::vector<Substitution>* rules) {
  std::vector<std::vector<Tensor>> samples;
  for (uint64_t sample = 0; sample < 2; ++sample) {
    std::vector<Tensor> inputs;
    for (const Value& input : before.inputs()) {
      const auto values =
          RandomFloats(input.type().num_elements(), 100 * sample + inputs.size(), -2, 2);
      inputs.push_back(
          *Tensor::FromDoubles(input.type(), std::vector<double>(values.begin(), values.end())));
    }
    samples.push_back(std::move(inputs));
  }
  return JudgeGraphs(before, after, std::move(samples), seconds, rules);
}

referee::RefereeResult JudgeTexts(const std::string& before, const std::string& after,
                                  double seconds) {
  auto a = ParseGraph("graph before" + before), b = ParseGraph("graph after" + after);
  EXPECT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  if (!a.ok() || !b.ok()) return {};
  return JudgeGraphs(*a, *b, seconds);
}

std::string Summary(const referee::RefereeResult& result) {
  std::string text = referee::Name(result.answer);
  if (result.answer == referee::Answer::kProved) {
    absl::StrAppend(&text, " ", Name(result.contract));
  } else if (result.answer == referee::Answer::kUnknown) {
    absl::StrAppend(&text, ": ", result.reason);
  } else if (result.answer == referee::Answer::kDifferentInterface) {
    absl::StrAppend(&text, ": ", absl::StrJoin(result.interface, "; "));
  }
  return text;
}

std::string ConvNorm::Text(const std::string& epsilon) const {
  return absl::StrCat("(x: f32[1,3,6,6], w: weight f32[4,3,3,3] = ", Listed(w),
                      ", s: weight f32[4] = ", Listed(scale),
                      ", b: weight f32[4] = ", Listed(shift), ", m: weight f32[4] = ", Listed(mean),
                      ", v: weight f32[4] = ", Listed(var),
                      ") { c = conv2d(x, w) {pads = [1,1,1,1]}\n"
                      "n = batch_norm(c, s, b, m, v) {epsilon = ",
                      epsilon, "}\n y = relu(n)\n return y }");
}

std::vector<float> ConvNorm::FoldedWeight() const {
  std::vector<float> folded = w;
  for (size_t i = 0; i < w.size(); ++i) {
    folded[i] = w[i] * (scale[i / 27] / std::sqrt(var[i / 27] + 1e-5f));
  }
  return folded;
}

std::vector<float> ConvNorm::FoldedBias() const {
  std::vector<float> folded;
  for (size_t k = 0; k < 4; ++k) {
    folded.push_back((0 - mean[k]) * (scale[k] / std::sqrt(var[k] + 1e-5f)) + shift[k]);
  }
  return folded;
}

std::string ConvNorm::FoldedText(const std::vector<float>& w, const std::vector<float>& bias) {
  return absl::StrCat("(x: f32[1,3,6,6], f: weight f32[4,3,3,3] = ", Listed(w),
                      ", g: weight f32[4] = ", Listed(bias),
                      ") { c = conv2d(x, f, g) {pads = [1,1,1,1]}\n y = relu(c)\n return y }");
}

}  // namespace lemma
