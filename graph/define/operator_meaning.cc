#include "graph/define/operator_meaning.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/define/read_bounds.h"
#include "graph/define/scalar_names.h"
#include "graph/sizes/condition_text.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::define {
namespace {

using text::ErrorAt;
using text::Position;

// What a name stands for: a size or an index, a list of them, a real attribute, or a tensor.
struct Real {
  ScalarExpr value;
};
using Named = std::variant<IndexExpr, Idx, Real, TensorId>;

const char* KindOf(const Named& named) {
  static constexpr const char* kKinds[] = {"a size", "a list", "a real attribute", "a tensor"};
  return kKinds[named.index()];
}

class Interpreter {
 public:
  Interpreter(const OperatorText& op, OpContext& c) : op_(op), c_(c) {}

  absl::Status Run() {
    LEMMA_RETURN_IF_ERROR(CheckTypes());
    LEMMA_RETURN_IF_ERROR(BindAttributes());
    LEMMA_RETURN_IF_ERROR(BindSizes());
    for (const Expr& condition : op_.where) {
      LEMMA_ASSIGN_OR_RETURN(const Guard guard, GuardOf(condition));
      LEMMA_REQUIRE(c_, guard, "it does not hold that ", ConditionText(guard));
      scope_.conditions.push_back(guard);
    }
    for (const TensorDef& tensor : op_.tensors) LEMMA_RETURN_IF_ERROR(DefineTensor(tensor));
    return CheckResults();
  }

 private:
  absl::Status Error(Position position, absl::string_view message) const {
    return ErrorAt(op_.file, position, message);
  }
  absl::Status Bind(const std::string& name, Position position, Named named) {
    if (names_.emplace(name, std::move(named)).second) return absl::OkStatus();
    return Error(position, absl::StrCat(name, " already has a meaning here"));
  }
  absl::StatusOr<const Named*> Find(const std::string& name, Position position) const {
    auto it = names_.find(name);
    if (it != names_.end()) return &it->second;
    return Error(position, absl::StrCat("there is no size, index, attribute or tensor ", name));
  }

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
        case Accepts::kIndex:
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
      LEMMA_RETURN_IF_ERROR(Bind(attr.name, attr.position, std::move(named)));
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
        const Idx list(c_.dims(i).begin() + before,
                       c_.dims(i).end() - (single - before));
        LEMMA_RETURN_IF_ERROR(BindList(param, *splice, list));
      }
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d].kind == Expr::Kind::kSplice) continue;
        const int axis = static_cast<int>(d) < before || !has_list
                             ? static_cast<int>(d)
                             : c_.rank(i) - static_cast<int>(dims.size() - d);
        const IndexExpr& size = c_.Dim(i, axis);
        scope_.conditions.push_back(Le(0, size));
        if (dims[d].kind == Expr::Kind::kName && names_.count(dims[d].text) == 0) {
          names_[dims[d].text] = size;
        } else {
          stated_.push_back({i, axis, &dims[d]});
        }
      }
      LEMMA_RETURN_IF_ERROR(Bind(param.name, param.position, static_cast<TensorId>(i)));
    }
    for (const auto& [input, axis, expr] : stated_) {
      LEMMA_RETURN_IF_ERROR(SolveFactor(*expr, c_.Dim(input, axis)));
      LEMMA_ASSIGN_OR_RETURN(const IndexExpr stated, IndexOf(*expr));
      const IndexExpr& size = c_.Dim(input, axis);
      LEMMA_REQUIRE(c_, Eq(size, stated), "dimension ", axis, " of ", op_.params[input].name,
                    " must be ", stated.ToString(), ", not ", size.ToString());
      stated_sizes_[{input, axis}] = stated;
    }
    return absl::OkStatus();
  }

  // If `expr` is a product with a size that has no value yet, that size becomes the quotient.
  absl::Status SolveFactor(const Expr& expr, const IndexExpr& size) {
    if (expr.kind != Expr::Kind::kCall || expr.text != "*") return absl::OkStatus();
    auto is_open = [&](const Expr& e) {
      return e.kind == Expr::Kind::kName && names_.count(e.text) == 0;
    };
    const bool left = is_open(expr.args[0]);
    if (left == is_open(expr.args[1])) return absl::OkStatus();
    LEMMA_ASSIGN_OR_RETURN(const IndexExpr factor, IndexOf(expr.args[left ? 1 : 0]));
    LEMMA_REQUIRE(c_, Ge(factor, 1), factor.ToString(), " is not positive");
    LEMMA_REQUIRE(c_, Eq(Mod(size, factor), 0), size.ToString(), " is not a multiple of ",
                  factor.ToString());
    names_[expr.args[left ? 0 : 1].text] = FloorDiv(size, factor);
    return absl::OkStatus();
  }

  absl::Status BindList(const Param& param, const Expr& splice, const Idx& list) {
    for (const IndexExpr& size : list) scope_.conditions.push_back(Le(0, size));
    auto [it, is_new] = names_.emplace(splice.text, list);
    if (is_new) return absl::OkStatus();
    const Idx* known = std::get_if<Idx>(&it->second);
    if (known == nullptr) {
      return Error(splice.position, absl::StrCat(splice.text, " is ", KindOf(it->second),
                                                 ", not a list of sizes"));
    }
    LEMMA_REQUIRE(c_, known->size() == list.size(), param.name, " must have ", known->size(),
                  " dimensions ", splice.text, "..", ", not ", list.size());
    for (size_t d = 0; d < list.size(); ++d) {
      LEMMA_REQUIRE(c_, Eq(list[d], (*known)[d]), "the dimensions ", splice.text, ".. of ",
                    param.name, " must be equal to those before it: ", list[d].ToString(), " is not ",
                    (*known)[d].ToString());
    }
    return absl::OkStatus();
  }

  // ---- Tensors ----

  absl::Status DefineTensor(const TensorDef& tensor) {
    const bool is_result =
        std::any_of(op_.results.begin(), op_.results.end(),
                    [&](const auto& result) { return result.first == tensor.name; });
    Idx dims;
    std::vector<int> counts;
    for (const Bound& bound : tensor.bounds) {
      LEMMA_ASSIGN_OR_RETURN(const Idx extents, ExtentsOf(bound));
      for (const IndexExpr& extent : extents) {
        LEMMA_REQUIRE(c_, Ge(extent, 0), tensor.name, " would have the size ", extent.ToString());
      }
      counts.push_back(static_cast<int>(extents.size()));
      dims.insert(dims.end(), extents.begin(), extents.end());
    }
    const DType dtype = tensor.dtype.value_or(result_type_);
    auto body = [&](const Idx& index) {
      ScalarExpr value = 0;
      Inside(tensor.bounds, counts, dims, index, [&]() -> absl::Status {
        LEMMA_ASSIGN_OR_RETURN(value, ScalarOf(tensor.body));
        return absl::OkStatus();
      });
      return value;
    };
    const TensorId id = is_result ? c_.Output(dtype, dims, body) : c_.Local(dtype, dims, body);
    LEMMA_RETURN_IF_ERROR(std::exchange(error_, absl::OkStatus()));
    return Bind(tensor.name, tensor.position, id);
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
        return Error(position, absl::StrCat("no tensor ", name, " is defined above"));
      }
      if (i >= order.size() || order[i] != name) {
        return Error(position, "the results must be in the order of their definitions");
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Idx> ExtentsOf(const Bound& bound) {
    if (!bound.list) {
      LEMMA_ASSIGN_OR_RETURN(const IndexExpr extent, IndexOf(bound.extent));
      return Idx{extent};
    }
    return ListOf(bound.extent);
  }
  absl::StatusOr<Idx> ListOf(const Expr& splice) {
    LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(splice.text, splice.position));
    if (const Idx* list = std::get_if<Idx>(named)) return *list;
    return Error(splice.position,
                 absl::StrCat(splice.text, " is ", KindOf(*named), ", not a list"));
  }

  // Calls `use` where the variables `index` have the names and extents of the bounds. Keeps the
  // first error in error_.
  void Inside(const std::vector<Bound>& bounds, const std::vector<int>& counts, const Idx& extents,
              const Idx& index, absl::FunctionRef<absl::Status()> use) {
    const auto outer = names_;
    const size_t axes = scope_.axes.size();
    size_t next = 0;
    for (size_t b = 0; b < bounds.size(); ++b) {
      Idx list;
      for (int i = 0; i < counts[b]; ++i, ++next) {
        scope_.axes.push_back({index[next].var(), extents[next]});
        list.push_back(index[next]);
      }
      Keep(Bind(bounds[b].name, bounds[b].position,
                bounds[b].list ? Named(list) : Named(list[0])));
    }
    if (error_.ok()) Keep(use());
    scope_.axes.resize(axes);
    names_ = outer;
  }
  void Keep(absl::Status status) {
    if (error_.ok()) error_ = std::move(status);
  }

  // ---- Expressions ----

  // Whether `e` is computed from sizes, indices and integers only.
  bool IsIndex(const Expr& e) const {
    switch (e.kind) {
      case Expr::Kind::kInt:
        return true;
      case Expr::Kind::kName: {
        auto it = names_.find(e.text);
        return it != names_.end() && std::holds_alternative<IndexExpr>(it->second);
      }
      case Expr::Kind::kRead: {
        auto it = names_.find(e.text);
        return it != names_.end() && std::holds_alternative<Idx>(it->second);
      }
      case Expr::Kind::kCall: {
        static constexpr absl::string_view kFunctions[] = {
            "+", "-", "*", "div", "mod", "min", "max", "<", "<=", ">", ">=", "=", "!=",
            "and", "or", "not"};
        return std::find(std::begin(kFunctions), std::end(kFunctions), e.text) !=
                   std::end(kFunctions) &&
               std::all_of(e.args.begin(), e.args.end(),
                           [&](const Expr& arg) { return IsIndex(arg); });
      }
      default:
        return false;
    }
  }

  absl::StatusOr<IndexExpr> IndexOf(const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::kInt:
        return IndexExpr(e.integer);
      case Expr::Kind::kName: {
        LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(e.text, e.position));
        if (const IndexExpr* index = std::get_if<IndexExpr>(named)) return *index;
        return Error(e.position, absl::StrCat(e.text, " is ", KindOf(*named),
                                              "; here a size, an index or an integer is needed"));
      }
      case Expr::Kind::kRead:
        return ReadIndex(e);
      case Expr::Kind::kCall:
        break;
      default:
        return Error(e.position, "here a size, an index or an integer is needed");
    }
    std::vector<IndexExpr> args;
    for (const Expr& arg : e.args) {
      LEMMA_ASSIGN_OR_RETURN(const IndexExpr index, IndexOf(arg));
      args.push_back(index);
    }
    if (e.text == "-" && args.size() == 1) return -args[0];
    if (args.size() == 2) {
      if (e.text == "+") return args[0] + args[1];
      if (e.text == "-") return args[0] - args[1];
      if (e.text == "*") return args[0] * args[1];
      if (e.text == "min") return Min(args[0], args[1]);
      if (e.text == "max") return Max(args[0], args[1]);
      if (e.text == "div" || e.text == "mod") {
        if (!c_.Holds(Ge(args[1], 1))) {
          return c_.Fail(absl::StrCat(e.text, " by ", args[1].ToString(), ", which is not positive"));
        }
        return e.text == "div" ? FloorDiv(args[0], args[1]) : Mod(args[0], args[1]);
      }
    }
    return Error(e.position, absl::StrCat("indices and sizes have +, -, *, div, mod, min and max, not ",
                                          e.text));
  }

  // An element of a list of integers, or of a tensor of integers, as an index.
  absl::StatusOr<IndexExpr> ReadIndex(const Expr& e) {
    LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(e.text, e.position));
    if (const Idx* list = std::get_if<Idx>(named)) {
      if (e.args.size() != 1 || e.args[0].kind != Expr::Kind::kInt ||
          e.args[0].integer >= static_cast<int64_t>(list->size())) {
        return Error(e.position, absl::StrCat("an element of ", e.text, " is written ", e.text,
                                              "[0] to ", e.text, "[", list->size() - 1, "]"));
      }
      return (*list)[e.args[0].integer];
    }
    const TensorId* tensor = std::get_if<TensorId>(named);
    if (tensor == nullptr) {
      return Error(e.position, absl::StrCat(e.text, " is ", KindOf(*named), ", and has no elements"));
    }
    const DType dtype = c_.definition().TypeOf(*tensor).dtype;
    if (IsFloat(dtype) || dtype == DType::kBool) {
      return Error(e.position, absl::StrCat("the elements of ", e.text,
                                            " are no integers, so they cannot be an index"));
    }
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr value, ReadElement(e, *tensor));
    return IndexExpr::Load(value.node());
  }

  absl::StatusOr<Guard> GuardOf(const Expr& e) {
    if (e.kind != Expr::Kind::kCall) return Error(e.position, "here a condition is needed");
    if (e.text == "and" || e.text == "or") {
      LEMMA_ASSIGN_OR_RETURN(const Guard a, GuardOf(e.args[0]));
      LEMMA_ASSIGN_OR_RETURN(const Guard b, GuardOf(e.args[1]));
      return e.text == "and" ? a && b : a || b;
    }
    if (e.text == "not") {
      LEMMA_ASSIGN_OR_RETURN(const Guard a, GuardOf(e.args[0]));
      return !a;
    }
    LEMMA_ASSIGN_OR_RETURN(const IndexExpr a, IndexOf(e.args[0]));
    LEMMA_ASSIGN_OR_RETURN(const IndexExpr b, IndexOf(e.args[1]));
    if (e.text == "=") return Eq(a, b);
    if (e.text == "!=") return Ne(a, b);
    if (e.text == "<") return Lt(a, b);
    if (e.text == "<=") return Le(a, b);
    if (e.text == ">") return Gt(a, b);
    return Ge(a, b);
  }

  // A condition on elements, as 0 or 1.
  absl::StatusOr<ScalarExpr> TruthOf(const Expr& e) {
    if (IsIndex(e)) {
      LEMMA_ASSIGN_OR_RETURN(const Guard guard, GuardOf(e));
      return ScalarExpr::Select(guard, 1, 0);
    }
    if (e.text == "and" || e.text == "or" || e.text == "not") {
      LEMMA_ASSIGN_OR_RETURN(const ScalarExpr a, TruthOf(e.args[0]));
      if (e.text == "not") return Apply(ScalarFn::kNot, a);
      LEMMA_ASSIGN_OR_RETURN(const ScalarExpr b, TruthOf(e.args[1]));
      return Apply(e.text == "and" ? ScalarFn::kAnd : ScalarFn::kOr, a, b);
    }
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr a, ScalarOf(e.args[0]));
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr b, ScalarOf(e.args[1]));
    const ScalarExpr equal = Apply(ScalarFn::kEqual, a, b);
    if (e.text == "=") return equal;
    if (e.text == "!=") return Apply(ScalarFn::kNot, equal);
    if (e.text == "<") return Apply(ScalarFn::kLess, a, b);
    if (e.text == ">") return Apply(ScalarFn::kLess, b, a);
    return Apply(ScalarFn::kOr,
                 e.text == "<=" ? Apply(ScalarFn::kLess, a, b) : Apply(ScalarFn::kLess, b, a), equal);
  }

  absl::StatusOr<ScalarExpr> ScalarOf(const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::kInt:
        return ScalarExpr(static_cast<double>(e.integer));
      case Expr::Kind::kReal:
        return ScalarExpr(e.real);
      case Expr::Kind::kName: {
        LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(e.text, e.position));
        if (const Real* real = std::get_if<Real>(named)) return real->value;
        if (const IndexExpr* index = std::get_if<IndexExpr>(named)) return ScalarExpr::Index(*index);
        return Error(e.position, absl::StrCat(e.text, " is ", KindOf(*named),
                                              "; here a number is needed",
                                              std::holds_alternative<TensorId>(*named)
                                                  ? absl::StrCat(", such as ", e.text, "[…]")
                                                  : ""));
      }
      case Expr::Kind::kRead: {
        LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(e.text, e.position));
        if (const TensorId* tensor = std::get_if<TensorId>(named)) return ReadElement(e, *tensor);
        LEMMA_ASSIGN_OR_RETURN(const IndexExpr index, ReadIndex(e));
        return ScalarExpr::Index(index);
      }
      case Expr::Kind::kReduce:
        return ReduceOf(e);
      case Expr::Kind::kSplice:
        return Error(e.position, "a list can only be an index, as in x[i..]");
      case Expr::Kind::kCall:
        break;
    }
    if (e.text == "div" || (e.text == "mod" && IsIndex(e))) {
      LEMMA_ASSIGN_OR_RETURN(const IndexExpr index, IndexOf(e));
      return ScalarExpr::Index(index);
    }
    if (e.text == "if") return IfOf(e);
    std::vector<ScalarExpr> args;
    for (const Expr& arg : e.args) {
      LEMMA_ASSIGN_OR_RETURN(const ScalarExpr value, ScalarOf(arg));
      args.push_back(value);
    }
    if (e.text == "-" && args.size() == 1) {
      if (args[0].kind() == ScalarExpr::Kind::kConst) return ScalarExpr(-args[0].value());
      return -args[0];
    }
    const auto fn = FunctionOf(e.text);
    if (!fn) {
      return Error(e.position, absl::StrCat("there is no function ", e.text, "; the functions are ",
                                            FunctionNames()));
    }
    if (static_cast<int>(args.size()) != Info(*fn).arity) {
      return Error(e.position, absl::StrCat(e.text, " takes ", Info(*fn).arity, " arguments, not ",
                                            args.size()));
    }
    return ScalarExpr::Apply(*fn, std::move(args));
  }

  absl::StatusOr<ScalarExpr> IfOf(const Expr& e) {
    if (!IsIndex(e.args[0])) {
      LEMMA_ASSIGN_OR_RETURN(const ScalarExpr test, TruthOf(e.args[0]));
      LEMMA_ASSIGN_OR_RETURN(const ScalarExpr a, ScalarOf(e.args[1]));
      LEMMA_ASSIGN_OR_RETURN(const ScalarExpr b, ScalarOf(e.args[2]));
      return Apply(ScalarFn::kWhere, test, a, b);
    }
    LEMMA_ASSIGN_OR_RETURN(const Guard guard, GuardOf(e.args[0]));
    auto where = [&](const Guard& condition, const Expr& value) {
      scope_.conditions.push_back(condition);
      auto result = condition.is_false() ? absl::StatusOr<ScalarExpr>(0) : ScalarOf(value);
      scope_.conditions.pop_back();
      return result;
    };
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr a, where(guard, e.args[1]));
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr b, where(!guard, e.args[2]));
    return ScalarExpr::Select(guard, a, b);
  }

  absl::StatusOr<ScalarExpr> ReduceOf(const Expr& e) {
    static constexpr std::pair<absl::string_view, ReduceKind> kKinds[] = {
        {"sum", ReduceKind::kSum}, {"prod", ReduceKind::kProd},
        {"max", ReduceKind::kMax}, {"min", ReduceKind::kMin}};
    const ReduceKind kind =
        std::find_if(std::begin(kKinds), std::end(kKinds),
                     [&](const auto& entry) { return entry.first == e.text; })
            ->second;
    return ReduceFrom(e, kind, 0);
  }
  // A reduction over the bounds from `first` on. A bound that uses an earlier one is a reduction
  // inside it.
  absl::StatusOr<ScalarExpr> ReduceFrom(const Expr& e, ReduceKind kind, size_t first) {
    std::vector<Bound> bounds;
    std::vector<int> counts;
    Idx extents;
    for (size_t b = first; b < e.bounds.size() && !UsesOneOf(e.bounds[b].extent, bounds); ++b) {
      LEMMA_ASSIGN_OR_RETURN(const Idx list, ExtentsOf(e.bounds[b]));
      bounds.push_back(e.bounds[b]);
      counts.push_back(static_cast<int>(list.size()));
      extents.insert(extents.end(), list.begin(), list.end());
    }
    const size_t next = first + bounds.size();
    const bool last = next == e.bounds.size();
    Guard guard = true;
    auto where = [&](const Idx& index) {
      Inside(bounds, counts, extents, index, [&]() -> absl::Status {
        if (!last || e.args.size() < 2) return absl::OkStatus();
        LEMMA_ASSIGN_OR_RETURN(guard, GuardOf(e.args[1]));
        return absl::OkStatus();
      });
      return guard;
    };
    ScalarExpr value = 0;
    auto body = [&](const Idx& index) {
      Inside(bounds, counts, extents, index, [&]() -> absl::Status {
        scope_.conditions.push_back(guard);
        auto element = last ? ScalarOf(e.args[0]) : ReduceFrom(e, kind, next);
        scope_.conditions.pop_back();
        LEMMA_ASSIGN_OR_RETURN(value, std::move(element));
        return absl::OkStatus();
      });
      return value;
    };
    if (!extents.empty()) {
      value = c_.Reduce(kind, extents, body, where);
    } else {
      where({});
      value = ScalarExpr::Select(guard, body({}), NeutralOf(kind));
    }
    if (!error_.ok()) return error_;
    return value;
  }
  static double NeutralOf(ReduceKind kind) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (kind) {
      case ReduceKind::kSum:
        return 0;
      case ReduceKind::kProd:
        return 1;
      case ReduceKind::kMax:
        return -kInfinity;
      case ReduceKind::kMin:
        return kInfinity;
    }
    return 0;
  }
  static bool UsesOneOf(const Expr& e, const std::vector<Bound>& bounds) {
    return std::any_of(bounds.begin(), bounds.end(),
                       [&](const Bound& bound) { return bound.name == e.text; }) ||
           std::any_of(e.args.begin(), e.args.end(),
                       [&](const Expr& arg) { return UsesOneOf(arg, bounds); });
  }

  absl::StatusOr<ScalarExpr> ReadElement(const Expr& e, TensorId tensor) {
    const ExprType type = c_.definition().TypeOf(tensor);
    Idx index;
    for (const Expr& arg : e.args) {
      if (arg.kind == Expr::Kind::kSplice) {
        LEMMA_ASSIGN_OR_RETURN(const Idx list, ListOf(arg));
        index.insert(index.end(), list.begin(), list.end());
      } else {
        LEMMA_ASSIGN_OR_RETURN(const IndexExpr at, IndexOf(arg));
        index.push_back(at);
      }
    }
    if (static_cast<int>(index.size()) != type.rank()) {
      return Error(e.position, absl::StrCat(e.text, " has ", type.rank(), " dimensions, but is read at ",
                                            index.size(), " indices"));
    }
    if (e.otherwise) return c_.ReadOr(tensor, std::move(index), *e.otherwise);
    for (size_t d = 0; d < index.size(); ++d) {
      // The size as the text states it, in terms of the names in the index.
      auto stated = stated_sizes_.find({tensor, static_cast<int>(d)});
      const IndexExpr& dim = stated == stated_sizes_.end() ? type.dims[d] : stated->second;
      if (c_.Holds(define::Inside(index[d], dim, scope_))) continue;
      return Error(e.position,
                   absl::StrCat("index ", d, " of ", e.text, "[…] may lie outside its dimension; write ",
                                e.text, "[…] else VALUE for the value there"));
    }
    return c_.Read(tensor, std::move(index));
  }

  struct Stated {
    int input, axis;
    const Expr* expr;
  };

  const OperatorText& op_;
  OpContext& c_;
  std::map<std::string, Named> names_;
  std::vector<Stated> stated_;  // dimensions that are not names by themselves
  std::map<std::pair<int, int>, IndexExpr> stated_sizes_;  // their sizes, by input and axis
  Scope scope_;
  DType result_type_ = DType::kF32;
  absl::Status error_;
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
      case Accepts::kIndex:
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
