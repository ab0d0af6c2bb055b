#include "generator/sets/table_variant.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::generator {
namespace {

using taso::Parts;
using taso::RuleBuilder;
using taso::SizeSolver;
using taso::TypedValue;

absl::Status Mismatch() {
  return absl::InvalidArgumentError("the variant does not take operands of these types");
}

// Guesses how the result's dimensions are composed: one that is as large as an operand's is
// composed like it; one that is as large as both operands' together is composed of them.
void FindParts(const SizeSolver& sizes, const std::vector<TypedValue>& in, TypedValue* out) {
  for (int d = 0; d < out->rank(); ++d) {
    Parts& parts = out->parts[d];
    for (const TypedValue& x : in) {
      for (int e = 0; e < x.rank() && parts.children.empty(); ++e) {
        if (sizes.Same(out->dims[d], x.dims[e])) parts.children = x.parts[e].children;
      }
    }
    if (!parts.children.empty() || in.size() != 2 || in[0].rank() != out->rank() ||
        in[1].rank() != out->rank() || !sizes.Same(out->dims[d], in[0].dims[d] + in[1].dims[d])) {
      continue;
    }
    parts.children = {in[0].parts[d], in[1].parts[d]};
  }
}

absl::StatusOr<ScalarExpr> FillOf(const ExprAttr& fill) {
  if (auto* real = std::get_if<ScalarExpr>(&fill)) return *real;
  if (auto* index = std::get_if<IndexExpr>(&fill)) {
    if (index->is_const()) return ScalarExpr(static_cast<double>(index->value()));
  }
  return absl::InvalidArgumentError("a constant is filled with a number");
}

absl::Status NotTaken() {
  return absl::NotFoundError("the variant takes another number of tensors");
}

// The tensors of an operand, which is one input of the graph.
absl::StatusOr<std::vector<Value>> AddOperand(const std::string& name, const BundleShape& shapes,
                                              GraphBuilder* builder) {
  if (shapes.size() == 1) return std::vector<Value>{builder->Input(name, {DType::kF32, shapes[0]})};
  std::vector<int64_t> sizes;
  int64_t all = 0;
  for (const Shape& shape : shapes) {
    sizes.push_back(TensorType{DType::kF32, shape}.num_elements());
    all += sizes.back();
  }
  const Value flat = builder->Input(name, {DType::kF32, {all}});
  LEMMA_ASSIGN_OR_RETURN(std::vector<Value> parts,
                         builder->Ops("split", {flat}, {{"axis", int64_t{0}}, {"sizes", sizes}}));
  for (size_t k = 0; k < parts.size(); ++k) {
    LEMMA_ASSIGN_OR_RETURN(parts[k], builder->Op("reshape", {parts[k]}, {{"shape", shapes[k]}}));
  }
  return parts;
}

// "x: [n, c], (a: [c], b: [c])": the items, and the number of items of each operand.
struct Bundled {
  std::vector<std::string> items;
  std::vector<int> parts;
};

Bundled SplitBundles(absl::string_view text) {
  Bundled found;
  int brackets = 0;
  bool inside = false;
  std::string item;
  auto end_item = [&] {
    item = std::string(absl::StripAsciiWhitespace(item));
    if (item.empty()) return;
    found.items.push_back(std::move(item));
    if (inside && found.parts.back() < 0) {
      found.parts.back() = 1;
    } else if (inside) {
      ++found.parts.back();
    } else {
      found.parts.push_back(1);
    }
    item.clear();
  };
  for (const char c : text) {
    brackets += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (brackets == 0 && c == '(') {
      found.parts.push_back(-1);
      inside = true;
    } else if (brackets == 0 && (c == ',' || c == ')')) {
      end_item();
      if (c == ')') inside = false;
    } else {
      item += c;
    }
  }
  end_item();
  return found;
}

}  // namespace

absl::StatusOr<TableVariant> TableVariant::Read(const VariantText& text) {
  TableVariant made;
  made.text_ = text;
  made.proper_ = text.proper;
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules, ParseRules(made.RuleText(), text.name));
  made.rule_ = std::move(rules[0]);
  made.DropKept();
  for (absl::Status status : {made.ReadOperands(), made.CheckAttributes()}) {
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(text.name, ": ", status.message()));
    }
  }
  LEMMA_RETURN_IF_ERROR(made.FindResults());
  const std::vector<PatternNode>& nodes = made.rule_.source.nodes;
  const std::vector<PatternVar>& vars = made.rule_.vars;
  made.variant_ = {text.name, static_cast<int>(made.operand_parts_.size()),
                   static_cast<int>(made.result_parts_.size()),
                   nodes.size() == 1 && nodes[0].op != nullptr && nodes[0].op->commutative &&
                       vars.size() == 2 && vars[0].dims.ToString() == vars[1].dims.ToString(),
                   text.distinct};
  if (made.variant_.num_operands > kMostOperands || made.variant_.num_outputs > kMostOutputs) {
    return absl::InvalidArgumentError(absl::StrCat(text.name, ": at most ", kMostOperands,
                                                   " operands and ", kMostOutputs,
                                                   " results, please"));
  }
  return made;
}

// A rule uses all its variables and returns none of them. So each operand gets a relu after all
// other operators, and the relu is returned in its place.
std::string TableVariant::RuleText() {
  const size_t found = text_.body.rfind("return ");
  std::string statements, results;
  if (found == std::string::npos) {
    statements = absl::StrCat("result = ", text_.body);
    results = "result";
  } else {
    statements = text_.body.substr(0, found);
    results = text_.body.substr(found + 7);
  }
  const Bundled operands = SplitBundles(text_.operands), returned = SplitBundles(results);
  operand_parts_ = operands.parts;
  result_parts_ = returned.parts;
  std::set<std::string> names;
  for (const std::string& operand : operands.items) {
    names.insert(std::string(absl::StripAsciiWhitespace(operand.substr(0, operand.find(':')))));
  }
  std::vector<std::string> outputs;
  for (const std::string& name : returned.items) {
    outputs.push_back(names.count(name) ? absl::StrCat("kept_", name) : name);
  }
  for (const std::string& name : names) {
    absl::StrAppend(&statements, " kept_", name, " = relu(", name, ")");
    outputs.push_back(absl::StrCat("kept_", name));
  }
  const std::string body = absl::StrCat(statements, " return ", absl::StrJoin(outputs, ", "));
  return absl::StrCat("rule ", text_.name, "(", absl::StrJoin(operands.items, ", "),
                      ") reassociates {", body, "} => {", body, "}");
}

void TableVariant::DropKept() {
  Pattern& source = rule_.source;
  const int kept = static_cast<int>(source.nodes.size() - rule_.vars.size());
  source.outputs.resize(source.outputs.size() - rule_.vars.size());
  for (PatternValue& v : source.outputs) {
    if (!v.is_var() && v.node >= kept) v = source.nodes[v.node].inputs[0];
  }
  source.nodes.resize(kept);
}

absl::Status TableVariant::ReadOperands() {
  for (const PatternVar& var : rule_.vars) {
    RankPattern rank;
    const lemma::Term& dims = var.dims;
    for (size_t i = 0; i < dims.args().size(); ++i) {
      const lemma::Term& item = dims.args()[i];
      if (!dims.IsSplice(i)) {
        ++rank.dims;
        proper_ |= item.kind() == lemma::Term::Kind::kInt && item.integer() == 1;
        std::vector<int> symbols;
        item.CollectSymbols(&symbols);
        for (int s : symbols) {
          if (std::count(sizes_.begin(), sizes_.end(), s) == 0) sizes_.push_back(s);
        }
        continue;
      }
      if (i > 0 || item.kind() != lemma::Term::Kind::kSymbol ||
          (row_ >= 0 && row_ != item.symbol())) {
        return absl::InvalidArgumentError("one list symbol, in front, is all that operands have");
      }
      row_ = item.symbol();
      rank.has_batch = true;
    }
    operands_.push_back(rank);
  }
  // A constant's sizes are determined by its users.
  for (const PatternNode& node : rule_.source.nodes) {
    if (!rule_.vars.empty() || node.op != nullptr) continue;
    for (size_t i = 0; i < node.dims.args().size(); ++i) {
      const lemma::Term& item = node.dims.args()[i];
      if (item.kind() != lemma::Term::Kind::kSymbol) continue;
      if (node.dims.IsSplice(i)) {
        row_ = item.symbol();
      } else {
        sizes_.push_back(item.symbol());
      }
    }
  }
  for (int s = 0; s < static_cast<int>(rule_.symbols.size()); ++s) {
    if (s == row_ || std::count(sizes_.begin(), sizes_.end(), s)) continue;
    attributes_.push_back(s);
  }
  return absl::OkStatus();
}

bool TableVariant::MentionsRow(const lemma::Term& term) const {
  std::vector<int> symbols;
  term.CollectSymbols(&symbols);
  return row_ >= 0 && std::count(symbols.begin(), symbols.end(), row_) > 0;
}

absl::Status TableVariant::CheckAttributes() const {
  for (const PatternNode& node : rule_.source.nodes) {
    for (const auto& [name, term] : node.attrs) {
      if (MentionsRow(term)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the attribute ", name, " names the dimensions that are carried along"));
      }
    }
  }
  for (int a : attributes_) {
    if (text_.values.count(rule_.symbols[a].name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the attribute ", rule_.symbols[a].name, " has no value"));
    }
  }
  return absl::OkStatus();
}

// Applies the variant to operands of open sizes.
absl::Status TableVariant::FindResults() {
  RuleBuilder builder;
  std::vector<TypedValue> in;
  bool row = operands_.empty() && row_ >= 0;
  for (const RankPattern& rank : operands_) {
    Idx dims;
    for (int d = 0; d < rank.dims; ++d) {
      dims.push_back(builder.sizes().New("d", SizeSolver::Kind::kSize));
    }
    in.push_back(builder.AddVariable(absl::StrCat("x", in.size()), "", std::move(dims)));
    row |= rank.has_batch;
  }
  SymbolValues values(rule_.symbols.size());
  for (int a : attributes_) values[a] = ToExprAttr(text_.values.at(rule_.symbols[a].name));
  auto out = Lower(builder, in, {}, {}, &values);
  if (!out.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(text_.name, ": ", out.status().message()));
  }
  for (const TypedValue& y : *out) results_.push_back({row, y.rank()});
  return absl::OkStatus();
}

std::string TableVariant::NameOfDim(int operand, int from_end) const {
  const std::vector<lemma::Term>& items = rule_.vars[operand].dims.args();
  const int i = static_cast<int>(items.size()) - 1 - from_end;
  if (i < 0 || rule_.vars[operand].dims.IsSplice(i) ||
      items[i].kind() != lemma::Term::Kind::kSymbol) {
    return "";
  }
  return items[i].text();
}

absl::StatusOr<ExprAttr> TableVariant::ValueOf(const lemma::Term& term,
                                               const SymbolValues& values) const {
  if (auto value = Evaluate(term, values)) return *std::move(value);
  return absl::InvalidArgumentError(absl::StrCat(term.ToString(), " has no value"));
}

absl::Status TableVariant::BindSizes(RuleBuilder& builder, const std::vector<TypedValue>& in,
                                     const SymbolValues& fallback, SymbolValues* values) const {
  SizeSolver& sizes = builder.sizes();
  auto for_each_dim = [&](auto visit) -> absl::Status {
    for (size_t i = 0; i < in.size(); ++i) {
      const int before = in[i].rank() - operands_[i].dims;
      for (int d = 0; d < operands_[i].dims; ++d) {
        const lemma::Term& item = rule_.vars[i].dims.args()[d + (operands_[i].has_batch ? 1 : 0)];
        LEMMA_RETURN_IF_ERROR(visit(item, in[i].dims[before + d], in[i].parts[before + d]));
      }
    }
    return absl::OkStatus();
  };
  LEMMA_RETURN_IF_ERROR(
      for_each_dim([&](const lemma::Term& item, const IndexExpr& dim, const Parts&) {
        if (item.kind() == lemma::Term::Kind::kSymbol && !(*values)[item.symbol()]) {
          (*values)[item.symbol()] = dim;
        }
        return absl::OkStatus();
      }));
  const bool target = builder.side() == RuleBuilder::Side::kTarget;
  for (int s : sizes_) {
    if ((*values)[s]) continue;
    const IndexExpr open = sizes.New(
        rule_.symbols[s].name, target ? SizeSolver::Kind::kDependent : SizeSolver::Kind::kSize);
    if (!fallback.empty() && fallback[s]) {
      sizes.SetFallback(open, std::get<IndexExpr>(*fallback[s]));
    }
    (*values)[s] = open;
  }
  return for_each_dim(
      [&](const lemma::Term& item, const IndexExpr& dim, const Parts& parts) -> absl::Status {
        LEMMA_ASSIGN_OR_RETURN(const ExprAttr value, ValueOf(item, *values));
        LEMMA_RETURN_IF_ERROR(sizes.Equate(std::get<IndexExpr>(value), dim));
        // A sum of open sizes, if its two parts are known.
        if (item.kind() != lemma::Term::Kind::kCall || item.fn() != TermFn::kAdd)
          return absl::OkStatus();
        for (size_t k = 0; k < 2 && parts.children.size() == 2; ++k) {
          const lemma::Term& part = item.args()[k];
          if (part.kind() != lemma::Term::Kind::kSymbol) continue;
          const IndexExpr& open = std::get<IndexExpr>(*(*values)[part.symbol()]);
          if (open.kind() == IndexExpr::Kind::kSymbol)
            sizes.SetFallback(open, parts.children[k].size);
        }
        return absl::OkStatus();
      });
}

absl::StatusOr<std::vector<TypedValue>> TableVariant::Lower(RuleBuilder& builder,
                                                            const std::vector<TypedValue>& in,
                                                            const ConstantBatch& constant,
                                                            const SymbolValues& fallback,
                                                            SymbolValues* values) const {
  std::string batch = constant.batch;
  if (in.empty() && row_ >= 0 && !(*values)[row_]) {
    Idx row;
    for (int d = 0; d < constant.dims; ++d) {
      row.push_back(builder.sizes().New("d", SizeSolver::Kind::kSize));
    }
    (*values)[row_] = std::move(row);
  }
  for (size_t i = 0; i < in.size(); ++i) {
    const int before = in[i].rank() - operands_[i].dims;
    if (before < 0) return Mismatch();
    if (!operands_[i].has_batch) {
      if (before > 0 || !in[i].batch.empty()) return Mismatch();
      continue;
    }
    Idx row(in[i].dims.begin(), in[i].dims.begin() + before);
    std::optional<ExprAttr>& known = (*values)[row_];
    if (!known) {
      known = row;
      batch = in[i].batch;
    }
    const Idx& first = std::get<Idx>(*known);
    if (first.size() != row.size() || batch != in[i].batch) return Mismatch();
    for (size_t d = 0; d < row.size(); ++d) {
      LEMMA_RETURN_IF_ERROR(builder.sizes().Equate(first[d], row[d]));
    }
  }
  LEMMA_RETURN_IF_ERROR(BindSizes(builder, in, fallback, values));
  // A size that is known to be 1 becomes the constant 1, because it is broadcast.
  std::vector<TypedValue> known = in;
  for (TypedValue& x : known) {
    for (IndexExpr& dim : x.dims) {
      LEMMA_ASSIGN_OR_RETURN(dim, builder.sizes().Normalized(dim));
    }
  }
  return LowerNodes(builder, known, batch, *values);
}

absl::StatusOr<std::vector<TypedValue>> TableVariant::LowerNodes(RuleBuilder& builder,
                                                                 const std::vector<TypedValue>& in,
                                                                 const std::string& batch,
                                                                 const SymbolValues& values) const {
  std::vector<std::vector<TypedValue>> made;
  auto value_of = [&](const PatternValue& v) {
    return v.is_var() ? in[v.index] : made[v.node][v.index];
  };
  for (const PatternNode& node : rule_.source.nodes) {
    if (node.op == nullptr) {
      LEMMA_ASSIGN_OR_RETURN(const ExprAttr dims, ValueOf(node.dims, values));
      LEMMA_ASSIGN_OR_RETURN(const ExprAttr fill, ValueOf(node.fill, values));
      LEMMA_ASSIGN_OR_RETURN(const ScalarExpr filled, FillOf(fill));
      made.push_back(
          {builder.Constant(filled, MentionsRow(node.dims) ? batch : "", std::get<Idx>(dims))});
      continue;
    }
    std::vector<TypedValue> inputs;
    for (const PatternValue& v : node.inputs) inputs.push_back(value_of(v));
    ExprAttrs attrs;
    for (const auto& [name, term] : node.attrs) {
      LEMMA_ASSIGN_OR_RETURN(ExprAttr value, ValueOf(term, values));
      // Omits attributes that have their default values.
      const auto& usual = node.op->FindAttr(name)->default_value;
      const auto constant = ToAttrValue(value);
      if (usual && constant && *usual == *constant) continue;
      attrs.emplace(name, std::move(value));
    }
    LEMMA_ASSIGN_OR_RETURN(std::vector<TypedValue> out,
                           builder.Apply(node.op->name, inputs, std::move(attrs)));
    for (TypedValue& y : out) FindParts(builder.sizes(), inputs, &y);
    made.push_back(std::move(out));
  }
  std::vector<TypedValue> results;
  for (const PatternValue& v : rule_.source.outputs) results.push_back(value_of(v));
  return results;
}

absl::StatusOr<TableVariant::Built> TableVariant::Build(
    const std::vector<BundleShape>& operands) const {
  RuleBuilder sizes;
  GraphBuilder builder(text_.name);
  std::vector<TypedValue> in;
  std::vector<Value> vars;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (static_cast<int>(operands[i].size()) != operand_parts_[i]) return NotTaken();
    LEMMA_ASSIGN_OR_RETURN(std::vector<Value> parts,
                           AddOperand(absl::StrCat("x", i), operands[i], &builder));
    for (size_t k = 0; k < parts.size(); ++k) {
      in.push_back(sizes.AddVariable(absl::StrCat("x", in.size()), "",
                                     Idx(operands[i][k].begin(), operands[i][k].end())));
      vars.push_back(parts[k]);
    }
  }
  SymbolValues values(rule_.symbols.size());
  for (size_t s = 0; s < values.size(); ++s) {
    auto it = text_.values.find(rule_.symbols[s].name);
    if (it != text_.values.end()) values[s] = ToExprAttr(it->second);
  }
  if (auto out = Lower(sizes, in, {}, {}, &values); !out.ok()) {
    return absl::NotFoundError(out.status().message());
  }
  for (int s : sizes_) {
    LEMMA_ASSIGN_OR_RETURN(const IndexExpr size,
                           sizes.sizes().Normalized(std::get<IndexExpr>(*values[s])));
    if (proper_ && size.AsConst() == 1) return absl::NotFoundError("a size is 1");
    values[s] = size;
  }
  auto outputs = BuildPattern(rule_, rule_.source, vars, values, DType::kF32);
  if (!outputs.ok()) return absl::NotFoundError(outputs.status().message());
  Built built;
  auto part = outputs->begin();
  for (const int parts : result_parts_) {
    BundleShape& shapes = built.results.emplace_back();
    std::vector<Value> flat;
    for (int k = 0; k < parts; ++k, ++part) {
      shapes.push_back(part->shape());
      if (parts == 1) {
        flat.push_back(*part);
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(Value vector, Apply1("reshape", {*part},
                                                  {{"shape", Shape{part->type().num_elements()}}}));
      flat.push_back(std::move(vector));
    }
    if (parts > 1) {
      LEMMA_ASSIGN_OR_RETURN(flat[0], Apply1("concat", flat, {{"axis", int64_t{0}}}));
    }
    builder.Output(absl::StrCat("y", built.results.size()), flat[0]);
  }
  LEMMA_ASSIGN_OR_RETURN(built.graph, std::move(builder).Build());
  return built;
}

}  // namespace lemma::generator
