// Random changes of kernels: those that the check does not refuse make no difference when the
// kernels run, compiled as host C++ with the grid emulator.
#include <cctype>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "api/checking/program_parts.h"
#include "gtest/gtest.h"
#include "runtime/tolerance.h"
#include "tests/base/repetitions.h"
#include "tests/kernels/codegen/host_kernels.h"
#include "tests/verifier/kernels/checked_graph.h"
#include "tests/verifier/kernels/schedule_examples.h"

namespace lemma {
namespace {

using codegen::GridKernel;
using codegen::GridProgram;
using Kind = kernels::ProgramVerdict::Kind;

bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // Changes something in the body of a kernel.
  void Change(std::string* code) {
    const size_t body = code->find("{\n") + 2;
    switch (random_() % 5) {
      case 0:
      case 1:
        return ChangeNumber(code, body);
      case 2:
        return ChangeOperator(code, body);
      case 3:
        return ChangeName(code, body);
      default:
        return ChangeLines(code, body);
    }
  }

 private:
  // The places of names, or of numbers, from `from` on.
  static std::vector<std::pair<size_t, size_t>> Words(const std::string& code, size_t from,
                                                      bool numbers) {
    std::vector<std::pair<size_t, size_t>> words;
    for (size_t at = from; at < code.size();) {
      if (!IsNamePart(code[at])) {
        ++at;
        continue;
      }
      size_t end = at;
      while (end < code.size() && IsNamePart(code[end])) ++end;
      const bool number = std::isdigit(static_cast<unsigned char>(code[at])) != 0;
      const bool whole = code[at - 1] != '.' && (end == code.size() || code[end] != '.');
      if (number == numbers && whole) words.emplace_back(at, end - at);
      at = end;
    }
    return words;
  }

  template <class T>
  const T& Any(const std::vector<T>& from) {
    return from[random_() % from.size()];
  }

  void ChangeNumber(std::string* code, size_t body) {
    const auto numbers = Words(*code, body, true);
    if (numbers.empty()) return;
    const auto [at, length] = Any(numbers);
    size_t digits = 0;
    while (digits < length && std::isdigit(static_cast<unsigned char>((*code)[at + digits])) != 0) {
      ++digits;
    }
    if (digits > 9) return;
    const int64_t value = std::stoll(code->substr(at, digits));
    const std::vector<int64_t> others = {value + 1, value > 0 ? value - 1 : 2, 2 * value, 0};
    code->replace(at, digits, absl::StrCat(Any(others)));
  }

  void ChangeOperator(std::string* code, size_t body) {
    static const std::vector<std::pair<std::string, std::string>> kOperators = {
        {" + ", " - "},       {" - ", " + "},  {" * ", " + "},       {" / ", " % "},
        {" % ", " / "},       {" < ", " <= "}, {" <= ", " < "},      {" >= ", " > "},
        {" && ", " || "},     {"+= ", "= "},   {"fn_add", "fn_mul"}, {"fn_mul", "fn_add"},
        {"fn_max", "fn_min"}, {"Max", "Min"},  {"Sum", "Prod"},      {"fn_sub", "fn_add"}};
    const auto& [from, to] = Any(kOperators);
    std::vector<size_t> places;
    for (size_t at = code->find(from, body); at != std::string::npos;
         at = code->find(from, at + 1)) {
      places.push_back(at);
    }
    if (!places.empty()) code->replace(Any(places), from.size(), to);
  }

  void ChangeName(std::string* code, size_t body) {
    const auto names = Words(*code, body, false);
    if (names.empty()) return;
    const auto [from, from_length] = Any(names);
    const auto [at, length] = Any(names);
    code->replace(at, length, code->substr(from, from_length));
  }

  // Deletes a line or exchanges two.
  void ChangeLines(std::string* code, size_t body) {
    std::vector<std::string> lines = absl::StrSplit(code->substr(body), '\n');
    const size_t line = random_() % lines.size();
    if (random_() % 2 == 0) {
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line));
    } else {
      std::swap(lines[line], lines[random_() % lines.size()]);
    }
    std::string text;
    for (const std::string& each : lines) absl::StrAppend(&text, each, "\n");
    *code = code->substr(0, body) + text;
  }

  std::mt19937_64 random_;
};

struct Mutant {
  size_t original;
  GridProgram program;
};

struct Original {
  cuda::CudaStep step;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

std::vector<Original> Originals() {
  std::vector<Original> originals;
  for (const ScheduleExample& example : ScheduleExamples()) {
    // Kernels side by side have no inputs of their own.
    if (std::string(example.name) == "side_by_side") continue;
    const cuda::CudaPlan plan = CudaPlanOf(GraphOfExample(example));
    EXPECT_EQ(plan.steps.size(), 1u) << example.name;
    Original original{plan.steps[0], {}, {}};
    const auto parts = api::PartsOf(original.step);
    std::mt19937_64 random(7);
    for (const Value& v : parts[0].operands) {
      std::vector<double> values(static_cast<size_t>(v.type().num_elements()));
      for (double& x : values) {
        x = IsFloat(v.dtype()) ? static_cast<double>(random() % 2001) / 1000 - 1
                               : static_cast<double>(random() % 5);
      }
      original.inputs.push_back(*Tensor::FromDoubles(v.type(), values));
    }
    const NodePtr& last = original.step.nodes.back();
    for (int k = 0; k < last->num_outputs(); ++k) {
      original.outputs.push_back(*Tensor::Allocate(Value(last, k).type()));
    }
    originals.push_back(std::move(original));
  }
  return originals;
}

TEST(KernelMutants, ThoseThatAreNotRefusedAreEqual) {
  std::vector<Original> originals = Originals();
  std::vector<Mutant> accepted;
  std::map<Kind, int> counts;
  for (size_t o = 0; o < originals.size(); ++o) {
    for (int m = 0; m < WholeOr(400, 40); ++m) {
      Mutator mutator(1000 * o + static_cast<uint64_t>(m));
      GridProgram program = *originals[o].step.program;
      GridKernel& kernel = program.kernels[static_cast<size_t>(m) % program.kernels.size()];
      const std::string before = kernel.code;
      mutator.Change(&kernel.code);
      if (kernel.code == before) continue;
      const std::string name = absl::StrCat(kernel.name, "_", o, "_", m);
      absl::StrReplaceAll({{kernel.name, name}}, &kernel.code);
      kernel.name = name;
      kernels::ProgramCheckOptions options;
      options.operations = 3e6;  // ends loops that a change made endless
      const auto verdict = kernels::CheckProgram(program, api::PartsOf(originals[o].step), options);
      ++counts[verdict.kind];
      if (verdict.kind == Kind::kAgrees) accepted.push_back({o, std::move(program)});
    }
  }
  RecordProperty("equal", counts[Kind::kAgrees]);
  RecordProperty("wrong", counts[Kind::kWrong]);
  RecordProperty("not_checked", counts[Kind::kNotChecked]);
  EXPECT_GT(counts[Kind::kWrong], 100);
  EXPECT_GT(counts[Kind::kAgrees], 0);
  std::vector<const GridProgram*> programs;
  for (const Original& original : originals) programs.push_back(original.step.program.get());
  for (const Mutant& mutant : accepted) programs.push_back(&mutant.program);
  auto compiled = HostKernels::Compile(programs);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (Original& original : originals) {
    ASSERT_TRUE((*compiled)->Run(*original.step.program, original.inputs, &original.outputs).ok());
  }
  for (const Mutant& mutant : accepted) {
    const Original& original = originals[mutant.original];
    std::vector<Tensor> outputs;
    for (const Tensor& t : original.outputs) outputs.push_back(*Tensor::Allocate(t.type()));
    ASSERT_TRUE((*compiled)->Run(mutant.program, original.inputs, &outputs).ok());
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Difference d = Compare(outputs[k], original.outputs[k], 1e-5);
      EXPECT_TRUE(d.within) << d.ToString() << "\n"
                            << mutant.program.kernels[0].code << "\nin place of\n"
                            << original.step.program->kernels[0].code;
    }
  }
}

}  // namespace
}  // namespace lemma
