#include "kernels/codegen/nest_printer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/codegen/number.h"

namespace lemma::codegen {

using lemma::Affine;
using loops::Check;
using loops::Cond;
using loops::IndexLeaf;
using loops::kCondFalse;
using loops::kCondTrue;
using loops::Nest;
using loops::Vars;
using Kind = ScalarExpr::Kind;

namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

// The maximum of |p| and its partial sums; kUnbounded if unknown or too large.
int64_t Magnitude(const Nest& nest, const Affine& p) {
  double sum = std::fabs(static_cast<double>(p.base));
  for (const auto& [t, c] : p.terms) {
    const IndexLeaf& leaf = nest.leaves[t];
    Interval bounds;
    if (leaf.kind == IndexLeaf::Kind::kVar) {
      bounds = {0, std::max<int64_t>(nest.vars[t].extent, 1)};
    } else if (leaf.bounded) {
      bounds = leaf.bounds;
    } else {
      return kUnbounded;
    }
    sum += std::fabs(static_cast<double>(c)) * std::max(std::fabs(static_cast<double>(bounds.lo)),
                                                        std::fabs(static_cast<double>(bounds.hi)));
  }
  return sum < 9e18 ? static_cast<int64_t>(sum) : kUnbounded;
}

}  // namespace

std::optional<Interval> BoundsOf(const Nest& nest, const Affine& p) {
  double lo = static_cast<double>(p.base), hi = lo;
  for (const auto& [t, c] : p.terms) {
    const IndexLeaf& leaf = nest.leaves[t];
    if (leaf.kind != IndexLeaf::Kind::kVar && !leaf.bounded) return std::nullopt;
    Interval b = leaf.bounds;
    if (leaf.kind == IndexLeaf::Kind::kVar) b = {0, std::max<int64_t>(nest.vars[t].extent - 1, 0)};
    const double from = static_cast<double>(c) * static_cast<double>(c > 0 ? b.lo : b.hi);
    const double to = static_cast<double>(c) * static_cast<double>(c > 0 ? b.hi : b.lo);
    lo += from;
    hi += to;
  }
  if (lo < -9e15 || hi > 9e15) return std::nullopt;
  return Interval{static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

bool FitsInt(const Nest& nest) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
  auto fits = [&](const Affine& p) { return Magnitude(nest, p) <= kMost; };
  if (!fits(nest.out)) return false;
  double items = 1;
  for (int axis : nest.axes) items *= static_cast<double>(nest.vars[axis].extent);
  if (items > kMost) return false;
  for (const loops::Node& node : nest.nodes) {
    if (!fits(node.index)) return false;
    double steps = 1;
    for (const auto& axis : node.axes) {
      if (!fits(axis.second)) return false;
      steps *= static_cast<double>(nest.vars[axis.first].extent);
    }
    if (steps > kMost) return false;
    for (const Check& check : node.checks) {
      if (!fits(check.index)) return false;
    }
  }
  for (const Cond& cond : nest.conds) {
    if (!fits(cond.affine)) return false;
  }
  for (const IndexLeaf& leaf : nest.leaves) {
    if (leaf.kind == IndexLeaf::Kind::kVar) continue;
    if (!leaf.bounded || !fits(leaf.a) || !fits(leaf.b)) return false;
  }
  return true;
}

NestPrinter::NestPrinter(const Nest& nest, Options options)
    : nest_(nest), options_(std::move(options)) {}

void NestPrinter::Open(std::vector<int> vars, bool transparent) {
  scopes_.push_back({std::move(vars), transparent, "", {}});
}

std::string NestPrinter::Close() {
  std::string text = std::move(scopes_.back().text);
  scopes_.pop_back();
  return text;
}

void NestPrinter::Add(const std::string& text) { scopes_.back().text += text; }

std::string NestPrinter::VarName(int var) const { return absl::StrCat(options_.prefix, "i", var); }

std::string NestPrinter::SlotName(int slot) {
  if (std::count(slots_.begin(), slots_.end(), slot) == 0) slots_.push_back(slot);
  return absl::StrCat("p", slot);
}

void NestPrinter::SetPacked(std::vector<int> nodes, int var, int width, std::string index) {
  packed_ = std::move(nodes);
  packed_var_ = var;
  packed_width_ = width;
  packed_index_ = std::move(index);
}

void NestPrinter::SetCooperative(std::vector<int> nodes, std::vector<ReductionPack> packs) {
  cooperative_ = std::move(nodes);
  packs_ = std::move(packs);
}

std::string NestPrinter::AffineText(const Affine& p) {
  std::string text;
  for (const auto& [t, c] : p.terms) {
    std::string term =
        nest_.leaves[t].kind == IndexLeaf::Kind::kVar ? VarName(t) : Memo(ValueKind::kLeaf, t);
    if (t == packed_var_ && at_pack_start_) term += "_start";
    if (c == -1) {
      absl::StrAppend(&text, text.empty() ? "-" : " - ", term);
      continue;
    }
    absl::StrAppend(&text, text.empty() ? "" : " + ", term);
    if (c != 1) absl::StrAppend(&text, " * ", c < 0 ? "(" : "", c, c < 0 ? ")" : "");
  }
  if (text.empty())
    return options_.wide ? absl::StrCat("int64(", p.base, "ll)") : absl::StrCat(p.base);
  if (p.base != 0) {
    absl::StrAppend(&text, p.base < 0 ? " - " : " + ", p.base < 0 ? -p.base : p.base,
                    options_.wide ? "ll" : "");
  }
  return p.terms.size() == 1 && p.base == 0 && p.terms[0].second == 1
             ? text
             : absl::StrCat("(", text, ")");
}

std::string NestPrinter::PackStartText(const Affine& p) {
  at_pack_start_ = true;
  std::string text = AffineText(p);
  at_pack_start_ = false;
  return text;
}

std::string NestPrinter::Value(int node) {
  return Memo(options_.number == Number::kInteger ? ValueKind::kInteger : ValueKind::kNode, node);
}

std::string NestPrinter::Argument(int node, Number number) {
  return Memo(number == Number::kInteger ? ValueKind::kInteger : ValueKind::kNode, node);
}

const Vars& NestPrinter::DepsOf(ValueKind kind, int id) const {
  return kind == ValueKind::kLeaf ? nest_.leaves[id].deps : nest_.nodes[id].deps;
}

size_t NestPrinter::LevelFor(ValueKind kind, int id) const {
  const Vars& deps = DepsOf(kind, id);
  // Index arithmetic that cannot fail may move out of any scope.
  bool harmless = false;
  if (kind == ValueKind::kLeaf) {
    const IndexLeaf& leaf = nest_.leaves[id];
    harmless = leaf.kind != IndexLeaf::Kind::kLoad && !LoadsAffine(leaf.a) && !LoadsAffine(leaf.b);
  }
  size_t level = scopes_.size() - 1;
  for (; level > 0; --level) {
    const Scope& scope = scopes_[level];
    if (!scope.transparent && !harmless) break;
    if (std::any_of(scope.vars.begin(), scope.vars.end(), [&](int v) { return deps.test(v); })) {
      break;
    }
  }
  return level;
}

std::string NestPrinter::Memo(ValueKind kind, int id) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto it = scope->known.find({kind, id});
    if (it != scope->known.end()) return it->second;
  }
  const size_t level = LevelFor(kind, id);
  // Sets inner scopes aside, so that statements land at `level`.
  std::vector<Scope> inner(std::make_move_iterator(scopes_.begin() + level + 1),
                           std::make_move_iterator(scopes_.end()));
  scopes_.resize(level + 1);
  const char* letter = kind == ValueKind::kLeaf ? "t" : kind == ValueKind::kInteger ? "m" : "n";
  std::string text = Compute(kind, id, absl::StrCat(options_.prefix, letter, names_++));
  scopes_.back().known[{kind, id}] = text;
  scopes_.insert(scopes_.end(), std::make_move_iterator(inner.begin()),
                 std::make_move_iterator(inner.end()));
  return text;
}

std::string NestPrinter::Compute(ValueKind kind, int id, const std::string& name) {
  if (kind == ValueKind::kLeaf) return LeafValue(id, name);
  return Node(id, kind == ValueKind::kInteger ? Number::kInteger : options_.number, name);
}

std::string NestPrinter::Declare(Number number, const std::string& name, const std::string& value) {
  Add(absl::StrCat("const ", TypeName(number), " ", name, " = ", value, ";\n"));
  return name;
}

std::string NestPrinter::LeafValue(int t, const std::string& name) {
  const IndexLeaf& leaf = nest_.leaves[t];
  std::string value;
  if (leaf.kind == IndexLeaf::Kind::kLoad) {
    value = Argument(leaf.load, Number::kInteger);
  } else {
    const std::string a = AffineText(leaf.a), b = AffineText(leaf.b);
    auto bounds = BoundsOf(nest_, leaf.a);
    const bool natural = bounds && bounds->lo >= 0;
    const bool by_constant = leaf.b.is_const() && leaf.b.base > 0;
    switch (leaf.kind) {
      case IndexLeaf::Kind::kDiv:
        value = by_constant && natural ? absl::StrCat(a, " / ", b)
                                       : absl::StrCat(by_constant ? "FloorDiv" : "FloorDivOr0", "<",
                                                      index_type(), ">(", a, ", ", b, ")");
        break;
      case IndexLeaf::Kind::kMod:
        value = by_constant && natural
                    ? absl::StrCat(a, " % ", b)
                    : absl::StrCat("ModOr0<", index_type(), ">(", a, ", ", b, ")");
        break;
      case IndexLeaf::Kind::kMin:
        value = absl::StrCat("Least<", index_type(), ">(", a, ", ", b, ")");
        break;
      case IndexLeaf::Kind::kMax:
        value = absl::StrCat("Greatest<", index_type(), ">(", a, ", ", b, ")");
        break;
      default:
        value =
            options_.wide ? absl::StrCat("fn_mul(", a, ", ", b, ")") : absl::StrCat(a, " * ", b);
        break;
    }
  }
  Add(absl::StrCat("const ", index_type(), " ", name, " = ", value, ";\n"));
  return name;
}

bool NestPrinter::LoadsAffine(const Affine& p) const {
  return std::any_of(p.terms.begin(), p.terms.end(), [&](const auto& part) {
    const IndexLeaf& leaf = nest_.leaves[part.first];
    if (leaf.kind == IndexLeaf::Kind::kVar) return false;
    return leaf.kind == IndexLeaf::Kind::kLoad || LoadsAffine(leaf.a) || LoadsAffine(leaf.b);
  });
}

bool NestPrinter::Loads(int c) const {
  const Cond& cond = nest_.conds[c];
  return LoadsAffine(cond.affine) || (cond.left >= 0 && Loads(cond.left)) ||
         (cond.right >= 0 && Loads(cond.right));
}

std::string NestPrinter::Condition(int c) {
  const Cond& cond = nest_.conds[c];
  switch (cond.kind) {
    case Cond::Kind::kFalse:
      return "false";
    case Cond::Kind::kTrue:
      return "true";
    case Cond::Kind::kLe:
      return absl::StrCat("(", AffineText(cond.affine), " <= 0)");
    case Cond::Kind::kEq:
      return absl::StrCat("(", AffineText(cond.affine), " == 0)");
    case Cond::Kind::kNot:
      return absl::StrCat("!", Condition(cond.left));
    case Cond::Kind::kAnd:
    case Cond::Kind::kOr:
      break;
  }
  const bool conjunction = cond.kind == Cond::Kind::kAnd;
  const std::string left = Condition(cond.left);
  if (!Loads(cond.right)) {
    return absl::StrCat("(", left, conjunction ? " && " : " || ", Condition(cond.right), ")");
  }
  // The right side's loads may be valid only if the left side does not decide.
  const std::string name = absl::StrCat(options_.prefix, "c", names_++);
  Add(absl::StrCat("bool ", name, " = ", left, ";\n"));
  Open({}, false);
  const std::string right = Condition(cond.right);
  const std::string text = Close();
  Add(absl::StrCat("if (", conjunction ? "" : "!", name, ") {\n", text, name, " = ", right,
                   ";\n}\n"));
  return name;
}

std::string NestPrinter::Node(int n, Number number, const std::string& name) {
  const loops::Node& node = nest_.nodes[n];
  switch (node.kind) {
    case Kind::kConst:
      return Literal(node.value, number);
    case Kind::kIndex:
      return Declare(
          number, name,
          absl::StrCat("static_cast<", TypeName(number), ">(", AffineText(node.index), ")"));
    case Kind::kRead:
      return Read(n, number, name);
    case Kind::kApply: {
      if (number == Number::kInteger && !Info(node.fn).integral()) return Literal(0, number);
      if (const std::string bits = BitsOfByte(n, number); !bits.empty()) {
        return Declare(number, name, bits);
      }
      std::string args;
      for (int arg : node.args) {
        absl::StrAppend(&args, args.empty() ? "" : ", ", Argument(arg, number));
      }
      return Declare(number, name, absl::StrCat("fn_", Info(node.fn).name, "(", args, ")"));
    }
    case Kind::kSelect:
      return Select(n, number, name);
    case Kind::kReduce:
      if (std::count(cooperative_.begin(), cooperative_.end(), n) > 0 &&
          number == options_.number) {
        return CooperativeReduce(n, number, name);
      }
      return Reduce(n, number, name);
    case Kind::kParam:
      break;
  }
  return "0";
}

std::string NestPrinter::Read(int n, Number number, const std::string& name) {
  const loops::Node& node = nest_.nodes[n];
  if (node.slot == options_.value_slot) return options_.value;
  const std::string type = TypeName(number);
  if (node.checks.empty()) {
    return Declare(number, name, absl::StrCat("Load<", type, ">(", ElementText(n), ")"));
  }
  const std::string load =
      absl::StrCat("Load<", type, ">(", SlotName(node.slot), "[", AffineText(node.index), "])");
  checks_ = true;
  std::string inside;
  bool data_dependent = false;
  for (const Check& check : node.checks) {
    const std::string index = AffineText(check.index);
    absl::StrAppend(&inside, inside.empty() ? "" : " && ", "0 <= ", index, " && ", index, " < ",
                    check.size);
    data_dependent = data_dependent || check.data_dependent;
  }
  Add(absl::StrCat(type, " ", name, " = 0;\nif (", inside, ") {\n", name, " = ", load,
                   ";\n} else {\n*error = ", data_dependent ? 1 : 2, ";\n}\n"));
  return name;
}

std::string NestPrinter::ElementText(int n) {
  if (std::count(packed_.begin(), packed_.end(), n) > 0) {
    return absl::StrCat(PackName(n), ".at[", packed_index_, "]");
  }
  const loops::Node& node = nest_.nodes[n];
  const std::string slot = SlotName(node.slot);
  return absl::StrCat(slot, "[", AffineText(node.index), "]");
}

// Loads the pack outside of the scope of the packed variable.
std::string NestPrinter::PackName(int n) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto it = scope->known.find({ValueKind::kPack, n});
    if (it != scope->known.end()) return it->second;
  }
  size_t level = scopes_.size() - 1;
  while (level > 0 &&
         std::count(scopes_[level].vars.begin(), scopes_[level].vars.end(), packed_var_) == 0) {
    --level;
  }
  std::vector<Scope> inner(std::make_move_iterator(scopes_.begin() + level),
                           std::make_move_iterator(scopes_.end()));
  scopes_.resize(level);
  const loops::Node& node = nest_.nodes[n];
  const std::string name = absl::StrCat(options_.prefix, "n", names_++, "_pack");
  const std::string at = PackStartText(node.index);
  Add(absl::StrCat("const auto ", name, " = LoadPack<", packed_width_, ">(", SlotName(node.slot),
                   " + ", at, ");\n"));
  scopes_.back().known[{ValueKind::kPack, n}] = name;
  scopes_.insert(scopes_.end(), std::make_move_iterator(inner.begin()),
                 std::make_move_iterator(inner.end()));
  return name;
}

std::optional<std::pair<int, int>> NestPrinter::QuotientOfByte(int n) const {
  const loops::Node& node = nest_.nodes[n];
  if (node.kind != Kind::kApply || node.fn != ScalarFn::kFloor) return std::nullopt;
  const loops::Node& product = nest_.nodes[node.args[0]];
  if (product.kind != Kind::kApply || product.fn != ScalarFn::kMul) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const int read = product.args[i];
    const loops::Node &byte = nest_.nodes[read], &factor = nest_.nodes[product.args[1 - i]];
    const bool is_byte = byte.kind == Kind::kRead && byte.checks.empty() &&
                         byte.slot != options_.value_slot &&
                         byte.slot < static_cast<int>(options_.storage.size()) &&
                         options_.storage[byte.slot] == DType::kU8;
    if (!is_byte || factor.kind != Kind::kConst) continue;
    for (int power = 2; power <= 128; power *= 2) {
      if (factor.value * power == 1) return std::make_pair(read, power);
    }
  }
  return std::nullopt;
}

std::string NestPrinter::BitsOfByte(int n, Number number) {
  if (number == Number::kInteger) return "";
  const char* function = "HighBits";
  auto quotient = QuotientOfByte(n);
  const loops::Node& node = nest_.nodes[n];
  if (!quotient && node.fn == ScalarFn::kSub) {
    // The byte less power * quotient.
    const loops::Node& product = nest_.nodes[node.args[1]];
    if (product.kind != Kind::kApply || product.fn != ScalarFn::kMul) return "";
    for (int i = 0; i < 2 && !quotient; ++i) {
      const loops::Node& factor = nest_.nodes[product.args[1 - i]];
      quotient = QuotientOfByte(product.args[i]);
      if (quotient && (factor.kind != Kind::kConst || factor.value != quotient->second)) return "";
    }
    if (!quotient || quotient->first != node.args[0]) return "";
    function = "LowBits";
  }
  if (!quotient) return "";
  return absl::StrCat(function, "<", TypeName(number), ", ", quotient->second, ">(",
                      ElementText(quotient->first), ")");
}

std::string NestPrinter::Select(int n, Number number, const std::string& name) {
  const loops::Node& node = nest_.nodes[n];
  const std::string condition = Condition(node.guard);
  std::string branch[2], value[2];
  for (int i = 0; i < 2; ++i) {
    Open({}, false);
    value[i] = Argument(node.args[i], number);
    branch[i] = Close();
  }
  if (branch[0].empty() && branch[1].empty()) {
    return Declare(number, name, absl::StrCat(condition, " ? ", value[0], " : ", value[1]));
  }
  Add(absl::StrCat(TypeName(number), " ", name, ";\nif (", condition, ") {\n", branch[0], name,
                   " = ", value[0], ";\n} else {\n", branch[1], name, " = ", value[1], ";\n}\n"));
  return name;
}

}  // namespace lemma::codegen
