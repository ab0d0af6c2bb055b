#include "graph/define/operator_examples.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/define/operator_meaning.h"
#include "graph/expr/index_expr.h"

namespace lemma::define {
namespace {

constexpr int kTries = 2000;
constexpr size_t kExamples = 4;
constexpr int64_t kMostElements = 10'000;  // of an input

// One draw of sizes, lengths of lists and attributes.
class Draw {
 public:
  // `most`: of sizes.
  Draw(const OperatorText& text, int most, std::mt19937& random)
      : text_(text), most_(most), random_(random) {
    for (const AttrDecl& attr : text.attrs) DrawAttr(attr);
  }

  // The types of the inputs; nullopt if a dimension that is computed has no value.
  std::optional<std::vector<TensorType>> Types() {
    const std::vector<ExprType> symbolic = SymbolicInputs(text_, 0);
    std::vector<TensorType> types;
    for (size_t i = 0; i < symbolic.size(); ++i) {
      TensorType type{symbolic[i].dtype, {}};
      for (const Expr& dim : text_.params[i].dims) {
        if (dim.kind == Expr::Kind::kSplice) {
          const int length = Int(absl::StrCat(dim.text, ".."), 0, 2);
          for (int d = 0; d < length; ++d) {
            type.shape.push_back(Int(absl::StrCat(dim.text, "[", d, "]"), 1, 3));
          }
        } else if (dim.kind == Expr::Kind::kName) {
          type.shape.push_back(Int(dim.text, 1, most_));
        } else {
          const auto size = Value(dim);
          if (!size || *size < 0) return std::nullopt;
          type.shape.push_back(*size);
        }
      }
      types.push_back(std::move(type));
    }
    return types;
  }
  const Attrs& attrs() const { return attrs_; }

 private:
  int Int(const std::string& name, int least, int most) {
    auto [it, is_new] = sizes_.emplace(name, 0);
    if (is_new) it->second = std::uniform_int_distribution<int>(least, most)(random_);
    return static_cast<int>(it->second);
  }

  void DrawAttr(const AttrDecl& attr) {
    std::vector<int64_t> drawn;
    for (int i = 0; i < std::max(attr.length, 1); ++i) {
      drawn.push_back(std::uniform_int_distribution<int>(0, 3)(random_));
    }
    // Half of the draws keep defaults.
    const bool keep = attr.default_value && random_() % 2 == 0;
    AttrValue value = attr.kind == AttrKind::kInts ? AttrValue(drawn) : AttrValue(drawn[0]);
    if (attr.kind == AttrKind::kFloat) value = attr.default_value.value_or(0.5);
    if (keep) value = *attr.default_value;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      for (size_t i = 0; i < list->size(); ++i) lists_[{attr.name, i}] = (*list)[i];
    } else if (const auto* number = std::get_if<int64_t>(&value)) {
      sizes_[attr.name] = *number;
    }
    attrs_[attr.name] = std::move(value);
  }

  std::optional<int64_t> Value(const Expr& e) {
    if (e.kind == Expr::Kind::kInt) return e.integer;
    if (e.kind == Expr::Kind::kName) return Int(e.text, 1, 3);
    if (e.kind == Expr::Kind::kRead && e.args.size() == 1 && e.args[0].kind == Expr::Kind::kInt) {
      auto it = lists_.find({e.text, static_cast<size_t>(e.args[0].integer)});
      return it == lists_.end() ? std::nullopt : std::optional<int64_t>(it->second);
    }
    if (e.kind != Expr::Kind::kCall || e.args.empty() || e.args.size() > 2) return std::nullopt;
    const auto a = Value(e.args[0]);
    const auto b = e.args.size() == 2 ? Value(e.args[1]) : std::optional<int64_t>(0);
    if (!a || !b) return std::nullopt;
    if (e.text == "-") return e.args.size() == 1 ? -*a : *a - *b;
    static const std::map<std::string, IndexExpr::Kind> kKinds = {
        {"+", IndexExpr::Kind::kAdd},        {"*", IndexExpr::Kind::kMul},
        {"div", IndexExpr::Kind::kFloorDiv}, {"mod", IndexExpr::Kind::kMod},
        {"min", IndexExpr::Kind::kMin},      {"max", IndexExpr::Kind::kMax}};
    auto kind = kKinds.find(e.text);
    if (kind == kKinds.end()) return std::nullopt;
    if ((e.text == "div" || e.text == "mod") && *b <= 0) return std::nullopt;
    return Binary(kind->second, *a, *b).AsConst();
  }

  const OperatorText& text_;
  const int most_;
  std::mt19937& random_;
  std::map<std::string, int64_t> sizes_;
  std::map<std::pair<std::string, size_t>, int64_t> lists_;
  Attrs attrs_;
};

bool IsSmall(const TensorType& type) {
  int64_t elements = 1;
  for (int64_t size : type.shape) {
    if (size > kMostElements) return false;
    elements *= std::max<int64_t>(size, 1);
    if (elements > kMostElements) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> ExamplesOf(const OperatorText& text, const OpDef& op) {
  std::mt19937 random(1);
  std::vector<std::string> examples;
  for (int i = 0; i < kTries && examples.size() < kExamples; ++i) {
    Draw draw(text, i < kTries / 2 ? 6 : 40, random);
    const auto types = draw.Types();
    if (!types || !std::all_of(types->begin(), types->end(), IsSmall) ||
        !InferTypes(op, *types, draw.attrs()).ok())
      continue;
    std::string example = absl::StrCat("(",
                                       absl::StrJoin(*types, ", ",
                                                     [](std::string* out, const TensorType& type) {
                                                       out->append(type.ToString());
                                                     }),
                                       ")");
    std::vector<std::string> attrs;
    for (const AttrDecl& attr : text.attrs) {
      const AttrValue& value = draw.attrs().at(attr.name);
      if (value != attr.default_value) {
        attrs.push_back(absl::StrCat(attr.name, " = ", ToString(value)));
      }
    }
    if (!attrs.empty()) absl::StrAppend(&example, " {", absl::StrJoin(attrs, ", "), "}");
    if (std::find(examples.begin(), examples.end(), example) == examples.end()) {
      examples.push_back(std::move(example));
    }
  }
  return examples;
}

}  // namespace lemma::define
