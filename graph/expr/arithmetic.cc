#include "graph/expr/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

struct Types {
  bool any_float = false, any_double = false, any_integer = false;
  bool wide_result = false;  // an integer type whose values an f32 may not hold
  bool any_u64 = false;
};

Types TypesOf(const Definition& d) {
  Types types;
  auto note = [&](DType dtype, bool result) {
    types.any_float = types.any_float || IsReal(dtype);
    types.any_double = types.any_double || dtype == DType::kF64;
    types.any_integer = types.any_integer || IsInteger(dtype);
    types.any_u64 = types.any_u64 || dtype == DType::kU64;
    types.wide_result = types.wide_result || (result && IsInteger(dtype) && SizeOf(dtype) > 2);
  };
  for (const ExprType& input : d.inputs) note(input.dtype, false);
  for (const TensorExpr& tensor : d.tensors) note(tensor.dtype, true);
  return types;
}

bool AnyFloatInput(const Definition& d) {
  return std::any_of(d.inputs.begin(), d.inputs.end(),
                     [](const ExprType& input) { return IsReal(input.dtype); });
}

// Whether every tensor's elements are elements of other tensors, so that nothing is computed.
bool OnlyMoves(const Definition& d) {
  return std::all_of(d.tensors.begin(), d.tensors.end(), [](const TensorExpr& tensor) {
    return tensor.body.kind() == ScalarExpr::Kind::kRead;
  });
}

DType TypeOfStored(ScalarFn fn) {
  return static_cast<DType>(static_cast<int>(fn) - static_cast<int>(ScalarFn::kStoredF32));
}

// Whether every value of `e` already is a value of `dtype`.
bool Has(DType dtype, const ScalarExpr& e, const Definition& d) {
  auto all = [&](size_t from) {
    return std::all_of(e.args().begin() + from, e.args().end(),
                       [&](const ScalarExpr& arg) { return Has(dtype, arg, d); });
  };
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return Holds(dtype, e.value());
    case ScalarExpr::Kind::kParam:
      return false;
    case ScalarExpr::Kind::kIndex:
      return dtype == DType::kI64;
    case ScalarExpr::Kind::kRead:
      // A local holds values that have not been stored.
      return (e.tensor() < d.num_inputs() ||
              std::count(d.outputs.begin(), d.outputs.end(), e.tensor()) > 0) &&
             Holds(dtype, d.TypeOf(e.tensor()).dtype);
    case ScalarExpr::Kind::kSelect:
      return all(0);
    case ScalarExpr::Kind::kReduce:
      // An empty reduction gives an infinity, which only floats have.
      return (e.reduce() == ReduceKind::kMax || e.reduce() == ReduceKind::kMin) && IsFloat(dtype) &&
             all(0);
    case ScalarExpr::Kind::kApply:
      break;
  }
  if (e.fn() == ScalarFn::kWhere) return all(1);
  if (Info(e.fn()).truth()) return true;
  if (IsStored(e.fn())) return Holds(dtype, TypeOfStored(e.fn()));
  if (e.fn() == ScalarFn::kMin || e.fn() == ScalarFn::kMax) return all(0);
  // The remainder of an exact division is exact; other exact functions round to integers or change
  // signs.
  return IsFloat(dtype) && Info(e.fn()).exact() && all(0);
}

// Collects the tensors that are read inside indices and guards, in one walk.
class LoadFinder {
 public:
  void Walk(const ScalarExpr& e) {
    if (!seen_.insert(e.node().get()).second) return;
    for (const IndexExpr& index : e.indices()) Find(index);
    for (const Axis& axis : e.axes()) Find(axis.extent);
    if (e.kind() == ScalarExpr::Kind::kIndex) Find(e.index());
    Find(e.guard());
    for (const ScalarExpr& arg : e.args()) Walk(arg);
  }
  const absl::flat_hash_set<TensorId>& found() const { return found_; }

 private:
  // Records all tensors that are read in a load.
  void Load(const ScalarExpr& e) {
    if (!loaded_.insert(e.node().get()).second) return;
    if (e.kind() == ScalarExpr::Kind::kRead) found_.insert(e.tensor());
    Walk(e);
    for (const ScalarExpr& arg : e.args()) Load(arg);
  }
  void Find(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kVar:
      case IndexExpr::Kind::kSymbol:
        return;
      case IndexExpr::Kind::kLoad:
        kept_.emplace_back(e.load());
        return Load(kept_.back());
      default:
        Find(e.lhs());
        Find(e.rhs());
    }
  }
  void Find(const Guard& g) {
    if (g.is_true() || g.is_false()) return;
    if (g.kind() == Guard::Kind::kLe || g.kind() == Guard::Kind::kEq) {
      Find(g.lhs());
      Find(g.rhs());
      return;
    }
    Find(g.left());
    if (g.kind() != Guard::Kind::kNot) Find(g.right());
  }

  absl::flat_hash_set<const ScalarNode*> seen_, loaded_;
  std::deque<ScalarExpr> kept_;  // kept, so that no later node gets the same address
  absl::flat_hash_set<TensorId> found_;
};

// Finds functions and constants without integer values.
class IntegralChecker {
 public:
  absl::Status Check(const ScalarExpr& e) {
    if (!seen_.insert(e.node().get()).second) return absl::OkStatus();
    if (e.kind() == ScalarExpr::Kind::kConst && !std::isinf(e.value()) &&
        e.value() != std::trunc(e.value())) {
      return absl::InvalidArgumentError(absl::StrCat(e.ToString(), " is not an integer"));
    }
    if (e.kind() == ScalarExpr::Kind::kApply && !Info(e.fn()).integral()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Info(e.fn()).name, " is not a function of integers"));
    }
    for (const ScalarExpr& arg : e.args()) {
      if (absl::Status status = Check(arg); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::flat_hash_set<const ScalarNode*> seen_;
};

}  // namespace

absl::Status CheckIntegral(const Definition& definition) {
  IntegralChecker checker;
  for (const TensorExpr& tensor : definition.tensors) {
    if (absl::Status status = checker.Check(tensor.body); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool Holds(DType dtype, double value) {
  switch (dtype) {
    case DType::kF64:
      return true;
    case DType::kF32:
      return static_cast<double>(static_cast<float>(value)) == value || std::isnan(value);
    case DType::kF16:
    case DType::kBF16:
      // Infinities and small integers; no other values are recognized.
      return std::isinf(value) || (value == std::floor(value) && std::abs(value) <= 256);
    case DType::kI64:
      return value == std::floor(value) && std::abs(value) < 0x1p63;
    case DType::kI32:
      return value == std::floor(value) && value >= -0x1p31 && value < 0x1p31;
    case DType::kI8:
      return value == std::floor(value) && value >= -128 && value <= 127;
    case DType::kU8:
      return value == std::floor(value) && value >= 0 && value <= 255;
    case DType::kBool:
      return value == 0 || value == 1;
    case DType::kI16:
      return value == std::floor(value) && value >= -0x1p15 && value < 0x1p15;
    case DType::kU16:
      return value == std::floor(value) && value >= 0 && value < 0x1p16;
    case DType::kU32:
      return value == std::floor(value) && value >= 0 && value < 0x1p32;
    case DType::kU64:
      return value == std::floor(value) && value >= 0 && value < 0x1p64;
    case DType::kI4:
    case DType::kU4:
    case DType::kI2:
    case DType::kU2:
      return value == std::floor(value) && value >= static_cast<double>(LeastInteger(dtype)) &&
             value <= static_cast<double>(LargestInteger(dtype));
    default:
      return false;  // not recognized for small floats
  }
}

namespace {

// The bits of an integer type's values, without the sign.
int64_t MagnitudeBits(DType integer) { return BitsOf(integer) - (IsUnsigned(integer) ? 0 : 1); }

// Every whole number below 2^bits is a value of the type.
int ExactBits(DType real) {
  switch (real) {
    case DType::kF64:
      return 53;
    case DType::kF32:
      return 24;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    default:
      return 0;
  }
}

}  // namespace

bool Holds(DType to, DType from) {
  if (to == from) return true;
  if (IsSmallFloat(to)) return false;  // f8e8m0 has no 0
  if (IsSmallFloat(from)) return to == DType::kF64 || to == DType::kF32;
  if (from == DType::kBool) return true;
  if (IsFloat(from)) {
    return to == DType::kF64 || (to == DType::kF32 && IsHalfFloat(from));
  }
  if (!IsInteger(from)) return false;
  if (IsFloat(to)) return MagnitudeBits(from) <= ExactBits(to);
  return IsInteger(to) && (IsUnsigned(from) || !IsUnsigned(to)) &&
         MagnitudeBits(from) <= MagnitudeBits(to);
}

Arithmetic ArithmeticFor(const Definition& definition) {
  const Types types = TypesOf(definition);
  if (!types.any_float && CheckIntegral(definition).ok()) return Arithmetic::kInteger;
  // int64_t does not hold the value of a u64, so it is no step to a float.
  if (!types.any_u64 && !AnyFloatInput(definition) && OnlyMoves(definition)) {
    return Arithmetic::kInteger;
  }
  const bool wide = !types.any_float || types.any_double || types.wide_result;
  return wide ? Arithmetic::kDouble : Arithmetic::kFloat;
}

Domain DomainOf(const Definition& definition) {
  const Types types = TypesOf(definition);
  if (types.any_float) return Domain::kReals;
  if (!types.any_integer) return Domain::kAny;
  return CheckIntegral(definition).ok() ? Domain::kIntegers : Domain::kReals;
}

std::optional<Domain> Common(Domain a, Domain b) {
  if (a == b || b == Domain::kAny) return a;
  return a == Domain::kAny ? std::optional(b) : std::nullopt;
}

std::vector<bool> InputsReadAsIndex(const Definition& definition) {
  LoadFinder finder;
  for (const TensorExpr& tensor : definition.tensors) finder.Walk(tensor.body);
  std::vector<bool> is_index;
  is_index.reserve(static_cast<size_t>(definition.num_inputs()));
  for (int i = 0; i < definition.num_inputs(); ++i) is_index.push_back(finder.found().contains(i));
  return is_index;
}

bool HasExactOutputs(const Definition& definition) {
  return std::all_of(definition.outputs.begin(), definition.outputs.end(), [&](TensorId id) {
    if (id < definition.num_inputs()) return true;
    const TensorExpr& tensor = definition.tensors[id - definition.num_inputs()];
    return Has(tensor.dtype, tensor.body, definition);
  });
}

Definition WithStoredOutputs(Definition definition, Arithmetic arithmetic) {
  const DType own = arithmetic == Arithmetic::kFloat    ? DType::kF32
                    : arithmetic == Arithmetic::kDouble ? DType::kF64
                                                        : DType::kI64;
  for (TensorId id : definition.outputs) {
    if (id < definition.num_inputs()) continue;
    TensorExpr& tensor = definition.tensors[id - definition.num_inputs()];
    if (tensor.dtype == own || Has(tensor.dtype, tensor.body, definition)) continue;
    tensor.body = Apply(StoredAs(tensor.dtype), tensor.body);
  }
  return definition;
}

}  // namespace lemma
