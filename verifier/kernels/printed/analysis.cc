#include "verifier/kernels/printed/analysis.h"

#include <algorithm>
#include <vector>

namespace lemma::kernels {
namespace {

class Analysis {
 public:
  explicit Analysis(PrintedKernel* kernel)
      : kernel_(*kernel), context_of_(kernel->variables.size(), 0) {}

  void Run() {
    for (Variable& v : kernel_.variables) {
      v.uniform = v.dims.empty() && !v.shared && v.type != Type::kElement &&
                  v.type != Type::kWord && v.type != Type::kRow;
    }
    do {
      changed_ = false;
      contexts_ = 1;
      // Whether a loop diverges follows from conditions inside of it.
      VisitExpressions(kernel_.body.get());
      Visit(kernel_.body.get(), 0);
    } while (changed_);
  }

 private:
  void Visit(Expr* e) {
    bool uniform = true;
    for (const ExprPtr& arg : e->args) {
      Visit(arg.get());
      uniform = uniform && arg->uniform;
    }
    switch (e->kind) {
      case Expr::Kind::kThread:
      case Expr::Kind::kElementOf:
      case Expr::Kind::kWarpReduce:
      case Expr::Kind::kBlockReduce:
        uniform = false;
        break;
      case Expr::Kind::kVariable:
        uniform = kernel_.variables[e->variable].uniform;
        break;
      default:
        break;
    }
    e->uniform = uniform;
    e->steady = IsIndex(e->type) && IsSteady(*e);
  }

  bool IsSteady(const Expr& e) const {
    switch (e.kind) {
      case Expr::Kind::kLiteral:
      case Expr::Kind::kThread:
        return true;
      case Expr::Kind::kVariable:
        return kernel_.variables[e.variable].constant && e.args.empty();
      case Expr::Kind::kBinary:
      case Expr::Kind::kConvert:
        return std::all_of(e.args.begin(), e.args.end(),
                           [](const ExprPtr& arg) { return arg->steady; });
      default:
        return false;
    }
  }

  void Assigns(const Statement& s, int context) {
    Variable& v = kernel_.variables[s.variable];
    if (s.kind == Statement::Kind::kDeclare) context_of_[s.variable] = context;
    const bool keeps = s.value != nullptr && s.value->uniform && context_of_[s.variable] == context;
    if (v.uniform && !keeps) {
      v.uniform = false;
      changed_ = true;
    }
  }

  // Whether some threads may leave the loop around `s` by a break that others do not take.
  static bool LeavesApart(const Statement& s, bool apart) {
    if (s.kind == Statement::Kind::kBreak) return apart;
    if (s.kind == Statement::Kind::kFor) return false;
    const bool inside = apart || (s.kind == Statement::Kind::kIf && !s.value->uniform);
    return std::any_of(s.body.begin(), s.body.end(),
                       [&](const StatementPtr& inner) { return LeavesApart(*inner, inside); });
  }

  void VisitExpressions(Statement* s) {
    for (const ExprPtr& index : s->indices) Visit(index.get());
    if (s->call != nullptr) {
      for (const ExprPtr& arg : s->call->args) Visit(arg.get());
      for (const Place& place : s->call->places) {
        for (const ExprPtr& index : place.indices) Visit(index.get());
      }
    }
    if (s->value != nullptr) Visit(s->value.get());
    for (const StatementPtr& inner : s->body) VisitExpressions(inner.get());
    if (s->first != nullptr) VisitExpressions(s->first.get());
    if (s->next != nullptr) VisitExpressions(s->next.get());
  }

  // `context` is a number for the set of threads that run the statement.
  void Visit(Statement* s, int context) {
    if (s->kind == Statement::Kind::kFor) Visit(s->first.get(), context);
    if (s->kind == Statement::Kind::kIf) s->diverges = !s->value->uniform;
    if (s->kind == Statement::Kind::kFor) {
      s->diverges =
          (s->value != nullptr && !s->value->uniform) || LeavesApart(*s->body[0], /*apart=*/false);
    }
    if (s->kind == Statement::Kind::kDeclare || s->kind == Statement::Kind::kAssign)
      Assigns(*s, context);
    for (const StatementPtr& inner : s->body) {
      Visit(inner.get(), s->diverges ? contexts_++ : context);
    }
    if (s->kind == Statement::Kind::kFor) Visit(s->next.get(), s->diverges ? contexts_++ : context);
    if (s->kind == Statement::Kind::kAssign) s->accumulates = Accumulates(*s);
    s->exits = s->kind == Statement::Kind::kReturn || s->kind == Statement::Kind::kBreak ||
               std::any_of(s->body.begin(), s->body.end(),
                           [](const StatementPtr& inner) { return inner->exits; });
  }

  static bool Same(const Expr& a, const Expr& b) {
    if (a.kind != b.kind || a.type != b.type || a.variable != b.variable || a.value != b.value ||
        a.op != b.op || a.args.size() != b.args.size()) {
      return false;
    }
    const bool simple = a.kind == Expr::Kind::kVariable || a.kind == Expr::Kind::kLiteral ||
                        a.kind == Expr::Kind::kBinary;
    for (size_t i = 0; i < a.args.size(); ++i) {
      if (!Same(*a.args[i], *b.args[i])) return false;
    }
    return simple;
  }

  bool Accumulates(const Statement& s) const {
    const Expr& sum = *s.value;
    const bool matches =
        IsReal(sum.type) && sum.kind == Expr::Kind::kFunction && sum.fn == ScalarFn::kAdd &&
        sum.args[0]->kind == Expr::Kind::kVariable && sum.args[0]->variable == s.variable &&
        sum.args[1]->kind == Expr::Kind::kFunction && sum.args[1]->fn == ScalarFn::kMul;
    if (!matches || kernel_.variables[s.variable].shared) return false;
    for (size_t i = 0; i < s.indices.size(); ++i) {
      if (!s.indices[i]->uniform || !Same(*s.indices[i], *sum.args[0]->args[i])) return false;
    }
    return true;
  }

  PrintedKernel& kernel_;
  std::vector<int> context_of_;
  int contexts_ = 1;
  bool changed_ = false;
};

}  // namespace

void FindUniform(PrintedKernel* kernel) { Analysis(kernel).Run(); }

}  // namespace lemma::kernels
