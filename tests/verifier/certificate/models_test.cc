// The checker accepts the certificates of searches of the light models.
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/certificate.h"
#include "tests/base/repetitions.h"
#include "tests/verifier/certificate/certificate_cases.h"
#include "verifier/certificate/check.h"

namespace lemma {
namespace {

struct Light {
  const char* name;
  int samples;  // 0 where the field takes more than seconds
};
void PrintTo(const Light& light, std::ostream* out) { *out << light.name; }

absl::StatusOr<Graph> AsWritten(const Graph& graph) {
  auto bytes = ExportOnnx(graph);
  if (!bytes.ok()) return bytes.status();
  auto again = ImportOnnxBytes(*bytes);
  if (!again.ok()) return again.status();
  return std::move(again->graph);
}

class ModelsTest : public testing::TestWithParam<Light> {};

TEST_P(ModelsTest, CertificateIsRight) {
  // Most of its time is the hashing of weights.
  if (GetParam().name == std::string("vgg19") && WholeOr(1, 0) == 0) GTEST_SKIP();
  auto model = ImportOnnx(absl::StrCat("data/models/light/light_", GetParam().name, ".onnx"));
  ASSERT_TRUE(model.ok()) << model.status();
  const Graph& input = model->graph;
  auto rules = RuleSet::Create(StarterRules());
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto costs = optimizer::MakeAnalyticCostModel();
  optimizer::BacktrackingOptions options;
  options.limits.max_steps = 30;
  auto found =
      optimizer::MakeBacktrackingSearch(rules->get(), costs.get(), options)->Run(input, nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  auto folded = optimizer::FoldConstants(found->best);
  ASSERT_TRUE(folded.ok()) << folded.status();
  const auto result =
      found->rewrites.empty() ? Certificate::Result::kInput : Certificate::Result::kBest;
  auto made = optimizer::Certify(input, found->rewrites, found->rewrites.empty() ? input : *folded,
                                 StarterRules(), result);
  ASSERT_TRUE(made.ok()) << made.status();
  made->input_file = made->output_file = std::string(64, '0');
  auto certificate = ParseCertificate(PrintCertificate(*made));
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  EXPECT_EQ(certificate->steps.size(), found->rewrites.size());
  EXPECT_EQ(certificate->steps.empty(), GetParam().name == std::string("bvlc_alexnet"));

  auto output = AsWritten(found->rewrites.empty() ? input : *folded);
  ASSERT_TRUE(output.ok()) << output.status();
  CertificateCheckOptions check;
  check.as_written = AsWritten;
  check.samples = GetParam().samples;
  EXPECT_EQ(CheckCertificate(*certificate, input, *output, check).problem, "");
  if (!certificate->steps.empty()) {  // of the model as it was it is none
    EXPECT_NE(CheckCertificate(*certificate, input, input, check).problem, "");
    EXPECT_NE(CheckCertificate(*certificate, *output, *output, check).problem, "");
  }

  auto replayed = optimizer::Replay(*certificate, input, StarterRules());
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_EQ(replayed->graph.StructuralHash(), found->best.StructuralHash());
}

INSTANTIATE_TEST_SUITE_P(Light, ModelsTest,
                         testing::Values(Light{"bvlc_alexnet", 0}, Light{"densenet121", 0},
                                         Light{"inception_v1", 0}, Light{"resnet50", 0},
                                         Light{"squeezenet", 1}, Light{"vgg19", 0}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lemma
