#include "graph/op_table.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lemma {

namespace ops {
#define LEMMA_OP(name) OpDef Make_##name();
#include "graph/ops/op_table.inc"
#undef LEMMA_OP
}  // namespace ops

namespace {

const std::vector<const OpDef*>& Table() {
  static const auto* table = new std::vector<const OpDef*>{
#define LEMMA_OP(name) new OpDef(ops::Make_##name()),
#include "graph/ops/op_table.inc"
#undef LEMMA_OP
  };
  return *table;
}

}  // namespace

absl::Span<const OpDef* const> AllOps() { return Table(); }

namespace {

const OpDef* FindInTable(absl::string_view name) {
  static const auto* by_name = [] {
    auto* map = new std::map<std::string, const OpDef*, std::less<>>;
    for (const OpDef* op : Table()) (*map)[op->name] = op;
    return map;
  }();
  auto it = by_name->find(name);
  return it == by_name->end() ? nullptr : it->second;
}

// Operators of files. They are never removed, so pointers to them stay.
struct Defined {
  std::mutex mutex;
  std::vector<const OpDef*> ops;
  std::map<std::string, const OpDef*, std::less<>> by_name;

  const OpDef* Find(absl::string_view name) const {
    auto it = by_name.find(name);
    return it == by_name.end() ? nullptr : it->second;
  }
};
Defined& Additions() {
  static auto* defined = new Defined;
  return *defined;
}

}  // namespace

std::vector<const OpDef*> DefinedOps() {
  Defined& defined = Additions();
  std::lock_guard<std::mutex> lock(defined.mutex);
  return defined.ops;
}

absl::Status AddOperators(std::vector<OpDef> operators) {
  Defined& defined = Additions();
  std::lock_guard<std::mutex> lock(defined.mutex);
  std::map<std::string, std::string, std::less<>> versions, onnx_types;
  for (const OpDef* op : defined.ops) {
    for (const OnnxImporter& importer : op->onnx_import) onnx_types[importer.op_type] = op->name;
  }
  for (const OpDef& op : operators) {
    if (FindInTable(op.name) != nullptr) {
      return absl::AlreadyExistsError(
          absl::StrCat("Lemma has an operator ", op.name, " already; choose another name"));
    }
    const OpDef* known = defined.Find(op.name);
    if (known != nullptr) versions[op.name] = known->version;
    for (const OnnxImporter& importer : op.onnx_import) {
      if (onnx_types.emplace(importer.op_type, op.name).first->second == op.name) continue;
      return absl::AlreadyExistsError(absl::StrCat("two operators are ONNX's ", importer.op_type,
                                                   ", ", onnx_types[importer.op_type], " and ",
                                                   op.name));
    }
    if (versions.emplace(op.name, op.version).first->second != op.version) {
      return absl::AlreadyExistsError(
          absl::StrCat("the operator ", op.name, " has two different definitions"));
    }
  }
  for (OpDef& op : operators) {
    if (defined.Find(op.name) != nullptr) continue;
    const OpDef* added = new OpDef(std::move(op));
    defined.ops.push_back(added);
    defined.by_name[added->name] = added;
  }
  return absl::OkStatus();
}

const OpDef* FindOp(absl::string_view name) {
  if (const OpDef* op = FindInTable(name)) return op;
  Defined& defined = Additions();
  std::lock_guard<std::mutex> lock(defined.mutex);
  return defined.Find(name);
}

}  // namespace lemma
