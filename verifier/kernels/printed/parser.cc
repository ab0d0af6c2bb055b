#include "verifier/kernels/printed/parser.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "verifier/kernels/printed/tensor_parser.h"

namespace lemma::kernels {
namespace {

StatementPtr Make(Statement::Kind kind) {
  auto statement = std::make_unique<Statement>();
  statement->kind = kind;
  return statement;
}

class Parser : public TensorParser {
 public:
  Parser(std::vector<Token> tokens, const codegen::GridKernel& kernel,
         absl::Span<const SlotInfo> slots)
      : TensorParser(std::move(tokens), slots, kernel.threads), kernel_(kernel) {}

  absl::StatusOr<PrintedKernel> Run() {
    PrintedKernel result;
    if (Accept("namespace")) Functions();
    for (const char* part : {"extern", "\"C\"", "__global__", "void", "__launch_bounds__", "("}) {
      if (Peek().text != part) {
        Fail(absl::StrCat("expected ", part));
        break;
      }
      MoveTo(position() + 1);
    }
    result.threads = static_cast<int>(Size());
    if (Accept(",")) {
      Expect("1");
      result.one_block = true;
    }
    Expect(")");
    if (Name() != kernel_.name) Fail("another name than the kernel's");
    Expect("(");
    KernelParameters();
    names_.scopes.emplace_back();
    result.body = Block();
    if (!failed() && Peek().kind != Token::Kind::kEnd) Fail("text after the kernel");
    if (failed()) return absl::InvalidArgumentError(error());
    result.variables = std::move(variables_);
    result.calls = calls_;
    result.distinct = std::move(distinct_);
    result.maps = kernel_.bulk;
    Finish(&result);
    return result;
  }

 private:
  // Remembers where the functions of a namespace are.
  void Functions() {
    namespace_ = Name();
    Expect("{");
    while (!failed() && !Accept("}")) {
      for (const char* part : {"__device__", "inline", "void"}) Expect(part);
      const std::string name = Name();
      if (!functions_.emplace(name, position()).second) Fail("a function of the same name");
      int depth = 0;
      for (bool entered = false; !entered || depth > 0;) {
        if (Peek().kind == Token::Kind::kEnd) Fail("a function without an end");
        if (failed()) return;
        if (Is("{")) {
          entered = true;
          ++depth;
        }
        if (Is("}")) --depth;
        MoveTo(position() + 1);
      }
    }
  }

  // "const float* __restrict__ p0": the pointer's name, if it has the slot's type.
  std::string PointerParameter(int slot, bool* constant) {
    *constant = Accept("const");
    const auto type = AcceptElementType();
    Expect("*");
    if (Accept("__restrict__")) distinct_.push_back(slot);
    const std::string name = Name();
    if (!failed() && type != DTypeOf(slot)) {
      Fail(absl::StrCat(name, " has another type than its tensor"));
    }
    return name;
  }

  void KernelParameters() {
    std::vector<int> slots = kernel_.reads;
    slots.insert(slots.end(), kernel_.writes.begin(), kernel_.writes.end());
    for (size_t i = 0; i < slots.size() && !failed(); ++i) {
      if (i > 0) Expect(",");
      Parameter parameter;
      parameter.slot = slots[i];
      const std::string name = PointerParameter(slots[i], &parameter.constant);
      if (parameter.constant != (i < kernel_.reads.size())) Fail("constant and results mixed up");
      if (!names_.parameters.emplace(name, parameter).second) Fail("two parameters of a name");
    }
    if (kernel_.checks) {
      for (const char* part : {",", "int", "*", "error"}) Expect(part);
      names_.has_error = true;
    }
    for (size_t i = 0; i < kernel_.bulk.size(); ++i) {
      Expect(",");
      MapParameter();
    }
    Expect(")");
  }

  // A called function, with the arguments at the cursor in place of its parameters.
  StatementPtr Inlined() {
    if (call_ >= 0) return Fail("a call inside a function");
    if (Name() != namespace_) return Fail("a call of another function");
    Expect("::");
    const std::string name = Name();
    const auto function = functions_.find(name);
    if (function == functions_.end()) return Fail("unknown function");
    Expect("(");
    ExprPtr block = As(Type::kUnsigned, Index());
    std::vector<Parameter> arguments;
    while (!failed() && Accept(",")) {
      const std::string argument = Name();
      const auto found = names_.parameters.find(argument);
      if (found == names_.parameters.end()) return Fail("expected a tensor");
      arguments.push_back(found->second);
    }
    Expect(")");
    Expect(";");
    if (failed()) return nullptr;
    const size_t after = position();
    call_ = calls_++;
    Names outer = std::move(names_);
    names_ = Names();
    names_.scopes.emplace_back();
    MoveTo(function->second);
    for (const char* part : {"(", "const", "unsigned", "block"}) Expect(part);
    StatementPtr result = Make(Statement::Kind::kBlock);
    result->body.push_back(Declaration("block", Type::kUnsigned, true, std::move(block)));
    for (const Parameter& argument : arguments) {
      Expect(",");
      Parameter parameter = argument;
      const std::string parameter_name = PointerParameter(argument.slot, &parameter.constant);
      if (argument.constant && !parameter.constant) Fail("writes to a constant tensor");
      names_.parameters.emplace(parameter_name, parameter);
    }
    Expect(")");
    result->body.push_back(Block());
    result->body.push_back(Make(Statement::Kind::kReturn));
    MoveTo(after);
    call_ = -1;
    names_ = std::move(outer);
    return failed() ? nullptr : std::move(result);
  }

  StatementPtr Declaration(const std::string& name, Type type, bool constant, ExprPtr value) {
    Variable variable;
    variable.name = name;
    variable.type = type;
    variable.constant = constant;
    StatementPtr statement = Make(Statement::Kind::kDeclare);
    statement->value = std::move(value);
    statement->variable = Declare(std::move(variable));
    return statement;
  }

  // After "{"…: statements up to "}".
  StatementPtr Block() {
    Expect("{");
    names_.scopes.emplace_back();
    StatementPtr block = Make(Statement::Kind::kBlock);
    while (!failed() && !Accept("}")) AddTo(block.get());
    names_.scopes.pop_back();
    return block;
  }

  // One statement, as a scope of its own.
  StatementPtr Inner() {
    if (Is("{")) return Block();
    names_.scopes.emplace_back();
    StatementPtr block = Make(Statement::Kind::kBlock);
    if (!failed()) AddTo(block.get());
    names_.scopes.pop_back();
    return block;
  }

  void Push(Statement* block, StatementPtr statement) {
    if (!failed()) block->body.push_back(std::move(statement));
  }

  // Reads a statement, or a declaration of several variables.
  void AddTo(Statement* block) {
    if (Accept("__shared__")) return Arrays(block, true);
    if (AcceptTensorDeclaration(block)) return;
    if (Is("const") || Is("Pack") || IsTypeAt(0)) return Declarations(block);
    Push(block, Simple());
  }

  bool IsTypeAt(size_t ahead) {
    const size_t from = position();
    MoveTo(from + ahead);
    const bool result = AcceptType().has_value() && Peek().kind == Token::Kind::kName;
    MoveTo(from);
    return result;
  }

  // "TYPE name[n][m], …;"
  void Arrays(Statement* block, bool shared) {
    if (Accept("__align__")) {
      Expect("(");
      Size();
      Expect(")");
    }
    const auto type = AcceptType();
    // Arrays of int hold bytes and their sums.
    const bool bytes = type == Type::kInt && !shared;
    if (!type || (!IsReal(*type) && *type != Type::kInt64 && !bytes)) {
      Fail("expected an array of numbers");
      return;
    }
    do {
      Variable variable;
      variable.name = Name();
      variable.type = *type;
      variable.shared = shared;
      while (Accept("[")) {
        variable.dims.push_back(Extent());
        Expect("]");
      }
      if (variable.dims.empty()) Fail("expected an array");
      StatementPtr statement = Make(Statement::Kind::kDeclare);
      statement->variable = Declare(std::move(variable));
      Push(block, std::move(statement));
    } while (Accept(","));
    Expect(";");
  }

  void Declarations(Statement* block) {
    const bool constant = Accept("const");
    if (constant && Accept("auto")) return Push(block, LoadedPack());
    if (Accept("Pack")) return Push(block, EmptyPack());
    const size_t from = position();
    const auto type = AcceptType();
    if (!type) {
      Fail("expected a type");
      return;
    }
    if (Is("[", 1)) {
      MoveTo(from);
      return Arrays(block, false);
    }
    do {
      const std::string name = Name();
      ExprPtr value;
      if (Accept("=")) {
        declaring_ = name;
        value = As(*type, Expression());
        declaring_.clear();
      } else if ((!IsReal(*type) && *type != Type::kInt64) || constant) {
        Fail(absl::StrCat(name, " has no value"));
      }
      Push(block, Declaration(name, *type, constant, std::move(value)));
    } while (!failed() && Accept(","));
    Expect(";");
  }

  // After "const auto": "n_pack = LoadPack<4>(p0 + i);"
  StatementPtr LoadedPack() {
    Variable pack;
    pack.name = Name();
    pack.type = Type::kElement;
    pack.constant = true;
    for (const char* part : {"=", "LoadPack", "<"}) Expect(part);
    pack.dims = {Size()};
    Expect(">");
    Expect("(");
    StatementPtr statement = Make(Statement::Kind::kLoadPack);
    statement->indices.push_back(Pointer(false, &statement->slot));
    Expect(")");
    Expect(";");
    if (failed()) return nullptr;
    pack.slot = statement->slot;
    statement->variable = Declare(std::move(pack));
    return statement;
  }

  // After "Pack": "<float, 4> result;". The only results that it can be for have its type.
  StatementPtr EmptyPack() {
    Variable pack;
    pack.type = Type::kElement;
    Expect("<");
    const auto type = AcceptElementType();
    Expect(",");
    pack.dims = {Size()};
    Expect(">");
    pack.name = Name();
    Expect(";");
    for (const auto& [name, parameter] : names_.parameters) {
      if (!parameter.constant && type == DTypeOf(parameter.slot)) pack.slot = parameter.slot;
    }
    if (!failed() && pack.slot < 0) Fail("a pack for no result");
    if (failed()) return nullptr;
    StatementPtr statement = Make(Statement::Kind::kDeclare);
    statement->variable = Declare(std::move(pack));
    return statement;
  }

  StatementPtr Simple() {
    if (Is("{")) return Block();
    if (Accept(";")) return Make(Statement::Kind::kBlock);
    if (Accept("if")) return If();
    if (Accept("for")) return For();
    if (Accept("return")) {
      if (Accept(";")) return Make(Statement::Kind::kReturn);
      return Inlined();
    }
    StatementPtr statement;
    if (Accept("break")) {
      if (loops_ == 0) return Fail("break outside a loop");
      statement = Make(Statement::Kind::kBreak);
    } else if (Accept("__syncthreads")) {
      Expect("(");
      Expect(")");
      statement = Make(Statement::Kind::kBarrier);
    } else if (Accept("Store")) {
      statement = Store();
    } else if ((statement = AcceptTensorStatement()) != nullptr) {
      // Read.
    } else if (Accept("StorePack")) {
      statement = StorePack();
    } else if (Accept("*")) {
      statement = Error();
    } else {
      statement = Assignment();
    }
    Expect(";");
    return statement;
  }

  StatementPtr If() {
    StatementPtr statement = Make(Statement::Kind::kIf);
    Expect("(");
    statement->value = Truth();
    Expect(")");
    statement->body.push_back(Inner());
    if (Accept("else")) statement->body.push_back(Inner());
    return statement;
  }

  StatementPtr For() {
    StatementPtr statement = Make(Statement::Kind::kFor);
    Expect("(");
    names_.scopes.emplace_back();
    const auto type = AcceptType();
    if (!type || !IsIndex(*type)) return Fail("expected a loop over integers");
    const std::string name = Name();
    Expect("=");
    declaring_ = name;
    ExprPtr first = As(*type, Index());
    declaring_.clear();
    statement->first = Declaration(name, *type, false, std::move(first));
    Expect(";");
    if (!Is(";")) statement->value = Truth();
    Expect(";");
    statement->next = Assignment();
    Expect(")");
    ++loops_;
    statement->body.push_back(Inner());
    --loops_;
    names_.scopes.pop_back();
    return statement;
  }

  // "x[i] = e", "x += e", "x ^= e" or "++x".
  StatementPtr Assignment() {
    const bool increment = Accept("++");
    StatementPtr statement = Make(Statement::Kind::kAssign);
    const auto variable = Find(Name());
    if (failed()) return nullptr;
    if (!variable || VariableAt(*variable).constant) return Fail("assigns to what is no variable");
    const Type type = VariableAt(*variable).type;
    if (!IsReal(type) && !IsIndex(type)) return Fail(absl::StrCat("assigns to ", NameOf(type)));
    statement->variable = *variable;
    statement->indices = Indices(*variable);
    if (!increment && Accept("=")) {
      statement->value = As(type, Expression());
      return Accept("=") ? Chain(std::move(statement)) : std::move(statement);
    }
    if (!statement->indices.empty() || !IsIndex(type)) return Fail("expected =");
    auto old = std::make_unique<Expr>();
    old->kind = Expr::Kind::kVariable;
    old->type = type;
    old->variable = *variable;
    auto sum = std::make_unique<Expr>();
    sum->kind = Expr::Kind::kBinary;
    sum->type = type;
    ExprPtr by;
    if (increment) {
      by = std::make_unique<Expr>();
      by->type = type;
      by->value = 1;
    } else if (Accept("+=")) {
      by = As(type, Index());
    } else if (Accept("^=")) {
      sum->op = Expr::Op::kXor;
      by = As(type, Index());
    } else {
      return Fail("expected an assignment");
    }
    sum->args.push_back(std::move(old));
    sum->args.push_back(std::move(by));
    statement->value = std::move(sum);
    return statement;
  }

  // After "x[i] = y[j] =": the same constant for both.
  StatementPtr Chain(StatementPtr first) {
    if (failed() || first->value->kind != Expr::Kind::kVariable) return Fail("expected a variable");
    StatementPtr second = Make(Statement::Kind::kAssign);
    second->variable = first->value->variable;
    second->indices = std::move(first->value->args);
    const Type type = VariableAt(second->variable).type;
    if (VariableAt(second->variable).constant || !IsReal(type)) return Fail("expected a number");
    const size_t from = position();
    first->value = As(VariableAt(first->variable).type, Expression());
    MoveTo(from);
    second->value = As(type, Expression());
    if (!failed() && first->value->kind != Expr::Kind::kLiteral) return Fail("expected a constant");
    StatementPtr both = Make(Statement::Kind::kBlock);
    both->body.push_back(std::move(second));
    both->body.push_back(std::move(first));
    return failed() ? nullptr : std::move(both);
  }

  // "(p0 + i, float(e))" or "(&result.at[u], float(e))".
  StatementPtr Store() {
    StatementPtr statement = Make(Statement::Kind::kStore);
    Expect("(");
    if (Accept("&")) {
      statement->kind = Statement::Kind::kStoreCell;
      const auto variable = Find(Name());
      Expect(".");
      Expect("at");
      if (failed()) return nullptr;
      if (!variable || VariableAt(*variable).type != Type::kElement ||
          VariableAt(*variable).constant) {
        return Fail("expected a pack");
      }
      statement->variable = *variable;
      statement->indices = Indices(*variable);
    } else {
      statement->indices.push_back(Pointer(true, &statement->slot));
    }
    Expect(",");
    statement->value = Expression();
    Expect(")");
    if (failed()) return nullptr;
    const Type type = statement->value->type;
    if (!IsReal(type) && type != Type::kInt64) return Fail("stores what is no number");
    return statement;
  }

  // "<4>(p0 + i, result)".
  StatementPtr StorePack() {
    StatementPtr statement = Make(Statement::Kind::kStorePack);
    Expect("<");
    const int64_t width = Size();
    Expect(">");
    Expect("(");
    statement->indices.push_back(Pointer(true, &statement->slot));
    Expect(",");
    const auto variable = Find(Name());
    Expect(")");
    if (failed()) return nullptr;
    if (!variable) return Fail("expected a pack");
    const Variable& pack = VariableAt(*variable);
    if (pack.type != Type::kElement || pack.cells != width ||
        DTypeOf(pack.slot) != DTypeOf(statement->slot)) {
      return Fail("a pack of another type");
    }
    statement->variable = *variable;
    return statement;
  }

  StatementPtr Error() {
    if (Name() != "error" || !names_.has_error) return Fail("expected error");
    Expect("=");
    Size();
    return failed() ? nullptr : Make(Statement::Kind::kError);
  }

  const codegen::GridKernel& kernel_;
  std::string namespace_;
  std::map<std::string, size_t> functions_;
  std::vector<int> distinct_;
  int loops_ = 0, calls_ = 0;
};

}  // namespace

absl::StatusOr<PrintedKernel> ParseKernel(const codegen::GridKernel& kernel,
                                          absl::Span<const SlotInfo> slots) {
  auto tokens = TokensOf(kernel.code);
  if (!tokens.ok()) return tokens.status();
  return Parser(*std::move(tokens), kernel, slots).Run();
}

}  // namespace lemma::kernels
