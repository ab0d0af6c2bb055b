#include "kernels/codegen/factors/byte_product.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/codegen/nest_printer.h"
#include "kernels/codegen/tile_parts.h"

namespace lemma::codegen {

using Kind = ScalarExpr::Kind;

namespace {

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

// Whether storing an integer from -255 to 255 by `fn` keeps it.
bool KeepsSteps(ScalarFn fn) {
  constexpr DType kTypes[] = {DType::kI16, DType::kI32, DType::kI64};
  return std::any_of(std::begin(kTypes), std::end(kTypes),
                     [&](DType dtype) { return fn == StoredAs(dtype); });
}

bool HoldsByte(DType dtype, double value) {
  const double least = dtype == DType::kU8 ? 0 : -128, most = dtype == DType::kU8 ? 255 : 127;
  return value == std::trunc(value) && value >= least && value <= most;
}

class FactorMatcher {
 public:
  explicit FactorMatcher(const KernelContext& context) : context_(context) {}

  std::optional<ByteFactor> Match(const ScalarExpr& whole) const {
    const ScalarExpr e = Unstored(whole);
    switch (e.kind()) {
      case Kind::kRead:
        if (!IsByte(context_.storage[e.tensor()])) return std::nullopt;
        return ByteFactor{context_.storage[e.tensor()], e, std::nullopt};
      case Kind::kApply:
        return e.fn() == ScalarFn::kSub ? Difference(e.args()[0], e.args()[1]) : std::nullopt;
      case Kind::kSelect:
        return Choice(e);
      default:
        return std::nullopt;
    }
  }

 private:
  // In integers, what storing keeps. In floats, factors are stored nowhere, and the check of
  // kernels takes every rounding as one.
  ScalarExpr Unstored(ScalarExpr e) const {
    while (context_.number == Number::kInteger && e.kind() == Kind::kApply && KeepsSteps(e.fn())) {
      e = ScalarExpr(e.args()[0]);
    }
    return e;
  }

  std::optional<ByteFactor> Difference(const ScalarExpr& whole, const ScalarExpr& zero) const {
    std::optional<ByteFactor> factor = Match(whole);
    if (!factor || factor->zero) return std::nullopt;
    const ScalarExpr z = Unstored(zero);
    const bool reads = z.kind() == Kind::kRead && context_.storage[z.tensor()] == factor->dtype &&
                       std::all_of(z.indices().begin(), z.indices().end(), [](const IndexExpr& i) {
                         return i.kind() == IndexExpr::Kind::kConst;
                       });
    if (!reads && !(z.kind() == Kind::kConst && HoldsByte(factor->dtype, z.value()))) {
      return std::nullopt;
    }
    if (reads || z.value() != 0) factor->zero = z;
    return factor;
  }

  // A branch that is 0 becomes the zero point.
  std::optional<ByteFactor> Choice(const ScalarExpr& e) const {
    const ScalarExpr &then = e.args()[0], &otherwise = e.args()[1];
    const auto is_zero = [](const ScalarExpr& x) {
      return x.kind() == Kind::kConst && x.value() == 0;
    };
    if (is_zero(then) == is_zero(otherwise)) return std::nullopt;
    std::optional<ByteFactor> factor = Match(is_zero(then) ? otherwise : then);
    if (!factor) return std::nullopt;
    const ScalarExpr zero = factor->zero.value_or(ScalarExpr(0));
    factor->bytes = is_zero(then) ? ScalarExpr::Select(e.guard(), zero, factor->bytes)
                                  : ScalarExpr::Select(e.guard(), factor->bytes, zero);
    return factor;
  }

  const KernelContext& context_;
};

// A bound on the factor's magnitude.
int64_t LargestOf(const ByteFactor& factor) {
  return factor.zero || factor.dtype == DType::kU8 ? 255 : 128;
}

}  // namespace

std::optional<ByteProduct> ByteProductOf(const KernelContext& context,
                                         const loops::ContractionSource& contraction) {
  constexpr int kLeastArchitecture = 80;
  constexpr int64_t kExactInFloat = 1 << 24;
  const int64_t terms = Size(contraction.k);
  if (context.architecture < kLeastArchitecture || terms > kMostByteTerms) return std::nullopt;
  const FactorMatcher matcher(context);
  std::optional<ByteFactor> a = matcher.Match(contraction.a), b = matcher.Match(contraction.b);
  if (!a || !b) return std::nullopt;
  // A sum that f32 does not hold is rounded where the definition says so, term by term.
  if (context.number == Number::kFloat && terms * LargestOf(*a) * LargestOf(*b) > kExactInFloat) {
    return std::nullopt;
  }
  return ByteProduct{*std::move(a), *std::move(b)};
}

ZeroPoints::ZeroPoints(const KernelContext& context, const ByteProduct& product, std::string words,
                       int64_t depth, int fragments_m, int fragments_n, int* fresh)
    : words_(std::move(words)),
      depth_(depth),
      fragments_m_(fragments_m),
      fragments_n_(fragments_n),
      has_a_(product.a.zero.has_value()),
      has_b_(product.b.zero.has_value()) {
  if (has_a_) Add(context, *product.a.zero, "a", fresh);
  if (has_b_) Add(context, *product.b.zero, "b", fresh);
}

void ZeroPoints::Add(const KernelContext& context, const ScalarExpr& zero, const std::string& name,
                     int* fresh) {
  const loops::Nest nest = LowerMerged(context, zero, 0, {}, {}, {}, {}, fresh);
  const std::string prefix = name + "z";
  NestPrinter printer(nest, TileOptions(context, nest, prefix.c_str()));
  printer.Open({0, 1}, true);
  const std::string value = printer.Value(nest.root);
  absl::StrAppend(&zeros_, printer.Close(), "const int ", name, "_zero = static_cast<int>(", value,
                  ");\n");
  slots_.insert(slots_.end(), printer.slots().begin(), printer.slots().end());
}

std::string ZeroPoints::Ones(const std::string& name, int words) const {
  return absl::StrCat("Pack<unsigned int, ", words, "> ", name,
                      "_ones;\n#pragma unroll\nfor (int r = 0; r < ", words, "; ++r) ", name,
                      "_ones.at[r] = ", words_, name == "a" ? "::MakeA" : "::MakeB",
                      "(1, 1, 1, 1);\n");
}

namespace {
// An array of sums that begin with 0.
std::string Sums(const std::string& name, int rows, int columns) {
  return absl::StrCat("int ", name, "[", rows, "][", columns,
                      "];\n#pragma unroll\nfor (int i = 0; i < ", rows,
                      "; ++i) {\n#pragma unroll\nfor (int j = 0; j < ", columns, "; ++j) ", name,
                      "[i][j] = 0;\n}\n");
}
}  // namespace

std::string ZeroPoints::Declarations() const {
  constexpr int kWordsOfA = 4, kWordsOfB = 2;  // of a lane, in a fragment
  std::string text = zeros_;
  // The zero point of one factor multiplies the sums of the other one.
  if (has_a_) absl::StrAppend(&text, Ones("a", kWordsOfA), Sums("b_total", 2, 2 * fragments_n_));
  if (has_b_) absl::StrAppend(&text, Ones("b", kWordsOfB), Sums("a_total", 2 * fragments_m_, 2));
  return text;
}

std::string ZeroPoints::Accumulation() const {
  std::string text;
  if (has_a_) {
    absl::StrAppend(
        &text, "#pragma unroll\nfor (int j = 0; j < ", fragments_n_, "; ++j) ", words_,
        "::MultiplyAdd(&b_total[0][2 * j], &b_total[1][2 * j], a_ones.at, right[j]);\n");
  }
  if (has_b_) {
    absl::StrAppend(
        &text, "#pragma unroll\nfor (int i = 0; i < ", fragments_m_, "; ++i) ", words_,
        "::MultiplyAdd(&a_total[2 * i][0], &a_total[2 * i + 1][0], left[i], b_ones.at);\n");
  }
  return text;
}

std::string ZeroPoints::Sum() const {
  std::string text = "sum[i][j]";
  if (has_a_) absl::StrAppend(&text, " - a_zero * b_total[i % 2][j]");
  if (has_b_) {
    absl::StrAppend(
        &text, " - b_zero * ",
        has_a_ ? absl::StrCat("(a_total[i][j % 2] - ", depth_, " * a_zero)") : "a_total[i][j % 2]");
  }
  return text;
}

}  // namespace lemma::codegen
