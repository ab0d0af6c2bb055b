#include "verifier/kernels/printed/tensor_parser.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace lemma::kernels {

namespace {

constexpr int64_t kWordBytes = 4;

}  // namespace

StatementPtr TensorParser::MakeCall(Call::Function function) {
  auto statement = std::make_unique<Statement>();
  statement->kind = Statement::Kind::kCall;
  statement->call = std::make_unique<Call>();
  statement->call->function = function;
  return statement;
}

void TensorParser::MapParameter() {
  for (const char* part : {"const", "__grid_constant__", "BulkMap"}) Expect(part);
  const std::string name = Name();
  const auto number = static_cast<int64_t>(maps_.size());
  if (!maps_.emplace(name, number).second) Fail("two maps of a name");
}

void TensorParser::Finish(PrintedKernel* kernel) const {
  kernel->shared_bytes = shared_bytes_;
  kernel->warpgroups = warpgroups_;
  kernel->words = words_;
  kernel->rounds = rounds_;
  kernel->streams = streams_;
}

// --- Parts ---

ExprPtr TensorParser::Sum(ExprPtr a, ExprPtr b) const {
  ExprPtr sum = MakeExpr(Expr::Kind::kBinary, Type::kInt64);
  sum->op = Expr::Op::kAdd;
  sum->args.push_back(std::move(a));
  sum->args.push_back(std::move(b));
  return sum;
}

bool TensorParser::IsPointer(const std::string& name, Pointee pointee) const {
  const auto variable = Find(name);
  return variable && VariableAt(*variable).type == Type::kPointer &&
         VariableAt(*variable).pointee == pointee;
}

ExprPtr TensorParser::Bytes() {
  const auto variable = Find(Name());
  if (failed()) return nullptr;
  ExprPtr start;
  if (variable && *variable == region_) {
    start = MakeExpr(Expr::Kind::kLiteral, Type::kInt64);
  } else if (variable && VariableAt(*variable).type == Type::kPointer &&
             VariableAt(*variable).pointee == Pointee::kBytes) {
    start = MakeExpr(Expr::Kind::kVariable, Type::kInt64);
    start->variable = *variable;
  } else {
    return Fail("expected a pointer into shared memory");
  }
  if (!Accept("+")) return start;
  ExprPtr offset = As(Type::kInt64, Index());
  return failed() ? nullptr : Sum(std::move(start), std::move(offset));
}

bool TensorParser::Flag() {
  const bool result = Accept("true");
  if (!result) Expect("false");
  return result;
}

ExprPtr TensorParser::TileAt(bool rows_adjacent) {
  const Pointee wanted = rows_adjacent ? Pointee::kDepths : Pointee::kRows;
  if (!Accept("TileDescriptor")) {
    const std::string name = Name();
    if (!IsPointer(name, wanted)) return Fail("expected a tile with such lines");
    ExprPtr e = MakeExpr(Expr::Kind::kVariable, Type::kInt64);
    e->variable = *Find(name);
    return e;
  }
  Expect("(");
  ExprPtr start = Bytes();
  Expect(",");
  if (Flag() != rows_adjacent) return Fail("a tile with other lines");
  Expect(")");
  return failed() ? nullptr : std::move(start);
}

std::optional<Place> TensorParser::PlaceAt() {
  const auto variable = Find(Name());
  if (failed()) return std::nullopt;
  if (!variable) {
    Fail("unknown name");
    return std::nullopt;
  }
  Place place;
  place.variable = *variable;
  if (Accept(".")) Expect("at");
  // A pointer to arrays has one more index, words and rows have one less.
  const Variable& v = VariableAt(*variable);
  const size_t most = v.type == Type::kPointer ? v.dims.size() + 1 : v.dims.size();
  while (!failed() && Accept("[")) {
    place.indices.push_back(ArrayIndex());
    Expect("]");
  }
  if (place.indices.size() > most) Fail("too many indices");
  if (failed()) return std::nullopt;
  return place;
}

std::optional<Place> TensorParser::AddressAt() {
  const bool address = Accept("&");
  auto place = PlaceAt();
  if (!place) return std::nullopt;
  const Variable& v = VariableAt(place->variable);
  if (address == (v.type == Type::kPointer && place->indices.empty())) {
    Fail("expected an address");
    return std::nullopt;
  }
  return place;
}

void TensorParser::TakeWords(const std::string& name) {
  for (Words words : {Words::kTf32, Words::kF32x3, Words::kF16, Words::kBf16, Words::kU8U8,
                      Words::kU8I8, Words::kI8U8, Words::kI8I8}) {
    static constexpr const char* kNames[] = {"",          "WordsTf32", "WordsF32x3",
                                             "WordsF16",  "WordsBf16", "WordsU8U8",
                                             "WordsU8I8", "WordsI8U8", "WordsI8I8"};
    if (name != kNames[static_cast<int>(words)]) continue;
    if (words_ != Words::kNone && words_ != words) Fail("words of two formats");
    words_ = words;
    return;
  }
  Fail(absl::StrCat("unknown type ", name));
}

// --- Declarations ---

bool TensorParser::AcceptTensorDeclaration(Statement* block) {
  if (Is("[") && Is("[", 1)) {
    for (const char* part : {"[", "[", "maybe_unused", "]", "]"}) Expect(part);
  }
  const size_t constant = Is("const") ? 1 : 0;
  const auto skip = [&](size_t tokens) { MoveTo(position() + tokens); };
  if (Is("LEMMA_SHARED") || Is("LEMMA_BULK_SHARED")) {
    SharedBytes();
  } else if (Is("BulkBarrier") && Is("*", 1)) {
    skip(2);
    BarrierPointer(block);
  } else if (constant == 1 && Is("unsigned", 1) && Is("char", 2) && Is("*", 3)) {
    skip(4);
    BytePointer(block);
  } else if (Is("unsigned") && Is("int", 1) && Is("(", 2) && Is("*", 3)) {
    skip(2);
    ArrayPointer(block, Pointee::kWords, "unsigned int");
  } else if (Is("float") && Is("(", 1) && Is("*", 2)) {
    skip(1);
    ArrayPointer(block, Pointee::kFloats, "float");
  } else if (Is("unsigned") && Is("int", 1) && Is("[", 3)) {
    skip(2);
    Arrays(block, Type::kWord, 2);
  } else if (Is("StreamedRow")) {
    skip(1);
    streams_ = true;
    Arrays(block, Type::kRow, kRowNumbers);
  } else if (Is("Pack") && Is("<", 1) && Is("unsigned", 2) && Is("int", 3)) {
    // "Pack<unsigned int, 4> words;"
    skip(4);
    Expect(",");
    Variable pack;
    pack.type = Type::kWord;
    pack.dims = {Size(), 2};
    Expect(">");
    pack.name = Name();
    Expect(";");
    auto statement = std::make_unique<Statement>();
    statement->kind = Statement::Kind::kDeclare;
    if (failed()) return true;
    statement->variable = Declare(std::move(pack));
    block->body.push_back(std::move(statement));
  } else if (constant == 1 && Is("Pack", 1) && Is("<", 2) && Is("float", 3)) {
    skip(4);
    LoadStaged(block);
  } else if (constant == 1 && Is("uint64", 1)) {
    skip(2);
    Descriptor(block);
  } else if (constant == 1 && Is("int", 1) && Is("[", 3) && Is("]", 4)) {
    skip(2);
    Coordinates(block);
  } else {
    return false;
  }
  return true;
}

// "(name, n);"
void TensorParser::SharedBytes() {
  const bool by_words = Accept("LEMMA_SHARED");
  if (!by_words) Expect("LEMMA_BULK_SHARED");
  Expect("(");
  Variable region;
  region.name = Name();
  Expect(",");
  shared_bytes_ = Size() * (by_words ? kWordBytes : 1);
  Expect(")");
  Expect(";");
  if (region_ >= 0) Fail("shared memory is declared twice");
  if (failed()) return;
  region.type = Type::kPointer;
  region_ = Declare(std::move(region));
}

void TensorParser::DeclarePointer(Statement* block, std::string name, Pointee pointee,
                                  std::vector<int64_t> dims, ExprPtr value) {
  if (failed()) return;
  Variable pointer;
  pointer.name = std::move(name);
  pointer.type = Type::kPointer;
  pointer.pointee = pointee;
  pointer.constant = true;
  auto statement = std::make_unique<Statement>();
  statement->kind = Statement::Kind::kDeclare;
  statement->value = std::move(value);
  statement->variable = Declare(std::move(pointer));
  SetDims(statement->variable, std::move(dims));
  block->body.push_back(std::move(statement));
}

void TensorParser::BytePointer(Statement* block) {
  Expect("const");
  std::string name = Name();
  Expect("=");
  ExprPtr value = Bytes();
  Expect(";");
  DeclarePointer(block, std::move(name), Pointee::kBytes, {}, std::move(value));
}

void TensorParser::BarrierPointer(Statement* block) {
  constexpr int64_t kBarrierBytes = 8;
  Expect("const");
  std::string name = Name();
  Expect("=");
  ExprPtr value;
  if (Accept("reinterpret_cast")) {
    for (const char* part : {"<", "BulkBarrier", "*", ">", "("}) Expect(part);
    value = Bytes();
    Expect(")");
  } else {
    const std::string other = Name();
    if (!IsPointer(other, Pointee::kBarriers)) Fail("expected barriers");
    Expect("+");
    const int64_t count = Size();
    if (failed()) return;
    value = MakeExpr(Expr::Kind::kVariable, Type::kInt64);
    value->variable = *Find(other);
    ExprPtr bytes = MakeExpr(Expr::Kind::kLiteral, Type::kInt64);
    bytes->value = count * kBarrierBytes;
    value = Sum(std::move(value), std::move(bytes));
  }
  Expect(";");
  warpgroups_ = true;
  DeclarePointer(block, std::move(name), Pointee::kBarriers, {}, std::move(value));
}

void TensorParser::Descriptor(Statement* block) {
  std::string name = Name();
  for (const char* part : {"=", "TileDescriptor", "("}) Expect(part);
  ExprPtr value = Bytes();
  Expect(",");
  const bool rows_adjacent = Flag();
  Expect(")");
  Expect(";");
  DeclarePointer(block, std::move(name), rows_adjacent ? Pointee::kDepths : Pointee::kRows, {},
                 std::move(value));
}

void TensorParser::ArrayPointer(Statement* block, Pointee pointee, const std::string& type) {
  std::vector<int64_t> dims, again;
  auto sizes = [&](std::vector<int64_t>* to) {
    while (Accept("[")) {
      to->push_back(Size());
      Expect("]");
    }
  };
  for (const char* part : {"(", "*", "const"}) Expect(part);
  std::string name = Name();
  Expect(")");
  sizes(&dims);
  for (const char* part : {"=", "reinterpret_cast", "<"}) Expect(part);
  for (const char* part : type == "float" ? std::vector<const char*>{"float"}
                                          : std::vector<const char*>{"unsigned", "int"}) {
    Expect(part);
  }
  for (const char* part : {"(", "*", ")"}) Expect(part);
  sizes(&again);
  if (dims != again) Fail("a pointer to other arrays");
  Expect(">");
  Expect("(");
  ExprPtr value = pointee == Pointee::kWords ? WordsFrom() : Bytes();
  Expect(")");
  int64_t bytes = kWordBytes;
  for (int64_t dim : dims) bytes *= dim;
  if (Accept("+")) {
    ExprPtr offset = As(Type::kInt64, Index());
    if (failed()) return;
    ExprPtr size = MakeExpr(Expr::Kind::kLiteral, Type::kInt64);
    size->value = bytes;
    ExprPtr product = MakeExpr(Expr::Kind::kBinary, Type::kInt64);
    product->op = Expr::Op::kMul;
    product->args.push_back(std::move(offset));
    product->args.push_back(std::move(size));
    value = Sum(std::move(value), std::move(product));
  }
  Expect(";");
  DeclarePointer(block, std::move(name), pointee, std::move(dims), std::move(value));
}

// "shared_words + n", in bytes.
ExprPtr TensorParser::WordsFrom() {
  const auto variable = Find(Name());
  if (!failed() && (!variable || *variable != region_)) return Fail("expected shared memory");
  Expect("+");
  if (failed() || Peek().kind != Token::Kind::kNumber) return Fail("expected a number");
  ExprPtr words = As(Type::kInt64, Index());
  if (failed()) return nullptr;
  ExprPtr size = MakeExpr(Expr::Kind::kLiteral, Type::kInt64);
  size->value = kWordBytes;
  ExprPtr bytes = MakeExpr(Expr::Kind::kBinary, Type::kInt64);
  bytes->op = Expr::Op::kMul;
  bytes->args.push_back(std::move(words));
  bytes->args.push_back(std::move(size));
  return bytes;
}

void TensorParser::Arrays(Statement* block, Type type, int64_t numbers) {
  do {
    Variable variable;
    variable.name = Name();
    variable.type = type;
    while (Accept("[")) {
      variable.dims.push_back(Extent());
      Expect("]");
    }
    variable.dims.push_back(numbers);
    if (failed()) return;
    auto statement = std::make_unique<Statement>();
    statement->kind = Statement::Kind::kDeclare;
    statement->variable = Declare(std::move(variable));
    block->body.push_back(std::move(statement));
  } while (Accept(","));
  Expect(";");
}

// "at[] = {a, b};"
void TensorParser::Coordinates(Statement* block) {
  Variable at;
  at.name = Name();
  at.type = Type::kInt;
  for (const char* part : {"[", "]", "=", "{"}) Expect(part);
  std::vector<ExprPtr> values;
  do {
    values.push_back(As(Type::kInt, Index()));
  } while (!failed() && Accept(","));
  Expect("}");
  Expect(";");
  if (failed()) return;
  at.dims = {static_cast<int64_t>(values.size())};
  auto declare = std::make_unique<Statement>();
  declare->kind = Statement::Kind::kDeclare;
  declare->variable = Declare(std::move(at));
  const int variable = declare->variable;
  block->body.push_back(std::move(declare));
  for (size_t i = 0; i < values.size(); ++i) {
    auto assign = std::make_unique<Statement>();
    assign->kind = Statement::Kind::kAssign;
    assign->variable = variable;
    assign->indices.push_back(MakeExpr(Expr::Kind::kLiteral, Type::kInt));
    assign->indices[0]->value = static_cast<int64_t>(i);
    assign->value = std::move(values[i]);
    block->body.push_back(std::move(assign));
  }
}

// ", 8> sums = LoadStaged<8>(&staged[line][place]);"
void TensorParser::LoadStaged(Statement* block) {
  Expect(",");
  Variable pack;
  pack.type = Type::kFloat;
  pack.dims = {Size()};
  Expect(">");
  pack.name = Name();
  for (const char* part : {"=", "LoadStaged", "<"}) Expect(part);
  if (Size() != pack.dims[0]) Fail("a pack of another size");
  Expect(">");
  Expect("(");
  auto from = AddressAt();
  Expect(")");
  Expect(";");
  if (failed()) return;
  if (VariableAt(from->variable).pointee != Pointee::kFloats) {
    Fail("expected floats in shared memory");
    return;
  }
  auto declare = std::make_unique<Statement>();
  declare->kind = Statement::Kind::kDeclare;
  StatementPtr load = MakeCall(Function::kLoadStaged);
  load->call->sizes = {pack.dims[0]};
  declare->variable = Declare(std::move(pack));
  load->call->places.push_back({declare->variable, {}});
  load->call->places.push_back(*std::move(from));
  block->body.push_back(std::move(declare));
  block->body.push_back(std::move(load));
}

}  // namespace lemma::kernels
