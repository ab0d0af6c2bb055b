#include "base/flags.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace lemma {
namespace {

struct Example {
  bool json = false;
  int64_t threads = 1, memory = 0;
  double alpha = 1.05;
  std::optional<double> smooth;
  std::string output, format = "text";
  std::vector<std::string> inputs;
  std::map<std::string, int64_t> dims;
  Flags flags{"example", "MODEL", "An example."};

  Example() {
    flags.Bool("json", &json, "as JSON");
    flags.Int("threads", &threads, "threads");
    flags.Real("alpha", &alpha, "threshold");
    flags.OptionalReal("smooth", &smooth, 0.5, "how much");
    flags.Bytes("memory", &memory, "how much");
    flags.String("output|o", &output, "OUT", "where to");
    flags.Choice("format", &format, {"text", "dot"}, "what");
    flags.List("inputs", &inputs, "FILE,…", "files");
    flags.Sizes("dim", &dims, "sizes");
  }
  std::string Error(const std::vector<std::string>& arguments) {
    return std::string(flags.Parse(arguments).status().message());
  }
};

TEST(FlagsTest, ReadsEveryKind) {
  Example e;
  auto rest = e.flags.Parse({"m.onnx", "--json", "--threads=2", "--alpha", "1.5", "-o", "x.onnx",
                             "--format=dot", "--inputs", "a,b", "--inputs=c", "--dim", "N=3",
                             "--dim=x.0=4", "--memory=1.5K", "--", "--rest"});
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(*rest, (std::vector<std::string>{"m.onnx", "--rest"}));
  EXPECT_TRUE(e.json);
  EXPECT_EQ(e.threads, 2);
  EXPECT_EQ(e.alpha, 1.5);
  EXPECT_EQ(e.memory, 1536);
  EXPECT_TRUE(e.flags.Given("output"));
  EXPECT_FALSE(Example().flags.Given("output"));
  EXPECT_EQ(e.output, "x.onnx");
  EXPECT_EQ(e.format, "dot");
  EXPECT_EQ(e.inputs, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(e.dims, (std::map<std::string, int64_t>{{"N", 3}, {"x.0", 4}}));
}

TEST(FlagsTest, ReadsSizesAsTheyAreWritten) {
  const std::pair<const char*, int64_t> kSizes[] = {
      {"500000", 500000}, {"512B", 512},    {"64k", 65536},           {"64KB", 65536},
      {"64KiB", 65536},   {"0.5M", 524288}, {"2g", int64_t{2} << 30}, {"1TB", int64_t{1} << 40}};
  for (const auto& [text, bytes] : kSizes) {
    Example e;
    ASSERT_TRUE(e.flags.Parse({std::string("--memory=") + text}).ok()) << text;
    EXPECT_EQ(e.memory, bytes) << text;
  }
}

TEST(FlagsTest, ANumberMayBeLeftOut) {
  Example none, implied, given;
  ASSERT_TRUE(none.flags.Parse({}).ok());
  EXPECT_FALSE(none.smooth);
  auto rest = implied.flags.Parse({"--smooth", "0.75"});
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(implied.smooth, 0.5);
  EXPECT_EQ(*rest, std::vector<std::string>{"0.75"});
  ASSERT_TRUE(given.flags.Parse({"--smooth=0.75"}).ok());
  EXPECT_EQ(given.smooth, 0.75);
  EXPECT_EQ(Example().Error({"--smooth=x"}), "--smooth: 'x' is not a number");
  EXPECT_NE(given.flags.Help().find("--smooth[=X]"), std::string::npos);
}

TEST(FlagsTest, SuggestsTheNearestFlag) {
  EXPECT_EQ(Example().Error({"--thread=2"}), "unknown flag --thread; did you mean --threads?");
  EXPECT_EQ(Example().Error({"--form=x"}), "unknown flag --form; did you mean --format?");
  EXPECT_EQ(Nearest("--out", {"--pet", "--outputs", "--output"}), "--output");
  EXPECT_EQ(Example().Error({"--zzzzzzzz"}), "unknown flag --zzzzzzzz; see lemma example --help");
}

TEST(FlagsTest, SaysWhatIsAccepted) {
  EXPECT_EQ(Example().Error({"--threads=two"}), "--threads: 'two' is not a whole number");
  EXPECT_EQ(Example().Error({"--format=svg"}), "--format: 'svg' is not one of text, dot");
  EXPECT_EQ(Example().Error({"--dim=N"}), "--dim: 'N' is not NAME=N with a size N >= 0");
  for (const char* size : {"", "G", "b", "2 Gb", "-1G", "0M", "nanG", "2kk", "0", "5iB", "infM"}) {
    EXPECT_EQ(
        Example().Error({std::string("--memory=") + size}),
        std::string("--memory: '") + size + "' is not a size such as 500000, 64K, 500M or 2GB");
  }
  EXPECT_EQ(Example().Error({"--memory=1e99G"}),
            "--memory: '1e99G' is not a size that a machine has");
  EXPECT_EQ(Example().Error({"-o"}), "-o needs a value: OUT");
  EXPECT_EQ(Example().Error({"--json=perhaps"}), "--json: 'perhaps' is not true or false");
}

TEST(FlagsTest, HelpNamesEveryFlagAndItsDefault) {
  Example e;
  ASSERT_TRUE(e.flags.Parse({"--help", "--nonsense"}).ok());
  EXPECT_TRUE(e.flags.help());
  const std::string help = e.flags.Help();
  for (const char* text : {"Usage: lemma example MODEL", "--json", "-o, --output OUT",
                           "--threads N", "(default 1)", "text|dot"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text << "\n" << help;
  }
}

TEST(FlagsTest, HelpForProgramsIsOneObject) {
  Example e;
  e.flags.Subcommands({"first", "second"});
  ASSERT_TRUE(e.flags.Parse({"--help=json"}).ok());
  const std::string help = e.flags.Help();
  EXPECT_EQ(help.find('\n'), help.size() - 1) << help;
  for (const char* text :
       {R"({"command":"example","synopsis":"MODEL","doc":"An example.","flags":[)",
        R"({"name":"json","short":"","doc":"as JSON","value":"","choices":[],"default":""})",
        R"({"name":"output","short":"o","doc":"where to","value":"OUT",)",
        R"("choices":["text","dot"],"default":"text"})", R"("subcommands":["first","second"])"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text << "\n" << help;
  }
}

}  // namespace
}  // namespace lemma
