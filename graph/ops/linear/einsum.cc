#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/axis_map.h"
#include "graph/ops/broadcast.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// A subscript with one label per dimension. Digits label the dimensions of an ellipsis, with '0'
// for the last, so that they align at the right.
using Labels = std::string;

absl::StatusOr<Labels> ParseTerm(OpContext& c, const std::string& term, int ellipsis_rank) {
  Labels labels;
  bool seen_ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      labels += term[i];
      continue;
    }
    LEMMA_REQUIRE(c, term.compare(i, 3, "...") == 0 && !seen_ellipsis, "subscript \"", term,
                  "\" must be letters and at most one \"...\"");
    LEMMA_REQUIRE(c, ellipsis_rank >= 0 && ellipsis_rank <= 10, "\"...\" in \"", term,
                  "\" cannot stand for ", ellipsis_rank, " dimensions");
    seen_ellipsis = true;
    for (int d = ellipsis_rank - 1; d >= 0; --d) labels += static_cast<char>('0' + d);
    i += 2;
  }
  return labels;
}

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

// Without "->", the output has the ellipsis and then every label that occurs once, in alphabetical
// order.
Labels ImplicitOutput(const std::vector<Labels>& inputs) {
  std::map<char, int> count;
  for (const Labels& labels : inputs) {
    for (char label : labels) ++count[label];
  }
  Labels digits, letters;
  for (const auto& [label, times] : count) {
    if (std::isdigit(static_cast<unsigned char>(label))) {
      digits += label;
    } else if (times == 1) {
      letters += label;
    }
  }
  std::reverse(digits.begin(), digits.end());
  return digits + letters;
}

absl::StatusOr<Equation> ParseEquation(OpContext& c) {
  std::string text = c.String("equation");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  std::vector<std::string> sides = absl::StrSplit(text, "->");
  LEMMA_REQUIRE(c, sides.size() <= 2, "equation \"", text, "\" has more than one \"->\"");
  std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  LEMMA_REQUIRE(c, static_cast<int>(terms.size()) == c.num_inputs(), "equation \"", text, "\" has ",
                terms.size(), " subscripts for ", c.num_inputs(), " inputs");
  Equation equation;
  int widest = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    int letters = static_cast<int>(terms[i].size());
    bool ellipsis = terms[i].find("...") != std::string::npos;
    int rest = c.rank(i) - (ellipsis ? letters - 3 : letters);
    LEMMA_REQUIRE(c, ellipsis ? rest >= 0 : rest == 0, "subscript \"", terms[i],
                  "\" does not fit input ", i, " of rank ", c.rank(i));
    widest = std::max(widest, rest);
    LEMMA_ASSIGN_OR_RETURN(Labels labels, ParseTerm(c, terms[i], rest));
    equation.inputs.push_back(labels);
  }
  equation.output = ImplicitOutput(equation.inputs);
  if (sides.size() == 2) {
    LEMMA_ASSIGN_OR_RETURN(equation.output, ParseTerm(c, sides[1], widest));
  }
  return equation;
}

// y[out] = sum(labels not in out) product over inputs of x[its labels].
absl::Status DefineEinsum(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  LEMMA_ASSIGN_OR_RETURN(Equation equation, ParseEquation(c));
  std::map<char, IndexExpr> sizes;
  Labels order;  // of first occurrence
  for (int i = 0; i < c.num_inputs(); ++i) {
    for (int d = 0; d < c.rank(i); ++d) {
      char label = equation.inputs[i][d];
      const auto first = static_cast<int>(equation.inputs[i].find(label));
      // No broadcasting along a diagonal.
      LEMMA_REQUIRE(c, Eq(c.Dim(i, first), c.Dim(i, d)), "the sizes ", c.Dim(i, first).ToString(),
                    " and ", c.Dim(i, d).ToString(), " of subscript ", std::string(1, label),
                    " in one operand must be equal");
      auto [it, is_new] = sizes.emplace(label, c.Dim(i, d));
      if (is_new) {
        order += label;
      } else if (Repeats(it->second)) {
        it->second = c.Dim(i, d);
      } else if (!Repeats(c.Dim(i, d))) {
        LEMMA_REQUIRE(c, Eq(it->second, c.Dim(i, d)), "the sizes ", it->second.ToString(), " and ",
                      c.Dim(i, d).ToString(), " of subscript ", std::string(1, label),
                      " must be equal");
      }
    }
  }
  Idx dims, extents;
  for (char label : equation.output) {
    LEMMA_REQUIRE(c, sizes.count(label) > 0, "no input has the output's subscript ",
                  std::string(1, label));
    LEMMA_REQUIRE(c, std::count(equation.output.begin(), equation.output.end(), label) == 1,
                  "the output repeats the subscript ", std::string(1, label));
    dims.push_back(sizes[label]);
  }
  Labels summed;
  for (char label : order) {
    if (equation.output.find(label) != std::string::npos) continue;
    summed += label;
    extents.push_back(sizes[label]);
  }
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    auto product = [&](const Idx& r) {
      std::map<char, IndexExpr> at;
      for (size_t i = 0; i < out.size(); ++i) at[equation.output[i]] = out[i];
      for (size_t i = 0; i < r.size(); ++i) at[summed[i]] = r[i];
      ScalarExpr result;
      for (int input = 0; input < c.num_inputs(); ++input) {
        Idx index;
        for (int d = 0; d < c.rank(input); ++d) {
          bool repeats = Repeats(c.Dim(input, d));
          index.push_back(repeats ? IndexExpr(0) : at[equation.inputs[input][d]]);
        }
        ScalarExpr factor = c.Read(input, index);
        result = input == 0 ? factor : result * factor;
      }
      return result;
    };
    return extents.empty() ? product({}) : c.Sum(extents, product);
  });
  return absl::OkStatus();
}

// The equation with letters only, one per label.
char Letter(int i) { return static_cast<char>(i < 26 ? 'a' + i : 'A' + i - 26); }

// dx_n[labels_n…] = sum(other labels) dy[out…] * product of the other inputs. A label that occurs
// twice in x_n gets a second letter and an identity matrix. A label that occurs nowhere else is
// repeated. If x_n was repeated along a label, that label is summed over.
class EinsumGradient {
 public:
  EinsumGradient(GradientBuilder& f, const Equation& equation) : f_(f), equation_(equation) {
    for (const Labels& labels : equation.inputs) {
      for (char label : labels) {
        if (letters_.emplace(label, Letter(used_)).second) ++used_;
      }
    }
  }

  Value Of(int n) {
    const Value& x = f_.Input(n);
    const Labels labels = Renamed(equation_.inputs[n]);
    std::vector<Value> operands = {f_.ResultGradient()};
    std::vector<Labels> terms = {Renamed(equation_.output)};
    for (int i = 0; i < f_.num_inputs(); ++i) {
      if (i == n) continue;
      operands.push_back(f_.Input(i));
      terms.push_back(Renamed(equation_.inputs[i]));
    }
    Labels target = labels;
    for (size_t d = 0; d < labels.size(); ++d) {
      if (labels.find(labels[d]) == d) continue;
      target[d] = Letter(used_++);
      operands.push_back(Identity(f_, x.dtype(), x.shape()[d]));
      terms.push_back({labels[d], target[d]});
    }
    // The dimensions of x that the product has; the others are 1.
    Labels made;
    Shape shape(target.size(), 1);
    std::map<char, int64_t> sizes;
    for (size_t i = 0; i < terms.size(); ++i) {
      for (size_t d = 0; d < terms[i].size(); ++d) {
        int64_t& size = sizes[terms[i][d]];
        size = std::max(size, operands[i].shape()[d]);
      }
    }
    for (size_t d = 0; d < target.size(); ++d) {
      const auto size = sizes.find(target[d]);
      if (size == sizes.end() || (x.shape()[d] == 1 && size->second > 1)) continue;
      made += target[d];
      shape[d] = size->second;
    }
    std::string text = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) text += "," + terms[i];
    const Value product = f_.Op("einsum", operands, {{"equation", text + "->" + made}});
    return f_.Expand(f_.Reshape(product, shape), x.shape());
  }

 private:
  Labels Renamed(const Labels& labels) const {
    Labels result;
    for (char label : labels) result += letters_.at(label);
    return result;
  }

  GradientBuilder& f_;
  const Equation& equation_;
  std::map<char, char> letters_;
  int used_ = 0;
};

absl::StatusOr<std::vector<Value>> GradientOfEinsum(GradientBuilder& f) {
  std::vector<ExprType> types;
  types.reserve(f.num_inputs());
  for (int i = 0; i < f.num_inputs(); ++i) types.push_back(ToExprType(f.Input(i).type()));
  const ExprAttrs attrs = ToExprAttrs(f.node().attrs());
  OpContext context(f.node().op(), types, attrs, OpContext::Mode::kTypesOnly);
  LEMMA_ASSIGN_OR_RETURN(const Equation equation, ParseEquation(context));
  std::vector<Value> gradients;
  gradients.reserve(f.num_inputs());
  for (int n = 0; n < f.num_inputs(); ++n) gradients.push_back(EinsumGradient(f, equation).Of(n));
  return gradients;
}

}  // namespace

OpDef Make_einsum() {
  OpDef op;
  op.name = "einsum";
  op.group = "linear algebra";
  op.equation = "y[out…] = sum(r… < R…) x0[labels0…] * x1[labels1…] * …";
  op.doc =
      "Each input's dimensions are labeled in the equation; labels that the output lacks are "
      "summed over. \"...\" stands for further dimensions, which broadcast. Without \"->\", the "
      "output has the dimensions of \"...\", then each label that occurs once, in alphabetical "
      "order.";
  op.input_names = {"x"};
  op.max_inputs = kVariadic;
  op.attrs = {
      {"equation", AttrKind::kString, std::nullopt, false, "the labels, such as \"ij,jk->ik\""}};
  op.define = DefineEinsum;
  op.gradient = GradientOfEinsum;
  op.examples = {"(f32[2,3], f32[3,4]) {equation = \"ij,jk->ik\"}",
                 "(f32[3,4]) {equation = \"ij->ji\"}",
                 "(f32[3,3]) {equation = \"ii->i\"}",
                 "(f32[2,3,4], f32[1,4,5]) {equation = \"...ij,...jk\"}",
                 "(f32[2,3], f32[3], f32[2]) {equation = \"ij,j,i->\"}",
                 "(f32[3,3,2]) {equation = \"iij->\"}",
                 "(f32[2,1], f32[2,4]) {equation = \"ij,ij->j\"}"};
  op.onnx_import = {EinsumImporter()};
  // All numeric types except bf16.
  std::vector<DType> types = {DType::kF32, DType::kF64, DType::kF16, DType::kI32,
                              DType::kI64, DType::kI8,  DType::kU8,  DType::kI16,
                              DType::kU16, DType::kU32, DType::kU64};
  op.onnx_export = ExportFor(types, ExportAs("Einsum", {{"equation", "equation"}}));
  return op;
}

}  // namespace lemma::ops
