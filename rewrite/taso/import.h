// Imports the rule files of TASO (SOSP'19): protobuf messages with the schema
// rewrite/taso/rules.proto.
//
// TASO's rules state no shapes. Each of them becomes a rule of Lemma (rewrite/rules/substitution.h)
// with the most general types for which both sides are well-formed: the operators give ranks; sizes
// and numbers of groups are symbols. docs/taso.md defines the meaning of each operator.
//
// The import proves nothing. It gives a rule only the preconditions that its types need, so some of
// TASO's rules are false at first. SynthesizePrecondition (verifier/preconditions/precondition.h)
// finds the missing preconditions.
#ifndef LEMMA_REWRITE_TASO_IMPORT_H_
#define LEMMA_REWRITE_TASO_IMPORT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// `bytes`: a serialized RuleCollection. Returns its rules in order, named taso_0, taso_1, … by
// position. ParseRules can read each rule as PrintRule writes it. The rules' contract is
// `reassociates`; a proof may strengthen it.
//
// InvalidArgument if the bytes are not such a message or have no rules, or at the first rule that
// is malformed or uses an operator or parameter without a meaning here. The message gives the
// positions of rule, side and operator: "rule 3, target operator 1 (conv2d): …".
absl::StatusOr<std::vector<Substitution>> ImportTaso(absl::string_view bytes);

}  // namespace lemma

#endif  // LEMMA_REWRITE_TASO_IMPORT_H_
