// What the prover proves about random formulas is true at points, also where formulas have no
// value.
//
// Many formulas are drawn and evaluated here, in double, without any code of the prover. Those that
// agree at some positive points are claimed to be equal. Many such claims are false at 0, at
// negative numbers or where one side has no value. Refutation is switched off.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

struct Formula {
  std::string op;  // "x", "y", a number or an operator
  std::vector<Formula> args;
};

struct Function {
  const char* op;
  int arity;
  double (*value)(double, double, double);
};

double Sigmoid(double a) { return 1 / (1 + std::exp(-a)); }

const Function kFunctions[] = {
    {"neg", 1, [](double a, double, double) { return -a; }},
    {"relu", 1, [](double a, double, double) { return a > 0    ? a
                                                      : a != a ? a
                                                               : 0; }},
    {"abs", 1, [](double a, double, double) { return std::abs(a); }},
    {"sign", 1, [](double a, double, double) { return a > 0   ? 1
                                                      : a < 0 ? -1
                                                              : a; }},
    {"exp", 1, [](double a, double, double) { return std::exp(a); }},
    {"log", 1, [](double a, double, double) { return std::log(a); }},
    {"sqrt", 1, [](double a, double, double) { return std::sqrt(a); }},
    {"reciprocal", 1, [](double a, double, double) { return 1 / a; }},
    {"tanh", 1, [](double a, double, double) { return std::tanh(a); }},
    {"sinh", 1, [](double a, double, double) { return std::sinh(a); }},
    {"cosh", 1, [](double a, double, double) { return std::cosh(a); }},
    {"sigmoid", 1, [](double a, double, double) { return Sigmoid(a); }},
    {"silu", 1, [](double a, double, double) { return a * Sigmoid(a); }},
    {"softplus", 1, [](double a, double, double) { return std::log(1 + std::exp(a)); }},
    {"sin", 1, [](double a, double, double) { return std::sin(a); }},
    {"cos", 1, [](double a, double, double) { return std::cos(a); }},
    {"tan", 1, [](double a, double, double) { return std::tan(a); }},
    {"atanh", 1, [](double a, double, double) { return std::atanh(a); }},
    {"add", 2, [](double a, double b, double) { return a + b; }},
    {"add", 2, [](double a, double b, double) { return a + b; }},
    {"sub", 2, [](double a, double b, double) { return a - b; }},
    {"sub", 2, [](double a, double b, double) { return a - b; }},
    {"mul", 2, [](double a, double b, double) { return a * b; }},
    {"mul", 2, [](double a, double b, double) { return a * b; }},
    {"div", 2, [](double a, double b, double) { return a / b; }},
    {"max", 2, [](double a, double b, double) { return a > b || a != a ? a : b; }},
    {"min", 2, [](double a, double b, double) { return a < b || a != a ? a : b; }},
    {"choose", 3, [](double a, double b, double c) { return a > 0 ? b : c; }},
};

const Function& Find(const std::string& op) {
  return *std::find_if(std::begin(kFunctions), std::end(kFunctions),
                       [&](const Function& f) { return op == f.op; });
}

double ValueOf(const Formula& f, double x, double y) {
  if (f.op == "x") return x;
  if (f.op == "y") return y;
  if (f.args.empty()) return std::stod(f.op);
  double args[3] = {0, 0, 0};
  for (size_t i = 0; i < f.args.size(); ++i) args[i] = ValueOf(f.args[i], x, y);
  return Find(f.op).value(args[0], args[1], args[2]);
}

// The name of the formula's value; appends the lines that compute it.
std::string Write(const Formula& f, std::string* lines, int* next) {
  if (f.op == "x" || f.op == "y") return f.op;
  std::vector<std::string> args;
  for (const Formula& arg : f.args) args.push_back(Write(arg, lines, next));
  const std::string name = absl::StrCat("t", (*next)++);
  if (f.args.empty()) {
    absl::StrAppend(lines, "  ", name, " = constant [n] fill ", f.op, "\n");
  } else if (f.op == "choose") {
    absl::StrAppend(lines, "  ", name, "o = constant [] fill 0\n  ", name, "c = greater(", args[0],
                    ", ", name, "o)\n  ", name, " = where(", name, "c, ", args[1], ", ", args[2],
                    ")\n");
  } else {
    absl::StrAppend(lines, "  ", name, " = ", f.op, "(", args[0],
                    args.size() > 1 ? ", " + args[1] : "", ")\n");
  }
  return name;
}

std::string Side(const Formula& f) {
  std::string lines;
  int next = 0;
  const std::string result = Write(f, &lines, &next);
  return absl::StrCat("{\n", lines, "  return ", result, "\n}");
}

Formula Draw(std::mt19937_64* random, int depth) {
  const int pick = static_cast<int>((*random)() % 100);
  if (depth == 0 || pick < 12) {
    static const char* const kLeaves[] = {"x", "x", "x", "x", "y", "y", "1", "2", "0.5", "-1"};
    return {kLeaves[(*random)() % 10], {}};
  }
  const Function& f = kFunctions[(*random)() % std::size(kFunctions)];
  Formula formula{f.op, {}};
  for (int i = 0; i < f.arity; ++i) formula.args.push_back(Draw(random, depth - 1));
  return formula;
}

bool Uses(const Formula& f, const char* name) {
  return f.op == name || std::any_of(f.args.begin(), f.args.end(),
                                     [&](const Formula& arg) { return Uses(arg, name); });
}

const double kPositive[][2] = {{0.7, 1.3}, {1.9, 0.4}, {0.31, 0.83}, {2.6, 2.1}, {1.1, 1.7}};
const double kAll[] = {0, 1, -1, 0.5, -0.5, 2, -2, 0.7, -1.3, 1.9, -2.6, 3, -3};

bool Close(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isfinite(a) == std::isfinite(b);
  return std::abs(a - b) <= 1e-7 * (1 + std::abs(a) + std::abs(b));
}

// "" if both agree everywhere. *of_numbers: both have values that differ.
std::string Difference(const Formula& a, const Formula& b, bool* of_numbers) {
  std::string difference;
  *of_numbers = false;
  for (double x : kAll) {
    for (double y : kAll) {
      const double u = ValueOf(a, x, y), v = ValueOf(b, x, y);
      if (Close(u, v)) continue;
      const bool numbers = std::isfinite(u) && std::isfinite(v);
      if (!difference.empty() && !numbers) continue;
      difference = absl::StrCat("at x = ", x, ", y = ", y, ": ", u, " and ", v);
      *of_numbers = numbers;
      if (numbers) return difference;
    }
  }
  return difference;
}

// More than the test does: --seed=N, --claims=N, --print.
uint64_t seed = 20261125;
int most_claims = 700;
bool print = false;  // claims that may be true and are not proved

TEST(RandomClaims, AreTrueIfProved) {
  std::mt19937_64 random(seed);
  std::map<std::string, std::vector<Formula>> alike;
  for (int i = 0; i < 60000; ++i) {
    Formula f = Draw(&random, 1 + i % 3);
    std::string key;
    for (const auto& [x, y] : kPositive) {
      const double value = ValueOf(f, x, y);
      if (!std::isfinite(value) || std::abs(value) > 1e4) key.clear();
      if (!std::isfinite(value) || std::abs(value) > 1e4) break;
      absl::StrAppend(&key, std::llround(value * 1e5), " ");
    }
    if (!key.empty() && (Uses(f, "x") || Uses(f, "y"))) alike[key].push_back(std::move(f));
  }
  ProverOptions options;
  options.samples = 0;
  int claims = 0, truths = 0, proved = 0, partial = 0;
  std::set<std::string> seen;
  for (const auto& [key, formulas] : alike) {
    for (size_t i = 1; i < formulas.size() && i < 6 && claims < most_claims; ++i) {
      const Formula &a = formulas[i - 1], &b = formulas[i];
      const std::string sides = absl::StrCat(Side(a), " => ", Side(b));
      const bool x = Uses(a, "x"), y = Uses(a, "y");
      // The source uses each variable.
      if (Side(a) == Side(b) || a.args.empty() || (Uses(b, "x") && !x) || (Uses(b, "y") && !y))
        continue;
      if (!seen.insert(sides).second) continue;
      const std::string rule = absl::StrCat("rule r(", x ? "x: [n]" : "", x && y ? ", " : "",
                                            y ? "y: [n]" : "", ") real_only ", sides);
      bool of_numbers = false;
      const std::string difference = Difference(a, b, &of_numbers);
      const Verdict verdict = ProveText(rule, options);
      ++claims;
      truths += difference.empty();
      proved += IsProved(verdict);
      if (IsProved(verdict) && !difference.empty()) {
        // Nothing is claimed where a side has no value, but only old laws, such as 0 * x = 0, make
        // use of that.
        ProverOptions usual = options;
        usual.cases = false;
        const bool known = !of_numbers && IsProved(ProveText(rule, usual));
        EXPECT_TRUE(known) << rule << "\n" << difference;
        partial += known;
      }
      if (print && difference.empty() && !IsProved(verdict)) {
        printf("%s\n", rule.c_str());
      }
    }
  }
  printf("%d claims, %d true at all points, %d proved, %d of them where both sides have values\n",
         claims, truths, proved, partial);
  EXPECT_GE(claims, 500);
  EXPECT_GE(proved, 100);
}

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    lemma::print |= arg == "--print";
    if (absl::ConsumePrefix(&arg, "--seed=")) (void)absl::SimpleAtoi(arg, &lemma::seed);
    if (absl::ConsumePrefix(&arg, "--claims=")) (void)absl::SimpleAtoi(arg, &lemma::most_claims);
  }
  return RUN_ALL_TESTS();
}
