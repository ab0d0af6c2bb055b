// Reads operator sets from text files.
//
//   file    = { input | variant }
//   input   = "input" name ":" [ count "of" ] shape { "," shape }
//             `count` inputs (1 … 8, by default 1): tensors of this shape or, if there are several
//             shapes, bundles of tensors of these shapes
//   shape   = "[" [ size { "," size } ] "]"
//   variant = [ "distinct" ] [ "proper" ] "variant" name "(" operands ")"
//             [ "with" "{" name "=" value { "," name "=" value } "}" ] "{" body "}"
//   value   = number | "[" [ integer { "," integer } ] "]"
//
// A size is 1 … 4096. "distinct", "proper", operands and body are as in VariantText; "with" gives
// VariantText::values (generator/sets/table_variant.h). A comment runs from # to the end of the
// line.
#ifndef LEMMA_GENERATOR_SETS_SET_FILE_H_
#define LEMMA_GENERATOR_SETS_SET_FILE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "generator/sets/table_sets.h"

namespace lemma::generator {

// The set that the text defines. InvalidArgument, with "file:line:column: ", if
//   * the text does not follow the grammar;
//   * two inputs, or two variants, have the same name; or
//   * "with" gives a name two values, or names a symbol that does not occur in the body.
// InvalidArgument, with "file: ", if there is no input or no variant. `file` is the file's name in
// these messages. Does not check operands and bodies: TableSet does.
absl::StatusOr<TableSetText> ReadSetFile(absl::string_view text, absl::string_view file);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_SET_FILE_H_
