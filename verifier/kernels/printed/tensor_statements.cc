// Reads the calls by which kernels use tensor cores.
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "verifier/kernels/printed/tensor_parser.h"

namespace lemma::kernels {

StatementPtr TensorParser::AcceptTensorStatement() {
  struct Plain {
    const char* name;
    Function function;
    int sizes, args, places;
  };
  static constexpr Plain kPlain[] = {
      {"PublishBarriers", Function::kPublishBarriers, 0, 0, 0},
      {"SyncThreads", Function::kSyncThreads, 1, 0, 0},
      {"__syncwarp", Function::kSyncWarp, 0, 0, 0},
      {"TakeTurn", Function::kTakeTurn, 0, 1, 0},
      {"PassTurn", Function::kPassTurn, 0, 1, 0},
      {"GiveRegisters", Function::kGiveRegisters, 1, 0, 0},
      {"TakeRegisters", Function::kTakeRegisters, 1, 0, 0},
      {"BeginProducts", Function::kBeginProducts, 0, 0, 0},
      {"CommitProducts", Function::kCommitProducts, 0, 0, 0},
      {"WaitForProducts", Function::kWaitForProducts, 1, 0, 0},
      {"TakeSums", Function::kTakeSums, 0, 0, 1},
      {"TakeScores", Function::kTakeScores, 0, 0, 2},
      {"ScaleSums", Function::kScaleSums, 0, 0, 2},
      {"DivideSums", Function::kDivideSums, 0, 0, 2},
  };
  for (const Plain& plain : kPlain) {
    if (Accept(plain.name)) {
      return PlainCall(plain.function, plain.sizes, plain.args, plain.places);
    }
  }
  if (Accept("InitBarrier")) return BarrierCall(Function::kInitBarrier, true);
  if (Accept("ArriveExpecting")) return BarrierCall(Function::kArriveExpecting, true);
  if (Accept("Arrive")) return BarrierCall(Function::kArrive, false);
  if (Accept("WaitFor")) return BarrierCall(Function::kWaitFor, true);
  if (Accept("CopyInBulk")) return CopyInBulk();
  if (Accept("MultiplyAddTiles")) return ProductCall(Function::kMultiplyAddTiles);
  if (Accept("MultiplyAddWords")) return ProductCall(Function::kMultiplyAddWords);
  if (Accept("PackScores")) return ProductCall(Function::kPackScores);
  if (Is("StorePack") && Is("(", 4) && Is("&", 5)) return StorePack();
  if (absl::StartsWith(Peek().text, "Words") && Is("::", 1)) {
    const std::string words = Name();
    Expect("::");
    Expect("MultiplyAdd");
    return MultiplyAdd(words);
  }
  if (Peek().kind != Token::Kind::kName) return nullptr;
  const auto variable = Find(Peek().text);
  if (!variable) return nullptr;
  const Variable& v = VariableAt(*variable);
  if (v.type == Type::kWord) return Is(".", 1) ? MakeWord() : LoadWord();
  if (v.type == Type::kPointer && v.pointee == Pointee::kFloats) return StoreFloat();
  return nullptr;
}

StatementPtr TensorParser::PlainCall(Function function, int sizes, int args, int places) {
  StatementPtr statement = MakeCall(function);
  const bool threads = function == Function::kSyncThreads || function == Function::kSyncWarp;
  warpgroups_ = warpgroups_ || !threads;
  if (sizes > 0) {
    Expect("<");
    const bool zero = Accept("0");
    statement->call->sizes.push_back(zero ? 0 : Size());
    Expect(">");
  }
  if (function == Function::kSyncThreads && !failed()) {
    // All are one barrier of the block.
    const int64_t threads = statement->call->sizes[0];
    if (meeting_threads_ != 0 && meeting_threads_ != threads) {
      return Fail("SyncThreads of two sizes");
    }
    meeting_threads_ = threads;
  }
  Expect("(");
  for (int i = 0; i < args; ++i) statement->call->args.push_back(As(Type::kInt, Index()));
  for (int i = 0; i < places && !failed(); ++i) {
    if (i > 0) Expect(",");
    auto place = PlaceAt();
    if (place) statement->call->places.push_back(*std::move(place));
  }
  Expect(")");
  return failed() ? nullptr : std::move(statement);
}

// "words.at[w] = WordsF16::Make(a, b)" or "words.at[w] = WordsU8I8::MakeA(a, b, c, d)"
StatementPtr TensorParser::MakeWord() {
  StatementPtr statement = MakeCall(Function::kMakeWord);
  auto to = PlaceAt();
  Expect("=");
  TakeWords(Name());
  Expect("::");
  if (!failed() && AreBytes(words_)) return MakeByteWord(std::move(statement), *std::move(to));
  statement->call->joins = Accept("Join");
  if (statement->call->joins && words_ != Words::kBf16) return Fail("joins numbers of this format");
  if (!statement->call->joins) {
    Expect("Make");
    rounds_ = true;
  }
  Expect("(");
  statement->call->args.push_back(Expression());
  Expect(",");
  statement->call->args.push_back(Expression());
  Expect(")");
  if (failed()) return nullptr;
  for (const ExprPtr& arg : statement->call->args) {
    if (arg->type != Type::kFloat) return Fail("a word of what is no float");
  }
  statement->call->places.push_back(*std::move(to));
  return statement;
}

StatementPtr TensorParser::MakeByteWord(StatementPtr statement, Place to) {
  const bool right = Accept("MakeB");
  if (!right) Expect("MakeA");
  statement->call->sizes = {right ? 1 : 0};
  Expect("(");
  for (int i = 0; i < NumbersPerWord(words_) && !failed(); ++i) {
    if (i > 0) Expect(",");
    statement->call->args.push_back(As(Type::kInt, Index()));
  }
  Expect(")");
  statement->call->places.push_back(std::move(to));
  return failed() ? nullptr : std::move(statement);
}

// "left[i][r] = a_tile[stage][row][word]"
StatementPtr TensorParser::LoadWord() {
  StatementPtr statement = MakeCall(Function::kLoadWord);
  auto to = PlaceAt();
  Expect("=");
  auto from = PlaceAt();
  if (failed()) return nullptr;
  const Variable& v = VariableAt(from->variable);
  if (v.pointee != Pointee::kWords || from->indices.size() != v.dims.size() + 1) {
    return Fail("expected a word of shared memory");
  }
  statement->call->places.push_back(*std::move(to));
  statement->call->places.push_back(*std::move(from));
  return statement;
}

// "StorePack<4>(&a_tile[stage][row][word], words)" or
// "StorePack<2>(&staged[row][column], Pack<float, 2>{{a, b}})"
StatementPtr TensorParser::StorePack() {
  Expect("StorePack");
  Expect("<");
  const int64_t width = Size();
  Expect(">");
  Expect("(");
  auto to = AddressAt();
  Expect(",");
  if (failed()) return nullptr;
  if (VariableAt(to->variable).pointee == Pointee::kWords) {
    StatementPtr statement = MakeCall(Function::kStoreWords);
    auto from = PlaceAt();
    Expect(")");
    if (failed()) return nullptr;
    const Variable& words = VariableAt(from->variable);
    if (words.type != Type::kWord || words.dims != std::vector<int64_t>{width, 2}) {
      return Fail("a pack of another type");
    }
    statement->call->sizes = {width};
    statement->call->places.push_back(*std::move(to));
    statement->call->places.push_back(*std::move(from));
    return statement;
  }
  if (VariableAt(to->variable).pointee != Pointee::kFloats) return Fail("expected shared memory");
  StatementPtr statement = MakeCall(Function::kStoreFloats);
  for (const char* part : {"Pack", "<", "float", ","}) Expect(part);
  if (Size() != width) return Fail("a pack of another size");
  for (const char* part : {">", "{", "{"}) Expect(part);
  for (int64_t i = 0; i < width && !failed(); ++i) {
    if (i > 0) Expect(",");
    statement->call->args.push_back(As(Type::kFloat, Expression()));
  }
  for (const char* part : {"}", "}", ")"}) Expect(part);
  if (failed()) return nullptr;
  statement->call->places.push_back(*std::move(to));
  return statement;
}

// "staged[column][row] = sum[i][j]"
StatementPtr TensorParser::StoreFloat() {
  StatementPtr statement = MakeCall(Function::kStoreFloats);
  auto to = PlaceAt();
  Expect("=");
  statement->call->args.push_back(As(Type::kFloat, Expression()));
  if (failed()) return nullptr;
  statement->call->places.push_back(*std::move(to));
  return statement;
}

// "(&sum[i][j], &sum[k][j], left[i], right[j])"
StatementPtr TensorParser::MultiplyAdd(const std::string& words) {
  TakeWords(words);
  StatementPtr statement = MakeCall(Function::kMultiplyAdd);
  Expect("(");
  for (int i = 0; i < 4 && !failed(); ++i) {
    if (i > 0) Expect(",");
    auto place = i < 2 ? AddressAt() : PlaceAt();
    if (!place) return nullptr;
    const Type type = VariableAt(place->variable).type;
    const Type sum = AreBytes(words_) ? Type::kInt : Type::kFloat;
    if (type != (i < 2 ? sum : Type::kWord)) return Fail("a product of other types");
    statement->call->places.push_back(*std::move(place));
  }
  Expect(")");
  return failed() ? nullptr : std::move(statement);
}

StatementPtr TensorParser::BarrierCall(Function function, bool argument) {
  StatementPtr statement = MakeCall(function);
  Expect("(");
  auto barrier = AddressAt();
  if (argument) {
    Expect(",");
    statement->call->args.push_back(As(Type::kInt, Index()));
  }
  Expect(")");
  if (failed()) return nullptr;
  if (VariableAt(barrier->variable).pointee != Pointee::kBarriers)
    return Fail("expected a barrier");
  statement->call->places.push_back(*std::move(barrier));
  return statement;
}

// "(shared + n, map_a, &full[stage], at)"
StatementPtr TensorParser::CopyInBulk() {
  StatementPtr statement = MakeCall(Function::kCopyInBulk);
  Expect("(");
  statement->call->args.push_back(Bytes());
  Expect(",");
  const auto map = maps_.find(Name());
  if (!failed() && map == maps_.end()) return Fail("expected a map");
  Expect(",");
  auto barrier = AddressAt();
  Expect(",");
  auto at = PlaceAt();
  Expect(")");
  if (failed()) return nullptr;
  if (VariableAt(barrier->variable).pointee != Pointee::kBarriers ||
      VariableAt(at->variable).type != Type::kInt || !at->indices.empty()) {
    return Fail("expected a barrier and coordinates");
  }
  statement->call->sizes = {map->second};
  statement->call->places.push_back(*std::move(barrier));
  statement->call->places.push_back(*std::move(at));
  return statement;
}

// "<WordsF16, 8, false, true>(sum, a, b)", "<WordsF16, 8, false>(sum, words[k], b)" or
// "<WordsF16>(score, words)"
StatementPtr TensorParser::ProductCall(Function function) {
  StatementPtr statement = MakeCall(function);
  Call& call = *statement->call;
  const bool tiles = function == Function::kMultiplyAddTiles;
  warpgroups_ = true;
  Expect("<");
  TakeWords(Name());
  bool rows_a = false, rows_b = false, adds = true;
  if (function != Function::kPackScores) {
    Expect(",");
    call.sizes = {Size()};
    Expect(",");
    if (tiles) {
      rows_a = Flag();
      Expect(",");
    }
    rows_b = Flag();
    if (tiles && Accept(",")) adds = Flag();
    call.sizes.push_back(adds ? 1 : 0);
  } else {
    rounds_ = true;
  }
  Expect(">");
  Expect("(");
  auto place = [&](Type type) {
    auto found = PlaceAt();
    if (!found) return;
    if (VariableAt(found->variable).type != type) Fail("an argument of another type");
    call.places.push_back(*std::move(found));
  };
  place(Type::kFloat);
  Expect(",");
  if (!tiles) place(Type::kWord);
  if (tiles) call.args.push_back(TileAt(rows_a));
  if (function != Function::kPackScores) {
    Expect(",");
    call.args.push_back(TileAt(rows_b));
  }
  Expect(")");
  call.sizes.push_back(rows_a ? 1 : 0);
  call.sizes.push_back(rows_b ? 1 : 0);
  return failed() ? nullptr : std::move(statement);
}

}  // namespace lemma::kernels
