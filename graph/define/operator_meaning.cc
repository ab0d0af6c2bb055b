#include "graph/define/operator_meaning.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/define/expression_meaning.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::define {
namespace {

// The largest integer attribute: its products with sizes stay below 2^63.
constexpr int64_t kMostInteger = int64_t{1} << 31;

// Whether `e` reads the tensor `name`.
bool Reads(const Expr& e, const std::string& name) {
  auto reads = [&](const Expr& arg) { return Reads(arg, name); };
  return (e.kind == Expr::Kind::kRead && e.text == name) ||
         std::any_of(e.args.begin(), e.args.end(), reads) ||
         std::any_of(e.bounds.begin(), e.bounds.end(),
                     [&](const Bound& bound) { return Reads(bound.extent, name); });
}

class Interpreter {
 public:
  Interpreter(const OperatorText& op, OpContext& c) : op_(op), c_(c), in_(op, c) {}

  absl::Status Run() {
    LEMMA_RETURN_IF_ERROR(CheckTypes());
    LEMMA_RETURN_IF_ERROR(BindAttributes());
    LEMMA_RETURN_IF_ERROR(BindSizes());
    for (const Expr& condition : op_.where) {
      LEMMA_ASSIGN_OR_RETURN(const Guard guard, in_.GuardOf(condition));
      LEMMA_REQUIRE(c_, guard, "the condition at ", op_.file, ":", condition.position.line, ":",
                    condition.position.column, " does not hold");
      in_.Assume(guard);
    }
    for (const TensorDef& tensor : op_.tensors) LEMMA_RETURN_IF_ERROR(DefineTensor(tensor));
    return CheckResults();
  }

 private:
  // ---- Inputs and attributes ----

  absl::Status CheckTypes() {
    std::optional<DType> common;
    for (int i = 0; i < c_.num_inputs(); ++i) {
      const Param& param = op_.params[i];
      const DType dtype = c_.dtype(i);
      switch (param.accepts) {
        case Accepts::kFixed:
          LEMMA_REQUIRE(c_, dtype == param.dtype, param.name, " must be of type ",
                        Name(param.dtype), ", not ", Name(dtype));
          continue;
        case Accepts::kInteger:
          LEMMA_REQUIRE(c_, dtype == DType::kI64 || dtype == DType::kI32, param.name,
                        " must be of type i64 or i32, not ", Name(dtype));
          continue;
        case Accepts::kFloat:
          LEMMA_REQUIRE(c_, IsFloat(dtype), param.name, " must be of a float type, not ",
                        Name(dtype));
          break;
        case Accepts::kNumber:
          LEMMA_REQUIRE(c_, dtype != DType::kBool, param.name, " must be of a number type, not ",
                        Name(dtype));
          break;
        case Accepts::kAny:
          break;
      }
      LEMMA_REQUIRE(c_, !common || *common == dtype, "inputs must have one element type, not both ",
                    Name(*common), " and ", Name(dtype));
      common = dtype;
    }
    result_type_ = common.value_or(c_.dtype(0));
    return absl::OkStatus();
  }

  absl::Status BindAttributes() {
    for (const AttrDecl& attr : op_.attrs) {
      Named named;
      switch (attr.kind) {
        case AttrKind::kFloat:
          named = Real{c_.Real(attr.name)};
          break;
        case AttrKind::kInt:
          named = c_.Size(attr.name);
          break;
        default:
          named = c_.Sizes(attr.name);
          LEMMA_REQUIRE(c_, static_cast<int>(c_.Sizes(attr.name).size()) == attr.length, attr.name,
                        " must have ", attr.length, " integers");
          break;
      }
      const IndexExpr* integer = std::get_if<IndexExpr>(&named);
      for (const IndexExpr& value : integer != nullptr                   ? Idx{*integer}
                                    : std::holds_alternative<Idx>(named) ? std::get<Idx>(named)
                                                                         : Idx{}) {
        LEMMA_REQUIRE(c_, !value.is_const() || std::abs(value.value()) <= kMostInteger, attr.name,
                      " must be at most 2^31");
      }
      LEMMA_RETURN_IF_ERROR(in_.Bind(attr.name, attr.position, std::move(named)));
    }
    return absl::OkStatus();
  }

  // A name that is a dimension by itself becomes that size, as does a factor that is open. Other
  // dimensions are requirements.
  absl::Status BindSizes() {
    for (int i = 0; i < c_.num_inputs(); ++i) {
      const Param& param = op_.params[i];
      const auto& dims = param.dims;
      const auto splice = std::find_if(dims.begin(), dims.end(), [](const Expr& dim) {
        return dim.kind == Expr::Kind::kSplice;
      });
      const int before = static_cast<int>(splice - dims.begin());
      const bool has_list = splice != dims.end();
      const int single = static_cast<int>(dims.size()) - (has_list ? 1 : 0);
      LEMMA_REQUIRE(c_, has_list ? c_.rank(i) >= single : c_.rank(i) == single, param.name,
                    " must have ", has_list ? "at least " : "", single, " dimensions, not ",
                    c_.rank(i));
      if (has_list) {
        const Idx list(c_.dims(i).begin() + before, c_.dims(i).end() - (single - before));
        LEMMA_RETURN_IF_ERROR(BindList(param, *splice, list));
      }
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d].kind == Expr::Kind::kSplice) continue;
        const int axis = static_cast<int>(d) < before || !has_list
                             ? static_cast<int>(d)
                             : c_.rank(i) - static_cast<int>(dims.size() - d);
        const IndexExpr& size = c_.Dim(i, axis);
        in_.Assume(Le(0, size));
        if (dims[d].kind == Expr::Kind::kName && !in_.IsBound(dims[d].text)) {
          LEMMA_RETURN_IF_ERROR(in_.Bind(dims[d].text, dims[d].position, size));
        } else {
          stated_.push_back({i, axis, &dims[d]});
        }
      }
      LEMMA_RETURN_IF_ERROR(in_.Bind(param.name, param.position, static_cast<TensorId>(i)));
    }
    for (const auto& [input, axis, expr] : stated_) {
      LEMMA_RETURN_IF_ERROR(SolveFactor(*expr, c_.Dim(input, axis)));
      LEMMA_ASSIGN_OR_RETURN(const IndexExpr stated, in_.IndexOf(*expr));
      const IndexExpr& size = c_.Dim(input, axis);
      LEMMA_REQUIRE(c_, Eq(size, stated), "dimension ", axis, " of ", op_.params[input].name,
                    " must be ", stated.ToString(), ", not ", size.ToString());
      in_.StateSize(input, axis, stated);
    }
    return absl::OkStatus();
  }

  // If `expr` is a product with a size that has no value yet, that size becomes the quotient.
  absl::Status SolveFactor(const Expr& expr, const IndexExpr& size) {
    if (expr.kind != Expr::Kind::kCall || expr.text != "*") return absl::OkStatus();
    auto is_open = [&](const Expr& e) {
      return e.kind == Expr::Kind::kName && !in_.IsBound(e.text);
    };
    const bool left = is_open(expr.args[0]);
    if (left == is_open(expr.args[1])) return absl::OkStatus();
    LEMMA_ASSIGN_OR_RETURN(const IndexExpr factor, in_.IndexOf(expr.args[left ? 1 : 0]));
    LEMMA_REQUIRE(c_, Ge(factor, 1), factor.ToString(), " is not positive");
    LEMMA_REQUIRE(c_, Eq(Mod(size, factor), 0), size.ToString(), " is not a multiple of ",
                  factor.ToString());
    const Expr& open = expr.args[left ? 0 : 1];
    return in_.Bind(open.text, open.position, FloorDiv(size, factor));
  }

  absl::Status BindList(const Param& param, const Expr& splice, const Idx& list) {
    for (const IndexExpr& size : list) in_.Assume(Le(0, size));
    if (!in_.IsBound(splice.text)) return in_.Bind(splice.text, splice.position, list);
    LEMMA_ASSIGN_OR_RETURN(const Named* named, in_.Find(splice.text, splice.position));
    const Idx* known = std::get_if<Idx>(named);
    if (known == nullptr) {
      return in_.Error(splice.position,
                       absl::StrCat(splice.text, " is ", KindOf(*named), ", not a list of sizes"));
    }
    LEMMA_REQUIRE(c_, known->size() == list.size(), param.name, " must have ", known->size(),
                  " dimensions ", splice.text, "..", ", not ", list.size());
    for (size_t d = 0; d < list.size(); ++d) {
      LEMMA_REQUIRE(c_, Eq(list[d], (*known)[d]), "the dimensions ", splice.text, ".. of ",
                    param.name, " must be equal to those before it: ", list[d].ToString(),
                    " is not ", (*known)[d].ToString());
    }
    return absl::OkStatus();
  }

  // ---- Tensors ----

  // A result that others read is a local tensor, whose value is not rounded to fewer digits, and a
  // copy of it.
  absl::Status DefineTensor(const TensorDef& tensor) {
    const bool is_result =
        std::any_of(op_.results.begin(), op_.results.end(),
                    [&](const auto& result) { return result.first == tensor.name; });
    if (tensor.dtype && !is_result) {
      return in_.Error(tensor.position, absl::StrCat("only results have an element type; ",
                                                     tensor.name, " is none"));
    }
    const bool is_read =
        std::any_of(op_.tensors.begin(), op_.tensors.end(), [&](const TensorDef& other) {
          return Reads(other.body, tensor.name) ||
                 std::any_of(other.bounds.begin(), other.bounds.end(),
                             [&](const Bound& bound) { return Reads(bound.extent, tensor.name); });
        });
    Idx dims;
    std::vector<int> counts;
    for (const Bound& bound : tensor.bounds) {
      LEMMA_ASSIGN_OR_RETURN(const Idx extents, in_.ExtentsOf(bound));
      for (const IndexExpr& extent : extents) {
        LEMMA_REQUIRE(c_, Ge(extent, 0), tensor.name, " would have the size ", extent.ToString());
      }
      counts.push_back(static_cast<int>(extents.size()));
      dims.insert(dims.end(), extents.begin(), extents.end());
    }
    const DType dtype = tensor.dtype.value_or(result_type_);
    auto body = [&](const Idx& index) {
      ScalarExpr value = 0;
      in_.WithBounds(tensor.bounds, counts, dims, index, [&]() -> absl::Status {
        LEMMA_ASSIGN_OR_RETURN(value, in_.ScalarOf(tensor.body));
        // Others read it as it is stored.
        if (is_read && is_result && !IsFloat(dtype)) value = Apply(StoredAs(dtype), value);
        return absl::OkStatus();
      });
      return value;
    };
    const bool is_local = !is_result || is_read;
    const TensorId id = is_local ? c_.Local(dtype, dims, body) : c_.Output(dtype, dims, body);
    LEMMA_RETURN_IF_ERROR(in_.TakeError());
    if (is_local && is_result) {
      c_.Output(dtype, dims, [&](const Idx& index) { return c_.Read(id, index); });
    }
    return in_.Bind(tensor.name, tensor.position, id);
  }

  absl::Status CheckResults() {
    // Outputs are numbered in the order of their definitions.
    std::vector<std::string> order;
    for (const TensorDef& tensor : op_.tensors) {
      for (const auto& result : op_.results) {
        if (result.first == tensor.name) order.push_back(tensor.name);
      }
    }
    for (size_t i = 0; i < op_.results.size(); ++i) {
      const auto& [name, position] = op_.results[i];
      if (std::find(order.begin(), order.end(), name) == order.end()) {
        return in_.Error(position, absl::StrCat("no tensor ", name, " is defined above"));
      }
      if (i >= order.size() || order[i] != name) {
        return in_.Error(position, "the results must be in the order of their definitions");
      }
    }
    return absl::OkStatus();
  }

  struct Stated {
    int input, axis;
    const Expr* expr;
  };

  const OperatorText& op_;
  OpContext& c_;
  Expressions in_;
  std::vector<Stated> stated_;  // dimensions that are not names by themselves
  DType result_type_ = DType::kF32;
};

}  // namespace

absl::Status DefineFromText(const OperatorText& op, OpContext& context) {
  return context.DefineInFull([&](OpContext& full) { return Interpreter(op, full).Run(); });
}

std::vector<ExprType> SymbolicInputs(const OperatorText& op, int least) {
  std::map<std::string, int> lengths;
  std::vector<ExprType> types;
  for (const Param& param : op.params) {
    ExprType type;
    switch (param.accepts) {
      case Accepts::kFixed:
        type.dtype = param.dtype;
        break;
      case Accepts::kInteger:
        type.dtype = DType::kI64;
        break;
      default:
        type.dtype = DType::kF32;
    }
    for (size_t d = 0; d < param.dims.size(); ++d) {
      const Expr& dim = param.dims[d];
      if (dim.kind == Expr::Kind::kSplice) {
        const int fresh = least + static_cast<int>(lengths.size());
        const int length = lengths.emplace(dim.text, fresh).first->second;
        for (int i = 0; i < length; ++i) {
          type.dims.push_back(SymbolicDim(absl::StrCat(dim.text, "__", i)));
        }
      } else if (dim.kind == Expr::Kind::kName) {
        type.dims.push_back(SymbolicDim(dim.text));
      } else {
        type.dims.push_back(SymbolicDim(absl::StrCat(param.name, "__", d)));
      }
    }
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace lemma::define
