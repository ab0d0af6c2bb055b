#include "tests/rewrite/taso/taso_testutil.h"

namespace lemma::taso {

Operator Op(int type, const std::vector<std::pair<int, int>>& inputs, const Params& params) {
  Operator op;
  op.set_type(type);
  for (auto [id, ts] : inputs) {
    Tensor* tensor = op.add_input();
    tensor->set_op_id(id);
    tensor->set_ts_id(ts);
  }
  for (auto [key, value] : params) {
    Parameter* p = op.add_para();
    p->set_key(key);
    p->set_value(value);
  }
  return op;
}

std::string File(const std::vector<Operator>& source, const std::vector<Operator>& target,
                 int variable) {
  RuleCollection file;
  Rule* rule = file.add_rule();
  for (const Operator& op : source) *rule->add_src_op() = op;
  for (const Operator& op : target) *rule->add_dst_op() = op;
  MapOutput* map = rule->add_mapped_output();
  map->set_src_op_id(static_cast<int>(source.size()) - 1);
  map->set_dst_op_id(variable < 0 ? variable : static_cast<int>(target.size()) - 1);
  map->set_src_ts_id(0);
  map->set_dst_ts_id(0);
  return file.SerializeAsString();
}

}  // namespace lemma::taso
