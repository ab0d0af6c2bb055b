// Operators that files define: values, errors in texts and in applications.
#include "graph/define/operator_file.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/grad/gradient.h"
#include "graph/op_table.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The elements of the first result of the graph `text`.
std::vector<double> ResultOf(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto executable = MakeReferenceBackend()->Compile(*graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto results = (*executable)->Run({});
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<double> values;
  for (int64_t i = 0; i < (*results)[0].size(); ++i) values.push_back((*results)[0].AtDouble(i));
  return values;
}

void Define(const std::string& text) {
  auto names = DefineOperators(text, "ops.txt");
  ASSERT_TRUE(names.ok()) << names.status();
}
std::string ErrorOf(const std::string& text) {
  return std::string(ReadOperators(text, "ops.txt").status().message());
}
std::string ErrorOfGraph(const std::string& text) {
  return std::string(ParseGraph(text).status().message());
}

TEST(OperatorFileTest, ComputesWhatTheTextSays) {
  Define(R"(operator test_weighted(x: [m, n], w: [n]) {scale: real = 2} {
    y[i < m] = scale * sum(k < n where k >= i, x[i, k] * w[k]) - n
    return y
  })");
  EXPECT_THAT(ResultOf("graph g() { x = constant f32[2,2] [1.0, 2.0, 3.0, 4.0] "
                       "w = constant f32[2] [10.0, 100.0] y = test_weighted(x, w) return y }"),
              ElementsAre(2 * (10 + 200) - 2, 2 * 400 - 2));
  EXPECT_THAT(ResultOf("graph g() { x = constant f32[2,2] [1.0, 2.0, 3.0, 4.0] w = constant f32[2] "
                       "[10.0, 100.0] y = test_weighted(x, w) {scale = 0.5} return y }"),
              ElementsAre(0.5 * 210 - 2, 0.5 * 400 - 2));
}

TEST(OperatorFileTest, EveryKindOfExpressionHasItsValue) {
  Define(R"(operator test_index(x: [n]) {
    y[i < n] = if(i mod 2 = 0 and not (i = 2 or i > 5), x[n - 1 - i],
                  -(x[max(i - 1, 0)] else 7) + (x[i + 1] else -7) / 2)
    return y
  })");
  EXPECT_THAT(ResultOf("graph g() { x = constant f32[4] [1.0, 2.0, 4.0, 8.0] y = test_index(x) "
                       "return y }"),
              ElementsAre(8, -1 + 4 / 2.0, -2 + 8 / 2.0, -4 - 7 / 2.0));
  Define(R"(operator test_reductions(x: [m, n]) {
    y[] = max(i < m, min(j < n, x[i, j])) + prod(i < m, j < n, x[i, j])
    return y
  })");
  EXPECT_THAT(
      ResultOf("graph g() { x = constant f32[2,2] [1.0, 2.0, 3.0, 4.0] y = test_reductions(x) "
               "return y }"),
      ElementsAre(3 + 24));
  Define(R"(operator test_lookup(x: [n], at: integer[k]) {
    y[i < k] = (x[at[i]] else -1)
    return y
  })");
  EXPECT_THAT(ResultOf("graph g() { x = constant f32[2] [5.0, 6.0] at = constant i64[3] [1, 9, -1] "
                       "y = test_lookup(x, at) return y }"),
              ElementsAre(6, -1, -1));
}

TEST(OperatorFileTest, ABoundBelowZeroIsNoElements) {
  Define(R"(operator test_before(x: [n]) {
    y[i < n] = sum(k < i - 1, x[k])
    return y
  })");
  EXPECT_THAT(ResultOf("graph g() { x = constant f32[4] [1.0, 2.0, 4.0, 8.0] y = test_before(x) "
                       "return y }"),
              ElementsAre(0, 0, 1, 3));
}

TEST(OperatorFileTest, AGuardedReadLiesInside) {
  EXPECT_EQ(ErrorOf("operator a(x: [m], y: [n]) { z[i < m + n] = if(i < m, x[i], y[i - m]) "
                    "return z }"),
            "");
  EXPECT_EQ(ErrorOf("operator a(x: [n]) { y[i < n] = sum(k < i, x[k]) return y }"), "");
  EXPECT_EQ(ErrorOf("operator a(x: [n], f: [r]) where n >= r { "
                    "y[i < n - r + 1] = sum(k < r, x[i + k] * f[k]) return y }"),
            "");
  EXPECT_EQ(ErrorOf("operator a(x: [n]) { y[i < 3 * n] = x[i mod n] return y }"), "");
  EXPECT_EQ(ErrorOf("operator a(x: [n]) { y[i < 3 * n] = x[i div 3] return y }"), "");
  EXPECT_EQ(ErrorOf("operator a(x: [n]) { y[i < n] = x[min(i + 1, n - 1)] return y }"), "");
}

TEST(OperatorFileTest, AReadThatMayLieOutsideIsAnError) {
  for (const char* read :
       {"x[i + 1]", "x[i - 1]", "x[2 * i + 1]", "x[n]", "x[-1]", "if(i > 0, x[i + 1], 0)",
        "if(i < n, x[i - 1], 0)", "sum(k < i + 2, x[k])", "x[i * i]", "x[max(i + 1, n)]",
        "if(x[i] > 0, x[i + 1], 0)", "x[i mod (n + 1)]", "if(i < n - 1 or i >= 0, x[i + 1], 0)",
        "if(not (i < n - 1), x[i + 1], 0)"}) {
    const std::string error =
        ErrorOf(absl::StrCat("operator a(x: [n]) { y[i < n] = ", read, " return y }"));
    EXPECT_THAT(error, HasSubstr("may lie outside its dimension; write x[…] else VALUE")) << read;
  }
  // An index that the data give is never known to lie inside.
  EXPECT_THAT(ErrorOf("operator a(x: [n], at: integer[n]) { y[i < n] = x[at[i]] return y }"),
              HasSubstr("may lie outside"));
}

TEST(OperatorFileTest, AReadThatDependsOnSizesIsARequirement) {
  Define("operator test_head(x: [n], like: [k]) { y[i < k] = x[i] + like[i] return y }");
  EXPECT_EQ(ErrorOfGraph("graph g(x: f32[3], l: f32[2]) { y = test_head(x, l) return y }"), "");
  EXPECT_THAT(ErrorOfGraph("graph g(x: f32[2], l: f32[3]) { y = test_head(x, l) return y }"),
              HasSubstr("index 0 of x[…] may lie outside"));
}

TEST(OperatorFileTest, AnIndexInTheDataMayBeAnyNumber) {
  Define(
      "operator test_at(x: number[n], at: integer[k]) { y[i < k] = (x[at[i]] else 7) return y }");
  for (const char* values : {"i8[1] [5]", "i8[2] [5, 5]", "f32[1] [5.0]", "f32[3] fill 5.0"}) {
    EXPECT_THAT(ResultOf(absl::StrCat(
                    "graph g() { x = constant ", values,
                    " at = constant i64[4] [-9223372036854775808, 9223372036854775807, 0, -1] "
                    "y = test_at(x, at) return y }")),
                ElementsAre(7, 7, 5, 7))
        << values;
  }
  Define(
      "operator test_wrap(x: [n], at: integer[k]) where n >= 1 { "
      "y[i < k] = x[at[i] mod n] + x[max(min(at[i], n - 1), 0)] return y }");
  EXPECT_THAT(ResultOf("graph g() { x = constant f32[3] [1.0, 2.0, 4.0] at = constant i64[3] "
                       "[-1, 5, 1] y = test_wrap(x, at) return y }"),
              ElementsAre(4 + 1, 4 + 4, 2 + 2));
}

TEST(OperatorFileTest, AResultThatIsReadIsStoredFirst) {
  Define("operator test_stored(x: [n]) { m: i64[i < n] = x[i] y[i < n] = m[i] * 2 return m, y }");
  EXPECT_THAT(
      ResultOf("graph g() { x = constant f32[2] [1.5, -2.5] m, y = test_stored(x) return y }"),
      ElementsAre(2, -4));
}

// The gradient of the sum of the results of `op` at x, whose elements are `values`.
std::vector<double> GradientAt(const std::string& op, const std::string& attrs, int size,
                               const std::string& values) {
  GraphBuilder b("g");
  auto x = ParseGraph(absl::StrCat("graph c() { x = constant f64[", size, "] ", values, " y = ", op,
                                   "(x)", attrs, " return x, y }"));
  EXPECT_TRUE(x.ok()) << x.status();
  const Value input = x->outputs()[0], result = x->outputs()[1];
  const Value seed = b.Constant(*Tensor::Filled(result.type(), 1));
  auto gradient = Gradient({result}, {seed}, {input});
  EXPECT_TRUE(gradient.ok()) << gradient.status();
  b.Output("d", (*gradient)[0]);
  auto graph = std::move(b).Build();
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto results = (*MakeReferenceBackend()->Compile(*graph, {}))->Run({});
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<double> elements;
  for (int64_t i = 0; i < (*results)[0].size(); ++i) elements.push_back((*results)[0].AtDouble(i));
  return elements;
}

TEST(OperatorFileTest, ABranchThatIsNotChosenAddsNothingToTheGradient) {
  Define("operator test_root(x: [n]) { y[i < n] = if(x[i] > 0, sqrt(x[i]), 0) return y }");
  EXPECT_THAT(GradientAt("test_root", "", 3, "[4.0, -1.0, 0.0]"), ElementsAre(0.25, 0, 0));
  Define(
      "operator test_flag(x: [n]) {on: int = 0} { y[i < n] = if(on = 1, 3 * x[i], i) return y }");
  EXPECT_THAT(GradientAt("test_flag", " {on = 1}", 2, "[4.0, -1.0]"), ElementsAre(3, 3));
  EXPECT_THAT(GradientAt("test_flag", "", 2, "[4.0, -1.0]"), ElementsAre(0, 0));
}

TEST(OperatorFileTest, OnnxTypesAreItsOwn) {
  for (const char* type : {"Gelu", ".Relu", "ai.onnx.Relu", "training.Dropout", "com.example."}) {
    EXPECT_THAT(ErrorOf(absl::StrCat("operator a(x: [n]) onnx \"", type,
                                     "\" { y[i < n] = x[i] return y }")),
                HasSubstr("needs a domain of its own"))
        << type;
  }
  Define("operator test_d(x: [n]) onnx \"com.e.D\" { y[i < n] = x[i] return y }");
  EXPECT_THAT(DefineOperators(
                  "operator test_e(x: [n]) onnx \"com.e.D\" { y[i < n] = -x[i] return y }", "e.txt")
                  .status()
                  .message(),
              HasSubstr("two operators are ONNX's com.e.D, test_d and test_e"));
}

TEST(OperatorFileTest, NestedMinimaTakeNoTime) {
  std::string index = "i";
  for (int i = 0; i < 25; ++i) index = absl::StrCat("max(min(", index, ", n - 1), 0)");
  EXPECT_EQ(ErrorOf(absl::StrCat("operator a(x: [n]) { y[i < n] = x[", index, "] return y }")), "");
}

TEST(OperatorFileTest, ErrorsPointAtTheText) {
  struct Case {
    const char* text;
    const char* error;
  };
  for (const Case& c : {
           Case{"operator a(x: [n]) { y[i < m] = x[i] return y }",
                "ops.txt:1:28: there is no size, index, attribute or tensor m"},
           Case{"operator a(x: [n]) { y[i < n] = z[i] return y }",
                "ops.txt:1:33: there is no size, index, attribute or tensor z"},
           Case{"operator a(x: [n]) { y[i < n] = x[i, i] return y }",
                "ops.txt:1:33: x has 1 dimensions, but is read at 2 indices"},
           Case{"operator a(x: [b.., n]) { y[i < n] = x[i] return y }",
                "x has 2 dimensions, but is read at 1 indices"},
           Case{"operator a(x: [n]) { y[i < n] = x return y }",
                "here a number is needed, such as x[…]"},
           Case{"operator a(x: [n]) { y[i < n] = foo(x[i]) return y }", "there is no function foo"},
           Case{"operator a(x: [n]) { y[i < n] = exp(x[i], 1) return y }",
                "exp takes 1 arguments, not 2"},
           Case{"operator a(x: [n]) { y[i < n] = x[i] return z }", "no tensor z is defined above"},
           Case{"operator a(x: [n]) { y[n < n] = x[n] return y }", "n already has a meaning here"},
           Case{"operator a(x: [n], x: [n]) { y[i < n] = x[i] return y }", "x is declared twice"},
           Case{"operator a(x: [a.., b..]) { y[] = 1 return y }", "x has two lists of sizes"},
           Case{"operator a(x: [n]) { y[i < n] = x[i] }", "expected"},
           Case{"operator a(x: [n]) { y[i < n] = x[x[i]] return y }",
                "the elements of x are no integers"},
           Case{"operator a(x: [n]) {p: int[2] = [1]} { y[i < n] = x[i] return y }",
                "p has 2 integers, the default 1"},
           Case{"operator a(x: [n]) onnx \"Gelu\" { y[i < n] = x[i] return y }",
                "needs a domain of its own"},
           Case{"graph g(x: f32[2]) { return x }",
                "ops.txt:1:1: expected 'operator', found 'graph'"},
           Case{"operator a(x: [n]) { y[i < n] = x[i] + 9007199254740993 return y }",
                "the number has more digits than a double"},
           Case{"operator a(x: [n]) { y[i < n] = x[i mod (i + 0)] return y }",
                "which is not positive or may not be"},
           Case{"operator a(x: [n]) { t: f16[i < n] = x[i] y[i < n] = t[i] return y }",
                "only results have an element type; t is none"},
           Case{"operator a.grad_x(x: [n]) { y[i < n] = x[i] return y }", "are for gradients"},
           Case{"operator a(x: [n]) where n < 0 { y[i < n] = x[i] return y }", ""},
           Case{"operator a(x: [m + n]) { y[i < n] = x[i] return y }",
                "there is no size, index, attribute or tensor m"},
       }) {
    const std::string error = ErrorOf(c.text);
    EXPECT_THAT(error, HasSubstr(c.error)) << c.text;
  }
}

TEST(OperatorFileTest, WrongApplicationsAreExplained) {
  Define(
      "operator test_pair(x: [n, m], y: [m, n]) { z[i < n] = sum(k < m, x[i, k] * y[k, i]) "
      "return z }");
  EXPECT_THAT(ErrorOfGraph("graph g(x: f32[2,3], y: f32[2,3]) { z = test_pair(x, y) return z }"),
              HasSubstr("dimension 0 of y must be 3, not 2"));
  EXPECT_THAT(ErrorOfGraph("graph g(x: f32[2], y: f32[2,3]) { z = test_pair(x, y) return z }"),
              HasSubstr("x must have 2 dimensions, not 1"));
  EXPECT_THAT(ErrorOfGraph("graph g(x: i64[2,3], y: i64[3,2]) { z = test_pair(x, y) return z }"),
              HasSubstr("x must be of a float type, not i64"));
  EXPECT_THAT(ErrorOfGraph("graph g(x: f32[2,3], y: f16[3,2]) { z = test_pair(x, y) return z }"),
              HasSubstr("inputs must have one element type"));
  EXPECT_THAT(ErrorOfGraph("graph g(x: f32[2,3]) { z = test_pairs(x) return z }"),
              HasSubstr("did you mean test_pair?"));
}

TEST(OperatorFileTest, NamesAreNotTakenTwice) {
  EXPECT_THAT(DefineOperators("operator relu(x: [n]) { y[i < n] = x[i] return y }", "ops.txt")
                  .status()
                  .message(),
              HasSubstr("ops.txt: Lemma has an operator relu already"));
  const std::string text = "operator test_once(x: [n]) { y[i < n] = x[i] return y }";
  Define(text);
  const OpDef* first = FindOp("test_once");
  Define(text);  // the same again
  EXPECT_EQ(FindOp("test_once"), first);
  EXPECT_THAT(
      DefineOperators("operator test_once(x: [n]) { y[i < n] = -x[i] return y }", "other.txt")
          .status()
          .message(),
      HasSubstr("other.txt: the operator test_once has two different definitions"));
  EXPECT_NE(first->key(), "test_once");
}

TEST(OperatorFileTest, AnOperatorWithoutGradientSaysWhy) {
  auto operators = ReadOperators(
      "operator a(x: [m, n]) where n >= 1 { y[i < m] = exp(max(k < n, x[i, k])) return y }",
      "ops.txt");
  ASSERT_TRUE(operators.ok()) << operators.status();
  ASSERT_EQ(operators->size(), 1u);
  EXPECT_FALSE((*operators)[0].gradient);
  EXPECT_THAT((*operators)[0].doc, HasSubstr("There is no gradient: a maximum or minimum"));
}

TEST(OperatorFileTest, NestingHasALimit) {
  std::string text(1000, '(');
  EXPECT_THAT(ErrorOf(absl::StrCat("operator a(x: [n]) { y[i < n] = ", text)),
              HasSubstr("nested too deeply"));
  std::string conditions;
  for (int i = 0; i < 40; ++i) conditions += "(if(";
  EXPECT_THAT(ErrorOf(absl::StrCat("operator a(x: [n]) { y[i < n] = if(", conditions)),
              HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace lemma
