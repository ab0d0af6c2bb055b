#include "api/rules/equality_claim.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

using text::Expr;
using text::Param;

bool HasSymbols(const Expr& expr) {
  if (expr.kind == Expr::Kind::kName || expr.kind == Expr::Kind::kCall) return true;
  return std::any_of(expr.args.begin(), expr.args.end(), HasSymbols);
}

bool HasSymbols(const text::Type& type) {
  return std::any_of(type.dims.begin(), type.dims.end(),
                     [](const Expr& e) { return HasSymbols(e); });
}

bool Same(const Expr& a, const Expr& b) {
  return a.kind == b.kind && a.integer == b.integer && a.real == b.real && a.text == b.text &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(), Same);
}

bool Same(const text::Type& a, const text::Type& b) {
  return a.dtype == b.dtype &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](const Expr& x, const Expr& y) { return Same(x, y); });
}

// Checks the names of one graph. A claim joins two graphs, so faults in one have to be found
// before.
absl::Status CheckNames(const text::Block& graph, const std::string& file) {
  std::set<std::string> names;
  auto define = [&](const text::Name& name) {
    if (name.text.empty() || names.insert(name.text).second) return absl::OkStatus();
    return ErrorAt(file, name.position,
                   absl::StrCat(text::QuoteName(name.text), " is defined twice"));
  };
  auto use = [&](const text::Name& name) {
    if (names.count(name.text) > 0) return absl::OkStatus();
    return ErrorAt(file, name.position,
                   absl::StrCat("no value ", text::QuoteName(name.text), " above"));
  };
  for (const Param& param : graph.params) {
    if (absl::Status s = define(param.name); !s.ok()) return s;
  }
  for (const text::Statement& statement : graph.body.statements) {
    for (const text::Name& arg : statement.args) {
      if (absl::Status s = use(arg); !s.ok()) return s;
    }
    for (const text::Target& target : statement.targets) {
      if (absl::Status s = define(target.name); !s.ok()) return s;
    }
  }
  for (const text::Result& result : graph.body.results) {
    if (absl::Status s = use(result.value); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status CheckParams(const text::Block& graph, const std::string& file) {
  for (const Param& param : graph.params) {
    if (param.role == Param::Role::kConstant) {
      return ErrorAt(file, param.name.position,
                     "where sizes are symbols, a constant is written in the body: "
                     "c = constant f32[2] fill 1.0");
    }
    if (!param.type.dtype) {
      return ErrorAt(file, param.type.position, "a type needs its element type, as in f32[m,n]");
    }
  }
  return absl::OkStatus();
}

// The parameter of `a` that `param`, number `input` among the inputs of its graph, corresponds to.
const Param* Counterpart(const text::Block& a, const Param& param, size_t input) {
  for (const Param& other : a.params) {
    if (other.role != param.role) continue;
    if (param.role == Param::Role::kWeight ? other.name.text == param.name.text : input-- == 0) {
      return &other;
    }
  }
  return nullptr;
}

// Maps names of parameters of `b` to names of parameters of `a`; every parameter of both must
// occur.
absl::StatusOr<std::map<std::string, std::string>> MatchParams(const text::Block& a,
                                                               const std::string& file_a,
                                                               const text::Block& b,
                                                               const std::string& file_b) {
  std::map<std::string, std::string> names;
  std::set<const Param*> matched;
  size_t inputs = 0;
  for (const Param& param : b.params) {
    const Param* other = Counterpart(a, param, inputs);
    inputs += param.role == Param::Role::kInput ? 1 : 0;
    if (other == nullptr) {
      return ErrorAt(
          file_b, param.name.position,
          absl::StrCat(file_a, " has no counterpart of ", text::QuoteName(param.name.text),
                       ": inputs correspond by position, weights by name"));
    }
    if (!Same(other->type, param.type)) {
      return ErrorAt(file_b, param.name.position,
                     absl::StrCat(text::QuoteName(param.name.text),
                                  " is of another type than its counterpart ",
                                  text::QuoteName(other->name.text), " in ", file_a));
    }
    matched.insert(other);
    names[param.name.text] = other->name.text;
  }
  for (const Param& param : a.params) {
    if (matched.count(&param) > 0) continue;
    return ErrorAt(file_a, param.name.position,
                   absl::StrCat(file_b, " has no counterpart of ", text::QuoteName(param.name.text),
                                ": inputs correspond by position, weights by name"));
  }
  return names;
}

// A rule's source uses every variable.
absl::Status CheckUses(const text::Block& graph, const std::string& file) {
  std::set<std::string> used;
  for (const text::Statement& statement : graph.body.statements) {
    for (const text::Name& arg : statement.args) used.insert(arg.text);
  }
  for (const Param& param : graph.params) {
    if (used.count(param.name.text) > 0) continue;
    return ErrorAt(
        file, param.name.position,
        absl::StrCat("where sizes are symbols, one of the two graphs has to compute with "
                     "every input; neither does, and this one not with ",
                     text::QuoteName(param.name.text)));
  }
  return absl::OkStatus();
}

// Renames values that have the name of a parameter of the other graph.
void Rename(text::Body* body, std::map<std::string, std::string> names) {
  std::set<std::string> taken;
  for (const auto& [from, to] : names) taken.insert(to);
  for (text::Statement& statement : body->statements) {
    for (text::Name& arg : statement.args) {
      if (auto it = names.find(arg.text); it != names.end()) arg.text = it->second;
    }
    for (text::Target& target : statement.targets) {
      if (target.name.text.empty() || names.count(target.name.text) > 0) continue;
      std::string name = target.name.text;
      while (!taken.insert(name).second) name += "'";
      names[target.name.text] = name;
      target.name.text = name;
    }
  }
  for (text::Result& result : body->results) {
    if (auto it = names.find(result.value.text); it != names.end()) result.value.text = it->second;
  }
}

}  // namespace

bool IsSymbolic(const text::Block& graph) {
  for (const Param& param : graph.params) {
    if (HasSymbols(param.type)) return true;
  }
  for (const text::Statement& statement : graph.body.statements) {
    if (statement.type && HasSymbols(*statement.type)) return true;
    for (const auto& [name, value] : statement.attrs) {
      if (HasSymbols(value)) return true;
    }
  }
  return false;
}

absl::StatusOr<Substitution> EqualityClaim(const text::Block& a, const std::string& file_a,
                                           const text::Block& b, const std::string& file_b) {
  if (absl::Status s = CheckParams(a, file_a); !s.ok()) return s;
  if (absl::Status s = CheckParams(b, file_b); !s.ok()) return s;
  auto names = MatchParams(a, file_a, b, file_b);
  if (!names.ok()) return names.status();
  if (absl::Status s = CheckNames(a, file_a); !s.ok()) return s;
  if (absl::Status s = CheckNames(b, file_b); !s.ok()) return s;
  if (absl::Status s = CheckUses(a, file_a); !s.ok()) return s;
  text::Block claim = a;
  claim.is_rule = true;
  claim.name.text =
      a.name.text == b.name.text ? a.name.text : absl::StrCat(a.name.text, "_equals_", b.name.text);
  claim.contract.text = Name(FloatContract::kRealOnly);
  claim.target = b.body;
  for (Param& param : claim.params) param.payload = {};
  Rename(&claim.target, *names);
  // Positions in the second half refer to the other file.
  return BuildRule(claim, absl::StrCat(file_a, " = ", file_b));
}

}  // namespace lemma::api
