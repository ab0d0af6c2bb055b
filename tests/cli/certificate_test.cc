// Certificates as a user sees them: lemma optimize writes one, lemma check repeats it.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "graph/onnx/tensor_proto.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The result is faster when executed too: two large products become one, with weights multiplied
// beforehand.
const char kGraph[] =
    "graph g(x: f32[64,256], f: weight f32[256,256] = fill 0.01,"
    " h: weight f32[256,8] = fill 0.02) {"
    " a = relu(x) b = relu(a) c = matmul(b, f) d = matmul(c, h) return d }";

struct Files {
  std::string folder, input, output, certificate;
};

// Optimizes the graph by estimated costs; *out: the printed text.
Files Optimized(const std::string& ending, std::string* out = nullptr) {
  Files files;
  files.folder = NewFolder();
  files.input = WriteTemp("in.lemma", kGraph);
  files.output = files.folder + "/out" + ending;
  files.certificate = files.output + ".cert";
  LemmaResult result = RunLemma(
      {"optimize", files.input, "-o", files.output, "--cost=analytic", "--runs=5", "--json"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  if (out != nullptr) *out = result.out;
  return files;
}

LemmaResult Check(const Files& files, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> arguments = {"check", files.input, files.output, files.certificate};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return RunLemma(arguments);
}

TEST(CertificateCommandTest, IsWrittenAndChecks) {
  std::string out;
  for (const std::string ending : {".onnx", ".lemma", ".pb"}) {
    const Files files = Optimized(ending, &out);
    EXPECT_THAT(FilesIn(files.folder), ElementsAre("out" + ending, "out" + ending + ".cert"));
    EXPECT_THAT(out, HasSubstr("\"certificate\":\"" + files.certificate + "\""));
    const LemmaResult result = Check(files);
    EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, StartsWith("checked: "));
  }
}

TEST(PlanCheckTest, OfASizeOfASymbolicDimension) {
  onnx::ModelProto model = OnnxModel("g (float[n,3] x) => (float[n,3] y) { y = Relu(x) }");
  const std::string input = WriteTemp("m.onnx", model.SerializeAsString());
  EXPECT_EQ(RunLemma({"check", input, "--plan=cpu", "--dim", "n=7"}).exit_status, 0);
  ExpectOneLine(RunLemma({"check", input, input, input, "--dim", "n=7"}), {"--dim: belongs to"});
}

TEST(PlanCheckTest, SaysWhatEachKernelIsKnownToCompute) {
  const std::string input = WriteTemp("in.lemma", kGraph);
  const LemmaResult result = RunLemma({"check", input, "--plan=cpu", "--json"});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"ok\":true"));
  EXPECT_THAT(result.out, HasSubstr("\"proved\":2"));
  EXPECT_THAT(result.out, HasSubstr("\"by_definition\":1"));
  const LemmaResult cuda = RunLemma({"check", input, "--plan=cuda"});
  EXPECT_EQ(cuda.exit_status, 0) << cuda.err;
  EXPECT_THAT(cuda.out, HasSubstr("each finds in memory what its operators read"));
  ExpectOneLine(RunLemma({"check", input, "--plan=reference"}), {"plans of cpu and of cuda"});
}

TEST(KernelCheckTest, SaysOfEachKernelWhetherItIsRight) {
  const std::string input = WriteTemp("in.lemma", kGraph);
  const LemmaResult text = RunLemma({"check", input, "--kernels", "--seed=7", "--threads=2"});
  EXPECT_EQ(text.exit_status, 0) << text.out << text.err;
  EXPECT_THAT(text.out, StartsWith("schedule "));
  EXPECT_THAT(text.out, HasSubstr("\nchecked: "));
  EXPECT_THAT(text.out, HasSubstr("repeatable with --seed=7"));
  const LemmaResult json = RunLemma({"check", input, "--kernels", "--plan=cuda", "--json"});
  EXPECT_EQ(json.exit_status, 0) << json.out << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"ok\":true"));
  EXPECT_THAT(json.out, HasSubstr("\"agrees\":true"));
  EXPECT_THAT(json.out, HasSubstr("\"schedule\":\"by "));
  ExpectOneLine(RunLemma({"check", input, "--kernels", "--plan=cpu"}), {"--kernels", "cuda"});
  ExpectOneLine(RunLemma({"check", "--kernels"}), {"MODEL"});
  ExpectOneLine(RunLemma({"check", input, "--kernels", "--threads=0"}), {"--threads"});
}

TEST(KernelCheckTest, ChecksKernelsForTensorCores) {
  const std::string input = WriteTemp("in.lemma", kGraph);
  const LemmaResult result =
      RunLemma({"check", input, "--kernels", "--precision=bf16", "--json", "--seed=7"});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr(" in bf16\""));
  EXPECT_THAT(result.out, HasSubstr("\"ok\":true"));
  ExpectOneLine(RunLemma({"check", input, "--kernels", "--precision=f8"}), {"--precision", "bf16"});
  ExpectOneLine(RunLemma({"check", input, "--plan=cuda", "--precision=bf16"}),
                {"--precision", "--kernels"});
}

TEST(KernelCheckTest, ChecksAndCompilesForAnArchitecture) {
  const std::string input = WriteTemp("in.lemma", kGraph);
  const LemmaResult older =
      RunLemma({"check", input, "--kernels", "--precision=bf16", "--architecture=80", "--seed=7"});
  EXPECT_EQ(older.exit_status, 0) << older.out << older.err;
  for (const char* wrong : {"70", "4294967376"}) {
    ExpectOneLine(RunLemma({"check", input, "--kernels", absl::StrCat("--architecture=", wrong)}),
                  {"--architecture", "80 or 90"});
  }
  for (const char* flag : {"--architecture=80", "--compile"}) {
    ExpectOneLine(RunLemma({"check", input, "--plan=cuda", flag}), {"--kernels"});
  }
}

TEST(KernelCheckTest, CompilesKernels) {
  const std::string input = WriteTemp("in.lemma", kGraph);
  const LemmaResult compiled = RunLemma({"check", input, "--kernels", "--compile"});
  if (absl::StrContains(compiled.err, "no NVRTC")) {
    ExpectOneLine(compiled, {"libnvrtc"});
    GTEST_SKIP() << compiled.err;
  }
  EXPECT_EQ(compiled.exit_status, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("\nchecked: "));
}

// A kernel that would take too long is not called right.
TEST(KernelCheckTest, SaysWhichKernelsItDidNotCheck) {
  const std::string input =
      WriteTemp("large.lemma", R"(graph g(x: f32[1,40], w: f32[40,2000000000]) {
  y = matmul(x, w)
  return y
})");
  const LemmaResult result = RunLemma({"check", input, "--kernels"});
  EXPECT_EQ(result.exit_status, 4) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("not checked: 1 x matmul (by "));
  EXPECT_THAT(result.out, HasSubstr("operations"));
  EXPECT_THAT(result.out, HasSubstr("NOT ALL CHECKED: 0 of 1"));
}

TEST(CertificateCommandTest, ReplayGivesTheSameBytes) {
  for (const std::string ending : {".onnx", ".lemma", ".pb"}) {
    const Files files = Optimized(ending);
    const std::string again = files.folder + "/again" + ending;
    const LemmaResult replayed =
        RunLemma({"optimize", files.input, "-o", again, "--replay=" + files.certificate});
    ASSERT_EQ(replayed.exit_status, 0) << replayed.err;
    EXPECT_EQ(ReadAll(again), ReadAll(files.output));
    Files other = files;
    other.output = again;
    other.certificate = again + ".cert";
    EXPECT_EQ(Check(other).exit_status, 0) << Check(other).out;
    // Both runs wrote equal files, so either certificate fits either pair.
    other.certificate = files.certificate;
    EXPECT_EQ(Check(other).exit_status, 0) << Check(other).out;
  }
}

// A value that only the body of a loop reads is fixed as others are.
TEST(CertificateCommandTest, SpeaksOfValuesThatALoopReads) {
  const std::string in =
      WriteTemp("in.onnx", OnnxModel(R"(g (int64[3] ids, float[10,4] w) => (float[3,4] y) {
        m = Constant <value = int64 {3}> ()
        c = Constant <value = bool {1}> ()
        y = Loop <body = b (int64 i, bool p) => (bool q, float[4] r) {
          s = Gather(ids, i)
          r = Gather(w, s)
          q = Identity(p)
        }> (m, c)
      })")
                               .SerializeAsString());
  const std::string inputs =
      WriteTemp("ids.pb", SerializeTensorProto("ids", Tensor::Ints({3, 1, 2}))) + "," +
      WriteTemp("w.pb", SerializeTensorProto("w", *Tensor::Filled({DType::kF32, {10, 4}}, 1)));
  const std::string out = NewFolder() + "/out.onnx", cert = out + ".cert";
  const LemmaResult made = RunLemma(
      {"optimize", in, "-o", out, "--inputs", inputs, "--cost=analytic", "--execution=off"});
  ASSERT_EQ(made.exit_status, 0) << made.err;
  const LemmaResult checked = RunLemma({"check", in, out, cert});
  EXPECT_EQ(checked.exit_status, 0) << checked.out << checked.err;
}

// As a number -0 is equal to 0; a certificate's constants have all their bits.
TEST(CertificateCommandTest, ARuleForZeroLeavesMinusZero) {
  for (const std::string zero : {"0.0", "-0.0"}) {
    Files files;
    files.folder = NewFolder();
    files.input =
        WriteTemp("in.lemma", absl::StrCat("graph g(x: f32[8,8]) { c = constant f32[] fill ", zero,
                                           " a = add(x, c) y = exp(a) return y }"));
    files.output = files.folder + "/out.lemma";
    files.certificate = files.output + ".cert";
    const LemmaResult result = RunLemma(
        {"optimize", files.input, "-o", files.output, "--cost=analytic", "--execution=off"});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    const LemmaResult checked = Check(files);
    EXPECT_EQ(checked.exit_status, 0) << checked.out << checked.err;
  }
}

TEST(CertificateCommandTest, AnythingTamperedWithIsRejected) {
  const Files files = Optimized(".lemma");
  ASSERT_EQ(Check(files).exit_status, 0);
  for (int which = 0; which < 3; ++which) {
    Files changed = files;
    std::string* const path[] = {&changed.input, &changed.output, &changed.certificate};
    std::string text = ReadAll(*path[which]);
    const char* const digits[] = {"0.01", "f32[64,256]", "gives "};
    const size_t at = text.find(digits[which]);
    ASSERT_NE(at, std::string::npos) << text;
    text[at + 6] = text[at + 6] == '1' ? '2' : '1';
    *path[which] = WriteTemp(which == 2 ? "out.cert" : "changed.lemma", text);
    const LemmaResult result = Check(changed);
    EXPECT_NE(result.exit_status, 0) << result.out;
    EXPECT_TRUE(result.exit_status == 1 || result.exit_status == 2);
  }
}

TEST(CertificateCommandTest, TellsWhoVouchesForTheRules) {
  const Files files = Optimized(".lemma");
  const std::string rules =
      WriteTemp("rules.txt",
                "rule relu_of_relu(x: [n]) bit_exact { a = relu(x) b = relu(a) return b } =>"
                " { c = relu(x) return c }");
  ASSERT_EQ(RunLemma({"verify", rules, "-o", rules}).exit_status, 0);
  const LemmaResult other = Check(files, {"--rules=" + rules});
  const bool has_steps = ReadAll(files.certificate).find("\nsteps 0\n") == std::string::npos;
  EXPECT_EQ(other.exit_status, has_steps ? 1 : 0) << other.out;
  EXPECT_THAT(other.out, HasSubstr(has_steps ? "it is none of " + rules : "checked: 0 steps"));
  const LemmaResult proved = Check(files, {"--rules=" + rules, "--prove"});
  EXPECT_EQ(proved.exit_status, 0) << proved.out << proved.err;
}

// The author of a certificate cannot know the random numbers of the check.
TEST(CertificateCommandTest, TheSeedIsDrawnAndSaid) {
  const Files files = Optimized(".lemma");
  const LemmaResult first = Check(files), second = Check(files);
  const std::string says = "repeatable with --seed=";
  const size_t at = first.out.find(says);
  if (at == std::string::npos) GTEST_SKIP() << "nothing paid here";
  EXPECT_NE(first.out, second.out);
  const std::string seed =
      first.out.substr(at + says.size(), first.out.find('\n', at) - at - says.size());
  EXPECT_EQ(Check(files, {"--seed=" + seed}).out, first.out);
  ExpectOneLine(Check(files, {"--seed=-2"}), {"--seed: must be at least -1"});
}

TEST(CertificateCommandTest, WhatCannotBeReadIsBadInput) {
  const Files files = Optimized(".lemma");
  ExpectOneLine(RunLemma({"check", files.input, files.output, files.input}), {"is no certificate"});
  ExpectOneLine(RunLemma({"check", files.input, files.output, "/nowhere"}), {"/nowhere"});
  ExpectOneLine(RunLemma({"check", files.input, files.output}), {"which IN, OUT and CERTIFICATE?"});
  ExpectOneLine(RunLemma({"check", files.input, files.folder, files.certificate}), {files.folder});
}

// An input with a default value is not folded, since callers may give another value. The default is
// a part of the model's meaning.
TEST(CertificateCommandTest, AnInputWithADefaultStaysOne) {
  const std::string in = "tests/cli/input_with_default.onnx", folder = NewFolder();
  const std::string out = folder + "/out.onnx", cert = out + ".cert";
  const LemmaResult result = RunLemma({"optimize", in, "-o", out, "--cost=analytic", "--runs=3"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("input 'w' has a default value"));
  EXPECT_THAT(RunLemma({"show", out}).out, HasSubstr("w: f32[4,3]"));
  EXPECT_EQ(RunLemma({"check", in, out, cert}).exit_status, 0);
  // Other files store no default values: there, every input has to be given.
  const std::string text_out = folder + "/out.lemma";
  ASSERT_EQ(RunLemma({"optimize", in, "-o", text_out, "--cost=analytic", "--runs=3"}).exit_status,
            0);
  const LemmaResult without = RunLemma({"check", in, text_out, text_out + ".cert"});
  EXPECT_EQ(without.exit_status, 0) << without.out << without.err;
  // Without a given value, the input has its default, whatever the seed.
  const std::string given = folder + "/given";
  ASSERT_EQ(RunLemma({"run", in, "--outputs", given, "--runs=1"}).exit_status, 0);
  EXPECT_EQ(RunLemma({"run", out, "--expect", given, "--runs=1"}).exit_status, 0);
  // Another default value, with correct hashes and checksum.
  std::string model = ReadAll(out);
  const size_t at = model.find("\x1f\x5a\x3e\x7f");
  ASSERT_NE(at, std::string::npos);
  model[at] ^= 1;
  const std::string forged = WriteTemp("forged.onnx", model);
  std::string text = ReadAll(cert);
  text = text.substr(0, text.rfind("\nsha256 "));
  const size_t hash = text.find("output ") + 7;
  text.replace(hash, 64, Sha256Of(model));
  const std::string certificate =
      WriteTemp("forged.cert", text + "\nsha256 " + Sha256Of(text) + "\n");
  const LemmaResult checked = RunLemma({"check", in, forged, certificate});
  EXPECT_EQ(checked.exit_status, 1);
  EXPECT_THAT(checked.out, HasSubstr("other default values"));
}

// y = relu(x) for x: f32[n,4].
const std::string kOfAnySize(
    "\010\010:=\012\014\012\001x\022\001y\042\004Relu\022\001gZ\024\012\001x\022\017\012\015\010"
    "\001\022\011\012\003\022\001n\012\002\010\004b\024\012\001y\022\017\012\015\010\001\022\011"
    "\012\003"
    "\022\001n\012\002\010\004B\002\020\021",
    69);

// What needs numbers says so before it begins.
TEST(CertificateCommandTest, SymbolicSizesHaveHintsAndRanges) {
  const std::string in = WriteTemp("any.onnx", kOfAnySize), out = NewFolder() + "/out.onnx";
  const struct {
    std::vector<std::string> flags;
    const char* error;
  } kCases[] = {
      {{"--hint", "m=3"}, "--hint: no dimension is called m; there are: n"},
      {{"--hint", "n=9", "--range", "n=1:8"}, "n=9: its range is 1:8"},
      {{"--range", "n=0:8"}, "'n=0:8' is not NAME=LEAST:MOST"},
      {{"--hint", "n=3", "--dim", "n=3"}, "--hint: every size is a number"},
      {{"--memory-limit", "1M"}, "--memory-limit: not for all sizes"},
  };
  for (const auto& c : kCases) {
    std::vector<std::string> arguments = {"optimize", in, "-o", out, "--cost=analytic"};
    arguments.insert(arguments.end(), c.flags.begin(), c.flags.end());
    const LemmaResult result = RunLemma(arguments);
    EXPECT_EQ(result.exit_status, 2) << c.error;
    EXPECT_THAT(result.err, HasSubstr(c.error));
  }
  const LemmaResult shown = RunLemma({"show", in});
  EXPECT_THAT(shown.out, HasSubstr("x: f32[n,4]"));
}

// A certificate says which value of an input is part of the graph, and holds for no other.
TEST(CertificateCommandTest, SaysOfWhichInputValuesItSpeaks) {
  const std::string in =
      WriteTemp("in.onnx", OnnxModel("g (float[2,3] x, int64[n] shape) => (float[r,c] y) "
                                     "{ a = Relu(x) b = Relu(a) y = Reshape(b, shape) }")
                               .SerializeAsString());
  const std::string inputs =
      WriteTemp("x.pb", SerializeTensorProto("x", *Tensor::Filled({DType::kF32, {2, 3}}, 1))) +
      "," + WriteTemp("shape.pb", SerializeTensorProto("shape", Tensor::Ints({3, 2})));
  const std::string out = NewFolder() + "/out.onnx", cert = out + ".cert";
  const LemmaResult made =
      RunLemma({"optimize", in, "-o", out, "--inputs", inputs, "--cost=analytic", "--runs=3"});
  ASSERT_EQ(made.exit_status, 0) << made.err;
  EXPECT_THAT(ReadAll(cert), HasSubstr("\nfixed shape i64[2] 3 2\n"));
  const LemmaResult checked = RunLemma({"check", in, out, cert});
  EXPECT_EQ(checked.exit_status, 0) << checked.out;
  EXPECT_THAT(checked.out, HasSubstr(", input shape = 3 2"));
  EXPECT_THAT(RunLemma({"check", in, out, cert, "--json"}).out,
              HasSubstr("\"fixed_inputs\":{\"shape\":[3,2]}"));

  const std::string whole = ReadAll(cert);
  for (const std::string forged : {"", "fixed shape i64[2] 2 3\n", "fixed shape i64[2] 6 1\n"}) {
    std::string text = whole.substr(0, whole.rfind("\nsha256 "));
    const size_t at = text.find("fixed shape");
    text.replace(at, text.find('\n', at) + 1 - at, forged);
    const std::string path = WriteTemp("forged.cert", text + "\nsha256 " + Sha256Of(text) + "\n");
    EXPECT_NE(RunLemma({"check", in, out, path}).exit_status, 0) << forged;
  }
  for (const std::string bad :
       {"fixed shape i64[2] 3\n", "fixed shape i64[2] 3 2 1\n", "fixed shape f32[2] 3 2\n",
        "fixed shape i64[2 3 2\n", "fixed shape i64[99999999999] 3 2\n", "fixed shape\n"}) {
    std::string text = whole.substr(0, whole.rfind("\nsha256 "));
    const size_t at = text.find("fixed shape");
    text.replace(at, text.find('\n', at) + 1 - at, bad);
    const std::string path = WriteTemp("forged.cert", text + "\nsha256 " + Sha256Of(text) + "\n");
    const LemmaResult answer = RunLemma({"check", in, out, path});
    EXPECT_EQ(answer.exit_status, 1) << bad;
    EXPECT_THAT(answer.out, HasSubstr("fixed NAME TYPE INTEGERS")) << bad;
  }
}

// If the answer holds at certain sizes or for other weights only, the command says so.
TEST(CertificateCommandTest, SaysOfWhichSizesAndWeightsItSpeaks) {
  const std::string in = WriteTemp("in.onnx", kOfAnySize);
  const struct {
    std::vector<std::string> flags;
    const char *text, *json;
  } kCases[] = {
      {{"--seed", "1"}, ", every n from 1 on)", "\"symbolic\":{\"n\":[1,2147483647]}"},
      {{"--range", "n=2:9"}, ", every n from 2 to 9)", "\"symbolic\":{\"n\":[2,9]}"},
      {{"--dim", "n=3"}, ", n = 3)", "\"dims\":{\"n\":3}"},
      {{"--reseed-weights", "5"}, "weights replaced by random ones of seed 5", "\"reseed\":5"},
  };
  for (const auto& c : kCases) {
    const std::string out = NewFolder() + "/out.onnx";
    std::vector<std::string> arguments = {"optimize", in, "-o", out, "--cost=analytic", "--runs=3"};
    arguments.insert(arguments.end(), c.flags.begin(), c.flags.end());
    ASSERT_EQ(RunLemma(arguments).exit_status, 0);
    std::vector<std::string> check = {"check", in, out, out + ".cert"};
    if (*c.flags.begin() == "--reseed-weights") {
      // Without the flag, such an output is not accepted for the model.
      const LemmaResult unasked = RunLemma(check);
      EXPECT_EQ(unasked.exit_status, 1);
      EXPECT_THAT(unasked.out, HasSubstr("the output has random weights of seed 5"));
      check.insert(check.end(), c.flags.begin(), c.flags.end());
    }
    EXPECT_THAT(RunLemma(check).out, HasSubstr(c.text));
    check.push_back("--json");
    EXPECT_THAT(RunLemma(check).out, HasSubstr(c.json));
    check.back() = "--reseed-weights=6";
    EXPECT_EQ(RunLemma(check).exit_status, 1);
  }
}

// A rule's name may contain any character.
TEST(CertificateCommandTest, ARejectionIsOneLine) {
  const Files files = Optimized(".lemma");
  std::string text = ReadAll(files.certificate);
  const size_t rule = text.find("\nrule ");
  ASSERT_NE(rule, std::string::npos);
  const size_t begin = rule + 6, end = text.find('(', rule);
  const std::string name = text.substr(begin, end - begin);
  text = text.substr(0, text.rfind("\nsha256 "));
  for (size_t at = 0; (at = text.find(" " + name, at)) != std::string::npos; ++at) {
    text.replace(at + 1, name.size(), "\"\\x0d\\x0achecked: 0 steps\\x1b[8m\"");
  }
  const std::string forged = WriteTemp("forged.cert", text + "\nsha256 " + Sha256Of(text) + "\n");
  const LemmaResult result = RunLemma({"check", files.input, files.output, forged});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, StartsWith("REJECTED: "));
  EXPECT_THAT(result.out, HasSubstr("\\x0d\\x0achecked: 0 steps\\x1b[8m"));
  EXPECT_EQ(result.out.find('\n'), result.out.size() - 1);
}

// Other programs read a file called .onnx as ONNX, and may find another model in it.
TEST(CertificateCommandTest, AFileIsWhatItsNameSays) {
  const Files files = Optimized(".lemma");
  const std::string renamed = WriteTemp("out.onnx", ReadAll(files.output));
  const LemmaResult result = RunLemma({"check", files.input, renamed, files.certificate});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("out.onnx is text by its content and onnx by its name"));
}

TEST(CertificateCommandTest, MayBeLeftOut) {
  const std::string folder = NewFolder();
  const LemmaResult result =
      RunLemma({"optimize", WriteTemp("in.lemma", kGraph), "-o", folder + "/out.lemma",
                "--cost=analytic", "--runs=3", "--certificate=none"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(FilesIn(folder), ElementsAre("out.lemma"));
}

}  // namespace
}  // namespace lemma
