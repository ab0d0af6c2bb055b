// Reads operator sets from text files.
//
//   file    = { input | variant }
//   input   = "input" name ":" [ count "of" ] shape { "," shape }
//             `count` tensors (by default 1) of that shape, or bundles of tensors of these shapes
//   shape   = "[" [ size { "," size } ] "]"
//   variant = [ "distinct" ] [ "proper" ] "variant" name "(" operands ")"
//             [ "with" "{" name "=" value { "," name "=" value } "}" ] "{" body "}"
//
// Operands, values and body are those of VariantText (generator/sets/table_variant.h). A comment
// runs from # to the end of the line.
#ifndef LEMMA_GENERATOR_SETS_SET_FILE_H_
#define LEMMA_GENERATOR_SETS_SET_FILE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "generator/sets/table_sets.h"

namespace lemma::generator {

// InvalidArgument, with "file:line:column: ", if the grammar is wrong; `file` is the text's name in
// it. Operands and bodies are not read: TableSet does that.
absl::StatusOr<TableSetText> ReadSetFile(absl::string_view text, absl::string_view file);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_SET_FILE_H_
