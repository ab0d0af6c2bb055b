#include "api/models/option_error.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

std::string WithDashes(absl::string_view name) { return absl::StrCat("--", name); }

TEST(OptionErrorTest, OtherNamesTakeTheirPlaces) {
  const absl::Status error = api::OptionError("option max_ops: above option keep 2, an option");
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(api::RenameOptions(error, WithDashes).message(),
            "--max_ops: above --keep 2, an option");
}

TEST(OptionErrorTest, AFileIsNoOption) {
  const absl::Status error = api::Prefixed("an option x.onnx", api::OptionError("option set: no"));
  EXPECT_EQ(api::RenameOptions(error, WithDashes).message(), "an option x.onnx: --set: no");
}

TEST(OptionErrorTest, OtherErrorsStayAsTheyAre) {
  const absl::Status error = absl::NotFoundError("option x: is a file");
  EXPECT_EQ(api::RenameOptions(error, WithDashes), error);
  const absl::Status marked =
      api::MarkOptionError(absl::ResourceExhaustedError("option threads: 9"));
  EXPECT_EQ(api::RenameOptions(marked, WithDashes), absl::ResourceExhaustedError("--threads: 9"));
}

}  // namespace
}  // namespace lemma
