#include "graph/op_def.h"

namespace lemma::ops {

OpDef Make_opaque() {
  OpDef op;
  op.name = "opaque";
  op.group = "opaque";
  op.equation = "an unknown function of all its inputs";
  op.doc =
      "Stands for an ONNX operator that has no definition here: kept, exported, never altered.";
  op.input_names = {"x"};
  op.min_inputs = 0;
  op.max_inputs = kVariadic;
  op.attrs = {
      {"domain", AttrKind::kString, std::string(), false, "ONNX domain"},
      {"op_type", AttrKind::kString, std::nullopt, false, "ONNX operator"},
      {"payload", AttrKind::kString, std::string(), false, "the serialized ONNX node"},
  };
  op.define = [](OpContext& c) { return c.Fail("an opaque operator has no definition"); };
  return op;
}

}  // namespace lemma::ops
