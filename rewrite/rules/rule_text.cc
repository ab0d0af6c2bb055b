#include "rewrite/rules/rule_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/op_table.h"
#include "graph/text/text.h"

namespace lemma {
namespace {

using text::ErrorAt;
using text::QuoteName;

class RuleReader {
 public:
  RuleReader(const text::Block& block, absl::string_view file) : block_(block), file_(file) {}

  absl::StatusOr<Substitution> Run() {
    rule_.name = block_.name.text;
    rule_.doc = block_.doc;
    LEMMA_ASSIGN_OR_RETURN(rule_.contract, ReadFloatContract(block_.contract, file_));
    std::map<std::string, PatternValue> vars;
    for (const text::Param& param : block_.params) {
      LEMMA_RETURN_IF_ERROR(ReadVar(param, &vars));
    }
    LEMMA_RETURN_IF_ERROR(ReadPattern(block_.body, vars, &rule_.source));
    for (const text::Comparison& comparison : block_.where) {
      LEMMA_ASSIGN_OR_RETURN(Comparison c, ReadComparison(comparison));
      rule_.where.push_back(std::move(c));
    }
    size_t bound = rule_.symbols.size();
    LEMMA_RETURN_IF_ERROR(ReadPattern(block_.target, vars, &rule_.target));
    if (rule_.symbols.size() > bound) {
      return ErrorAt(file_, block_.name.position,
                     absl::StrCat("the symbol ", rule_.symbols[bound].name,
                                  " occurs in the target only, so nothing gives it a value"));
    }
    LEMMA_RETURN_IF_ERROR(ReadBound());
    LEMMA_RETURN_IF_ERROR(CheckOutputs());
    if (block_.record) {
      LEMMA_ASSIGN_OR_RETURN(rule_.proof, BuildRecord(*block_.record, file_));
    }
    return std::move(rule_);
  }

 private:
  absl::Status Error(text::Position position, absl::string_view message) const {
    return ErrorAt(file_, position, message);
  }

  absl::StatusOr<Term> ReadSymbol(const std::string& name, SymbolKind kind,
                                  text::Position position) {
    for (size_t i = 0; i < rule_.symbols.size(); ++i) {
      Symbol& symbol = rule_.symbols[i];
      if (symbol.name != name) continue;
      if (symbol.kind == SymbolKind::kUnknown) symbol.kind = kind;
      if (kind != SymbolKind::kUnknown && symbol.kind != kind) {
        return Error(position, absl::StrCat(name, " is ", Name(symbol.kind), " elsewhere, here ",
                                            Name(kind)));
      }
      return Term::Symbol(name, static_cast<int>(i));
    }
    rule_.symbols.push_back({name, kind});
    return Term::Symbol(name, static_cast<int>(rule_.symbols.size()) - 1);
  }

  absl::StatusOr<Term> ReadCall(const text::Expr& expr, SymbolKind kind) {
    for (int i = 0; i < kNumTermFns; ++i) {
      TermFn fn = static_cast<TermFn>(i);
      if (expr.text != Info(fn).name) continue;
      if (static_cast<int>(expr.args.size()) != Info(fn).arity) {
        return Error(expr.position, absl::StrCat(expr.text, " takes ", Info(fn).arity,
                                                 " arguments, ", expr.args.size(), " are given"));
      }
      std::vector<Term> args;
      for (size_t a = 0; a < expr.args.size(); ++a) {
        LEMMA_ASSIGN_OR_RETURN(Term arg, ReadTerm(expr.args[a], ArgKind(fn, a, kind)));
        args.push_back(std::move(arg));
      }
      return Term::Call(fn, std::move(args));
    }
    std::vector<std::string> names;
    for (int i = 0; i < kNumTermFns; ++i) names.push_back(Info(static_cast<TermFn>(i)).name);
    return Error(expr.position,
                 absl::StrCat("no function ", expr.text, "; there is ", absl::StrJoin(names, " ")));
  }

  static SymbolKind ArgKind(TermFn fn, size_t arg, SymbolKind result) {
    switch (fn) {
      case TermFn::kLen:
      case TermFn::kProduct:
      case TermFn::kCompose:
      case TermFn::kInverse:
      case TermFn::kPermute:
      case TermFn::kBroadcast:
        return SymbolKind::kList;
      case TermFn::kIota:
        return SymbolKind::kInt;
      case TermFn::kRepeat:
        return SymbolKind::kInt;
      default:
        return arg < 2 ? result : SymbolKind::kUnknown;
    }
  }

  // `kind`: the kind that the context requires. Symbols get this kind.
  absl::StatusOr<Term> ReadTerm(const text::Expr& expr, SymbolKind kind) {
    switch (expr.kind) {
      case text::Expr::Kind::kInt:
        return Term(expr.integer);
      case text::Expr::Kind::kReal:
        return Term::Real(expr.real);
      case text::Expr::Kind::kString:
        return Term::String(expr.text);
      case text::Expr::Kind::kName:
        return ReadSymbol(expr.text, kind, expr.position);
      case text::Expr::Kind::kList:
        return ReadList(expr.args);
      case text::Expr::Kind::kSplice:
        return Error(expr.position, "'..' splices a list into a list only");
      case text::Expr::Kind::kCall:
        return ReadCall(expr, kind);
    }
    return Error(expr.position, "expected a term");
  }

  absl::StatusOr<Term> ReadList(const std::vector<text::Expr>& items) {
    std::vector<Term> terms;
    std::vector<bool> splice;
    for (const text::Expr& item : items) {
      bool is_splice = item.kind == text::Expr::Kind::kSplice;
      LEMMA_ASSIGN_OR_RETURN(Term term, is_splice ? ReadTerm(item.args[0], SymbolKind::kList)
                                                  : ReadTerm(item, SymbolKind::kInt));
      terms.push_back(std::move(term));
      splice.push_back(is_splice);
    }
    return Term::List(std::move(terms), std::move(splice));
  }

  absl::StatusOr<Comparison> ReadComparison(const text::Comparison& comparison) {
    // A symbol of unknown kind gets the kind of the other side.
    SymbolKind kind = std::max(KindOf(comparison.lhs), KindOf(comparison.rhs));
    Comparison result;
    LEMMA_ASSIGN_OR_RETURN(result.lhs, ReadTerm(comparison.lhs, kind));
    LEMMA_ASSIGN_OR_RETURN(result.rhs, ReadTerm(comparison.rhs, kind));
    for (Relation r : {Relation::kEq, Relation::kNe, Relation::kLt, Relation::kLe, Relation::kGt,
                       Relation::kGe}) {
      if (comparison.relation == Name(r)) result.relation = r;
    }
    return result;
  }

  absl::Status ReadBound() {
    const bool is_bounded = rule_.contract == FloatContract::kBounded;
    if (is_bounded != block_.bound.has_value()) {
      return Error(block_.contract.position,
                   is_bounded ? "bounded needs a bound, as in bounded(0.5 * s)"
                              : absl::StrCat(Name(rule_.contract), " has no bound"));
    }
    if (!is_bounded) return absl::OkStatus();
    const size_t known = rule_.symbols.size();
    LEMMA_ASSIGN_OR_RETURN(rule_.bound, ReadTerm(*block_.bound, SymbolKind::kUnknown));
    if (rule_.symbols.size() == known) return absl::OkStatus();
    return Error(block_.bound->position,
                 absl::StrCat("the symbol ", rule_.symbols[known].name,
                              " occurs in the bound only, so nothing gives it a value"));
  }

  SymbolKind KindOf(const text::Expr& expr) const {
    switch (expr.kind) {
      case text::Expr::Kind::kInt:
        return SymbolKind::kInt;
      case text::Expr::Kind::kReal:
        return SymbolKind::kReal;
      case text::Expr::Kind::kString:
        return SymbolKind::kString;
      case text::Expr::Kind::kName:
        for (const Symbol& symbol : rule_.symbols) {
          if (symbol.name == expr.text) return symbol.kind;
        }
        return SymbolKind::kUnknown;
      case text::Expr::Kind::kList:
      case text::Expr::Kind::kSplice:
        return SymbolKind::kList;
      case text::Expr::Kind::kCall: {
        if (expr.text == "len" || expr.text == "product") return SymbolKind::kInt;
        if (expr.text == "iota" || expr.text == "repeat") return SymbolKind::kList;
        SymbolKind kind = SymbolKind::kUnknown;
        for (const text::Expr& arg : expr.args) kind = std::max(kind, KindOf(arg));
        return kind;
      }
    }
    return SymbolKind::kUnknown;
  }

  absl::Status ReadVar(const text::Param& param, std::map<std::string, PatternValue>* vars) {
    PatternVar var;
    var.name = param.name.text;
    var.role = param.role == text::Param::Role::kWeight     ? VarRole::kWeight
               : param.role == text::Param::Role::kConstant ? VarRole::kConstant
                                                            : VarRole::kAny;
    if (param.payload.kind != text::Payload::Kind::kNone) {
      return Error(param.payload.position,
                   "a variable has no values; write a constant statement instead");
    }
    var.dtype = param.type.dtype;
    LEMMA_ASSIGN_OR_RETURN(var.dims, ReadList(param.type.dims));
    PatternValue value{-1, static_cast<int>(rule_.vars.size())};
    if (!vars->emplace(var.name, value).second) {
      return Error(param.name.position, absl::StrCat(QuoteName(var.name), " is defined twice"));
    }
    rule_.vars.push_back(std::move(var));
    return absl::OkStatus();
  }

  absl::Status ReadPattern(const text::Body& body, std::map<std::string, PatternValue> names,
                           Pattern* pattern) {
    for (const text::Statement& statement : body.statements) {
      PatternNode node;
      LEMMA_RETURN_IF_ERROR(statement.type ? ReadConstant(statement, &node)
                                           : ReadApplication(statement, names, &node));
      for (size_t i = 0; i < statement.targets.size(); ++i) {
        const text::Target& target = statement.targets[i];
        if (target.type) return Error(target.type->position, "a rule infers this type");
        node.output_names.push_back(target.name.text);
        if (target.name.text.empty()) continue;
        PatternValue value{static_cast<int>(pattern->nodes.size()), static_cast<int>(i)};
        if (!names.emplace(target.name.text, value).second) {
          return Error(target.name.position,
                       absl::StrCat(QuoteName(target.name.text), " is defined twice"));
        }
      }
      pattern->nodes.push_back(std::move(node));
    }
    std::vector<bool> needed(pattern->nodes.size());
    for (const text::Result& result : body.results) {
      LEMMA_ASSIGN_OR_RETURN(PatternValue value, Find(result.value, names));
      pattern->outputs.push_back(value);
      if (!value.is_var()) needed[value.node] = true;
    }
    for (size_t i = pattern->nodes.size(); i-- > 0;) {
      if (!needed[i]) {
        return Error(body.statements[i].targets[0].name.position, "nothing uses this value");
      }
      for (const PatternValue& input : pattern->nodes[i].inputs) {
        if (!input.is_var()) needed[input.node] = true;
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<PatternValue> Find(const text::Name& name,
                                    const std::map<std::string, PatternValue>& names) const {
    auto it = names.find(name.text);
    if (it != names.end()) return it->second;
    return Error(name.position, absl::StrCat("no value ", QuoteName(name.text), " above"));
  }

  absl::Status ReadConstant(const text::Statement& statement, PatternNode* node) {
    if (statement.targets.size() != 1) {
      return Error(statement.targets[0].name.position, "a constant is one value");
    }
    if (statement.payload.kind != text::Payload::Kind::kFill) {
      return Error(statement.payload.position, "a rule's constant is written 'fill' and a term");
    }
    node->dtype = statement.type->dtype;
    LEMMA_ASSIGN_OR_RETURN(node->dims, ReadList(statement.type->dims));
    LEMMA_ASSIGN_OR_RETURN(node->fill, ReadTerm(statement.payload.values[0], SymbolKind::kReal));
    bool has_common = node->dtype.has_value();
    for (const PatternVar& var : rule_.vars) has_common = has_common || !var.dtype;
    if (!has_common) {
      return Error(statement.type->position, "the constant needs an element type, as in f32[2]");
    }
    return absl::OkStatus();
  }

  absl::Status ReadApplication(const text::Statement& statement,
                               const std::map<std::string, PatternValue>& names,
                               PatternNode* node) {
    const OpDef* op = FindOp(statement.op.text);
    if (op == nullptr) {
      std::string near = text::NearestOp(statement.op.text);
      return Error(statement.op.position,
                   absl::StrCat("there is no operator ", QuoteName(statement.op.text),
                                near.empty() ? "" : absl::StrCat("; did you mean ", near, "?")));
    }
    int inputs = static_cast<int>(statement.args.size());
    if (inputs < op->min_inputs || (op->max_inputs != kVariadic && inputs > op->max_inputs)) {
      return Error(statement.op.position,
                   absl::StrCat(op->name, " does not take ", inputs, " operands"));
    }
    node->op = op;
    for (const text::Name& arg : statement.args) {
      LEMMA_ASSIGN_OR_RETURN(PatternValue value, Find(arg, names));
      node->inputs.push_back(value);
    }
    return ReadAttrs(statement, node);
  }

  absl::Status ReadAttrs(const text::Statement& statement, PatternNode* node) {
    std::map<std::string, const text::Expr*> given;
    for (const auto& [name, expr] : statement.attrs) {
      if (node->op->FindAttr(name.text) == nullptr) {
        return Error(name.position,
                     absl::StrCat(node->op->name, " has no attribute ", QuoteName(name.text)));
      }
      if (!given.emplace(name.text, &expr).second) {
        return Error(name.position, absl::StrCat(name.text, " is given twice"));
      }
    }
    for (const AttrSpec& spec : node->op->attrs) {
      auto it = given.find(spec.name);
      if (it != given.end()) {
        LEMMA_ASSIGN_OR_RETURN(Term term, ReadTerm(*it->second, KindOf(spec.kind)));
        if (spec.kind == AttrKind::kFloat && term.kind() == Term::Kind::kInt) {
          term = Term::Real(static_cast<double>(term.integer()));
        }
        node->attrs.emplace_back(spec.name, std::move(term));
      } else if (spec.default_value) {
        node->attrs.emplace_back(spec.name, Term::Of(*spec.default_value));
      } else {
        return Error(statement.op.position,
                     absl::StrCat(node->op->name, " needs the attribute ", spec.name));
      }
    }
    return absl::OkStatus();
  }

  static SymbolKind KindOf(AttrKind kind) {
    switch (kind) {
      case AttrKind::kInt:
        return SymbolKind::kInt;
      case AttrKind::kFloat:
        return SymbolKind::kReal;
      case AttrKind::kString:
        return SymbolKind::kString;
      case AttrKind::kInts:
      case AttrKind::kFloats:
        return SymbolKind::kList;
    }
    return SymbolKind::kUnknown;
  }

  absl::Status CheckOutputs() const {
    size_t n = rule_.source.outputs.size();
    if (rule_.target.outputs.size() != n) {
      return Error(block_.name.position,
                   absl::StrCat("the source returns ", n, " values, the target ",
                                rule_.target.outputs.size()));
    }
    for (size_t i = 0; i < n; ++i) {
      if (rule_.source.outputs[i].is_var()) {
        return Error(block_.body.results[i].value.position,
                     "the source must return an operator's output");
      }
    }
    std::vector<bool> used(rule_.vars.size());
    for (const PatternNode& node : rule_.source.nodes) {
      for (const PatternValue& input : node.inputs) {
        if (input.is_var()) used[input.index] = true;
      }
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i]) continue;
      return Error(block_.params[i].name.position, "the source does not use this variable");
    }
    for (const PatternNode& node : rule_.source.nodes) {
      if (node.op != nullptr && node.inputs.empty()) {
        return Error(block_.name.position, "a source operator has no operands to be found by");
      }
    }
    return absl::OkStatus();
  }

  const text::Block& block_;
  absl::string_view file_;
  Substitution rule_;
};

}  // namespace

absl::StatusOr<Substitution> BuildRule(const text::Block& block, absl::string_view file) {
  return RuleReader(block, file).Run();
}

absl::StatusOr<std::vector<Substitution>> ParseRules(absl::string_view text, absl::string_view file,
                                                     RuleKinds kinds) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<text::Block> blocks, text::ParseBlocks(text, file));
  std::vector<Substitution> rules;
  std::set<std::string> names;
  for (const text::Block& block : blocks) {
    if (!block.is_rule) continue;
    LEMMA_ASSIGN_OR_RETURN(Substitution rule, BuildRule(block, file));
    if (!names.insert(rule.name).second) {
      return ErrorAt(file, block.name.position,
                     absl::StrCat("there are two rules named ", QuoteName(rule.name)));
    }
    if (rule.contract == FloatContract::kBounded && kinds == RuleKinds::kEqualities) {
      return ErrorAt(file, block.contract.position,
                     absl::StrCat("the rule ", QuoteName(rule.name),
                                  " changes values (bounded), so only lemma verify and lemma rules "
                                  "accept it"));
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace lemma
