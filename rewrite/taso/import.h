// Rules in the form in which TASO (SOSP'19) stores them: protobuf, schema in
// rewrite/taso/rules.proto.
//
// TASO's rules state no shapes. Each becomes a rule of ours (rewrite/rules/substitution.h) with the
// most general types for which both of its sides are well-formed: ranks from the operators, sizes
// and numbers of groups as symbols. docs/taso.md says what each operator is taken to mean.
//
// Nothing is proved here, and some of TASO's rules are false as they stand: a rule has no
// precondition but what its types need. Ask SynthesizePrecondition in
// verifier/preconditions/precondition.h.
#ifndef LEMMA_REWRITE_TASO_IMPORT_H_
#define LEMMA_REWRITE_TASO_IMPORT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// `bytes`: a serialized RuleCollection. The rules in its order, named taso_0, taso_1, … by their
// place; PrintRule of each reads back. Their contract is `reassociates`, which the proof may
// strengthen.
//
// InvalidArgument if the bytes are no such message, or else at the first rule that is malformed or
// has an operator or parameter without a meaning here: the message names rule, side and operator,
// each by its place, as in "rule 3, target operator 1 (conv2d): …".
absl::StatusOr<std::vector<Substitution>> ImportTaso(absl::string_view bytes);

}  // namespace lemma

#endif  // LEMMA_REWRITE_TASO_IMPORT_H_
