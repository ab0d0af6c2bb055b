#include "api/costs.h"

#include <string>

#include "absl/strings/match.h"
#include "base/file.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"

namespace lemma {
namespace {

constexpr char kModel[] =
    "graph g(x: f32[16,16]) { a = softmax(x) {axis = 1} b = matmul(a, x) return b }";

TEST(CostsTest, AreMeasuredListedAndCarried) {
  const std::string folder = NewTestFolder();
  api::CalibrationOptions options;
  options.database = folder + "/costs.sqlite";
  options.runs = 3;
  options.learn = true;
  auto calibration = api::CompareCosts(ModelOf(kModel), options);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  ASSERT_FALSE(calibration->kernels.empty());
  EXPECT_GT(calibration->learned, 0);
  double predicted = 0;
  for (const auto& kernel : calibration->kernels) predicted += kernel.predicted_ms;
  EXPECT_NEAR(predicted, calibration->predicted_ms, 1e-3);

  auto devices = api::ListCosts(options.database);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].kernels, calibration->learned);

  auto text = api::ExportCosts(options.database, (*devices)[0].device);
  ASSERT_TRUE(text.ok()) << text.status();
  const std::string file = folder + "/costs.txt", copy = folder + "/copy.sqlite";
  ASSERT_TRUE(WriteFileAtomically(file, {*text}).ok());
  auto imported = api::ImportCosts(copy, file, false);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->imported, (*devices)[0].kernels);
  EXPECT_EQ(api::ImportCosts(copy, file, false)->kept, imported->imported);
  EXPECT_EQ(*api::ExportCosts(copy, ""), *text);
}

TEST(CostsTest, ErrorsSayWhatIsMissing) {
  const std::string folder = NewTestFolder();
  EXPECT_TRUE(absl::StrContains(api::ExportCosts(folder + "/a.sqlite", "x").status().message(),
                                "no costs of the device 'x'"));
  EXPECT_FALSE(api::ImportCosts(folder + "/b.sqlite", folder + "/none", false).ok());
  EXPECT_FALSE(FileSize(folder + "/b.sqlite").ok()) << "a database for nothing";
  EXPECT_FALSE(api::ListCosts(folder).ok()) << "a folder is no database";
  api::CalibrationOptions options;
  options.database = folder + "/c.sqlite";
  options.execution.backend = "reference";
  EXPECT_EQ(api::CompareCosts(ModelOf(kModel), options).status().message(),
            "option backend: the kernels of reference are not measured");
  options.runs = 0;
  EXPECT_EQ(api::CompareCosts(ModelOf(kModel), options).status().message(),
            "option runs: must be at least 1");
}

}  // namespace
}  // namespace lemma
