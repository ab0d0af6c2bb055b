#include "graph/op_table.h"

#include <map>
#include <vector>

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

const OpDef* FindOp(absl::string_view name) {
  static const auto* by_name = [] {
    auto* map = new std::map<std::string, const OpDef*, std::less<>>;
    for (const OpDef* op : Table()) (*map)[op->name] = op;
    return map;
  }();
  auto it = by_name->find(name);
  return it == by_name->end() ? nullptr : it->second;
}

}  // namespace lemma
